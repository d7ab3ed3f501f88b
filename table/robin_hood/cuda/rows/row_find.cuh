/* SPDX-License-Identifier: MIT
 *
 * row_find.cuh - looks up some keys for each lane of a warp.
 *
 * A bucket consists of units of 16 bytes. A group of lanes, one a unit, reads the buckets of the
 * group's keys together, one bucket after the other. So a load of the warp touches a few whole
 * buckets instead of a part of each of 32 buckets: the cost of a load in the L1 cache is its number
 * of cache lines. The first bucket decides most keys. The other keys are queued until the first
 * buckets of all keys of the warp were read. Then the lanes share the queued keys, so the warp
 * waits for its slowest key only once.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_FIND_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_FIND_CUH

#include "table/robin_hood/cuda/look_up/get.cuh"
#include "table/robin_hood/cuda/rows/rows.cuh"

/* The slots that a lane holds: its part of the bucket of each key of its group. */
template <int BITS> struct row_buckets {
    static constexpr int lanes = SW_BUCKET_SLOTS * BITS / 8 / 16;
    static constexpr int slots = SW_BUCKET_SLOTS / lanes;
    typename sw_width<BITS>::slot held[lanes][slots];
};

/* The bucket where the look-up of m begins. */
template <int BITS, bool HINTS>
static __device__ inline uint64_t row_first_bucket(const typename sw_width<BITS>::table &table,
                                                   const uint8_t *hints,
                                                   typename sw_width<BITS>::word m)
{
    uint64_t bucket = sw_width<BITS>::home(&table.main, m);
    if (HINTS) {
        bucket += sw_hint_lead(load_hint(hints + bucket / 2), bucket % 2 != 0);
        bucket = min(bucket, table.main.buckets_total - 1);
    }
    return bucket;
}

/* Begins to read the buckets of all lanes' keys. All lanes. */
template <int BITS, bool HINTS>
static __device__ inline void row_read(const typename sw_width<BITS>::view *view, uint64_t bucket,
                                       struct row_buckets<BITS> *buckets)
{
    constexpr int lanes = row_buckets<BITS>::lanes;
    const uint32_t part = threadIdx.x % lanes;
    const int first = (int)(threadIdx.x % 32 - part);
#pragma unroll
    for (int r = 0; r < lanes; r++) {
        const uint64_t b = __shfl_sync(SW_WARP_ALL, (unsigned long long)bucket, first + r);
        read_bucket<BITS, lanes, HINTS>(view, b, part, buckets->held[r]);
    }
}

/* Does the same as probe (robin_hood.inl), for the key of each lane; shuffles carry the slots (M3).
 * Sets *row on a hit. All lanes. */
template <int BITS>
static __device__ inline int row_probe(const struct row_buckets<BITS> &buckets,
                                       typename sw_width<BITS>::word m, uint32_t *row)
{
    constexpr int lanes = row_buckets<BITS>::lanes;
    const uint32_t part = threadIdx.x % lanes;
    const uint32_t first = threadIdx.x % 32 - part;
    int at = SW_PROBE_NEXT;
#pragma unroll
    for (uint32_t r = 0; r < lanes; r++) {
        const typename sw_width<BITS>::word of = __shfl_sync(SW_WARP_ALL, m, (int)(first + r));
        bool hit = false;
        bool larger = false;
        uint32_t value = 0;
#pragma unroll
        for (int i = 0; i < row_buckets<BITS>::slots; i++) {
            const typename sw_width<BITS>::slot &slot = buckets.held[r][i];
            value = slot.m == of ? (uint32_t)slot.value : value;
            hit |= slot.m == of;
            larger |= slot.m > of;
        }
        const uint32_t hits = __ballot_sync(SW_WARP_ALL, hit) >> first & ((1U << lanes) - 1);
        const bool ends = (__ballot_sync(SW_WARP_ALL, larger) >> first & ((1U << lanes) - 1)) != 0;
        const uint32_t there = hits != 0 ? (uint32_t)__ffs((int)hits) - 1 : 0;
        value = __shfl_sync(SW_WARP_ALL, value, (int)(first + there));
        if (part == r) {
            *row = value;
            at = hits != 0 ? 0 : ends ? SW_PROBE_ABSENT : SW_PROBE_NEXT;
        }
    }
    return at;
}

/* The keys and results of a warp, in shared memory. A warp has 32 KEYS keys; key k of a lane has
 * number 32 k + lane.
 */
template <int BITS, int KEYS> struct row_finder {
    typename sw_width<BITS>::word m[32 * KEYS]; /* of the queued keys, as are the next two arrays */
    uint64_t buckets[32 * KEYS];
    uint8_t numbers[32 * KEYS];
    uint32_t rows[32 * KEYS]; /* the results: SW_CUDA_NO_ROW if the key is absent */
};

