/* SPDX-License-Identifier: MIT
 *
 * arena.cu - reserves and maps the memory of rows on CUDA.
 */
#include "table/robin_hood/cuda/rows/arena.cuh"

#include <stdio.h>

#include "table/device/zeroed.cuh"
#include "table/robin_hood/cuda/width.cuh"

/* Cuts the arrays of one launch from `base`; with NULL it only counts. */
static size_t cut(struct sw_cuda_arena *arena, uint32_t slot_bits, void *base)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    const uint64_t n = arena->view.operations_max;
    uint8_t *preallocated = NULL;
    uint8_t *previous = NULL;
    uint8_t *scratch = NULL;
    sw_cuda_cut(&cutter, &arena->view.stack, 1);
    sw_cuda_cut(&cutter, &preallocated, n * (slot_bits / 16));
    sw_cuda_cut(&cutter, &previous, n * (slot_bits / 16));
    sw_cuda_cut(&cutter, &arena->engine_ops, n);
    sw_cuda_cut(&cutter, &arena->engine_found, (n + 63) / 64);
    sw_cuda_cut(&cutter, &scratch, sw_cuda_rows_cut(&arena->view, NULL));
    arena->preallocated = preallocated;
    arena->previous = previous;
    if (base != NULL) {
        (void)sw_cuda_rows_cut(&arena->view, scratch);
    }
    return cutter.used;
}

static cudaError_t allocate(struct sw_cuda_arena *arena, uint32_t slot_bits)
{
    arena->bytes = cut(arena, slot_bits, NULL);
    const cudaError_t error = sw_cuda_allocate_zeroed(&arena->memory, arena->bytes);
    if (error == cudaSuccess) {
        (void)cut(arena, slot_bits, arena->memory);
    }
    return error;
}

/* A batch begins by giving a row to each of its operations, and no row has the largest number. */
bool sw_cuda_arena_is_possible(const struct sw_table_config *config, char *reason,
                               size_t reason_size)
{
    const uint64_t limit = sw_geometry_rows_limit(config) - SW_CUDA_ROW_OPERATIONS_MAX;
    if (config->value_bytes == 0) {
        return true;
    }
    if (config->batch_ops_max > SW_CUDA_ROW_OPERATIONS_MAX) {
        snprintf(reason, reason_size,
                 "a batch on rows on a GPU must hold at most %u operations, not %u",
                 SW_CUDA_ROW_OPERATIONS_MAX, (unsigned)config->batch_ops_max);
        return false;
    }
    if (sw_geometry_rows_max(config) > limit) {
        snprintf(reason, reason_size,
                 "a table of %u-bit slots on a GPU must have at most %llu rows: set rows-max",
                 (unsigned)config->slot_bits, (unsigned long long)limit);
        return false;
    }
    return true;
}

/* This part of the device's memory stays free for other users and for arrays that grow. */
#define DEVICE_MARGIN 32

/* Number of the rows that lie in `rows`; the others lie in `further`. */
static cudaError_t split_of(const struct sw_table_config *config, uint64_t rows, uint64_t *split)
{
    uint64_t bytes = config->rows_gpu_bytes;
    *split = rows;
    if (config->rows_in != SW_ROWS_IN_GPU_HOST) {
        return cudaSuccess;
    }
    if (bytes == 0) {
        size_t free_bytes = 0;
        size_t all = 0;
        struct sw_table_config largest = *config;
        struct sw_geometry geometry = {};
        largest.capacity_slots = sw_geometry_capacity_max(config);
        (void)sw_geometry_compute(&largest, &geometry, NULL, 0); /* it has one */
        const cudaError_t error = cudaMemGetInfo(&free_bytes, &all);
        if (error != cudaSuccess) {
            return error;
        }
        const uint64_t others =
            2 * geometry.bytes_total + rows * sizeof(uint32_t) + all / DEVICE_MARGIN;
        bytes = free_bytes > others ? free_bytes - others : 0;
    }
    const uint64_t fit = bytes / sw_row_stride(config->value_bytes);
    *split = fit < rows ? fit : rows;
    return cudaSuccess;
}

/* Reserves addresses for all rows. */
static cudaError_t reserve(struct sw_cuda_arena *arena, const struct sw_table_config *config,
                           uint64_t rows)
{
    struct sw_cuda_rows *view = &arena->view;
    const bool in_host = config->rows_in == SW_ROWS_IN_HOST;
    cudaError_t error = split_of(config, rows, &view->split);
    if (error == cudaSuccess && view->split > 0) {
        error =
            sw_cuda_range_open(&arena->rows, config->device, in_host, view->split * view->stride);
    }
    if (error == cudaSuccess && view->split < rows) {
        error = sw_cuda_range_open(&arena->further, config->device, true,
                                   (rows - view->split) * view->stride);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_range_open(&arena->free, config->device, false, rows * sizeof(uint32_t));
    }
    view->rows = arena->rows.base;
    if (arena->further.base != NULL) {
        view->further = (uint8_t *)((uintptr_t)arena->further.base - view->split * view->stride);
    }
    view->free = (uint32_t *)arena->free.base;
    return error;
}

