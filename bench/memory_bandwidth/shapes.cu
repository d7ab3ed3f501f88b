/* SPDX-License-Identifier: MIT
 *
 * shapes.cu - gets and inserts by shapes of buckets and tiles.
 *
 * The layout is that of table/robin_hood: a bucket holds the smallest keys that reached it. Keys
 * are mixed keys. A stored key is even, and its value is its complement, so no value is 0.
 */
#include "bench/memory_bandwidth/shapes.cuh"

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <exception>
#include <stdio.h>
#include <string.h>

#include "bench/study/device.cuh"

/* Slots behind the last home bucket: at load 0.95 a key is displaced by far fewer. */
#define TAIL_SLOTS (1ULL << 16)
#define INSERTS SW_BANDWIDTH_SHAPED_INSERTS

namespace
{

/* --- keys and layout -------------------------------------------------------------------------- */

#define FOR_EACH(i, count)                                                     \
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < (count); \
         i += (uint64_t)gridDim.x * BLOCK)

template <class W> __global__ void make_keys_kernel(typename W::word *keys, uint64_t count)
{
    FOR_EACH(i, count)
    {
        const typename W::word even = keys[i] & ~(typename W::word)1;
        keys[i] =
            even == (typename W::word) ~(typename W::word)1 ? 0 : even; /* + 1 would be EMPTY */
    }
}

template <class W> struct first_slot {
    const typename W::word *keys;
    typename W::word buckets;
    uint32_t slots;

    __host__ __device__ int64_t operator()(uint64_t i) const
    {
        return (int64_t)((uint64_t)W::home(keys[i], buckets) * slots) - (int64_t)i;
    }
};

template <class W>
__global__ void place_kernel(typename W::slot *slots, const typename W::word *keys,
                             const int64_t *places, uint64_t count)
{
    FOR_EACH(i, count)
    {
        slots[places[i] + (int64_t)i] = {(typename W::word) ~keys[i], keys[i]};
    }
}

/* Random stored keys; plus 1: absent ones. */
template <class W>
__global__ void ask_kernel(const typename W::word *keys, typename W::word *queries, uint64_t count,
                           bool present)
{
    FOR_EACH(i, count)
    {
        queries[i] = keys[sw_study_mixed(i + 1) % count] + (present ? 0 : 1);
    }
}

/* Different absent keys, spread over all homes, in an order that is not theirs. */
template <class W>
__global__ void fresh_kernel(const typename W::word *keys, typename W::word *queries,
                             uint64_t count)
{
    FOR_EACH(i, INSERTS)
    {
        queries[i] = keys[(i * 0x9e3779b1U) % INSERTS * (count / INSERTS)] + 1;
    }
}

template <class W>
__global__ void judge_kernel(const typename W::word *queries, const typename W::word *answers,
                             uint64_t count, bool present, unsigned long long *wrong)
{
    FOR_EACH(i, count)
    {
        const typename W::word right = present ? ~queries[i] : 0;
        if (answers[i] != right) {
            atomicAdd(wrong, 1ULL);
        }
    }
}

#define GRID 1024

