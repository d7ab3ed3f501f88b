/* SPDX-License-Identifier: MIT
 *
 * arena.cuh - where the rows of a table lie on CUDA, the stack of those that are free, and the
 * arrays that batches on rows need: the host's side of rows.cuh.
 *
 * A batch begins by giving each of its operations a row that it may use: so there is memory for as
 * many rows more than the table may have entries.
 *
 * Rows are in memory of the device, or of the host; or the first `split` of them on the device, and
 * the others in that of the host. A row stays where it is, and which row a key gets does not depend
 * on where it lies: rows that were never used are given out in ascending order, so that the
 * device's memory fills first.
 *
 * Threads: opened and closed by the table's owner. Rows are mapped by who holds `growth` of the
 * table, or opens it; `mapped` is for any thread.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ARENA_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ARENA_CUH

#include "table/device/range.cuh"
#include "table/robin_hood/cuda/rows/rows.cuh"
#include "table/robin_hood/geometry.h"

/* Operations that a batch may have. */
#define SW_CUDA_ROW_OPERATIONS_MAX SW_TOGETHER_STREAMED_MAX

struct sw_cuda_arena {
    struct sw_cuda_rows view; /* as kernels see it; value_bytes 0: the values are integers */
    struct sw_cuda_range rows, further, free; /* `further` is zero where all lie in `rows` */
    uint64_t mapped;                          /* atomic: rows with memory */
    uint64_t bytes;                           /* of `memory` */
    void *memory; /* device: the stack's counts, the arrays below, and the scratch of the view */
    void *tentative, *previous;   /* [operations_max] words of the table's width */
    uint8_t *engine_ops;          /* [operations_max] */
    uint64_t *engine_found;       /* [operations_max / 64] */
    cudaStream_t stream;          /* of rows that are moved beside the engine */
    cudaEvent_t looked_up, moved; /* where it begins, and that it has ended */
};

/* Whether there may be rows as a configuration says, if it has any; if not, `reason` says why. */
bool sw_cuda_arena_is_possible(const struct sw_table_config *config, char *reason,
                               size_t reason_size);
/* Of a configuration with rows: addresses for all rows that it may have, and memory for those of
 * its first capacity. The device must be current. After a failure, close too. */
cudaError_t sw_cuda_arena_open(struct sw_cuda_arena *arena, const struct sw_table_config *config,
                               const struct sw_geometry *geometry, uint32_t operations_max);
void sw_cuda_arena_close(struct sw_cuda_arena *arena);
/* Has memory for the rows of so many entries. cudaErrorMemoryAllocation: there is not so much. */
cudaError_t sw_cuda_arena_map(struct sw_cuda_arena *arena, uint64_t entries);
/* Enqueues that no row is in use. */
cudaError_t sw_cuda_arena_clear(const struct sw_cuda_arena *arena, cudaStream_t stream);

static inline bool sw_cuda_arena_is_open(const struct sw_cuda_arena *arena)
{
    return arena->view.value_bytes != 0;
}
/* Bytes of device memory that it has, those of rows included; of rows in that memory and in the
 * host's; and rows that have memory. Any thread. */
uint64_t sw_cuda_arena_bytes(const struct sw_cuda_arena *arena);
void sw_cuda_arena_row_bytes(const struct sw_cuda_arena *arena, uint64_t *device, uint64_t *host);
static inline uint64_t sw_cuda_arena_mapped(const struct sw_cuda_arena *arena)
{
    return __atomic_load_n(&arena->mapped, __ATOMIC_RELAXED);
}

#endif
