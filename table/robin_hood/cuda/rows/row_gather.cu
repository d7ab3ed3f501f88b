/* SPDX-License-Identifier: MIT
 *
 * row_gather.cu - packs the rows of a list of row numbers, for images.
 */
#include "table/robin_hood/cuda/rows/row_move.cuh"

/* A warp copies 32 rows at a time. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    gather_kernel(const struct sw_cuda_rows rows, const uint8_t *numbers, uint32_t step,
                  uint64_t count, uint8_t *to)
{
    typedef typename sw_width<BITS>::word word;
    __shared__ struct row_transfer transfers[SW_CUDA_BLOCK / 32][32];
    struct row_transfer *own = transfers[threadIdx.x / 32];
    const uint32_t bytes = rows.value_bytes;
    const uint32_t unit = row_unit((uintptr_t)to | bytes);
    const uint64_t all = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    for (uint64_t first = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x / 32 * 32;
         first < count; first += all) {
        const uint64_t i = first + threadIdx.x % 32;
        if (i < count) {
            own[threadIdx.x % 32] = {row_at(rows, *(const word *)(numbers + i * step)),
                                     to + i * bytes};
        }
        __syncwarp(); /* M3: all lanes have stored their part of the list */
        row_copy(own, count - first < 32 ? (uint32_t)(count - first) : 32, bytes, unit);
        __syncwarp(); /* M3: all lanes have read the list */
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_row_gather(const struct sw_cuda_rows *rows, const void *numbers,
                                      uint32_t step, uint64_t count, uint8_t *to,
                                      cudaStream_t stream)
{
    const uint64_t wanted = count / SW_CUDA_BLOCK + 1;
    const uint32_t blocks = wanted < SW_CUDA_FEW_BLOCKS ? (uint32_t)wanted : SW_CUDA_FEW_BLOCKS;
    gather_kernel<BITS>
        <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*rows, (const uint8_t *)numbers, step, count, to);
    return cudaGetLastError();
}

template <int BITS> cudaError_t sw_cuda_load_row_gather(void)
{
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, gather_kernel<BITS>);
}

#define INSTANTIATE(BITS, ...)                                                                   \
    template cudaError_t sw_cuda_launch_row_gather<BITS>(                                        \
        const struct sw_cuda_rows *, const void *, uint32_t, uint64_t, uint8_t *, cudaStream_t); \
    template cudaError_t sw_cuda_load_row_gather<BITS>(void);
SW_WIDTHS(INSTANTIATE)
