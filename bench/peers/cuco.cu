/* SPDX-License-Identifier: MIT
 *
 * cuco.cu - adapters of cuCollections: cuco::static_map with linear probing and double hashing.
 */
#include <thrust/functional.h>

#include <cuda/std/utility>
#include <cuda/version>

/* CCCL 3 (CUDA 13) took away thrust::identity, which cuCollections up to late 2024 names. */
#if CCCL_MAJOR_VERSION >= 3
namespace thrust
{
template <class T = void> struct identity {
    __host__ __device__ constexpr const T &operator()(const T &x) const
    {
        return x;
    }
};
template <> struct identity<void> {
    template <class T> __host__ __device__ constexpr auto operator()(T &&x) const -> T &&
    {
        return cuda::std::forward<T>(x);
    }
};
} // namespace thrust
#endif

#include <cuco/static_map.cuh>

#include "bench/peers/adapter.cuh"

/* Threads that probe for one key. 4 is the default of static_map, with linear probing; 8 is what
 * the published comparisons with other tables set for double hashing. */
#define LINEAR_THREADS 4
#define DOUBLE_THREADS 8

template <class Word> using hash = cuco::default_hash_function<Word>;
template <class Word> using linear = cuco::linear_probing<LINEAR_THREADS, hash<Word>>;
template <class Word> using twice = cuco::double_hashing<DOUBLE_THREADS, hash<Word>>;

/* Every other parameter is static_map's default. */
template <class Word, class Probing>
using map_type = cuco::static_map<Word, Word, cuco::extent<std::size_t>, cuda::thread_scope_device,
                                  cuda::std::equal_to<Word>, Probing>;

/* The keys that static_map reserves, and the value of an empty slot: also what find answers for an
 * absent key. */
template <class Word> __host__ __device__ static constexpr Word empty_word(void)
{
    return (Word) ~(Word)0;
}

template <class Word> __host__ __device__ static constexpr Word erased_word(void)
{
    return (Word)(empty_word<Word>() - 1);
}

/* A pair of two arrays. The key that marks an erased slot must never get into the table, or inserts
 * would spin on it; it becomes the key of empty slots, which insert_or_assign leaves out. */
template <class Word> struct safe_pair {
    const Word *keys;
    const Word *values;

    __host__ __device__ cuco::pair<Word, Word> operator()(int64_t i) const
    {
        Word key = keys[i];
        return {key == erased_word<Word>() ? empty_word<Word>() : key, values[i]};
    }
};

template <class Word> static auto pairs_of(const void *keys, const void *values)
{
    safe_pair<Word> pair = {(const Word *)keys, (const Word *)values};
    return thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), pair);
}

/* --- a table ---------------------------------------------------------------------------------- */

struct cuco_base {
    uint32_t slot_bits;
    bool has_erased; /* since the last clear */
    cudaStream_t streams[2];

    cuco_base()
    {
        slot_bits = 0;
        has_erased = false;
        streams[0] = NULL;
        streams[1] = NULL;
    }

    ~cuco_base()
    {
        for (cudaStream_t stream : streams) {
            if (stream != NULL) {
                (void)cudaStreamDestroy(stream);
            }
        }
    }
};

static cudaStream_t stream_of(const void *table)
{
    return ((const struct cuco_base *)table)->streams[0];
}

template <class Map> struct cuco_table : cuco_base {
    using word = typename Map::key_type;
    Map map;

    explicit cuco_table(uint64_t slots)
        : map((std::size_t)slots, cuco::empty_key<word>(empty_word<word>()),
              cuco::empty_value<word>(empty_word<word>()),
              cuco::erased_key<word>(erased_word<word>()))
    {
    }
};

template <class Map>
static void *open_width(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                        size_t reason_size)
{
    cuco_table<Map> *table = sw_peer_make<cuco_table<Map>>(wanted, reason, reason_size, [&] {
        cuco_table<Map> *made = new cuco_table<Map>(wanted->slots);
        /* an error is found by sw_peer_make */
        (void)cudaStreamCreateWithFlags(&made->streams[0], cudaStreamNonBlocking);
        (void)cudaStreamCreateWithFlags(&made->streams[1], cudaStreamNonBlocking);
        return made;
    });
    if (table == NULL) {
        return NULL;
    }
    table->slot_bits = wanted->slot_bits;
    *slots = (uint64_t)table->map.capacity();
    return table;
}

/* Calls `work` with the table, cast to the type of its slot width. */
template <template <class> class Probing, class Work> static void by_width(void *table, Work work)
{
    struct cuco_base *base = (struct cuco_base *)table;
    if (base->slot_bits == 64) {
        work(static_cast<cuco_table<map_type<uint32_t, Probing<uint32_t>>> *>(base));
    } else {
        work(static_cast<cuco_table<map_type<uint64_t, Probing<uint64_t>>> *>(base));
    }
}

/* insert_or_assign treats an erased slot as one that it may fill, tries to fill it as if it were
 * empty, and so never ends. */
