/* SPDX-License-Identifier: MIT
 *
 * look_up.cuh - looking keys up and copying values out, by whole warps. Where nothing writes
 * digests, keys or values; scores may be written, by touches.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_LOOK_UP_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_LOOK_UP_CUH

#include "table/cache/cuda/device.cuh"

/* Keys a group looks up at once. */
#define SW_CACHE_AT_ONCE 4

#define SW_CACHE_NO_TURN 0xffffffffU

/* 16 digests of each of the keys in hand, and the key in the first slot whose digest is equal. */
struct sw_cache_hand {
    uint4 digests[SW_CACHE_AT_ONCE];
    uint64_t keys[SW_CACHE_AT_ONCE];
    uint32_t bucket[SW_CACHE_AT_ONCE];
    uint32_t equal[SW_CACHE_AT_ONCE];
    uint32_t turn[SW_CACHE_AT_ONCE];
};

/* Looks up the keys of the group's lanes in `wanted`, each in its lane's `bucket`. Returns the slot
 * of this lane's key, or `slot` where it is not found or not wanted. All lanes of the warp. */
static __device__ __forceinline__ uint64_t sw_cache_look_up(struct sw_cache_group g,
                                                            const struct sw_cache_slots *slots,
                                                            uint32_t wanted, uint32_t bucket,
                                                            uint32_t digest, uint64_t key,
                                                            uint64_t slot)
{
    struct sw_cache_hand hand;
    while (__any_sync(0xffffffffU, wanted != 0)) {
        SW_CACHE_UNROLL
        for (uint32_t u = 0; u < SW_CACHE_AT_ONCE; u++) {
            hand.turn[u] = wanted != 0 ? sw_cache_first_bit(wanted) : SW_CACHE_NO_TURN;
            wanted &= wanted - 1;
            uint32_t from = hand.turn[u] == SW_CACHE_NO_TURN ? 0 : hand.turn[u];
            hand.bucket[u] = __shfl_sync(0xffffffffU, bucket, (int)from, SW_CACHE_LANES);
            hand.digests[u] = uint4();
            if (hand.turn[u] != SW_CACHE_NO_TURN) {
                hand.digests[u] =
                    __ldg((const uint4 *)(slots->digests +
                                          (uint64_t)hand.bucket[u] * SW_CACHE_BUCKET_SLOTS) +
                          g.lane);
            }
        }
        SW_CACHE_UNROLL
        for (uint32_t u = 0; u < SW_CACHE_AT_ONCE; u++) {
            uint32_t from = hand.turn[u] == SW_CACHE_NO_TURN ? 0 : hand.turn[u];
            uint32_t sought = __shfl_sync(0xffffffffU, digest, (int)from, SW_CACHE_LANES);
            struct sw_cache_chunk chunk = {
                {hand.digests[u].x, hand.digests[u].y, hand.digests[u].z, hand.digests[u].w}};
            hand.equal[u] = hand.turn[u] == SW_CACHE_NO_TURN ? 0 : sw_cache_equal(&chunk, sought);
            const uint64_t *keys = slots->keys + (uint64_t)hand.bucket[u] * SW_CACHE_BUCKET_SLOTS +
                                   SW_CACHE_CHUNK_SLOTS * g.lane;
            hand.keys[u] = 0;
            if (hand.equal[u] != 0) {
                hand.keys[u] = __ldg(keys + sw_cache_first_bit(hand.equal[u]));
            }
        }
        SW_CACHE_UNROLL
        for (uint32_t u = 0; u < SW_CACHE_AT_ONCE; u++) {
            uint32_t from = hand.turn[u] == SW_CACHE_NO_TURN ? 0 : hand.turn[u];
            uint64_t sought = __shfl_sync(0xffffffffU, key, (int)from, SW_CACHE_LANES);
            uint64_t first =
                (uint64_t)hand.bucket[u] * SW_CACHE_BUCKET_SLOTS + SW_CACHE_CHUNK_SLOTS * g.lane;
            uint32_t mine = SW_CACHE_NONE;
            for (uint32_t equal = hand.equal[u]; equal != 0; equal &= equal - 1) {
                uint32_t at = sw_cache_first_bit(equal);
                uint64_t resident =
                    equal == hand.equal[u] ? hand.keys[u] : __ldg(slots->keys + first + at);
                mine = resident == sought ? SW_CACHE_CHUNK_SLOTS * g.lane + at : mine;
            }
            __syncwarp();
            uint32_t lanes = sw_cache_ballot(g, mine != SW_CACHE_NONE);
            mine = sw_cache_from(g, mine, lanes == 0 ? 0 : sw_cache_first_bit(lanes));
            if (lanes != 0 && g.lane == hand.turn[u]) {
                slot = (uint64_t)hand.bucket[u] * SW_CACHE_BUCKET_SLOTS + mine;
            }
        }
    }
    return slot;
}

