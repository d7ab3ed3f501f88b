/* SPDX-License-Identifier: MIT
 *
 * look_up.cuh - looks keys up, one thread per key, and copies values out by whole warps. For
 * kernels that do not write keys, values and digests. Exceptions: they may clear digests and raise
 * scores, each by an atomic on one word (M6).
 *
 * A file that includes this has tiles of one lane.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_LOOK_UP_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_LOOK_UP_CUH

#define SW_CACHE_LANES 1
#include "table/cache/bucket.inl"
#include "table/cache/cuda/launch.cuh"

/* The slot of a key, or SW_CACHE_NOWHERE. */
static __device__ __forceinline__ uint64_t sw_cache_find_one(
    const struct sw_cache_slots *slots, const struct sw_cache_candidates *candidates, uint64_t key)
{
    struct sw_cache_tile alone = {0, 0, 0};
    uint64_t bucket = candidates->first;
    struct sw_cache_line line = sw_cache_read_line(alone, slots->digests, bucket);
    uint32_t at = sw_cache_seek(alone, slots, bucket, &line, candidates->digest, key);
    if (slots->two && at == SW_CACHE_NONE) {
        bucket = candidates->second;
        line = sw_cache_read_line(alone, slots->digests, bucket);
        at = sw_cache_seek(alone, slots, bucket, &line, candidates->digest, key);
    }
    return at == SW_CACHE_NONE ? SW_CACHE_NOWHERE : bucket * SW_CACHE_BUCKET_SLOTS + at;
}

/* Erases the entry at `slot`; several threads may do so at once. Returns true in exactly one of
 * them: the atomic that clears the digest decides (M6). */
static __device__ __forceinline__ bool sw_cache_clear_digest(const struct sw_cache_slots *slots,
                                                             uint64_t slot)
{
    uint32_t digest = 0xffU << (8 * (slot % 4));
    return (atomicAnd((uint32_t *)(slots->digests + slot / 4 * 4), ~digest) & digest) != 0;
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
                part[u] = __ldcs((const T *)sw_cache_value_at(slots, from) + (at - owner * units));
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

/* Counts a use of the entry at `slot`, concurrently with other uses; returns the new score. The
 * score is one word, raised by atomics (M6). */
static __device__ __forceinline__ uint64_t sw_cache_touch(const struct sw_cache_slots *slots,
                                                          const struct sw_cache_time *time,
                                                          uint64_t index, uint64_t given,
                                                          uint64_t slot)
{
    unsigned long long *score = (unsigned long long *)&sw_cache_entry_at(slots, slot)->score;
    if (slots->policy == SW_CACHE_LRU || slots->policy == SW_CACHE_EPOCH_LRU) {
        unsigned long long fresh = sw_cache_score_new(slots->policy, time, index, given);
        unsigned long long old = atomicMax(score, fresh);
        return old > fresh ? old : fresh;
    }
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
