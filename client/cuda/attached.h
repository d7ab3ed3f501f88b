/* SPDX-License-Identifier: MIT
 *
 * attached.h - what libsherwood-cuda keeps of a server.
 */
#ifndef SHERWOOD_CLIENT_CUDA_ATTACHED_H
#define SHERWOOD_CLIENT_CUDA_ATTACHED_H

#include <pthread.h>

#include "client/cuda/driver.h"
#include "client/sherwood-cuda.h"

/* Allocations that are registered at a time; the one that was used least lately leaves. */
#define SW_CUDA_ALLOCATIONS_MAX 32

/* The sentence of an error. */
#define SW_CUDA_TEXT_BYTES 512

/* An allocation that the server shares. */
struct sw_cuda_allocation {
    uintptr_t base;
    size_t bytes;
    uint64_t buffer; /* the driver's number of it: a later one at this address has another */
    uint64_t used;   /* the handle's clock at the last use */
    struct sherwood_region *region; /* NULL: the entry is free */
};

/* A call in stream order. */
enum sw_cuda_ordered_state {
    SW_ORDERED_FREE,
    SW_ORDERED_TAKEN, /* its stream does not know it yet */
    SW_ORDERED_WAITS, /* for its stream */
    SW_ORDERED_FLIES
};
struct sw_cuda_ordered {
    struct sherwood_request request;
    size_t count; /* of keys; a request has room for fewer */
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
    void *context; /* the primary one of the device */
    int ordinal;
    uint8_t uuid[16];

    /* The mutex `turn` protects the client handle and the allocations. */
    pthread_mutex_t turn;
    uint32_t wanted; /* atomic: threads that wait for it */
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
    struct sw_cuda_words *words; /* [SHERWOOD_CUDA_ORDERED_MAX] */
    uintptr_t words_address;     /* the device's */
    struct sw_cuda_ordered ordered[SHERWOOD_CUDA_ORDERED_MAX];
};

/* Stores the sentence of this thread and returns the status. */
int sw_cuda_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Take and release `turn`. Threads that wait for it come before the thread of ordered.c. */
void sw_cuda_take_turn(struct sherwood_cuda *cuda);
void sw_cuda_give_turn(struct sherwood_cuda *cuda);

/* allocations.c; with the turn, and the context current. */

/* Registers the allocation of the `bytes` bytes at the pointer, unless it is registered. Ignores
 * NULL. */
int sw_cuda_share(struct sherwood_cuda *cuda, const void *pointer, uint64_t bytes,
                  const char *what);
/* The arrays of an operation. */
int sw_cuda_share_all(struct sherwood_cuda *cuda, enum sherwood_operation operation,
                      const void *keys, const void *values, size_t count, const void *previous,
                      const void *found);
int sw_cuda_unshare(struct sherwood_cuda *cuda, const void *pointer);

/* ordered.c. Waits for calls under way, and ends the thread. */
void sw_cuda_ordered_close(struct sherwood_cuda *cuda);

#endif