cudaError_t sw_cuda_arena_open(struct sw_cuda_arena *arena, const struct sw_table_config *config,
                               const struct sw_geometry *geometry, uint32_t operations_max,
                               struct sw_cuda_launcher *launcher)
{
    const uint64_t rows = sw_geometry_rows_max(config) + operations_max;
    arena->view.value_bytes = config->value_bytes;
    arena->view.key_string_bytes = config->key_text_bytes;
    arena->view.stride = sw_row_stride(config->value_bytes);
    arena->view.operations_max = operations_max;
    cudaError_t error = allocate(arena, config->slot_bits);
    if (error == cudaSuccess) {
        error = sw_cuda_rows_stream(launcher, &arena->stream);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&arena->looked_up, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&arena->moved, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = reserve(arena, config, rows);
    }
    return error == cudaSuccess ? sw_cuda_arena_map(arena, geometry->occupied_max) : error;
}

void sw_cuda_arena_close(struct sw_cuda_arena *arena)
{
    if (arena->looked_up != NULL) {
        (void)cudaEventDestroy(arena->looked_up);
    }
    if (arena->moved != NULL) {
        (void)cudaEventDestroy(arena->moved);
    }
    arena->looked_up = NULL;
    arena->moved = NULL;
    sw_cuda_range_close(&arena->rows);
    sw_cuda_range_close(&arena->further);
    sw_cuda_range_close(&arena->free);
    (void)cudaFree(arena->memory);
    arena->memory = NULL;
}

cudaError_t sw_cuda_arena_map(struct sw_cuda_arena *arena, uint64_t entries)
{
    const uint64_t rows = entries + arena->view.operations_max;
    const uint64_t split = arena->view.split;
    const uint64_t stride = arena->view.stride;
    cudaError_t error = sw_cuda_range_map(&arena->free, rows * sizeof(uint32_t));
    if (error == cudaSuccess && split > 0) {
        error = sw_cuda_range_map(&arena->rows, (rows < split ? rows : split) * stride);
    }
    if (error == cudaSuccess && rows > split) {
        error = sw_cuda_range_map(&arena->further, (rows - split) * stride);
    }
    uint64_t by_rows = arena->rows.mapped / stride;
    if (by_rows >= split) {
        by_rows = split + arena->further.mapped / stride;
    }
    const uint64_t by_stack = arena->free.mapped / sizeof(uint32_t);
    const bool in_host = arena->rows.in_host;
    __atomic_store_n(&arena->device_bytes, arena->free.mapped + (in_host ? 0 : arena->rows.mapped),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&arena->host_bytes, arena->further.mapped + (in_host ? arena->rows.mapped : 0),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&arena->mapped, by_rows < by_stack ? by_rows : by_stack, __ATOMIC_RELAXED);
    return error;
}

void sw_cuda_arena_needs(const struct sw_cuda_arena *arena, uint64_t entries, uint64_t *device,
                         uint64_t *host)
{
    const uint64_t rows = entries + arena->view.operations_max;
    const uint64_t split = arena->view.split;
    const uint64_t stride = arena->view.stride;
    const uint64_t first =
        split > 0 ? sw_cuda_range_needs(&arena->rows, (rows < split ? rows : split) * stride) : 0;
    *host = rows > split ? sw_cuda_range_needs(&arena->further, (rows - split) * stride) : 0;
    *device = sw_cuda_range_needs(&arena->free, rows * sizeof(uint32_t));
    *(arena->rows.in_host ? host : device) += first;
}

cudaError_t sw_cuda_arena_clear(const struct sw_cuda_arena *arena, cudaStream_t stream)
{
    return cudaMemsetAsync(arena->view.stack, 0, sizeof(*arena->view.stack), stream);
}

void sw_cuda_arena_row_bytes(const struct sw_cuda_arena *arena, uint64_t *device, uint64_t *host)
{
    const uint64_t mapped = sw_cuda_arena_mapped(arena);
    const uint64_t first = mapped < arena->view.split ? mapped : arena->view.split;
    *device = arena->rows.in_host ? 0 : first * arena->view.stride;
    *host = mapped * arena->view.stride - *device;
}

uint64_t sw_cuda_arena_bytes(const struct sw_cuda_arena *arena)
{
    return arena->bytes + __atomic_load_n(&arena->device_bytes, __ATOMIC_RELAXED);
}
