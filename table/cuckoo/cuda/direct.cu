/* SPDX-License-Identifier: MIT
 *
 * direct.cu - inserts by exchanges in device memory, a few keys of a thread at once.
 */
#include "table/cuckoo/cuda/launch.cuh"

/* One block a multiprocessor is enough: without saying so the compiler keeps few registers, and
 * waits for an exchange before it sends the next. */
#define BOUNDS __launch_bounds__(SW_CUCKOO_BLOCK, 1)

static unsigned blocks_for(uint64_t count, uint64_t per_block)
{
    return (unsigned)((count + per_block - 1) / per_block);
}

template <int BITS, int KEYS>
static __device__ __forceinline__ void keep_left(const sw_cuckoo_put<BITS> &put,
                                                 const typename sw_cuckoo_kind<BITS>::cell *hand,
                                                 uint32_t live)
{
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        if ((live >> k & 1) != 0) {
            sw_cuckoo_append(put.left, &put.control->left, hand[k]);
        }
    }
}

/* --- a batch ---------------------------------------------------------------------------------- */

template <int BITS, int FUNCTIONS, bool FIRST, int KEYS>
static __global__ void BOUNDS put_kernel(const sw_cuckoo_put<BITS> put)
{
    typedef sw_cuckoo_kind<BITS> kind;
    uint64_t base = (uint64_t)blockIdx.x * (SW_CUCKOO_BLOCK * KEYS) + threadIdx.x;
    typename kind::cell hand[KEYS];
    uint32_t live = 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = base + (uint64_t)k * SW_CUCKOO_BLOCK;
        if (i < put.count) {
            typename kind::word value = put.values == NULL ? 0 : __ldcs(put.values + i);
            hand[k] = kind::cell_of(__ldcs(put.keys + i), value);
            live |= 1U << k;
        }
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        if ((live >> k & 1) != 0 && hand[k].key == kind::ones) {
            put.control->side.value = BITS == 32 ? 0 : (uint64_t)kind::value_of(hand[k]);
            put.control->side.present = 1;
            live &= ~(1U << k);
        }
    }
    live = kind::insert_from(&put.view, hand, live, 0, KEYS, FUNCTIONS, FIRST);
    keep_left<BITS, KEYS>(put, hand, live);
}

template <int BITS, int FUNCTIONS, bool FIRST, int KEYS>
static cudaError_t put_keys(const sw_cuckoo_put<BITS> &put, cudaStream_t stream)
{
    put_kernel<BITS, FUNCTIONS, FIRST, KEYS>
        <<<blocks_for(put.count, SW_CUCKOO_BLOCK * KEYS), SW_CUCKOO_BLOCK, 0, stream>>>(put);
    return cudaGetLastError();
}

template <int BITS, int FUNCTIONS, bool FIRST>
static cudaError_t put_in_flight(const sw_cuckoo_put<BITS> &put, uint32_t keys, cudaStream_t stream)
{
    if constexpr (BITS == 32) {
        switch (keys) {
        case 1:
            return put_keys<BITS, FUNCTIONS, FIRST, 1>(put, stream);
        case 2:
            return put_keys<BITS, FUNCTIONS, FIRST, 2>(put, stream);
        case 8:
            return put_keys<BITS, FUNCTIONS, FIRST, 8>(put, stream);
        default:
            return put_keys<BITS, FUNCTIONS, FIRST, 4>(put, stream);
        }
    } else {
        (void)keys;
        return put_keys < BITS, FUNCTIONS, FIRST, BITS == 64 ? 4 : 2 > (put, stream);
    }
}

template <int BITS>
cudaError_t sw_cuckoo_put_direct(const sw_cuckoo_put<BITS> &put, uint32_t in_flight,
                                 cudaStream_t stream)
{
    if (put.count == 0) {
        return cudaSuccess;
    }
    if (put.view.shape.functions == 2) {
        return put.view.shape.is_first ? put_in_flight<BITS, 2, true>(put, in_flight, stream)
                                       : put_in_flight<BITS, 2, false>(put, in_flight, stream);
    }
    return put.view.shape.is_first ? put_in_flight<BITS, 3, true>(put, in_flight, stream)
                                   : put_in_flight<BITS, 3, false>(put, in_flight, stream);
}