/* Copies the values at the slots of a warp's lanes to consecutive places, in units of T: each lane
 * takes every 32nd unit of all of them. `out` is where lane 0's value goes. */
template <typename T, bool ZERO>
static __device__ __forceinline__ void
sw_cache_copy_out(const struct sw_cache_slots *slots, uint64_t slot, uint8_t *out, uint32_t lanes)
{
    constexpr uint32_t IN_FLIGHT = 8;
    uint32_t units = slots->value_bytes / (uint32_t)sizeof(T);
    uint32_t power = 31 - (uint32_t)__clz((int)units);
    bool even = (units & (units - 1)) == 0;
    for (uint32_t first = 0; first < units; first += IN_FLIGHT) {
        T part[IN_FLIGHT];
        bool found[IN_FLIGHT];
        SW_CACHE_UNROLL
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            uint32_t at = (first + u) * 32 + threadIdx.x % 32;
            uint32_t owner = even ? at >> power : at / units;
            uint64_t from = __shfl_sync(0xffffffffU, slot, (int)(owner % 32));
            bool here = first + u < units && owner < lanes;
            found[u] = here && (ZERO || from != SW_CACHE_NOWHERE);
            part[u] = T();
            if (found[u] && from != SW_CACHE_NOWHERE) {
                part[u] = __ldcs((const T *)(slots->values + from * slots->value_bytes) +
                                 (at - owner * units));
            }
        }
        SW_CACHE_UNROLL
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            if (found[u]) {
                __stcs((T *)out + (first + u) * 32 + threadIdx.x % 32, part[u]);
            }
        }
    }
}

/* A use of the entry at `slot`, beside other uses; its score then. */
static __device__ __forceinline__ uint64_t sw_cache_touch(const struct sw_cache_slots *slots,
                                                          const struct sw_cache_time *time,
                                                          uint64_t index, uint64_t given,
                                                          uint64_t slot)
{
    unsigned long long *score = (unsigned long long *)slots->scores + slot;
    unsigned long long before = __ldcg(score);
    for (;;) {
        uint64_t after = sw_cache_score_used(slots->policy, time, index, given, before);
        unsigned long long seen = atomicCAS(score, before, (unsigned long long)after);
        if (seen == before) {
            return after;
        }
        before = seen;
    }
}

/* Looks up the key of every lane of a warp whose `valid` is set: its slot, or SW_CACHE_NOWHERE. */
static __device__ __forceinline__ uint64_t sw_cache_find_all(const struct sw_cache_slots *slots,
                                                             const struct sw_cache_home *home,
                                                             uint64_t key, bool valid)
{
    struct sw_cache_group g = sw_cache_my_group();
    uint64_t slot = sw_cache_look_up(g, slots, sw_cache_ballot(g, valid), (uint32_t)home->first,
                                     home->digest, key, SW_CACHE_NOWHERE);
    if (slots->two) {
        uint32_t missing = sw_cache_ballot(g, valid && slot == SW_CACHE_NOWHERE);
        slot = sw_cache_look_up(g, slots, missing, (uint32_t)home->second, home->digest, key, slot);
    }
    return slot;
}

/* Copies the values at the slots of a warp's lanes to consecutive places from `out` on, which is
 * where lane 0's goes. Where a lane has no slot: nothing, or with ZERO zeros, but only of the first
 * `lanes` lanes. */
template <bool ZERO>
static __device__ __forceinline__ void sw_cache_copy_values(const struct sw_cache_slots *slots,
                                                            uint64_t slot, uint8_t *out,
                                                            uint32_t lanes)
{
    if (slots->value_bytes % 16 == 0) {
        sw_cache_copy_out<uint4, ZERO>(slots, slot, out, lanes);
    } else {
        sw_cache_copy_out<uint32_t, ZERO>(slots, slot, out, lanes);
    }
}

#endif
