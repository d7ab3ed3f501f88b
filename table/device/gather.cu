/* SPDX-License-Identifier: MIT
 *
 * gather.cu - gathers the operations of several batches in arrays of device memory.
 */
#include "table/device/parts.cuh"

/* Enough blocks to keep the bus busy. With more, their outstanding reads delay the kernels that run
 * beside them: with 256 blocks on an H200, a kernel of 5 us took 45 us. */
#define GATHER_BLOCKS_MAX 48
/* Enough blocks to keep device memory busy, if no part is in host memory. */
#define GATHER_BLOCKS_DEVICE 512

/* Gathers one chunk. All threads of the block call it. */
static __device__ inline void gather_chunk(const struct arrays &all, uint32_t chunk)
{
    const struct sw_cuda_combined_view *memory = &all.memory;
    const struct sw_cuda_part part = all.in.parts->parts[all.in.parts->of_chunk[chunk]];
    const uint32_t begin = (chunk - part.first_chunk) * SW_COMBINED_CHUNK;
    const uint32_t end =
        part.count - begin < SW_COMBINED_CHUNK ? part.count : begin + SW_COMBINED_CHUNK;
    copy_elements(all.in.keys, (const uint8_t *)part.keys, part.first + begin, begin, end - begin,
                  memory->key_bytes);
    if (part.values != NULL) {
        copy_elements(all.in.values, part.values, part.first + begin, begin, end - begin,
                      memory->value_bytes);
    }
    for (uint32_t i = begin + threadIdx.x; i < end; i += SW_CUDA_BLOCK) {
        all.in.ops[part.first + i] = part.ops != NULL ? part.ops[i] : (uint8_t)part.op;
        if (i < part.group_count) {
            uint32_t group_end = part.group_ends != NULL ? part.group_ends[i] : part.count;
            all.in.group_ends[part.first_group + i] = part.first + group_end;
            all.in.group_refused[part.first_group + i] = 0;
        }
    }
}

static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    gather_kernel(const struct arrays all, uint32_t chunks)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        sw_cuda_check_launches(&all.memory, 0, 1);
    }
    for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        gather_chunk(all, chunk);
    }
}

cudaError_t sw_cuda_launch_gather_parts(const struct arrays &all, uint32_t chunks, bool on_device,
                                        cudaStream_t stream)
{
    const uint32_t most = on_device ? GATHER_BLOCKS_DEVICE : GATHER_BLOCKS_MAX;
    const uint32_t blocks = chunks < most ? chunks : most;
    gather_kernel<<<blocks, SW_CUDA_BLOCK, 0, stream>>>(all, chunks);
    return cudaGetLastError();
}

cudaError_t sw_cuda_load_gather_parts(void)
{
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, gather_kernel);
}