/* --- a list ----------------------------------------------------------------------------------- */

template <int BITS>
static __global__ void BOUNDS list_kernel(const sw_cuckoo_put<BITS> put,
                                          const typename sw_cuckoo_kind<BITS>::cell *list,
                                          const unsigned long long *length)
{
    typedef sw_cuckoo_kind<BITS> kind;
    uint64_t count = *length;
    uint64_t stride = (uint64_t)gridDim.x * SW_CUCKOO_BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * SW_CUCKOO_BLOCK + threadIdx.x; i < count;
         i += stride) {
        typename kind::cell hand = list[i];
        uint32_t live =
            kind::insert_from(&put.view, &hand, 1, 0, 1, put.view.shape.functions, false);
        keep_left<BITS, 1>(put, &hand, live);
    }
}

template <int BITS>
cudaError_t sw_cuckoo_put_list(const sw_cuckoo_put<BITS> &put,
                               const typename sw_cuckoo_kind<BITS>::cell *list,
                               const unsigned long long *length, cudaStream_t stream)
{
    list_kernel<BITS><<<SW_CUCKOO_FEW_BLOCKS, SW_CUCKOO_BLOCK, 0, stream>>>(put, list, length);
    return cudaGetLastError();
}

/* --- a rehash --------------------------------------------------------------------------------- */

#define MOVE_KEYS 4

template <int BITS>
static __global__ void BOUNDS move_kernel(const sw_cuckoo_put<BITS> put,
                                          const typename sw_cuckoo_kind<BITS>::cell *from,
                                          uint64_t cells)
{
    typedef sw_cuckoo_kind<BITS> kind;
    uint64_t base = (uint64_t)blockIdx.x * (SW_CUCKOO_BLOCK * MOVE_KEYS) + threadIdx.x;
    typename kind::cell hand[MOVE_KEYS];
    uint32_t live = 0;
    if (*(volatile unsigned int *)&put.control->failed != 0) {
        return; /* these seeds will not do: the rest would be for nothing */
    }
#pragma unroll
    for (int k = 0; k < MOVE_KEYS; k++) {
        uint64_t i = base + (uint64_t)k * SW_CUCKOO_BLOCK;
        if (i < cells) {
            hand[k] = kind::read(from + i);
            live |= hand[k].key == kind::ones ? 0 : 1U << k;
        }
    }
    live = kind::insert_from(&put.view, hand, live, 0, MOVE_KEYS, put.view.shape.functions, false);
    if (live != 0) {
        *(volatile unsigned int *)&put.control->failed = 1;
    }
}

template <int BITS>
cudaError_t sw_cuckoo_move_cells(const sw_cuckoo_put<BITS> &put,
                                 const typename sw_cuckoo_kind<BITS>::cell *from, uint64_t cells,
                                 cudaStream_t stream)
{
    if (cells == 0) {
        return cudaSuccess;
    }
    move_kernel<BITS>
        <<<blocks_for(cells, SW_CUCKOO_BLOCK * MOVE_KEYS), SW_CUCKOO_BLOCK, 0, stream>>>(put, from,
                                                                                         cells);
    return cudaGetLastError();
}

#define INSTANTIATE(bits)                                                                    \
    template cudaError_t sw_cuckoo_put_direct<bits>(const sw_cuckoo_put<bits> &, uint32_t,   \
                                                    cudaStream_t);                           \
    template cudaError_t sw_cuckoo_put_list<bits>(const sw_cuckoo_put<bits> &,               \
                                                  const sw_cuckoo_kind<bits>::cell *,        \
                                                  const unsigned long long *, cudaStream_t); \
    template cudaError_t sw_cuckoo_move_cells<bits>(                                         \
        const sw_cuckoo_put<bits> &, const sw_cuckoo_kind<bits>::cell *, uint64_t, cudaStream_t);
INSTANTIATE(32)
INSTANTIATE(64)
INSTANTIATE(128)