static bool may_insert(const void *table)
{
    if (((const struct cuco_base *)table)->has_erased) {
        fprintf(stderr, "timing: cuco: insert_or_assign does not end in a table with erased slots: "
                        "clear it first\n");
        return false;
    }
    return true;
}

/* --- the library ------------------------------------------------------------------------------ */

template <template <class> class Probing>
static void *map_open(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                      size_t reason_size)
{
    return wanted->slot_bits == 64
               ? open_width<map_type<uint32_t, Probing<uint32_t>>>(wanted, slots, reason,
                                                                   reason_size)
               : open_width<map_type<uint64_t, Probing<uint64_t>>>(wanted, slots, reason,
                                                                   reason_size);
}

template <template <class> class Probing> static void map_close(void *table)
{
    by_width<Probing>(table, [](auto *t) { delete t; });
}

template <template <class> class Probing> static bool map_clear(void *table)
{
    ((struct cuco_base *)table)->has_erased = false;
    return sw_peer_run("cuco: clear",
                       [&] { by_width<Probing>(table, [](auto *t) { t->map.clear(); }); });
}

template <class Table>
static void assign(Table *t, const void *keys, const void *values, uint64_t count,
                   cudaStream_t stream)
{
    auto pairs = pairs_of<typename Table::word>(keys, values);
    t->map.insert_or_assign_async(pairs, pairs + (int64_t)count, cuda::stream_ref(stream));
}

template <template <class> class Probing>
static bool map_insert(void *table, const void *keys, const void *values, uint64_t count)
{
    auto work = [&] {
        by_width<Probing>(table, [&](auto *t) { assign(t, keys, values, count, t->streams[0]); });
    };
    return may_insert(table) && sw_peer_run("cuco: insert_or_assign", work, stream_of(table));
}

/* Inserts by one compare-and-swap of the pair; insert_or_assign swaps the key and then stores the
 * value. Leaves the value of a stored key unchanged. */
template <template <class> class Probing>
static bool map_insert_fresh(void *table, const void *keys, const void *values, uint64_t count)
{
    auto work = [&] {
        by_width<Probing>(table, [&](auto *t) {
            using word = typename std::remove_pointer_t<decltype(t)>::word;
            auto pairs = pairs_of<word>(keys, values);
            t->map.insert_async(pairs, pairs + (int64_t)count, cuda::stream_ref(t->streams[0]));
        });
    };
    return may_insert(table) && sw_peer_run("cuco: insert", work, stream_of(table));
}

template <template <class> class Probing>
static bool map_get(void *table, const void *keys, void *values, uint64_t count)
{
    auto work = [&] {
        by_width<Probing>(table, [&](auto *t) {
            using word = typename std::remove_pointer_t<decltype(t)>::word;
            const word *first = (const word *)keys;
            t->map.find_async(first, first + count, (word *)values,
                              cuda::stream_ref(t->streams[0]));
        });
    };
    return sw_peer_run("cuco: find", work, stream_of(table));
}

template <template <class> class Probing>
static bool map_erase(void *table, const void *keys, uint64_t count)
{
    ((struct cuco_base *)table)->has_erased = true;
    auto work = [&] {
        by_width<Probing>(table, [&](auto *t) {
            using word = typename std::remove_pointer_t<decltype(t)>::word;
            const word *first = (const word *)keys;
            t->map.erase_async(first, first + count, cuda::stream_ref(t->streams[0]));
        });
    };
    return sw_peer_run("cuco: erase", work, stream_of(table));
}

template <template <class> class Probing> static bool map_size(void *table, uint64_t *occupied)
{
    return sw_peer_run("cuco: size", [&] {
        by_width<Probing>(table, [&](auto *t) { *occupied = (uint64_t)t->map.size(); });
    });
}

/* One operation of the library for both, in two streams. */
template <template <class> class Probing>
static bool map_insert_and_update(void *table, const void *fresh, const void *fresh_values,
                                  uint64_t fresh_count, const void *stored,
                                  const void *stored_values, uint64_t stored_count)
{
    return may_insert(table) && sw_peer_run("cuco: insert_or_assign in two streams", [&] {
               by_width<Probing>(table, [&](auto *t) {
                   assign(t, fresh, fresh_values, fresh_count, t->streams[0]);
                   assign(t, stored, stored_values, stored_count, t->streams[1]);
               });
           });
}

template <template <class> class Probing>
static constexpr struct sw_timing_library library(const char *name)
{
    struct sw_timing_library made = {};
    made.name = name;
    made.version = SW_PEER_VERSION;
    made.slot_bits = 64 | 128;
    made.open = map_open<Probing>;
    made.close = map_close<Probing>;
    made.clear = map_clear<Probing>;
    made.insert = map_insert<Probing>;
    made.insert_fresh = map_insert_fresh<Probing>;
    made.get = map_get<Probing>;
    made.erase = map_erase<Probing>;
    made.size = map_size<Probing>;
    made.insert_and_update = map_insert_and_update<Probing>;
    return made;
}

const struct sw_timing_library sw_timing_cuco_linear = library<linear>("cuco_linear");
const struct sw_timing_library sw_timing_cuco_double = library<twice>("cuco_double");
