/* SPDX-License-Identifier: MIT
 *
 * ids.cu - the memory of a table of ids on CUDA.
 */
#include "table/robin_hood/cuda/ids/ids.cuh"

#include "table/device/cutter.cuh"

/* Cuts the arrays from `base`; with NULL it only counts. Sets the number of levels. */
static size_t cut(struct sw_cuda_ids *ids, uint32_t operations_max, void *base)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    struct sw_cuda_id_map *map = &ids->map;
    uint64_t words = UINT64_MAX;
    for (map->level_count = 0; words > 32; map->level_count++) {
        words = sw_cuda_id_words(map->limit, map->level_count);
        sw_cuda_cut(&cutter, &map->levels[map->level_count], words);
    }
    sw_cuda_cut(&cutter, &ids->given, operations_max);
    sw_cuda_cut(&cutter, &ids->takes, operations_max / SW_CUDA_ID_TILE + 2);
    return cutter.used;
}

uint64_t sw_cuda_ids_bytes(uint64_t limit, uint32_t operations_max)
{
    struct sw_cuda_ids ids = {};
    ids.map.limit = limit;
    return cut(&ids, operations_max, NULL);
}

cudaError_t sw_cuda_ids_open(struct sw_cuda_ids *ids, uint64_t limit, uint32_t operations_max)
{
    ids->map.limit = limit;
    ids->bytes = cut(ids, operations_max, NULL);
    const cudaError_t error = cudaMalloc(&ids->memory, ids->bytes);
    if (error != cudaSuccess) {
        return error;
    }
    (void)cut(ids, operations_max, ids->memory);
    return sw_cuda_ids_clear(ids, cudaStreamPerThread);
}

void sw_cuda_ids_close(struct sw_cuda_ids *ids)
{
    (void)cudaFree(ids->memory);
    *ids = {};
}

/* Writes the words of all levels for a map whose ids are all free. */
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    clear_ids_kernel(const struct sw_cuda_id_map map)
{
    const uint64_t step = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    for (uint32_t level = 0; level < map.level_count; level++) {
        const uint64_t words = sw_cuda_id_words(map.limit, level);
        const uint64_t ids = 1ULL << 5 * (level + 1); /* of a word */
        for (uint64_t w = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x; w < words; w += step) {
            const uint64_t before = w * ids;
            const uint64_t left = before < map.limit ? map.limit - before : 0;
            const uint64_t free_ids = left < ids ? left : ids;
            map.levels[level][w] =
                level > 0 ? (uint32_t)free_ids : (uint32_t)((1ULL << free_ids) - 1);
        }
    }
}

cudaError_t sw_cuda_ids_clear(const struct sw_cuda_ids *ids, cudaStream_t stream)
{
    const uint64_t wanted = sw_cuda_id_words(ids->map.limit, 0) / SW_CUDA_BLOCK + 1;
    const uint32_t blocks = wanted < SW_CUDA_FEW_BLOCKS ? (uint32_t)wanted : SW_CUDA_FEW_BLOCKS;
    clear_ids_kernel<<<blocks, SW_CUDA_BLOCK, 0, stream>>>(ids->map);
    return cudaGetLastError();
}
