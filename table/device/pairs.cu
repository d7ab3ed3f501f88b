/* SPDX-License-Identifier: MIT
 *
 * pairs.cu - the second operands of a combined launch. Few launches have any, so the kernels that
 * every launch has (gather.cu, combined_launch.cu) neither load them nor compare with them.
 */
#include "table/device/parts.cuh"

/* The operations [begin, end) of one part. */
struct piece {
    struct sw_cuda_part part;
    uint32_t begin, end;
};

static __device__ inline struct piece piece_of(const struct arrays &all, uint32_t chunk)
{
    struct piece piece;
    piece.part = all.in.parts->parts[all.in.parts->of_chunk[chunk]];
    piece.begin = (chunk - piece.part.first_chunk) * SW_COMBINED_CHUNK;
    piece.end = piece.part.count - piece.begin < SW_COMBINED_CHUNK
                    ? piece.part.count
                    : piece.begin + SW_COMBINED_CHUNK;
    return piece;
}

static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    gather_expected_kernel(const struct arrays all)
{
    const struct piece piece = piece_of(all, blockIdx.x);
    if (piece.part.expected != NULL) {
        copy_elements(all.memory.expected, piece.part.expected, piece.part.first + piece.begin,
                      piece.begin, piece.end - piece.begin, all.memory.value_bytes);
    }
}

/* Returns whether operation `at` found its key with the expected value. */
static __device__ inline bool is_met(const struct sw_cuda_combined_view &memory, uint32_t at)
{
    const bool found = (memory.found[at / 64] >> (at % 64) & 1) != 0;
    const bool equal =
        memory.value_bytes == sizeof(uint32_t)
            ? ((const uint32_t *)memory.previous)[at] == ((const uint32_t *)memory.expected)[at]
            : ((const uint64_t *)memory.previous)[at] == ((const uint64_t *)memory.expected)[at];
    return found && equal;
}

static __global__ void __launch_bounds__(SW_CUDA_BLOCK) mark_unmet_kernel(const struct arrays all)
{
    const struct piece piece = piece_of(all, blockIdx.x);
    for (uint32_t i = piece.begin + threadIdx.x; i < piece.end; i += SW_CUDA_BLOCK) {
        const uint32_t at = piece.part.first + i;
        const bool silent = all.memory.silent != NULL && all.memory.silent[at] != 0;
        all.memory.unmet[at] =
            silent || (SW_OPS_HAS(SW_OPS_PAIR, all.in.ops[at]) && !is_met(all.memory, at));
    }
}

cudaError_t sw_cuda_launch_gather_expected(const struct arrays &all, uint32_t chunks,
                                           cudaStream_t stream)
{
    gather_expected_kernel<<<chunks, SW_CUDA_BLOCK, 0, stream>>>(all);
    return cudaGetLastError();
}

cudaError_t sw_cuda_launch_mark_unmet(const struct arrays &all, uint32_t chunks,
                                      cudaStream_t stream)
{
    mark_unmet_kernel<<<chunks, SW_CUDA_BLOCK, 0, stream>>>(all);
    return cudaGetLastError();
}

cudaError_t sw_cuda_load_pairs(void)
{
    struct cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, gather_expected_kernel);
    return error == cudaSuccess ? cudaFuncGetAttributes(&attributes, mark_unmet_kernel) : error;
}
