/* SPDX-License-Identifier: MIT
 *
 * direct.h - direct reads: the parts of direct.c and direct_table.c.
 */
#ifndef SHERWOOD_CLIENT_CUDA_DIRECT_H
#define SHERWOOD_CLIENT_CUDA_DIRECT_H

#include "client/cuda/attached.h"
#include "client/cuda/direct_call.h"
#include "client/sherwood-regions.h"

/* The states of calls in stream order, and that of calls that wait. */
#define SW_DIRECT_STATES (SW_CUDA_ENTRIES + 1)

/* Device memory of the library. */
struct sw_direct_memory {
    struct sw_direct_view view;
    uint8_t unused[128 - sizeof(struct sw_direct_view)];
    struct sw_direct_state states[SW_DIRECT_STATES];
};

struct sw_cuda_direct {
    struct sherwood_cuda *cuda;
    void *module, *small, *large; /* kernels */
    unsigned blocks_max;          /* of `large` that the device runs at the same time */
    uintptr_t memory;             /* of struct sw_direct_memory */
    uint64_t calls;               /* atomic */
    uint64_t missed;              /* atomic */

    /* Calls that wait, one at a time: `waits` is locked. */
    pthread_mutex_t waits;
    struct sw_cuda_words *words;
    uintptr_t words_address; /* of `words`, on the device */
    uint32_t ticket;
    void *waiting; /* stream of calls without one */

    /* The thread's. */
    void *stream; /* of copies */
    struct sherwood_region *region;
    struct sherwood_table_memory table; /* what is mapped; generation 0: nothing */
    uintptr_t page, arrays;             /* 0: not mapped */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of the next members */
    pthread_cond_t changed;
    bool ends;
    bool is_missed; /* a call went to the server since the last renewal */
};

/* direct_table.c: where the server's table lies. With the context current. */

/* Copies to or from device memory, and waits. Returns an error of the driver. */
int sw_direct_copy(const struct sw_cuda_direct *direct, uintptr_t to, uintptr_t from, size_t bytes);
/* Asks the server where the table lies. Returns a status, and its sentence in the thread's. */
int sw_direct_describe(struct sw_cuda_direct *direct, struct sherwood_table_memory *table);
/* Does that, and maps the table, or nothing. */
int sw_direct_renew(struct sw_cuda_direct *direct);
/* Unmaps everything. May wait for the streams of the device. */
void sw_direct_unmap(struct sw_cuda_direct *direct);
/* Starts the thread that renews. It unmaps everything when it ends. */
int sw_direct_start(struct sw_cuda_direct *direct);

#endif
