/* SPDX-License-Identifier: MIT
 *
 * newcomers.cu - the third kernel of a slice in MEMORY mode. After the uses of present keys, one
 * thread per row makes entries for absent keys, one after the other (rows.cuh).
 *
 * An operation whose value is overwritten by a later one of its row, or whose entry is evicted,
 * loses its place: no two values go to one slot.
 *
 * Memory order: a thread owns its row, the places of its operations, and its first bucket (M8).
 * Second buckets are never first ones; a thread accesses them only under their lock (M5).
 */
#define SW_CACHE_LANES 1
#define SW_CACHE_LOAD(pointer) __ldcg(pointer)
#include "table/cache/operate.inl"

#include "table/cache/cuda/locks.cuh"
#include "table/cache/cuda/marks.cuh"
#include "table/cache/cuda/places.cuh"

/* Threads of a block, and least number of blocks that a multiprocessor holds. More blocks hide more
 * latency, and leave fewer registers to a thread. */
#define NEWCOMERS_THREADS 64
#ifndef SW_CACHE_NEWCOMERS_BLOCKS
#define SW_CACHE_NEWCOMERS_BLOCKS 10
#endif

/* --- carrying out ----------------------------------------------------------------------------- */

static_assert(SW_CACHE_ROW == SW_CACHE_CHUNK_SLOTS, "a byte an operation of a row is a chunk");

/* Sets byte r, whatever its value was. */
static __device__ __forceinline__ void set_byte(struct sw_cache_chunk *bytes, uint32_t r,
                                                uint32_t byte)
{
    uint32_t shift = 8 * (r % 4);
#pragma unroll
    for (uint32_t w = 0; w < SW_CACHE_ROW / 4; w++) {
        uint32_t changed = (bytes->word[w] & ~(0xffU << shift)) | byte << shift;
        bytes->word[w] = w == r / 4 ? changed : bytes->word[w];
    }
}

/* The row that a thread works on. */
struct row {
    const uint32_t *entries;
    struct sw_cache_chunk codes; /* codes of the entries */
    uint32_t absent;             /* bit r: the key of operation r was absent */
    uint32_t left;               /* bit r: it was absent, and operation r was not carried out yet */
    uint32_t id;                 /* number of the first operation left */
    uint64_t key;                /* the key of that operation */
    struct sw_cache_head head;
    struct sw_cache_set empty;   /* empty slots of the first bucket */
    uint32_t writes;             /* bit r: operation r has a place that it writes */
    struct sw_cache_chunk wrote; /* byte r: the code of that place */
};

/* The operation of the row whose value goes to a slot, or SW_CACHE_NONE. Slots of different second
 * buckets have the same code. */
static __device__ __forceinline__ uint32_t writer_of(const struct sw_cache_slice *slice,
                                                     const struct row *row, uint32_t code,
                                                     uint64_t slot)
{
    uint32_t alike = sw_cache_equal(&row->wrote, code);
    for (alike &= row->writes; alike != 0; alike &= alike - 1) {
        uint32_t rank = (uint32_t)__ffs((int)alike) - 1;
        uint32_t id = SW_CACHE_ROW_ID(row->entries[rank]);
        if (SW_CACHE_PLACE_SLOT(slice->rows.places[id]) == slot) {
            return rank;
        }
    }
    return SW_CACHE_NONE;
}

/* Makes operation `rank` the only one whose value goes to a slot. */
static __device__ __forceinline__ void take_slot(const struct sw_cache_slice *slice,
                                                 struct row *row, uint32_t rank, uint32_t code,
                                                 uint64_t slot)
{
    uint32_t before = writer_of(slice, row, code, slot);
    if (before != SW_CACHE_NONE) {
        slice->rows.places[SW_CACHE_ROW_ID(row->entries[before])] |= SW_CACHE_PLACE_NONE;
        row->writes &= ~(1U << before);
    }
    row->writes |= 1U << rank;
    set_byte(&row->wrote, rank, code);
}

