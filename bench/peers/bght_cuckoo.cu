/* SPDX-License-Identifier: MIT
 *
 * bght_cuckoo.cu - BGHT's tables in the cuckoo study: cht (cells of one pair, four functions) and
 * bcht with buckets of 16 (three functions). A key is its own value.
 */
#include <cmath>
#include <cstdio>

#include <bght/bcht.hpp>
#include <bght/cht.hpp>

#include "bench/cuckoo/library.h"
#include "bench/peers/adapter.cuh"

namespace
{

#define BUCKET 16
#define BLOCK 256
#define SLOT_BITS 64

/* The key of an empty slot, which find also returns for an absent key. If the study draws this key,
 * the table cannot store it. */
#define EMPTY UINT32_MAX

using cht = bght::cht<uint32_t, uint32_t>;
using bcht =
    bght::bcht<uint32_t, uint32_t, bght::MurmurHash3_32<uint32_t>, bght::equal_to<uint32_t>,
               cuda::thread_scope_device, bght::cuda_allocator<char>, BUCKET>;

template <class Map> struct under_test {
    Map map;
    uint64_t capacity;
    uint32_t *answers;
    const uint32_t *asked;

    explicit under_test(uint64_t slots)
        : map(slots, EMPTY, EMPTY), capacity(slots), answers(NULL), asked(NULL)
    {
    }

    under_test(const under_test &) = delete;

    ~under_test()
    {
        (void)cudaFree(answers);
    }

    void insert(const uint32_t *keys, uint64_t count)
    {
        auto pairs = sw_peer_pairs<typename Map::value_type, uint32_t>(keys, keys);
        /* false: a pair found no place and is lost; the study counts it */
        (void)map.insert(pairs, pairs + (int64_t)count);
    }

    void find(const uint32_t *keys, uint64_t count)
    {
        asked = keys;
        map.find(keys, keys + count, answers);
    }
};

template <class Map>
void *map_open(const struct sw_cbench_options *options, const struct sw_cbench_place *,
               const struct sw_cbench_wanted *wanted, char *reason, size_t reason_size)
{
    struct sw_timing_wanted room = {};
    room.slot_bits = SLOT_BITS;
    room.slots = (wanted->size + BUCKET - 1) / BUCKET * BUCKET;
    if (options->on_host != 0) {
        snprintf(reason, reason_size, "it runs on a GPU only");
        return NULL;
    }
    auto *made = sw_peer_make<under_test<Map>>(&room, reason, reason_size,
                                               [&] { return new under_test<Map>(room.slots); });
    if (made != NULL &&
        cudaMalloc((void **)&made->answers, wanted->keys_max * sizeof(uint32_t)) != cudaSuccess) {
        (void)cudaGetLastError(); /* `reason` reports the error: clear it */
        snprintf(reason, reason_size, "no device memory for the answers");
        delete made;
        return NULL;
    }
    return made;
}

template <class Map> void map_close(void *table)
{
    delete (under_test<Map> *)table;
}

template <class Map> bool map_clear(void *table)
{
    return sw_peer_run("bght: clear", [=] { ((under_test<Map> *)table)->map.clear(); });
}

template <class Map>
bool map_insert(void *table, const uint32_t *keys, uint64_t count,
                struct sw_cbench_inserted *inserted)
{
    *inserted = {};
    return sw_peer_run("bght: insert", [=] { ((under_test<Map> *)table)->insert(keys, count); });
}

template <class Map> bool map_find(void *table, const uint32_t *keys, uint32_t *, uint64_t count)
{
    return sw_peer_run("bght: find", [=] { ((under_test<Map> *)table)->find(keys, count); });
}

template <class Map>
bool map_insert_and_find(void *table, const uint32_t *keys, uint64_t count,
                         struct sw_cbench_inserted *inserted, const uint32_t *queries, uint32_t *,
                         uint64_t query_count)
{
    *inserted = {};
    return sw_peer_run("bght: insert and find", [=] {
        ((under_test<Map> *)table)->insert(keys, count);
        ((under_test<Map> *)table)->find(queries, query_count);
    });
}

/* A word of `found` for each warp. */
__global__ void __launch_bounds__(BLOCK)
    settle_kernel(const uint32_t *answers, const uint32_t *asked, uint32_t *found, uint64_t count)
{
    uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    bool is_found = i < count && answers[i] == asked[i] && asked[i] != EMPTY;
    uint32_t word = __ballot_sync(0xffffffffU, is_found);
    if (threadIdx.x % 32 == 0 && i < count) {
        found[i / 32] = word;
    }
}

template <class Map> bool map_settle(void *table, uint32_t *found, uint64_t count)
{
    under_test<Map> *self = (under_test<Map> *)table;
    settle_kernel<<<sw_study_blocks(count, BLOCK), BLOCK>>>(self->answers, self->asked, found,
                                                            count);
    return sw_study_done("bght: answers to bits");
}

template <class Map> void map_facts(void *table, struct sw_cbench_facts *facts)
{
    facts->cells = ((under_test<Map> *)table)->capacity;
    facts->slot_bits = SLOT_BITS;
    facts->bytes = facts->cells * (SLOT_BITS / 8);
}

template <class Map>
constexpr struct sw_cbench_library library(const char *name, uint32_t functions)
{
    struct sw_cbench_library made = {};
    made.name = name;
    made.version = SW_PEER_VERSION;
    made.is_peer = true;
    made.functions = functions;
    made.open = map_open<Map>;
    made.close = map_close<Map>;
    made.clear = map_clear<Map>;
    made.insert = map_insert<Map>;
    made.find = map_find<Map>;
    made.insert_and_find = map_insert_and_find<Map>;
    made.settle = map_settle<Map>;
    made.facts = map_facts<Map>;
    return made;
}

} // namespace

extern "C" const struct sw_cbench_library sw_cbench_bght_cht = library<cht>("bght_cht", 4);
extern "C" const struct sw_cbench_library sw_cbench_bght_b16 = library<bcht>("bght_b16", 3);
