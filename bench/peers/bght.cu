/* SPDX-License-Identifier: MIT
 *
 * bght.cu - adapter of BGHT: bucketed cuckoo hashing with three hash functions.
 */
#include <math.h>
#include <stdio.h>

#include <bght/bcht.hpp>

#include "bench/peers/adapter.cuh"

/* The two sizes its authors measure most: a bucket of 8 pairs is half a cache line of 128 bytes, a
 * bucket of 16 is a whole one. A tile has one thread for each pair of a bucket. */
#define BUCKET_HALF_LINE 8
#define BUCKET_LINE 16

/* The pair of an empty slot; the value is also what find answers for an absent key. */
#define EMPTY_KEY UINT32_MAX
#define EMPTY_VALUE UINT32_MAX

template <int Bucket>
using bght_map =
    bght::bcht<uint32_t, uint32_t, bght::MurmurHash3_32<uint32_t>, bght::equal_to<uint32_t>,
               cuda::thread_scope_device, bght::cuda_allocator<char>, Bucket>;

template <int Bucket>
static void *map_open(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                      size_t reason_size)
{
    /* rounds up as the library does, because the library does not report its capacity */
    uint64_t capacity = (wanted->slots + Bucket - 1) / Bucket * Bucket;
    bght_map<Bucket> *map = sw_peer_make<bght_map<Bucket>>(wanted, reason, reason_size, [&] {
        return new bght_map<Bucket>(capacity, EMPTY_KEY, EMPTY_VALUE);
    });
    *slots = map != NULL ? capacity : 0;
    return map;
}

template <int Bucket> static void map_close(void *table)
{
    delete (bght_map<Bucket> *)table;
}

template <int Bucket> static bool map_clear(void *table)
{
    return sw_peer_run("bght: clear", [&] { ((bght_map<Bucket> *)table)->clear(); });
}

template <int Bucket>
static bool map_insert(void *table, const void *keys, const void *values, uint64_t count)
{
    bght_map<Bucket> *map = (bght_map<Bucket> *)table;
    auto pairs = sw_peer_pairs<typename bght_map<Bucket>::value_type, uint32_t>(keys, values);
    return count == 0 || sw_peer_run("bght: insert", [&] {
               /* false: a pair found no place and is lost; the table stays usable */
               (void)map->insert(pairs, pairs + (int64_t)count);
           });
}

template <int Bucket>
static bool map_get(void *table, const void *keys, void *values, uint64_t count)
{
    const uint32_t *first = (const uint32_t *)keys;
    return count == 0 || sw_peer_run("bght: find", [&] {
               ((bght_map<Bucket> *)table)->find(first, first + count, (uint32_t *)values);
           });
}

template <int Bucket> static bool map_size(void *table, uint64_t *occupied)
{
    return sw_peer_run("bght: size", [&] { *occupied = ((bght_map<Bucket> *)table)->size(); });
}

/* No erase, and no replacing: an insert of a stored key stores it twice. */
template <int Bucket> static constexpr struct sw_timing_library library(const char *name)
{
    struct sw_timing_library made = {};
    made.name = name;
    made.version = SW_PEER_VERSION;
    made.slot_bits = 64;
    made.keeps_repeats = true;
    made.open = map_open<Bucket>;
    made.close = map_close<Bucket>;
    made.clear = map_clear<Bucket>;
    made.insert = map_insert<Bucket>;
    made.get = map_get<Bucket>;
    made.size = map_size<Bucket>;
    return made;
}

const struct sw_timing_library sw_timing_bght_b8 = library<BUCKET_HALF_LINE>("bght_b8");
const struct sw_timing_library sw_timing_bght_b16 = library<BUCKET_LINE>("bght_b16");
