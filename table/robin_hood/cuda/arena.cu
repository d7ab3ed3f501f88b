/* SPDX-License-Identifier: MIT
 *
 * arena.cu - reserves and maps the memory of rows on CUDA.
 */
#include "table/robin_hood/cuda/arena.cuh"

#include "table/robin_hood/cuda/width.cuh"

/* Cuts the arrays of one launch from `base`; with NULL it only counts. */
static size_t cut(struct sw_cuda_arena *arena, uint32_t slot_bits, void *base)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    const uint64_t n = arena->view.operations_max;
    uint8_t *tentative = NULL;
    uint8_t *previous = NULL;
    uint8_t *scratch = NULL;
    sw_cuda_cut(&cutter, &arena->view.stack, 1);
    sw_cuda_cut(&cutter, &tentative, n * (slot_bits / 16));
    sw_cuda_cut(&cutter, &previous, n * (slot_bits / 16));
    sw_cuda_cut(&cutter, &arena->engine_ops, n);
    sw_cuda_cut(&cutter, &arena->engine_found, (n + 63) / 64);
    sw_cuda_cut(&cutter, &scratch, sw_cuda_rows_cut(&arena->view, NULL));
    arena->tentative = tentative;
    arena->previous = previous;
    if (base != NULL) {
        (void)sw_cuda_rows_cut(&arena->view, scratch);
    }
    return cutter.used;
}

static cudaError_t allocate(struct sw_cuda_arena *arena, uint32_t slot_bits)
{
    arena->bytes = cut(arena, slot_bits, NULL);
    cudaError_t error = cudaMalloc(&arena->memory, arena->bytes);
    if (error == cudaSuccess) {
        (void)cut(arena, slot_bits, arena->memory);
        error = cudaMemsetAsync(arena->memory, 0, arena->bytes, cudaStreamPerThread);
    }
    return error;
}

cudaError_t sw_cuda_arena_open(struct sw_cuda_arena *arena, const struct sw_table_config *config,
                               const struct sw_geometry *geometry, uint32_t operations_max)
{
    const uint64_t rows = sw_geometry_rows_max(config) + operations_max;
    arena->view.value_bytes = config->value_bytes;
    arena->view.stride = sw_row_stride(config->value_bytes);
    arena->view.operations_max = operations_max;
    cudaError_t error =
        sw_cuda_range_open(&arena->rows, config->device, config->rows_in == SW_ROWS_IN_HOST,
                           rows * arena->view.stride);
    if (error == cudaSuccess) {
        error = sw_cuda_range_open(&arena->free, config->device, false, rows * sizeof(uint32_t));
    }
    if (error == cudaSuccess) {
        error = cudaStreamCreateWithFlags(&arena->stream, cudaStreamNonBlocking);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&arena->looked_up, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&arena->moved, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        arena->view.rows = arena->rows.base;
        arena->view.free = (uint32_t *)arena->free.base;
        error = allocate(arena, config->slot_bits);
    }
    return error == cudaSuccess ? sw_cuda_arena_map(arena, geometry->occupied_max) : error;
}

void sw_cuda_arena_close(struct sw_cuda_arena *arena)
{
    if (arena->stream != NULL) {
        (void)cudaStreamDestroy(arena->stream);
    }
    if (arena->looked_up != NULL) {
        (void)cudaEventDestroy(arena->looked_up);
    }
    if (arena->moved != NULL) {
        (void)cudaEventDestroy(arena->moved);
    }
    arena->stream = NULL;
    arena->looked_up = NULL;
    arena->moved = NULL;
    sw_cuda_range_close(&arena->rows);
    sw_cuda_range_close(&arena->free);
    (void)cudaFree(arena->memory);
    arena->memory = NULL;
}

cudaError_t sw_cuda_arena_map(struct sw_cuda_arena *arena, uint64_t entries)
{
    const uint64_t rows = entries + arena->view.operations_max;
    cudaError_t error = sw_cuda_range_map(&arena->free, rows * sizeof(uint32_t));
    if (error == cudaSuccess) {
        error = sw_cuda_range_map(&arena->rows, rows * arena->view.stride);
    }
    const uint64_t by_rows = arena->rows.mapped / arena->view.stride;
    const uint64_t by_stack = arena->free.mapped / sizeof(uint32_t);
    __atomic_store_n(&arena->mapped, by_rows < by_stack ? by_rows : by_stack, __ATOMIC_RELAXED);
    return error;
}

cudaError_t sw_cuda_arena_clear(const struct sw_cuda_arena *arena, cudaStream_t stream)
{
    return cudaMemsetAsync(arena->view.stack, 0, sizeof(*arena->view.stack), stream);
}

uint64_t sw_cuda_arena_bytes(const struct sw_cuda_arena *arena)
{
    const uint64_t rows =
        arena->rows.in_host ? 0 : sw_cuda_arena_mapped(arena) * arena->view.stride;
    return arena->bytes + rows + sw_cuda_arena_mapped(arena) * sizeof(uint32_t);
}
