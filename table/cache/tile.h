/* SPDX-License-Identifier: MIT
 *
 * tile.h - a tile: the lanes that execute one operation together. A tile has 8 lanes on CUDA (1 if
 * a file defines it so before including this), 1 on the CPU.
 *
 * bucket.inl and operate.inl are written for tiles, so one source serves CPU and CUDA. Each lane
 * has SW_CACHE_CHUNKS chunks of 16 slots of a bucket: chunk c of lane l begins at slot 16 * (c *
 * SW_CACHE_LANES + l).
 *
 * Threads: on CUDA every lane of a tile calls each of these functions together.
 */
#ifndef SHERWOOD_TABLE_CACHE_TILE_H
#define SHERWOOD_TABLE_CACHE_TILE_H

#include <string.h>

#include "table/cache/slots.h"

#ifdef __CUDACC__
#define SW_CACHE_FN static __device__ __forceinline__
#define SW_CACHE_SLOW static __device__ __noinline__
#define SW_CACHE_UNROLL _Pragma("unroll")
#ifndef SW_CACHE_LANES
#define SW_CACHE_LANES 8
#endif
#else
#define SW_CACHE_FN static inline
#define SW_CACHE_SLOW static
#define SW_CACHE_UNROLL
#define SW_CACHE_LANES 1
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#endif

#define SW_CACHE_CHUNKS (8 / SW_CACHE_LANES)
#define SW_CACHE_CHUNK_SLOTS 16

struct sw_cache_tile {
    uint32_t lane;  /* of this thread in its tile */
    uint32_t mask;  /* CUDA: the tile's lanes in the warp */
    uint32_t shift; /* CUDA: its first lane in the warp */
};

#if SW_CACHE_LANES > 1

/* Loads data that other multiprocessors may have written: bypasses L1, which is not coherent. The
 * bucket's lock (M5) or earlier kernels (M1) provide the order. */
#ifndef SW_CACHE_LOAD
#define SW_CACHE_LOAD(pointer) __ldcg(pointer)
#endif

/* Returns a word whose bit l is the predicate of lane l. */
SW_CACHE_FN uint32_t sw_cache_ballot(struct sw_cache_tile g, bool predicate)
{
    return (__ballot_sync(g.mask, predicate) >> g.shift) & ((1U << SW_CACHE_LANES) - 1);
}

SW_CACHE_FN uint32_t sw_cache_from(struct sw_cache_tile g, uint32_t value, uint32_t lane)
{
    return __shfl_sync(g.mask, value, (int)lane, SW_CACHE_LANES);
}

SW_CACHE_FN uint32_t sw_cache_add(struct sw_cache_tile g, uint32_t value)
{
    SW_CACHE_UNROLL
    for (int step = SW_CACHE_LANES / 2; step > 0; step /= 2) {
        value += __shfl_xor_sync(g.mask, value, step, SW_CACHE_LANES);
    }
    return value;
}

SW_CACHE_FN uint32_t sw_cache_min(struct sw_cache_tile g, uint32_t value)
{
    SW_CACHE_UNROLL
    for (int step = SW_CACHE_LANES / 2; step > 0; step /= 2) {
        value = min(value, __shfl_xor_sync(g.mask, value, step, SW_CACHE_LANES));
    }
    return value;
}

SW_CACHE_FN uint64_t sw_cache_min_wide(struct sw_cache_tile g, uint64_t value)
{
    SW_CACHE_UNROLL
    for (int step = SW_CACHE_LANES / 2; step > 0; step /= 2) {
        uint64_t other = __shfl_xor_sync(g.mask, value, step, SW_CACHE_LANES);
        value = other < value ? other : value;
    }
    return value;
}

/* M3: after this call each lane sees what the other lanes wrote before it. */
SW_CACHE_FN void sw_cache_join(struct sw_cache_tile g)
{
    __syncwarp(g.mask);
}

#else

#ifndef SW_CACHE_LOAD
#define SW_CACHE_LOAD(pointer) (*(pointer))
#endif

