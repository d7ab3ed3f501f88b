/* SPDX-License-Identifier: MIT
 *
 * write_ceiling.cu - measures the memory accesses of an insert_or_assign: a kernel makes all of
 * them without any decision. Its input is the bucket of each key, in order, which a cache must
 * compute first.
 */
#include "bench/cache/place.h"

#include <algorithm>

#include "bench/study/device.cuh"
#include "bench/study/report.h"

#define BLOCK 256
#define OPS (1U << 20)
#define BUCKET_SLOTS 128
#define VALUE_UNITS 16 /* 16-byte units of a value: 64 floats */
#define FRESH_TENTHS 4
#define IN_FLIGHT 4

struct memory {
    uint4 *digests;      /* [buckets][8] */
    ulonglong2 *entries; /* [slots]: key and score */
    uint4 *values;       /* [slots][VALUE_UNITS] */
    uint4 *given;        /* [OPS][VALUE_UNITS] */
    uint64_t slots;
};

/* Makes the kernel wait for the word that it read. Returns 0, because no hash has this value. */
static __device__ __forceinline__ uint64_t nothing(uint64_t word)
{
    return word == 0x5348455257434549ULL ? 1 : 0;
}

/* Returns the slot of operation i, and whether its key is absent. */
static __device__ uint64_t slot_of(const struct memory *memory, uint32_t i, bool *fresh)
{
    uint64_t hash = (i + 1) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ULL;
    *fresh = (hash >> 40) % 10 < FRESH_TENTHS;
    uint64_t bucket = (uint64_t)i * (memory->slots / BUCKET_SLOTS) / OPS;
    return bucket * BUCKET_SLOTS + (hash >> 20) % BUCKET_SLOTS;
}

/* Reads what a look-up reads: the digests of the bucket, and for a present key its entry. */
static __device__ uint64_t look_up(const struct memory *memory, uint64_t slot, bool fresh)
{
    uint32_t seen = 0;
#pragma unroll
    for (uint32_t k = 0; k < BUCKET_SLOTS / 16; k++) {
        uint4 digests = memory->digests[slot / BUCKET_SLOTS * (BUCKET_SLOTS / 16) + k];
        seen ^= digests.x ^ digests.y ^ digests.z ^ digests.w;
    }
    slot += nothing(seen | 1ULL << 32);
    return fresh ? slot : slot + nothing(__ldcg(&memory->entries[slot].x));
}

static __global__ void __launch_bounds__(BLOCK, 4) write_kernel(const struct memory memory)
{
    uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    uint32_t lane = threadIdx.x % 32;
    bool fresh;
    uint64_t slot = slot_of(&memory, i, &fresh);
    slot = look_up(&memory, slot, fresh);
    memory.entries[slot] = make_ulonglong2(slot, i);
    if (fresh) {
        ((uint8_t *)memory.digests)[slot] = (uint8_t)(i | 1);
    }
    uint32_t from = i * 0x9e3779b1U % OPS; /* keys come in any order */
    for (uint32_t first = 0; first < VALUE_UNITS; first += IN_FLIGHT) {
        uint4 part[IN_FLIGHT];
#pragma unroll
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            uint32_t at = (first + u) * 32 + lane;
            uint64_t value = __shfl_sync(0xffffffffU, from, (int)(at / VALUE_UNITS));
            part[u] = __ldcg(memory.given + value * VALUE_UNITS + at % VALUE_UNITS);
        }
#pragma unroll
        for (uint32_t u = 0; u < IN_FLIGHT; u++) {
            uint32_t at = (first + u) * 32 + lane;
            uint64_t value = __shfl_sync(0xffffffffU, slot, (int)(at / VALUE_UNITS));
            __stcs(memory.values + value * VALUE_UNITS + at % VALUE_UNITS, part[u]);
        }
    }
}

static bool time_all(const struct memory *memory, double *seconds)
{
    double taken[SW_CACHEBENCH_CEILING_REPS + 1]; /* the first repetition warms up */
    for (double &rep : taken) {
        auto launch = [&] {
            write_kernel<<<OPS / BLOCK, BLOCK>>>(*memory);
            return cudaGetLastError();
        };
        if (!sw_study_time(launch, "the ceiling of writes", &rep)) {
            return false;
        }
    }
    *seconds = sw_study_median(taken + 1, SW_CACHEBENCH_CEILING_REPS);
    return true;
}

bool sw_cachebench_write_ceiling(uint64_t slots, struct sw_cachebench_ceiling *ceiling)
{
    struct memory memory = {};
    memory.slots = slots;
    uint64_t digests = slots / sizeof(uint4);
    uint64_t values = slots * VALUE_UNITS;
    uint64_t units = digests + slots + values + (uint64_t)OPS * VALUE_UNITS;
    if (!sw_study_ok(cudaMalloc(&memory.values, units * sizeof(uint4)), "cudaMalloc")) {
        return false;
    }
    memory.given = memory.values + values;
    memory.entries = (ulonglong2 *)(memory.given + (uint64_t)OPS * VALUE_UNITS);
    memory.digests = (uint4 *)(memory.entries + slots);
    ceiling->name = "insert_or_assign_dim64";
    ceiling->bytes = units * sizeof(uint4);
    ceiling->lines = OPS;
    uint64_t buckets = std::min<uint64_t>(slots / BUCKET_SLOTS, OPS);
    ceiling->moved = buckets * BUCKET_SLOTS +
                     (uint64_t)OPS * (2 * VALUE_UNITS * sizeof(uint4) + sizeof(ulonglong2)) +
                     (uint64_t)OPS * (10 - FRESH_TENTHS) / 10 * sizeof(uint64_t);
    bool done = sw_study_ok(cudaMemset(memory.values, 0, ceiling->bytes), "cudaMemset") &&
                time_all(&memory, &ceiling->seconds);
    (void)cudaFree(memory.values);
    return done;
}
