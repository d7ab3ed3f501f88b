/* SPDX-License-Identifier: MIT
 *
 * arena.cuh - the memory of a table's rows on CUDA, the stack of free rows, and the arrays of
 * batches on rows: the host's side of rows.cuh.
 *
 * A batch begins by reserving a row for each of its operations. So the arena has memory for
 * `operations_max` rows more than the table may have entries.
 *
 * Rows lie in device memory or in host memory; or the first `split` rows lie in device memory and
 * the others in host memory. A row never moves. The choice of a key's row does not depend on where
 * the row lies: rows that were never used are taken in ascending order, so device memory fills
 * first.
 *
 * Threads: the table's owner opens and closes the arena. Only the thread that holds the table's
 * `growth`, or that opens the table, maps rows. Any thread may read `mapped`.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ARENA_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ARENA_CUH

#include "table/device/launcher.cuh"
#include "table/device/range.cuh"
#include "table/robin_hood/cuda/rows/rows.cuh"
#include "table/robin_hood/geometry.h"

/* Maximum number of operations of a batch. */
#define SW_CUDA_ROW_OPERATIONS_MAX SW_COMBINED_STREAMED_MAX

struct sw_cuda_arena {
    struct sw_cuda_rows view; /* passed to kernels; value_bytes 0: the values are integers */
    struct sw_cuda_range rows, further, free; /* `further` is zero if all rows lie in `rows` */
    uint64_t mapped;                          /* atomic: rows with memory */
    uint64_t device_bytes, host_bytes;        /* atomic: mapped memory of the three */
    uint64_t bytes;                           /* of `memory` */
    void *memory; /* device: the stack's counts, the arrays below, and the scratch of the view */
    void *preallocated, *previous; /* [operations_max] words of the table's width */
    uint8_t *engine_ops;           /* [operations_max] */
    uint64_t *engine_found;        /* [operations_max / 64] */
    cudaStream_t stream;           /* copies rows while the engine runs; the launcher's */
    cudaEvent_t looked_up, moved;  /* start and end of that copy */
};

/* Returns whether a configuration with rows is possible on CUDA; true without rows. If not, writes
 * the cause to `reason`. */
bool sw_cuda_arena_is_possible(const struct sw_table_config *config, char *reason,
                               size_t reason_size);
/* For a configuration with rows: reserves addresses for the maximum number of rows and maps memory
 * for the rows of the first capacity. The device must be current. After a failure, call close
 * too. */
cudaError_t sw_cuda_arena_open(struct sw_cuda_arena *arena, const struct sw_table_config *config,
                               const struct sw_geometry *geometry, uint32_t operations_max,
                               struct sw_cuda_launcher *launcher);
void sw_cuda_arena_close(struct sw_cuda_arena *arena);
/* Maps memory for the rows of `entries` entries and of one batch. Returns cudaErrorMemoryAllocation
 * if memory is short. */
cudaError_t sw_cuda_arena_map(struct sw_cuda_arena *arena, uint64_t entries);
/* Sets the bytes of device and host memory that sw_cuda_arena_map would map in addition. */
void sw_cuda_arena_needs(const struct sw_cuda_arena *arena, uint64_t entries, uint64_t *device,
                         uint64_t *host);
/* Enqueues a reset of the stack: no row is in use. */
cudaError_t sw_cuda_arena_clear(const struct sw_cuda_arena *arena, cudaStream_t stream);

static inline bool sw_cuda_arena_is_open(const struct sw_cuda_arena *arena)
{
    return arena->view.value_bytes != 0;
}
/* Bytes of device memory, rows included; bytes of rows in device memory and in host memory; and
 * number of rows that have memory. Threads: any. */
uint64_t sw_cuda_arena_bytes(const struct sw_cuda_arena *arena);
/* Bytes of host memory that is mapped for rows. Threads: any. */
static inline uint64_t sw_cuda_arena_host_bytes(const struct sw_cuda_arena *arena)
{
    return __atomic_load_n(&arena->host_bytes, __ATOMIC_RELAXED);
}
void sw_cuda_arena_row_bytes(const struct sw_cuda_arena *arena, uint64_t *device, uint64_t *host);
static inline uint64_t sw_cuda_arena_mapped(const struct sw_cuda_arena *arena)
{
    return __atomic_load_n(&arena->mapped, __ATOMIC_RELAXED);
}

#endif
