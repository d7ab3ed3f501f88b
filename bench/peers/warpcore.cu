/* SPDX-License-Identifier: MIT
 *
 * warpcore.cu - adapter of warpcore's SingleValueHashTable, with its default parameters.
 */
#include <warpcore/single_value_hash_table.cuh>

#include "bench/peers/adapter.cuh"

/* Its defaults: probing by groups of 8 threads with double hashing, key and value side by side,
 * empty key 0, erased key all ones. Operations on these two keys do nothing. */
template <class Word> using warp_map = warpcore::SingleValueHashTable<Word, Word>;

struct warp_base {
    uint32_t slot_bits;
    cudaStream_t streams[2];

    warp_base() : slot_bits(0)
    {
        streams[0] = NULL;
        streams[1] = NULL;
    }

    ~warp_base()
    {
        for (cudaStream_t stream : streams) {
            if (stream != NULL) {
                (void)cudaStreamDestroy(stream);
            }
        }
    }
};

template <class Word> struct warp_table : warp_base {
    using word = Word;
    warp_map<Word> map;

    explicit warp_table(uint64_t slots) : map(slots)
    {
    }

    /* Limit of a probe: after this number of slots it has read every slot. The default is 2^64.
     * Such a probe never ends if no slot is empty, because erased slots are not filled again. */
    uint64_t probes() const
    {
        return map.capacity();
    }
};

template <class Word>
static void *open_width(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                        size_t reason_size)
{
    warp_table<Word> *table = sw_peer_make<warp_table<Word>>(wanted, reason, reason_size, [&] {
        warp_table<Word> *made = new warp_table<Word>(wanted->slots);
        /* an error is found by sw_peer_make */
        (void)cudaStreamCreateWithFlags(&made->streams[0], cudaStreamNonBlocking);
        (void)cudaStreamCreateWithFlags(&made->streams[1], cudaStreamNonBlocking);
        return made;
    });
    if (table == NULL) {
        return NULL;
    }
    if (!table->map.is_initialized() || table->map.capacity() < wanted->slots) {
        snprintf(reason, reason_size, "warpcore made no table of %llu slots",
                 (unsigned long long)wanted->slots);
        delete table;
        return NULL;
    }
    table->slot_bits = wanted->slot_bits;
    *slots = table->map.capacity();
    return table;
}

static cudaStream_t stream_of(const void *table)
{
    return ((const struct warp_base *)table)->streams[0];
}

/* Calls `work` with the table, cast to the type of its slot width. */
template <class Work> static void by_width(void *table, Work work)
{
    struct warp_base *base = (struct warp_base *)table;
    if (base->slot_bits == 64) {
        work(static_cast<warp_table<uint32_t> *>(base));
    } else {
        work(static_cast<warp_table<uint64_t> *>(base));
    }
}

template <class Table>
static void insert_in(Table *t, const void *keys, const void *values, uint64_t count,
                      cudaStream_t stream)
{
    using word = typename Table::word;
    if (count != 0) {
        t->map.insert((const word *)keys, (const word *)values, count, stream, t->probes());
    }
}

/* --- the library ------------------------------------------------------------------------------ */

static void *map_open(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                      size_t reason_size)
{
    return wanted->slot_bits == 64 ? open_width<uint32_t>(wanted, slots, reason, reason_size)
                                   : open_width<uint64_t>(wanted, slots, reason, reason_size);
}

static void map_close(void *table)
{
    by_width(table, [](auto *t) { delete t; });
}

static bool map_clear(void *table)
{
    return sw_peer_run("warpcore: init",
                       [&] { by_width(table, [](auto *t) { t->map.init(t->streams[0]); }); });
}

/* Inserts, and replaces the values of stored keys. */
static bool map_insert(void *table, const void *keys, const void *values, uint64_t count)
{
    auto work = [&] {
        by_width(table, [&](auto *t) { insert_in(t, keys, values, count, t->streams[0]); });
    };
    return sw_peer_run("warpcore: insert", work, stream_of(table));
}

/* Leaves the values of absent keys alone. */
static bool map_get(void *table, const void *keys, void *values, uint64_t count)
{
    auto work = [&] {
        by_width(table, [&](auto *t) {
            using word = typename std::remove_pointer_t<decltype(t)>::word;
            t->map.retrieve((const word *)keys, count, (word *)values, t->streams[0], t->probes());
        });
    };
    return count == 0 || sw_peer_run("warpcore: retrieve", work, stream_of(table));
}

static bool map_erase(void *table, const void *keys, uint64_t count)
{
    auto work = [&] {
        by_width(table, [&](auto *t) {
            using word = typename std::remove_pointer_t<decltype(t)>::word;
            t->map.erase((const word *)keys, count, t->streams[0], t->probes());
        });
    };
    return count == 0 || sw_peer_run("warpcore: erase", work, stream_of(table));
}

static bool map_size(void *table, uint64_t *occupied)
{
    return sw_peer_run("warpcore: size", [&] {
        by_width(table, [&](auto *t) { *occupied = t->map.size(t->streams[0]); });
    });
}

/* One operation of the library for both, in two streams. */
static bool map_insert_and_update(void *table, const void *fresh, const void *fresh_values,
                                  uint64_t fresh_count, const void *stored,
                                  const void *stored_values, uint64_t stored_count)
{
    return sw_peer_run("warpcore: insert in two streams", [&] {
        by_width(table, [&](auto *t) {
            insert_in(t, fresh, fresh_values, fresh_count, t->streams[0]);
            insert_in(t, stored, stored_values, stored_count, t->streams[1]);
        });
    });
}

static constexpr struct sw_timing_library library(void)
{
    struct sw_timing_library made = {};
    made.name = "warpcore";
    made.version = SW_PEER_VERSION;
    made.slot_bits = 64 | 128;
    made.open = map_open;
    made.close = map_close;
    made.clear = map_clear;
    made.insert = map_insert;
    made.get = map_get;
    made.erase = map_erase;
    made.size = map_size;
    made.insert_and_update = map_insert_and_update;
    return made;
}

const struct sw_timing_library sw_timing_warpcore = library();
