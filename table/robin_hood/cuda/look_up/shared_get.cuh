/* SPDX-License-Identifier: MIT
 *
 * shared_get.cuh - launches of reads of several tables: their parameters, and the functions that
 * launch them. They enqueue, return the first error, and never wait.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_LOOK_UP_SHARED_GET_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_LOOK_UP_SHARED_GET_CUH

#include "table/robin_hood/cuda/device.cuh"

/* What reads need of a queue and its table. Lies in device memory, so that a launch of many queues
 * has room for its other parameters. */
template <int BITS> struct sw_cuda_read_view {
    typename sw_width<BITS>::table table;
    const uint8_t *hints;          /* NULL: a look-up begins at the home bucket */
    struct sw_cuda_tally *tallies; /* of the queue */
    uint8_t *rows; /* this and the members below as in struct sw_cuda_rows; 0: no rows */
    uint8_t *further;
    uint64_t split;
    uint32_t value_bytes;
    uint32_t stride;
};

/* Batches of reads of several tables that share a launch. Passed by value, so less than 4 KiB. */
#define SW_CUDA_SHARED_READS_MAX 64
template <int BITS> struct sw_cuda_shared_read {
    typedef typename sw_width<BITS>::word word;
    const word *keys;
    word *previous;
    uint32_t *found;
    const struct sw_cuda_read_view<BITS> *view; /* device memory */
    struct sw_cuda_record *record;
    uint64_t ticket;
    uint32_t count;
    uint32_t first_block;
};
template <int BITS> struct sw_cuda_shared_reads {
    struct sw_cuda_shared_read<BITS> batches[SW_CUDA_SHARED_READS_MAX];
    uint32_t batch_count; /* at least 1 */
};

/* Answers batches of several tables of integers with one kernel, and completes their records. Fills
 * in first_block. sw_cuda_launch_view stores the view of a
 * queue in device memory. */
template <int BITS>
cudaError_t sw_cuda_launch_shared_get(struct sw_cuda_shared_reads<BITS> *reads,
                                      cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_view(const struct sw_cuda_read_view<BITS> &view,
                                struct sw_cuda_read_view<BITS> *to, cudaStream_t stream);
/* Loads these kernels. */
template <int BITS> cudaError_t sw_cuda_load_shared_get(void);

/* The same for batches of tables of rows without key strings. sw_cuda_load_row_get loads it. */
template <int BITS>
cudaError_t sw_cuda_launch_shared_row_get(struct sw_cuda_shared_reads<BITS> *reads,
                                          cudaStream_t stream);

#endif
