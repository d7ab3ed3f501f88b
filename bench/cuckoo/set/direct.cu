/* SPDX-License-Identifier: MIT
 *
 * direct.cu - inserts by exchanges in device memory, a few keys of a thread at once.
 */
#include "bench/cuckoo/set/launch.cuh"

/* One block a multiprocessor is enough: without saying so the compiler keeps few registers, and
 * waits for an exchange before it sends the next. */
#define BOUNDS __launch_bounds__(SW_CSET_BLOCK, 1)

static unsigned blocks_for(uint64_t count, uint64_t per_block)
{
    return (unsigned)((count + per_block - 1) / per_block);
}

/* --- a batch ---------------------------------------------------------------------------------- */

template <int FUNCTIONS, int KEYS, int BLOCK>
static __global__ void __launch_bounds__(BLOCK, 1) put_kernel(const sw_cset_put put)
{
    uint64_t base = (uint64_t)blockIdx.x * (BLOCK * KEYS) + threadIdx.x;
    struct sw_cuckoo_cell_k32 carried[KEYS];
    uint32_t live = 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = base + (uint64_t)k * BLOCK;
        if (i < put.count) {
            carried[k].key = __ldcs(put.keys + i);
            live |= 1U << k;
        }
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        if ((live >> k & 1) != 0 && carried[k].key == SW_CSET_EMPTY) {
            put.control->has_ones = 1;
            live &= ~(1U << k);
        }
    }
    live = sw_cuckoo_insert_from_k32(&put.view, carried, live, 0, KEYS, FUNCTIONS);
    sw_cset_keep_left<KEYS>(put, carried, live);
}

template <int FUNCTIONS, int KEYS, int BLOCK>
static cudaError_t put_keys(const sw_cset_put &put, cudaStream_t stream)
{
    put_kernel<FUNCTIONS, KEYS, BLOCK>
        <<<blocks_for(put.count, BLOCK * KEYS), BLOCK, 0, stream>>>(put);
    return cudaGetLastError();
}

template <int FUNCTIONS>
static cudaError_t put_in_flight(const sw_cset_put &put, uint32_t keys, uint32_t block,
                                 cudaStream_t stream)
{
    switch (block) {
    case 64:
        return put_keys<FUNCTIONS, 4, 64>(put, stream);
    case 128:
        return put_keys<FUNCTIONS, 4, 128>(put, stream);
    case 512:
        return put_keys<FUNCTIONS, 4, 512>(put, stream);
    case 1024:
        return put_keys<FUNCTIONS, 4, 1024>(put, stream);
    default:
        break;
    }
    switch (keys) {
    case 1:
        return put_keys<FUNCTIONS, 1, SW_CSET_BLOCK>(put, stream);
    case 2:
        return put_keys<FUNCTIONS, 2, SW_CSET_BLOCK>(put, stream);
    case 8:
        return put_keys<FUNCTIONS, 8, SW_CSET_BLOCK>(put, stream);
    default:
        return put_keys<FUNCTIONS, 4, SW_CSET_BLOCK>(put, stream);
    }
}

cudaError_t sw_cset_put_direct(const sw_cset_put &put, uint32_t in_flight, uint32_t block,
                               cudaStream_t stream)
{
    if (put.count == 0) {
        return cudaSuccess;
    }
    return put.view.shape.functions == 2 ? put_in_flight<2>(put, in_flight, block, stream)
                                         : put_in_flight<3>(put, in_flight, block, stream);
}

/* --- a list ----------------------------------------------------------------------------------- */

static __global__ void BOUNDS list_kernel(const sw_cset_put put, const uint32_t *list,
                                          const unsigned long long *length)
{
    uint64_t count = *length;
    uint64_t stride = (uint64_t)gridDim.x * SW_CSET_BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * SW_CSET_BLOCK + threadIdx.x; i < count; i += stride) {
        struct sw_cuckoo_cell_k32 carried = {list[i]};
        uint32_t live =
            sw_cuckoo_insert_from_k32(&put.view, &carried, 1, 0, 1, put.view.shape.functions);
        sw_cset_keep_left<1>(put, &carried, live);
    }
}

cudaError_t sw_cset_put_list(const sw_cset_put &put, const uint32_t *list,
                             const unsigned long long *length, cudaStream_t stream)
{
    list_kernel<<<SW_CSET_FEW_BLOCKS, SW_CSET_BLOCK, 0, stream>>>(put, list, length);
    return cudaGetLastError();
}

/* --- a rehash --------------------------------------------------------------------------------- */

#define MOVE_KEYS 4

static __global__ void BOUNDS move_kernel(const sw_cset_put put, const uint32_t *from,
                                          uint64_t cells)
{
    uint64_t base = (uint64_t)blockIdx.x * (SW_CSET_BLOCK * MOVE_KEYS) + threadIdx.x;
    struct sw_cuckoo_cell_k32 carried[MOVE_KEYS];
    uint32_t live = 0;
    if (*(volatile unsigned int *)&put.control->failed != 0) {
        return; /* these seeds will not do: the rest would be for nothing */
    }
#pragma unroll
    for (int k = 0; k < MOVE_KEYS; k++) {
        uint64_t i = base + (uint64_t)k * SW_CSET_BLOCK;
        if (i < cells) {
            carried[k].key = __ldcg(from + i);
            live |= carried[k].key == SW_CSET_EMPTY ? 0 : 1U << k;
        }
    }
    live =
        sw_cuckoo_insert_from_k32(&put.view, carried, live, 0, MOVE_KEYS, put.view.shape.functions);
    if (live != 0) {
        *(volatile unsigned int *)&put.control->failed = 1;
    }
}

cudaError_t sw_cset_move_cells(const sw_cset_put &put, const uint32_t *from, uint64_t cells,
                               cudaStream_t stream)
{
    if (cells == 0) {
        return cudaSuccess;
    }
    move_kernel<<<blocks_for(cells, SW_CSET_BLOCK * MOVE_KEYS), SW_CSET_BLOCK, 0, stream>>>(
        put, from, cells);
    return cudaGetLastError();
}