SW_CACHE_FN uint32_t sw_cache_ballot(struct sw_cache_tile g, bool predicate)
{
    (void)g;
    return predicate;
}

SW_CACHE_FN uint32_t sw_cache_from(struct sw_cache_tile g, uint32_t value, uint32_t lane)
{
    (void)g;
    (void)lane;
    return value;
}

SW_CACHE_FN uint32_t sw_cache_add(struct sw_cache_tile g, uint32_t value)
{
    (void)g;
    return value;
}

SW_CACHE_FN uint32_t sw_cache_min(struct sw_cache_tile g, uint32_t value)
{
    (void)g;
    return value;
}

SW_CACHE_FN uint64_t sw_cache_min_wide(struct sw_cache_tile g, uint64_t value)
{
    (void)g;
    return value;
}

SW_CACHE_FN void sw_cache_join(struct sw_cache_tile g)
{
    (void)g;
}

#endif

SW_CACHE_FN uint32_t sw_cache_first_bit(uint32_t bits)
{
#ifdef __CUDACC__
    return (uint32_t)__ffs((int)bits) - 1;
#else
    return (uint32_t)__builtin_ctz(bits);
#endif
}

SW_CACHE_FN uint32_t sw_cache_bits(uint32_t bits)
{
#ifdef __CUDACC__
    return (uint32_t)__popc(bits);
#else
    return (uint32_t)__builtin_popcount(bits);
#endif
}

#ifdef __CUDACC__
/* Returns the tile of the calling thread. */
SW_CACHE_FN struct sw_cache_tile sw_cache_my_tile(void)
{
    struct sw_cache_tile g;
    uint32_t lane = threadIdx.x % 32;
    g.lane = lane % SW_CACHE_LANES;
    g.shift = lane - g.lane;
    g.mask = ((1U << SW_CACHE_LANES) - 1) << g.shift;
    return g;
}
#endif

/* 16 bytes of a line: one byte a slot. */
struct sw_cache_chunk {
    uint32_t word[4];
};

/* A lane's part of a bucket's line of bytes. */
struct sw_cache_line {
    struct sw_cache_chunk chunk[SW_CACHE_CHUNKS];
};

/* Returns the first slot of a lane's chunk. */
SW_CACHE_FN uint32_t sw_cache_chunk_slot(struct sw_cache_tile g, uint32_t chunk)
{
    return SW_CACHE_CHUNK_SLOTS * (chunk * SW_CACHE_LANES + g.lane);
}

SW_CACHE_FN struct sw_cache_line sw_cache_read_line(struct sw_cache_tile g, const uint8_t *bytes,
                                                    uint64_t bucket)
{
    const uint8_t *line = bytes + bucket * SW_CACHE_BUCKET_SLOTS;
    struct sw_cache_line read;
    SW_CACHE_UNROLL
    for (uint32_t c = 0; c < SW_CACHE_CHUNKS; c++) {
#ifdef __CUDACC__
        uint4 words = SW_CACHE_LOAD((const uint4 *)(line + sw_cache_chunk_slot(g, c)));
        read.chunk[c].word[0] = words.x;
        read.chunk[c].word[1] = words.y;
        read.chunk[c].word[2] = words.z;
        read.chunk[c].word[3] = words.w;
#else
        memcpy(&read.chunk[c], line + sw_cache_chunk_slot(g, c), sizeof(read.chunk[c]));
#endif
    }
    return read;
}

#ifdef __CUDACC__
/* Returns `bits`, shifted to the left by 16. Bit i of the low 16 bits is 1 if byte i of the chunk
 * is `byte`. */