/* Loads number and key of the next operation left, if there is one. */
static __device__ __forceinline__ void go_on(const struct sw_cache_slice *slice, struct row *row)
{
    if (row->left != 0) {
        row->id = SW_CACHE_ROW_ID(row->entries[__ffs((int)row->left) - 1]);
        row->key = slice->batch.scratch.keys[slice->first + row->id];
    }
}

/* Sorts the operations of a row by their numbers. */
static __device__ __forceinline__ void sort_entries(uint32_t *entries, uint32_t count)
{
    for (uint32_t r = 1; r < count; r++) {
        uint32_t entry = entries[r];
        uint32_t at = r;
        for (; at > 0 && SW_CACHE_ROW_ID(entries[at - 1]) > SW_CACHE_ROW_ID(entry); at--) {
            entries[at] = entries[at - 1];
        }
        entries[at] = entry;
    }
}

/* Reads the entries of a row of `count` operations. All lanes. */
static __device__ __forceinline__ void read_entries(struct row *row, uint32_t count)
{
#pragma unroll
    for (uint32_t r = 0; r < SW_CACHE_ROW; r++) {
        if (!__any_sync(0xffffffffU, count > r)) {
            break;
        }
        uint32_t entry = count > r ? row->entries[r] : 0;
        row->absent |= (uint32_t)((entry & SW_CACHE_ROW_ABSENT) != 0) << r;
        row->codes.word[r / 4] |= SW_CACHE_ROW_CODE(entry) << (8 * (r % 4));
    }
}

/* If several operations of a row write one entry, gives the slot to the last of them. */
static __device__ __forceinline__ void take_hits(const struct sw_cache_slice *slice,
                                                 struct row *row, uint32_t count)
{
    uint32_t hits = ((1U << count) - 1) & ~row->absent;
    bool again = false;
    for (uint32_t later = hits & (hits - 1); later != 0; later &= later - 1) {
        uint32_t r = (uint32_t)__ffs((int)later) - 1;
        uint32_t code = SW_CACHE_ROW_CODE(row->entries[r]);
        again = again || (sw_cache_equal(&row->codes, code) & hits & ((1U << r) - 1)) != 0;
    }
    row->writes = hits;
    row->wrote = row->codes;
    if (again) {
        row->writes = 0;
        for (; hits != 0; hits &= hits - 1) {
            uint32_t r = (uint32_t)__ffs((int)hits) - 1;
            uint32_t entry = row->entries[r];
            uint64_t place = slice->rows.places[SW_CACHE_ROW_ID(entry)];
            take_slot(slice, row, r, SW_CACHE_ROW_CODE(entry), SW_CACHE_PLACE_SLOT(place));
        }
    }
}

/* Opens the row of a bucket, and empties it for the next slice. `has`: the bucket exists. All
 * lanes. */
static __device__ __forceinline__ void open_row(const struct sw_cache_slice *slice, bool has,
                                                uint64_t bucket, struct row *row)
{
    struct sw_cache_tile alone = {0, 0, 0};
    const struct sw_cache_slots *slots = &slice->batch.slots;
    uint32_t count = has ? slice->rows.counts[bucket] : 0;
    uint32_t *entries = slice->rows.entries + bucket * SW_CACHE_ROW;
    if (count != 0) {
        slice->rows.counts[bucket] = 0;
    }
    count = count <= SW_CACHE_ROW ? count : 0; /* the bins execute overfull rows */
    sort_entries(entries, count);
    row->entries = entries;
    read_entries(row, count);
    take_hits(slice, row, count);
    row->left = row->absent;
    if (row->left != 0) {
        row->head.base = __ldcg(&slots->heads[bucket].base);
        row->head.shift = __ldcg(&slots->heads[bucket].shift);
        go_on(slice, row);
        struct sw_cache_line line = sw_cache_read_line(alone, slots->digests, bucket);
        row->empty = sw_cache_match(&line, 0);
    }
}

/* Returns whether an earlier operation of the row has inserted the current key, and the entry still
 * exists; then sets *slot to its slot. */