template <class W> struct typed {
    typedef W width;
    struct sw_bandwidth_shaped *table;
    typename W::word *keys = (typename W::word *)table->keys;
    typename W::word *queries = (typename W::word *)table->queries;
    typename W::word *answers = (typename W::word *)table->answers;
    typename W::slot *slots = (typename W::slot *)table->slots;

    bool draw(struct sw_study_draw draw)
    {
        thrust::device_ptr<typename W::word> first(keys);
        if (!sw_study_fill(keys, table->count * sizeof(*keys), draw)) {
            return false;
        }
        make_keys_kernel<W><<<GRID, BLOCK>>>(keys, table->count);
        try {
            thrust::sort(thrust::device, first, first + table->count);
            table->count =
                (uint64_t)(thrust::unique(thrust::device, first, first + table->count) - first);
        } catch (const std::exception &e) {
            fprintf(stderr, "memory_bandwidth: sorting keys: %s\n", e.what());
            return false;
        }
        return sw_study_done("drawing keys");
    }

    /* A key's slot is the one behind the key before it, but not before its home bucket. */
    bool build(uint32_t bucket_slots)
    {
        const first_slot<W> place = {keys, (typename W::word)(table->capacity / bucket_slots),
                                     bucket_slots};
        auto from = thrust::make_transform_iterator(thrust::counting_iterator<uint64_t>(0), place);
        try {
            thrust::inclusive_scan(thrust::device, from, from + table->count,
                                   thrust::device_ptr<int64_t>(table->places),
                                   thrust::maximum<int64_t>());
        } catch (const std::exception &e) {
            fprintf(stderr, "memory_bandwidth: placing keys: %s\n", e.what());
            return false;
        }
        const char *what = "storing keys";
        if (!sw_study_ok(cudaMemset(slots, 0xff, table->slots_total * sizeof(*slots)), what)) {
            return false;
        }
        place_kernel<W><<<GRID, BLOCK>>>(slots, keys, table->places, table->count);
        return sw_study_done(what);
    }

    bool judge(uint64_t count, bool present, uint64_t *wrong)
    {
        const char *what = "checking answers";
        unsigned long long found = 0;
        unsigned long long *counter = (unsigned long long *)table->places; /* not in use */
        if (!sw_study_ok(cudaMemset(counter, 0, sizeof(found)), what)) {
            return false;
        }
        judge_kernel<W><<<GRID, BLOCK>>>(queries, answers, count, present, counter);
        bool done =
            sw_study_done(what) &&
            sw_study_ok(cudaMemcpy(&found, counter, sizeof(found), cudaMemcpyDeviceToHost), what);
        *wrong += found;
        return done;
    }
};

/* --- launches --------------------------------------------------------------------------------- */

typedef cudaError_t launcher(const struct sw_bandwidth_shaped *table, uint64_t count);

template <class W, int SLOTS, int LANES, int KEYS>
cudaError_t get(const struct sw_bandwidth_shaped *table, uint64_t count)
{
    if constexpr (SLOTS / LANES * KEYS * sizeof(typename W::slot) <= SW_BANDWIDTH_HELD_BYTES) {
        get_kernel<W, SLOTS, LANES, KEYS><<<sw_study_blocks(count * LANES, BLOCK * KEYS), BLOCK>>>(
            (const typename W::slot *)table->slots, (typename W::word)(table->capacity / SLOTS),
            (const typename W::word *)table->queries, (typename W::word *)table->answers, count);
        return cudaGetLastError();
    } else {
        return cudaErrorInvalidConfiguration; /* sw_bandwidth_shape_fits */
    }
}

template <class W, int SLOTS, int LANES>
cudaError_t insert(const struct sw_bandwidth_shaped *table, uint64_t count)
{
    insert_kernel<W, SLOTS, LANES><<<(uint32_t)(count / (BLOCK / LANES)), BLOCK>>>(
        (typename W::slot *)table->slots, (typename W::word)(table->capacity / SLOTS),
        table->slots_total, (const typename W::word *)table->queries, table->overflowed);
    return cudaGetLastError();
}

struct way {
    struct sw_bandwidth_shape shape;
    launcher *get[2]; /* of 64-bit slots, of 128-bit slots */
    launcher *insert[2];
};

#define WAY(slots, lanes, keys)                                                                 \
    {                                                                                           \
        {slots, lanes, keys}, {get<narrow, slots, lanes, keys>, get<wide, slots, lanes, keys>}, \
            {insert<narrow, slots, lanes>, insert<wide, slots, lanes>},                         \
    }
#define WAYS(slots, lanes) WAY(slots, lanes, 1), WAY(slots, lanes, 2), WAY(slots, lanes, 4)

const struct way ways[] = {
    WAYS(2, 1), WAYS(4, 1), WAYS(4, 2),  WAYS(4, 4),  WAYS(8, 1),
    WAYS(8, 4), WAYS(8, 8), WAYS(16, 1), WAYS(16, 4), WAYS(16, 16),
};

template <class Call> bool by_width(struct sw_bandwidth_shaped *table, Call call)
{
    return table->slot_bits == 64 ? call(typed<narrow>{table}) : call(typed<wide>{table});
}

} // namespace

/* --- the interface ---------------------------------------------------------------------------- */

uint32_t sw_bandwidth_shapes(void)
{
    return sizeof(ways) / sizeof(ways[0]);
}

struct sw_bandwidth_shape sw_bandwidth_shape_at(uint32_t number)
{
    return ways[number].shape;
}

