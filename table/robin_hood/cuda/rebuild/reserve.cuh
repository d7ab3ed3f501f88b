/* SPDX-License-Identifier: MIT
 *
 * reserve.cuh - device memory for a move to other arrays. The owner of the table permits it
 * (table/growth.h) until the move is enqueued.
 *
 * Threads: under `order`, except sw_cuda_reserve.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_RESERVE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_RESERVE_CUH

#include "table/robin_hood/cuda/host.cuh"

struct sw_cuda_reserved {
    struct sw_cuda_arrays arrays; /* zero: there is no memory for them */
    uint64_t permitted;           /* bytes that the owner has permitted */
    uint64_t permitted_host;      /* the same for rows in host memory */
    bool is_refused;              /* the owner has not permitted them */
};

/* Computes the geometry of this capacity. Callers never pass a capacity without one. */
bool sw_cuda_geometry_of(const struct sw_cuda_table *table, uint64_t capacity,
                         struct sw_geometry *geometry);
/* Allocates arrays of this capacity, and maps the rows of its entries, in the order of the queue's
 * stream. They may reuse memory of arrays that were freed before the last write that the stream
 * waits for. Returns whether there is memory. The caller calls sw_cuda_reserved_settle, also after
 * a failure. Threads: that which holds `growth`. */
bool sw_cuda_reserve(const struct sw_cuda_queue *queue, uint64_t capacity,
                     struct sw_cuda_reserved *reserved);
/* The same for the capacity that the table has. The caller need not hold `growth`. */
bool sw_cuda_reserve_again(const struct sw_cuda_queue *queue, struct sw_cuda_reserved *reserved);
/* Reports to the owner that the move is enqueued, or that the arrays were closed. The next
 * allocations of the pool wait for the end of the move if they need the old arrays. */
void sw_cuda_reserved_settle(struct sw_cuda_table *table, struct sw_cuda_reserved *reserved);

/* Returns the device memory of the table, without that for times. */
uint64_t sw_cuda_table_bytes(const struct sw_cuda_table *table);
/* Reports it to the owner, with table->times_bytes, after one of them has changed. */
void sw_cuda_table_resized(struct sw_cuda_table *table);

#endif
