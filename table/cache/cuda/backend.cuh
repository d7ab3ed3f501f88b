/* SPDX-License-Identifier: MIT
 *
 * backend.cuh - the cache as a table's engine on CUDA: its tables and queues. Not for users.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_BACKEND_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_BACKEND_CUH

#include "table/cache/cache_backend.h"
#include "table/cache/cuda/arrays.cuh"
#include "table/cache/cuda/ids.cuh"
#include "table/cache/cuda/table.cuh"
#include "table/cache/growth.h"
#include "table/device/combined_launch.cuh"
#include "table/device/image.cuh"
#include "table/device/memory.cuh"

struct sw_cache_cuda_table : sw_cuda_channel_owner {
    struct sw_cache_arrays arrays;
    struct sw_cache_scratch scratch;
    void *scratch_memory;
    struct sw_cuda_combined combined; /* used by the queue of the writes */
    uint64_t bytes;
    uint32_t batch_ops_max;
    uint32_t key_bytes;
    uint64_t clock;  /* under `order`, as is rounds */
    uint64_t rounds; /* batches of this epoch */
    uint64_t epoch;  /* atomic; changes under `order` */
    struct sw_cache_growth growth;
    struct sw_cache_loaded_ids loaded; /* under `order`, as is settling */
    struct sw_cache_settling settling; /* settles the load that runs */
    uint64_t held_most; /* under `order`: upper bound of the entries after all submitted batches */
};

struct sw_cache_cuda_queue : sw_cuda_channel {
    struct sw_cache_cuda_table *table;
    struct sw_cache_table_tally *tallies; /* device: one */
};

/* For batches that write; call these under the mutex and after all reads (backend_grow.cu). */

/* Grows the cache before batches that may add `upserts` entries, if more than half of the slots
 * might be occupied after them. */
cudaError_t sw_cache_cuda_grow_for(struct sw_cache_cuda_queue *queue, uint64_t upserts);
/* Prepares a cache of ids for a batch: loads the ids of a batch that restores, and settles a load
 * before any other write. Sets the status of a batch that restores; unless that is SW_OK the caller
 * does not carry it out (backend_ids.cu). Does nothing for other caches. */
cudaError_t sw_cache_cuda_prepare_ids(struct sw_cache_cuda_queue *queue, struct sw_batch *batch);
/* Under the mutex, which orders the batches: the host sets the time of every batch. */
void sw_cache_cuda_set_epoch(struct sw_cache_cuda_table *table, struct sw_batch *batch);
/* For a batch that restores scores: stores them unchanged, and advances the clocks so that later
 * uses get higher scores (backend_image.cu). Does nothing for other batches. */
void sw_cache_cuda_restore(struct sw_cache_cuda_table *table, const struct sw_batch *batch,
                           struct sw_cache_table_batch *all);
/* Implements `prepare` of sw_cuda_image_submit; reads and drops an image. */
cudaError_t sw_cache_cuda_prepare_image(struct sw_cache_cuda_queue *queue, struct sw_batch *batch,
                                        struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS]);
int sw_cache_cuda_image_read(void *image, struct sw_image_columns *columns);
void sw_cache_cuda_image_drop(void *image);
uint64_t sw_cache_cuda_image_bytes(const struct sw_cache_cuda_table *table);
/* Executes a RESIZE, without writing its record. */
cudaError_t sw_cache_cuda_resize(struct sw_cache_cuda_queue *queue, struct sw_batch *batch);
/* Number of entries that a batch may add; 0 if the table does not grow. */
uint64_t sw_cache_cuda_upserts(const struct sw_cache_cuda_table *table, struct sw_batch *batch);

#endif