/* Keys of a lane whose first buckets are loaded at the same time. */
#define ROW_FIND_AT_ONCE 2

/* Numbers of buckets read. */
struct row_probes {
    uint32_t present; /* for present keys */
    uint32_t absent;
};

static __device__ __forceinline__ void row_probed(struct row_probes *probes, bool found,
                                                  uint32_t buckets)
{
    probes->present += found ? buckets : 0;
    probes->absent += found ? 0 : buckets;
}

/* Reads the first buckets of some keys of each lane, from number `k` on. Appends the keys that the
 * first bucket does not decide to the queue. Returns the new length of the queue. */
template <int BITS, int KEYS, bool HINTS, int AT_ONCE>
static __device__ inline uint32_t
row_find_first(const typename sw_width<BITS>::table &table, const uint8_t *hints, uint32_t k,
               const typename sw_width<BITS>::word m[AT_ONCE], const bool mine[AT_ONCE],
               bool stashes, struct row_finder<BITS, KEYS> *own, uint32_t waiting,
               struct row_probes *probes)
{
    const uint32_t lane = threadIdx.x % 32;
    struct row_buckets<BITS> buckets[AT_ONCE];
    uint64_t first[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
        first[j] = row_first_bucket<BITS, HINTS>(table, hints, m[j]);
        row_read<BITS, HINTS>(&table.main, first[j], &buckets[j]);
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
        const uint32_t number = (k + (uint32_t)j) * 32 + lane;
        uint32_t row = 0;
        const int at = row_probe<BITS>(buckets[j], m[j], &row);
        const bool side = m[j] == sw_width<BITS>::empty;
        const bool waits = mine[j] && (side || (at < 0 && (at == SW_PROBE_NEXT || stashes)));
        const uint32_t all = __ballot_sync(SW_WARP_ALL, waits);
        if (waits) {
            const uint32_t place = waiting + (uint32_t)__popc(all & ((1U << lane) - 1));
            own->m[place] = m[j];
            own->buckets[place] = at == SW_PROBE_NEXT ? first[j] + 1 : table.main.buckets_total;
            own->numbers[place] = (uint8_t)number;
        }
        const bool found = mine[j] && !waits && at >= 0;
        row_probed(probes, found, mine[j] && !waits ? 1 : 0);
        own->rows[number] = found ? row : SW_CUDA_NO_ROW;
        waiting += (uint32_t)__popc(all);
    }
    return waiting;
}

/* The row of a queued key. `bucket`: the next bucket to read. */
template <int BITS>
static __device__ inline uint32_t row_find_on(const typename sw_width<BITS>::table &table,
                                              typename sw_width<BITS>::word m, uint64_t bucket,
                                              struct row_probes *probes)
{
    typedef sw_width<BITS> W;
    typename W::word value = 0;
    uint64_t buckets = 1; /* the first one */
    if (m == W::empty) {
        return table.state->side_present != 0 ? (uint32_t)table.state->side_value : SW_CUDA_NO_ROW;
    }
    bool found = W::find_from(&table.main, m, bucket, &value, &buckets) != NULL;
    if (!found && table.state->stash_occupied != 0) {
        const uint64_t home = W::home(&table.stash, m);
        found = W::find_from(&table.stash, m, home, &value, &buckets) != NULL;
    }
    row_probed(probes, found, (uint32_t)buckets);
    return found ? (uint32_t)value : SW_CUDA_NO_ROW;
}

/* Looks up the keys of a warp for which `mine` is true; `m`: mixed keys. Writes the results to
 * own->rows. All lanes. */
template <int BITS, int KEYS, bool HINTS>
static __device__ inline void
row_find(const typename sw_width<BITS>::table &table, const uint8_t *hints,
         const typename sw_width<BITS>::word m[KEYS], const bool mine[KEYS],
         struct row_finder<BITS, KEYS> *own, struct row_probes *probes)
{
    constexpr int at_once = KEYS < ROW_FIND_AT_ONCE ? KEYS : ROW_FIND_AT_ONCE;
    static_assert(KEYS % at_once == 0 && KEYS <= 8, "a number of a key is of 8 bits");
    const bool stashes = table.state->stash_occupied != 0;
    uint32_t waiting = 0;
#pragma unroll
    for (uint32_t k = 0; k < KEYS; k += at_once) {
        waiting = row_find_first<BITS, KEYS, HINTS, at_once>(table, hints, k, m + k, mine + k,
                                                             stashes, own, waiting, probes);
    }
    __syncwarp(); /* M3: all lanes have queued their keys */
    for (uint32_t w = threadIdx.x % 32; w < waiting; w += 32) {
        own->rows[own->numbers[w]] = row_find_on<BITS>(table, own->m[w], own->buckets[w], probes);
    }
    __syncwarp(); /* M3: all lanes have stored their results */
}

#endif