static __device__ __forceinline__ bool made_before(const struct sw_cache_slice *slice,
                                                   const struct row *row, uint32_t rank,
                                                   uint32_t digest, uint64_t *slot)
{
    uint32_t earlier = sw_cache_equal(&row->codes, digest) & row->absent & row->writes;
    for (earlier &= (1U << rank) - 1; earlier != 0; earlier &= earlier - 1) {
        uint32_t r = (uint32_t)__ffs((int)earlier) - 1;
        uint32_t id = SW_CACHE_ROW_ID(row->entries[r]);
        if (slice->batch.scratch.keys[slice->first + id] == row->key) {
            /* another row may have evicted the entry from a second bucket, and a later operation
             * may have inserted it again */
            *slot = SW_CACHE_PLACE_SLOT(slice->rows.places[id]);
            if (__ldcg(&sw_cache_entry_at(&slice->batch.slots, *slot)->key) == row->key) {
                return true;
            }
        }
    }
    return false;
}

/* Returns the value that is given to the score of the current operation. */
static __device__ __forceinline__ uint64_t given_of(const struct sw_cache_slice *slice,
                                                    const struct row *row)
{
    return sw_cache_table_given(slice->batch.scores, slice->batch.slots.policy,
                                slice->first + row->id);
}

/* Uses the entry of the current key again. An earlier operation of the row has inserted it at
 * `slot`. */
static __device__ __forceinline__ void use_again(const struct sw_cache_slice *slice,
                                                 const struct sw_cache_candidates *candidates,
                                                 struct row *row, uint32_t rank, uint64_t slot)
{
    const struct sw_cache_slots *slots = &slice->batch.slots;
    struct sw_cache_entry *entry = sw_cache_entry_at(slots, slot);
    entry->score = sw_cache_score_used(slots->policy, &slice->batch.time, slice->first + row->id,
                                       given_of(slice, row), __ldcg(&entry->score));
    slice->rows.places[row->id] = sw_cache_place(slot, SW_CACHE_HIT);
    take_slot(slice, row, rank, sw_cache_row_code(candidates, slot), slot);
}

/* Returns an empty slot for a newcomer, in the bucket that has more of them; SW_CACHE_NOWHERE if
 * neither has any. The row knows the empty slots of the first bucket. The function reads those of
 * the second bucket, under its lock. */
static __device__ __forceinline__ uint64_t empty_slot(const struct sw_cache_slice *slice,
                                                      const struct sw_cache_candidates *candidates,
                                                      struct row *row)
{
    struct sw_cache_tile alone = {0, 0, 0};
    struct sw_cache_line line =
        sw_cache_read_line(alone, slice->batch.slots.digests, candidates->second);
    struct sw_cache_set second = sw_cache_match(&line, 0);
    if (sw_cache_count(&second) > sw_cache_count(&row->empty)) {
        return candidates->second * SW_CACHE_BUCKET_SLOTS + sw_cache_take(alone, &second);
    }
    if (!sw_cache_any(&row->empty)) {
        return SW_CACHE_NOWHERE;
    }
    return candidates->first * SW_CACHE_BUCKET_SLOTS + sw_cache_take(alone, &row->empty);
}

/* Inserts the current key at `slot`. */
static __device__ __forceinline__ void make_entry(const struct sw_cache_slice *slice,
                                                  const struct sw_cache_candidates *candidates,
                                                  const struct row *row, uint64_t slot,
                                                  uint64_t score)
{
    const struct sw_cache_slots *slots = &slice->batch.slots;
    uint64_t bucket = slot / SW_CACHE_BUCKET_SLOTS;
    slots->digests[slot] = (uint8_t)candidates->digest;
    sw_cache_set_entry(slots, slot, row->key, score);
    if (bucket != candidates->first) {
        sw_cache_mark(slots, bucket, slot, score);
    } else if (row->head.shift != SW_CACHE_UNMARKED) {
        uint32_t mark = sw_cache_mark_of(row->head.base, row->head.shift, score);
        slots->marks[slot] = (uint8_t)mark;
    }
}

