/* SPDX-License-Identifier: MIT
 *
 * attached.h - the handle of libsherwood-cuda.
 */
#ifndef SHERWOOD_CLIENT_CUDA_ATTACHED_H
#define SHERWOOD_CLIENT_CUDA_ATTACHED_H

#include <pthread.h>

#include "client/cuda/driver.h"
#include "client/sherwood-cuda.h"

/* The most registered allocations. One more unregisters the least recently used. */
#define SW_CUDA_ALLOCATIONS_MAX 32

/* Room for the sentence of an error. */
#define SW_CUDA_TEXT_BYTES 512

/* An allocation that is registered with the server. */
struct sw_cuda_allocation {
    uintptr_t base;
    size_t bytes;
    uint64_t buffer; /* the driver's number of the allocation; a later one at this address has
                        another number */
    uint64_t used;   /* the handle's clock at the last use */
    struct sherwood_region *region; /* NULL: the entry is free */
};

/* A call in stream order. */
enum sw_cuda_ordered_state {
    SW_ORDERED_FREE,
    SW_ORDERED_TAKEN, /* the caller has not enqueued it on its stream yet */
    SW_ORDERED_WAITS, /* its stream has not reached it yet */
    SW_ORDERED_FLIES
};
struct sw_cuda_ordered {
    struct sherwood_request request;
    struct sherwood_cuda_call call;
    uint32_t ticket;
    enum sw_cuda_ordered_state state;
};

/* Two words of a call in stream order, in memory that stream and host see. */
struct sw_cuda_words {
    uint32_t ready; /* written by the stream: the keys of this ticket's call are in memory */
    uint32_t done;  /* written by the host: its answers are in memory */
    uint32_t unused[14];
};

struct sherwood_cuda {
    struct sw_driver driver;
    void *context; /* the primary context of the device */
    int ordinal;
    uint8_t uuid[16];

    /* The mutex `turn` protects the client handle and the allocations. */
    pthread_mutex_t turn;
    uint32_t wanted; /* atomic: number of threads that wait for `turn` */
    struct sherwood *client;
    uint64_t clock;
    struct sw_cuda_allocation allocations[SW_CUDA_ALLOCATIONS_MAX];

    /* Calls in stream order, under `lock`, which is taken after `turn`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread;
    bool ends;
    int failure; /* status of the first failure since sherwood_cuda_check */
    char failure_text[256];
    uint32_t tickets;
    uint32_t under_way;
    struct sw_cuda_words *words; /* array of SHERWOOD_CUDA_ORDERED_MAX elements */
    uintptr_t words_address;     /* their address on the device */
    struct sw_cuda_ordered ordered[SHERWOOD_CUDA_ORDERED_MAX];
};

/* Stores the sentence of this thread and returns the status. */
int sw_cuda_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lock and unlock `turn`. Other threads that wait come before the thread of ordered.c. */
void sw_cuda_take_turn(struct sherwood_cuda *cuda);
void sw_cuda_give_turn(struct sherwood_cuda *cuda);

/* Do the same, and make the context current meanwhile. */
void sw_cuda_enter(struct sherwood_cuda *cuda);
void sw_cuda_leave(struct sherwood_cuda *cuda);
/* Runs a call whose arrays are registered, of any number of keys. Call it with `turn` locked. */
int sw_cuda_run_call(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);

/* allocations.c. Call these with `turn` locked and the context current. */

/* Registers the allocation of `bytes` bytes at the pointer, unless it is registered. Ignores NULL.
 */
int sw_cuda_share(struct sherwood_cuda *cuda, const void *pointer, uint64_t bytes,
                  const char *what);
/* Registers the arrays of a call. */
int sw_cuda_share_all(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
int sw_cuda_unshare(struct sherwood_cuda *cuda, const void *pointer);

/* ordered.c. Enqueues a call on its stream, with the context current. */
int sw_cuda_enqueue(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
/* Waits for the calls in flight, and ends the thread. */
void sw_cuda_ordered_close(struct sherwood_cuda *cuda);

#endif
