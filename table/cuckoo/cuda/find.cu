/* SPDX-License-Identifier: MIT
 *
 * find.cu - look-ups, a few keys of a thread at once.
 */
#include "table/cuckoo/cuda/launch.cuh"

/* Lane l of a warp takes keys l, l + 256, .. of its block's: loads of keys are whole lines, and a
 * ballot is a word of `found`. */
template <int BITS, int FUNCTIONS, bool FIRST, int KEYS, bool TOGETHER>
static __global__ void __launch_bounds__(SW_CUCKOO_BLOCK, 1)
    ask_kernel(const sw_cuckoo_ask<BITS> ask)
{
    typedef sw_cuckoo_kind<BITS> kind;
    uint64_t base = (uint64_t)blockIdx.x * (SW_CUCKOO_BLOCK * KEYS) + threadIdx.x;
    typename kind::word keys[KEYS];
    typename kind::cell cells[KEYS];
    uint32_t wanted = 0;
    uint32_t found = 0;
    uint32_t sides = 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = base + (uint64_t)k * SW_CUCKOO_BLOCK;
        keys[k] = kind::ones;
        if (i < ask.count) {
            keys[k] = __ldcs(ask.keys + i);
            sides |= keys[k] == kind::ones ? 1U << k : 0;
        }
        wanted |= keys[k] == kind::ones ? 0 : 1U << k;
    }
    if (TOGETHER) {
        found = kind::look_up_together(&ask.view, keys, wanted, cells, KEYS, FUNCTIONS, FIRST);
    } else {
        found = kind::look_up(&ask.view, keys, wanted, cells, NULL, KEYS, FUNCTIONS, FIRST);
    }
    if (sides != 0 && ask.side->present != 0) {
        found |= sides;
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            if ((sides >> k & 1) != 0) {
                cells[k] = kind::cell_of(kind::ones, (typename kind::word)ask.side->value);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = base + (uint64_t)k * SW_CUCKOO_BLOCK;
        bool hit = (found >> k & 1) != 0;
        uint32_t word = __ballot_sync(0xffffffffU, hit);
        if (threadIdx.x % 32 == 0 && i < ask.count) {
            __stcs(ask.found + i / 32, word);
        }
        if (ask.values != NULL && i < ask.count) {
            __stcs(ask.values + i, hit ? kind::value_of(cells[k]) : (typename kind::word)0);
        }
    }
}

template <int BITS, int FUNCTIONS, bool FIRST, int KEYS, bool TOGETHER>
static cudaError_t ask_keys(const sw_cuckoo_ask<BITS> &ask, cudaStream_t stream)
{
    uint64_t blocks = (ask.count + SW_CUCKOO_BLOCK * KEYS - 1) / (SW_CUCKOO_BLOCK * KEYS);
    ask_kernel<BITS, FUNCTIONS, FIRST, KEYS, TOGETHER>
        <<<(unsigned)blocks, SW_CUCKOO_BLOCK, 0, stream>>>(ask);
    return cudaGetLastError();
}

template <int FUNCTIONS, bool FIRST, bool TOGETHER>
static cudaError_t ask_set(const sw_cuckoo_ask<32> &ask, uint32_t keys, cudaStream_t stream)
{
    switch (keys) {
    case 1:
        return ask_keys<32, FUNCTIONS, FIRST, 1, TOGETHER>(ask, stream);
    case 2:
        return ask_keys<32, FUNCTIONS, FIRST, 2, TOGETHER>(ask, stream);
    case 8:
        return ask_keys<32, FUNCTIONS, FIRST, 8, TOGETHER>(ask, stream);
    default:
        return ask_keys<32, FUNCTIONS, FIRST, 4, TOGETHER>(ask, stream);
    }
}

template <int BITS, int FUNCTIONS, bool FIRST>
static cudaError_t ask_in_flight(const sw_cuckoo_ask<BITS> &ask, uint32_t keys, bool together,
                                 cudaStream_t stream)
{
    if constexpr (BITS == 32) {
        return together ? ask_set<FUNCTIONS, FIRST, true>(ask, keys, stream)
                        : ask_set<FUNCTIONS, FIRST, false>(ask, keys, stream);
    } else {
        (void)keys;
        (void)together;
        return ask_keys < BITS, FUNCTIONS, FIRST, BITS == 64 ? 4 : 2, false > (ask, stream);
    }
}

template <int BITS>
cudaError_t sw_cuckoo_ask_all(const sw_cuckoo_ask<BITS> &ask, uint32_t in_flight, bool together,
                              cudaStream_t stream)
{
    const struct sw_cuckoo_shape &shape = ask.view.shape;
    if (ask.count == 0) {
        return cudaSuccess;
    }
    if (shape.functions == 2) {
        return shape.is_first ? ask_in_flight<BITS, 2, true>(ask, in_flight, together, stream)
                              : ask_in_flight<BITS, 2, false>(ask, in_flight, together, stream);
    }
    return shape.is_first ? ask_in_flight<BITS, 3, true>(ask, in_flight, together, stream)
                          : ask_in_flight<BITS, 3, false>(ask, in_flight, together, stream);
}

template cudaError_t sw_cuckoo_ask_all<32>(const sw_cuckoo_ask<32> &, uint32_t, bool, cudaStream_t);
template cudaError_t sw_cuckoo_ask_all<64>(const sw_cuckoo_ask<64> &, uint32_t, bool, cudaStream_t);
template cudaError_t sw_cuckoo_ask_all<128>(const sw_cuckoo_ask<128> &, uint32_t, bool,
                                            cudaStream_t);