bool sw_bandwidth_shape_fits(uint32_t number, uint32_t slot_bits)
{
    const struct sw_bandwidth_shape *shape = &ways[number].shape;
    return shape->slots / shape->lanes * shape->keys * slot_bits / 8 <= SW_BANDWIDTH_HELD_BYTES;
}

bool sw_bandwidth_shaped_open(struct sw_bandwidth_shaped *table, uint32_t slot_bits,
                              uint64_t capacity, double load, struct sw_study_draw draw)
{
    const char *what = "memory of a table of shapes";
    const uint32_t word = slot_bits / 16;
    memset(table, 0, sizeof(*table));
    table->slot_bits = slot_bits;
    table->capacity = capacity;
    table->count = (uint64_t)(load * (double)capacity);
    table->slots_total = capacity + TAIL_SLOTS;
    if (sw_study_ok(cudaMalloc(&table->keys, table->count * word), what) &&
        sw_study_ok(cudaMalloc(&table->queries, table->count * word), what) &&
        sw_study_ok(cudaMalloc(&table->answers, table->count * word), what) &&
        sw_study_ok(cudaMalloc((void **)&table->places, table->count * sizeof(int64_t)), what) &&
        sw_study_ok(cudaMalloc(&table->slots, table->slots_total * 2 * word), what) &&
        sw_study_ok(cudaMalloc((void **)&table->overflowed, sizeof(uint32_t)), what) &&
        sw_study_ok(cudaMemset(table->overflowed, 0, sizeof(uint32_t)), what) &&
        by_width(table, [&](auto its) { return its.draw(draw); })) {
        return true;
    }
    sw_bandwidth_shaped_close(table);
    return false;
}

void sw_bandwidth_shaped_close(struct sw_bandwidth_shaped *table)
{
    void *const memory[] = {table->keys,   table->queries, table->answers,
                            table->places, table->slots,   table->overflowed};
    for (void *each : memory) {
        (void)cudaFree(each); /* the function that failed has reported the error */
    }
    memset(table, 0, sizeof(*table));
}

bool sw_bandwidth_shaped_build(struct sw_bandwidth_shaped *table, uint32_t bucket_slots)
{
    return by_width(table, [&](auto its) { return its.build(bucket_slots); });
}

/* A get of the first `count` queries. */
static bool timed_get(struct sw_bandwidth_shaped *table, uint32_t shape, uint64_t count,
                      bool present, double *seconds, uint64_t *wrong)
{
    launcher *launch = ways[shape].get[table->slot_bits == 128];
    return sw_study_ok(cudaMemset(table->answers, 0xa5, count * (table->slot_bits / 16)),
                       "a get") &&
           sw_study_time([&] { return launch(table, count); }, "a get", seconds) &&
           by_width(table, [&](auto its) { return its.judge(count, present, wrong); });
}

bool sw_bandwidth_shaped_get(struct sw_bandwidth_shaped *table, uint32_t shape, bool present,
                             double *seconds, uint64_t *wrong)
{
    return by_width(table,
                    [&](auto its) {
                        ask_kernel<typename decltype(its)::width>
                            <<<GRID, BLOCK>>>(its.keys, its.queries, table->count, present);
                        return sw_study_done("choosing keys");
                    }) &&
           timed_get(table, shape, table->count, present, seconds, wrong);
}

bool sw_bandwidth_shaped_insert(struct sw_bandwidth_shaped *table, uint32_t shape, double *seconds,
                                uint64_t *wrong)
{
    const char *what = "an insert";
    uint32_t overflowed = 0;
    double unwanted = 0;
    bool done =
        by_width(table,
                 [&](auto its) {
                     fresh_kernel<typename decltype(its)::width>
                         <<<GRID, BLOCK>>>(its.keys, its.queries, table->count);
                     return sw_study_done("choosing keys");
                 }) &&
        sw_study_time([&] { return ways[shape].insert[table->slot_bits == 128](table, INSERTS); },
                      what, seconds) &&
        sw_study_ok(
            cudaMemcpy(&overflowed, table->overflowed, sizeof(overflowed), cudaMemcpyDeviceToHost),
            what) &&
        timed_get(table, shape, INSERTS, true, &unwanted, wrong) &&
        sw_bandwidth_shaped_get(table, shape, true, &unwanted, wrong);
    *wrong += overflowed;
    return done;
}