SW_CACHE_FN uint32_t sw_cache_append_equal(uint32_t bits, const struct sw_cache_chunk *chunk,
                                           uint32_t byte)
{
    SW_CACHE_UNROLL
    for (int w = 3; w >= 0; w--) {
        uint32_t differ = chunk->word[w] ^ (byte * 0x01010101U);
        /* bit 7 of each byte that is 0: no carry leaves a byte */
        uint32_t zeros = ~(((differ & 0x7f7f7f7fU) + 0x7f7f7f7fU) | differ) & 0x80808080U;
        /* the multiplication moves the four bits to the top; the shift appends them to `bits` */
        bits = __funnelshift_l(zeros * 0x00204081U, bits, 4);
    }
    return bits;
}
#endif

/* Returns a word whose bit i is 1 if byte i of the chunk is `byte`. */
SW_CACHE_FN uint32_t sw_cache_equal(const struct sw_cache_chunk *chunk, uint32_t byte)
{
#if defined(__CUDACC__)
    return sw_cache_append_equal(0, chunk, byte);
#elif defined(__SSE2__)
    __m128i bytes;
    memcpy(&bytes, chunk, sizeof(bytes));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte)));
#else
    uint32_t bits = 0;
    for (uint32_t i = 0; i < SW_CACHE_CHUNK_SLOTS; i++) {
        bits |= (uint32_t)((chunk->word[i / 4] >> (8 * (i % 4)) & 0xff) == byte) << i;
    }
    return bits;
#endif
}

/* A set of a lane's slots, in slot order. */
struct sw_cache_set {
    uint32_t word[(SW_CACHE_CHUNKS + 1) / 2];
};

/* Returns the set of the slots whose byte equals `byte`. */
SW_CACHE_FN struct sw_cache_set sw_cache_match(const struct sw_cache_line *line, uint32_t byte)
{
    struct sw_cache_set set = {{0}};
    SW_CACHE_UNROLL
    for (int c = SW_CACHE_CHUNKS - 1; c >= 0; c--) {
#ifdef __CUDACC__
        set.word[c / 2] = sw_cache_append_equal(set.word[c / 2], &line->chunk[c], byte);
#else
        set.word[c / 2] |= sw_cache_equal(&line->chunk[c], byte) << (16 * (c % 2));
#endif
    }
    return set;
}

SW_CACHE_FN bool sw_cache_any(const struct sw_cache_set *set)
{
    uint32_t any = 0;
    SW_CACHE_UNROLL
    for (uint32_t w = 0; w < (SW_CACHE_CHUNKS + 1) / 2; w++) {
        any |= set->word[w];
    }
    return any != 0;
}

SW_CACHE_FN uint32_t sw_cache_count(const struct sw_cache_set *set)
{
    uint32_t count = 0;
    SW_CACHE_UNROLL
    for (uint32_t w = 0; w < (SW_CACHE_CHUNKS + 1) / 2; w++) {
        count += sw_cache_bits(set->word[w]);
    }
    return count;
}

/* Removes the first slot of a set that is not empty. Returns its number in the bucket. */
SW_CACHE_FN uint32_t sw_cache_take(struct sw_cache_tile g, struct sw_cache_set *set)
{
    uint32_t at = 0;
    bool taken = false;
    SW_CACHE_UNROLL
    for (uint32_t w = 0; w < (SW_CACHE_CHUNKS + 1) / 2; w++) {
        uint32_t word = set->word[w];
        bool here = !taken && word != 0;
        at = here ? 32 * w + sw_cache_first_bit(word) : at;
        set->word[w] = here ? word & (word - 1) : word;
        taken = taken || here;
    }
    return SW_CACHE_CHUNK_SLOTS * SW_CACHE_CHUNKS * g.lane + at;
}

SW_CACHE_FN uint32_t sw_cache_byte(const struct sw_cache_chunk *chunk, uint32_t i)
{
    return chunk->word[i / 4] >> (8 * (i % 4)) & 0xff;
}

/* Sets byte i, which must be 0. */
SW_CACHE_FN void sw_cache_set_byte(struct sw_cache_chunk *chunk, uint32_t i, uint32_t byte)
{
    chunk->word[i / 4] |= byte << (8 * (i % 4));
}

#endif