/* Carries out the current operation, and advances to the next one. Returns SW_CACHE_NOWHERE. If a
 * bucket needs marks first, returns the bucket and changes no entry. */
static __device__ __forceinline__ uint64_t carry_out(const struct sw_cache_slice *slice,
                                                     const struct sw_cache_candidates *candidates,
                                                     struct row *row)
{
    struct sw_cache_tile alone = {0, 0, 0};
    struct sw_cache_slots slots = slice->batch.slots;
    uint32_t rank = (uint32_t)__ffs((int)row->left) - 1;
    uint64_t index = slice->first + row->id;
    uint64_t slot = SW_CACHE_NOWHERE;
    if (made_before(slice, row, rank, candidates->digest, &slot)) {
        use_again(slice, candidates, row, rank, slot);
    } else {
        uint64_t score =
            sw_cache_score_new(slots.policy, &slice->batch.time, index, given_of(slice, row));
        enum sw_cache_result result = SW_CACHE_INSERTED;
        slot = empty_slot(slice, candidates, row);
        if (slot == SW_CACHE_NOWHERE) {
            uint64_t left = 0;
            uint64_t unmarked = SW_CACHE_NOWHERE;
            slot = sw_cache_make_room(alone, &slots, candidates, score, &left, &unmarked);
            if (unmarked != SW_CACHE_NOWHERE) {
                return unmarked;
            }
            result = slot == SW_CACHE_NOWHERE ? SW_CACHE_REFUSED : SW_CACHE_REPLACED;
        }
        uint64_t place = SW_CACHE_PLACE_NONE;
        if (slot != SW_CACHE_NOWHERE) {
            make_entry(slice, candidates, row, slot, score);
            take_slot(slice, row, rank, sw_cache_row_code(candidates, slot), slot);
            place = slot;
        }
        slice->rows.places[row->id] = sw_cache_place(place, result);
    }
    row->left &= row->left - 1;
    go_on(slice, row);
    return SW_CACHE_NOWHERE;
}

static __global__ void __launch_bounds__(NEWCOMERS_THREADS, SW_CACHE_NEWCOMERS_BLOCKS)
    newcomers_kernel(const struct sw_cache_slice slice)
{
    sw_cuda_follow();
    const struct sw_cache_slots *slots = &slice.batch.slots;
    uint64_t mine = (uint64_t)blockIdx.x * NEWCOMERS_THREADS + threadIdx.x;
    struct row row = {};
    if (mine == 0) {
        *slice.rows.rest_count_next = 0;
    }
    open_row(&slice, mine < sw_cache_first_buckets(slots), mine, &row);
    while (__any_sync(0xffffffffU, row.left != 0)) {
        struct sw_cache_candidates candidates = sw_cache_candidates_of(slots, row.key);
        uint32_t *lock = &slots->heads[candidates.second].lock;
        uint64_t unmarked = SW_CACHE_NOWHERE;
        bool locked = false;
        if (row.left != 0) {
            locked = sw_cache_try_lock(lock);
            if (locked) {
                unmarked = carry_out(&slice, &candidates, &row);
            }
        }
        sw_cache_make_marks_of(slots, unmarked);
        if (unmarked == mine) {
            row.head.base = __ldcg(&slots->heads[mine].base);
            row.head.shift = __ldcg(&slots->heads[mine].shift);
        }
        if (locked) {
            sw_cache_unlock(lock);
        }
    }
}

cudaError_t sw_cache_launch_newcomers(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    uint64_t rows = slice->count == 0 ? 1 : sw_cache_first_buckets(&slice->batch.slots);
    uint32_t blocks = (uint32_t)((rows + NEWCOMERS_THREADS - 1) / NEWCOMERS_THREADS);
    return sw_cuda_launch_following(true, newcomers_kernel, blocks, NEWCOMERS_THREADS, stream,
                                    *slice);
}
