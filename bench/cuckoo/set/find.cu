/* SPDX-License-Identifier: MIT
 *
 * find.cu - look-ups, a few keys of a thread at once.
 */
#include "bench/cuckoo/set/launch.cuh"

/* Lane l of a warp takes keys l, l + BLOCK, .. of its block's: loads of keys are whole lines, and a
 * ballot is a word of `found`. */
template <int FUNCTIONS, int KEYS, bool TOGETHER, int BLOCK>
static __global__ void __launch_bounds__(BLOCK, 1) ask_kernel(const sw_cset_ask ask)
{
    uint64_t base = (uint64_t)blockIdx.x * (BLOCK * KEYS) + threadIdx.x;
    uint32_t keys[KEYS];
    uint32_t wanted = 0;
    uint32_t ones = 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = base + (uint64_t)k * BLOCK;
        keys[k] = SW_CSET_EMPTY;
        if (i < ask.count) {
            keys[k] = __ldcs(ask.keys + i);
            ones |= keys[k] == SW_CSET_EMPTY ? 1U << k : 0;
        }
        wanted |= keys[k] == SW_CSET_EMPTY ? 0 : 1U << k;
    }
    uint32_t found = TOGETHER ? sw_cset_look_up_together(&ask.view, keys, wanted, KEYS, FUNCTIONS)
                              : sw_cset_look_up(&ask.view, keys, wanted, KEYS, FUNCTIONS);
    found |= ones != 0 && ask.control->has_ones != 0 ? ones : 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = base + (uint64_t)k * BLOCK;
        uint32_t word = __ballot_sync(0xffffffffU, (found >> k & 1) != 0);
        if (threadIdx.x % 32 == 0 && i < ask.count) {
            __stcs(ask.found + i / 32, word);
        }
    }
}

template <int FUNCTIONS, int KEYS, bool TOGETHER, int BLOCK>
static cudaError_t ask_keys(const sw_cset_ask &ask, cudaStream_t stream)
{
    uint64_t blocks = (ask.count + BLOCK * KEYS - 1) / (BLOCK * KEYS);
    ask_kernel<FUNCTIONS, KEYS, TOGETHER, BLOCK><<<(unsigned)blocks, BLOCK, 0, stream>>>(ask);
    return cudaGetLastError();
}

template <int FUNCTIONS, bool TOGETHER>
static cudaError_t ask_in_flight(const sw_cset_ask &ask, uint32_t keys, uint32_t block,
                                 cudaStream_t stream)
{
    switch (block) {
    case 64:
        return ask_keys<FUNCTIONS, 4, TOGETHER, 64>(ask, stream);
    case 128:
        return ask_keys<FUNCTIONS, 4, TOGETHER, 128>(ask, stream);
    case 512:
        return ask_keys<FUNCTIONS, 4, TOGETHER, 512>(ask, stream);
    case 1024:
        return ask_keys<FUNCTIONS, 4, TOGETHER, 1024>(ask, stream);
    default:
        break;
    }
    switch (keys) {
    case 1:
        return ask_keys<FUNCTIONS, 1, TOGETHER, SW_CSET_BLOCK>(ask, stream);
    case 2:
        return ask_keys<FUNCTIONS, 2, TOGETHER, SW_CSET_BLOCK>(ask, stream);
    case 8:
        return ask_keys<FUNCTIONS, 8, TOGETHER, SW_CSET_BLOCK>(ask, stream);
    default:
        return ask_keys<FUNCTIONS, 4, TOGETHER, SW_CSET_BLOCK>(ask, stream);
    }
}

cudaError_t sw_cset_ask_all(const sw_cset_ask &ask, uint32_t in_flight, uint32_t block,
                            bool together, cudaStream_t stream)
{
    if (ask.count == 0) {
        return cudaSuccess;
    }
    if (ask.view.shape.functions == 2) {
        return together ? ask_in_flight<2, true>(ask, in_flight, block, stream)
                        : ask_in_flight<2, false>(ask, in_flight, block, stream);
    }
    return together ? ask_in_flight<3, true>(ask, in_flight, block, stream)
                    : ask_in_flight<3, false>(ask, in_flight, block, stream);
}
