/* SPDX-License-Identifier: MIT
 *
 * operate.inl - executes one operation that writes: looks the key up, then changes its entry or
 * makes one.
 *
 * Included by files that execute operations. No other thread may access the key's buckets during an
 * operation: on the CPU the batch is alone; on CUDA the tile holds the locks of both buckets (M5),
 * or no other thread of the kernel uses them (M8). Between the lanes of the tile, sw_cache_join
 * orders stores and loads (M3).
 */
#include "table/cache/actions.h"
#include "table/cache/bucket.inl"
#include "table/load_once.h"

struct sw_cache_step {
    uint32_t actions;
    uint32_t element; /* type of the numbers that are added: enum sw_cache_element */
    uint64_t key;
    uint64_t index;       /* of the operation in the batch */
    uint64_t given;       /* the caller's score, or number of uses */
    const uint8_t *value; /* NULL: a new entry keeps that of its slot */
    uint8_t *out;
    uint64_t *score_out; /* or NULL */
};

/* Where evicted entries are listed; keys NULL: nowhere. */
struct sw_cache_sink {
    uint64_t *keys;
    uint8_t *values; /* or NULL, as scores */
    uint64_t *scores;
    uint64_t *count;
};

/* The values that an operation moves: first one out of the cache (read or evicted), then one into a
 * slot (written or added). out_from or in_from NULL: no such value. The same in every lane. */
struct sw_cache_moves {
    const uint8_t *out_from;
    uint8_t *out_to;
    const uint8_t *in_from;
    uint64_t slot; /* the slot whose value leaves or is read, and is then written, if either
                      happens */
    bool adds;
};
#define SW_CACHE_NO_MOVES                         \
    {                                             \
        NULL, NULL, NULL, SW_CACHE_NOWHERE, false \
    }

/* Copies one value. Both are aligned to 16 bytes if its size is a multiple of 16, else to 4. */
SW_CACHE_FN void sw_cache_copy(struct sw_cache_tile g, uint8_t *to, const uint8_t *from,
                               uint32_t bytes)
{
#ifdef __CUDACC__
    if (bytes % 16 == 0) {
        for (uint32_t first = g.lane; first < bytes / 16; first += 4 * SW_CACHE_LANES) {
            uint4 part[4];
            SW_CACHE_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                uint32_t at = first + k * SW_CACHE_LANES;
                part[k] = at < bytes / 16 ? __ldcg((const uint4 *)from + at) : uint4();
            }
            SW_CACHE_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                uint32_t at = first + k * SW_CACHE_LANES;
                if (at < bytes / 16) {
                    ((uint4 *)to)[at] = part[k];
                }
            }
        }
    } else {
        for (uint32_t at = g.lane; at < bytes / 4; at += SW_CACHE_LANES) {
            ((uint32_t *)to)[at] = __ldcg((const uint32_t *)from + at);
        }
    }
#else
    (void)g;
    sw_copy_once(to, from, bytes);
#endif
}

/* Loads a number from the caller's memory once, because other threads may change it at any time. */
#ifdef __CUDACC__
#define SW_CACHE_GIVEN(pointer) (*(pointer))
#else
#define SW_CACHE_GIVEN(pointer) SW_LOAD_ONCE(pointer)
#endif
SW_CACHE_FN float sw_cache_given_float(const uint8_t *from)
{
#ifdef __CUDACC__
    return *(const float *)(const void *)from;
#else
    const uint32_t bits = SW_LOAD_ONCE((const uint32_t *)(const void *)from);
    float number;
    memcpy(&number, &bits, sizeof(number));
    return number;
#endif
}

/* Adds `from` to `to`, number by number. */
SW_CACHE_FN void sw_cache_add_value(struct sw_cache_tile g, uint8_t *to, const uint8_t *from,
                                    uint32_t bytes, uint32_t element)
{
    uint32_t size = element == SW_CACHE_U64 ? 8 : 4;
    for (uint32_t at = g.lane * size; at < bytes; at += SW_CACHE_LANES * size) {
        if (element == SW_CACHE_U64) {
            const uint64_t *addend = (const uint64_t *)(const void *)(from + at);
            uint64_t *sum = (uint64_t *)(void *)(to + at);
            *sum = SW_CACHE_LOAD(sum) + SW_CACHE_GIVEN(addend);
        } else if (element == SW_CACHE_U32) {
            const uint32_t *addend = (const uint32_t *)(const void *)(from + at);
            uint32_t *sum = (uint32_t *)(void *)(to + at);
            *sum = SW_CACHE_LOAD(sum) + SW_CACHE_GIVEN(addend);
        } else {
            float *sum = (float *)(void *)(to + at);
            *sum = SW_CACHE_LOAD(sum) + sw_cache_given_float(from + at);
        }
    }
}

/* Moves the values of one operation. */
SW_CACHE_FN void sw_cache_move(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                               uint32_t element, const struct sw_cache_moves *moves)
{
    if (moves->out_from != NULL) {
        sw_cache_copy(g, moves->out_to, moves->out_from, slots->value_bytes);
        sw_cache_join(g); /* M3: the old value was read before the new one is written */
    }
    if (moves->in_from == NULL) {
        return;
    }
    uint8_t *to = sw_cache_value_at(slots, moves->slot);
    if (moves->adds) {
        sw_cache_add_value(g, to, moves->in_from, slots->value_bytes, element);
    } else {
        sw_cache_copy(g, to, moves->in_from, slots->value_bytes);
    }
}

/* By one lane. */
SW_CACHE_FN void sw_cache_set_entry(const struct sw_cache_slots *slots, uint64_t slot, uint64_t key,
                                    uint64_t score)
{
#ifdef __CUDACC__
    *(ulonglong2 *)sw_cache_entry_at(slots, slot) =
        make_ulonglong2(key, score); /* one store: concurrent readers see a whole entry */
#else
    *sw_cache_entry_at(slots, slot) = (struct sw_cache_entry){key, score};
#endif
}

/* Writes the mark of a score, if the bucket has marks. By one lane. */
SW_CACHE_FN void sw_cache_mark(const struct sw_cache_slots *slots, uint64_t bucket, uint64_t slot,
                               uint64_t score)
{
    const struct sw_cache_head *head = slots->heads + bucket;
    uint32_t shift = SW_CACHE_LOAD(&head->shift);
    if (shift != SW_CACHE_UNMARKED) {
        slots->marks[slot] = (uint8_t)sw_cache_mark_of(SW_CACHE_LOAD(&head->base), shift, score);
    }
}

/* Counts a use of the entry at `slot`. */
SW_CACHE_FN void sw_cache_use(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                              const struct sw_cache_time *time, const struct sw_cache_step *step,
                              uint64_t slot)
{
    if (g.lane != 0) {
        return;
    }
    bool custom = slots->policy == SW_CACHE_CUSTOM;
    struct sw_cache_entry *entry = sw_cache_entry_at(slots, slot);
    uint64_t before = custom ? 0 : SW_CACHE_LOAD(&entry->score);
    uint64_t score = sw_cache_score_used(slots->policy, time, step->index, step->given, before);
    entry->score = score;
    if (custom) {
        sw_cache_mark(slots, slot / SW_CACHE_BUCKET_SLOTS, slot, score);
    }
}

/* Executes the operation on a present key, at `slot`. */
SW_CACHE_FN void sw_cache_hit(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                              const struct sw_cache_time *time, const struct sw_cache_step *step,
                              uint64_t slot, struct sw_cache_moves *moves)
{
    moves->slot = slot;
    if (step->actions & SW_CACHE_DO_READ) {
        moves->out_from = sw_cache_value_at(slots, slot);
        moves->out_to = step->out;
    }
    if (step->actions & (SW_CACHE_DO_WRITE | SW_CACHE_DO_ADD)) {
        moves->in_from = step->value;
        moves->adds = (step->actions & SW_CACHE_DO_ADD) != 0;
    }
    if (step->actions & SW_CACHE_DO_USE) {
        sw_cache_use(g, slots, time, step, slot);
    }
    if (g.lane == 0 && (step->actions & SW_CACHE_DO_ERASE)) {
        slots->digests[slot] = 0;
    }
    if (g.lane == 0 && step->score_out != NULL) {
        *step->score_out = SW_CACHE_LOAD(&sw_cache_entry_at(slots, slot)->score);
    }
}

/* Adds the evicted entry at `slot` to the list of evicted entries. */
SW_CACHE_FN void sw_cache_list(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                               const struct sw_cache_sink *sink, uint64_t slot, uint64_t score,
                               struct sw_cache_moves *moves)
{
    uint32_t index = 0; /* a batch has fewer operations than 2^32 */
    if (g.lane == 0) {
#ifdef __CUDACC__
        /* M6: the word before the addition is the place in the list */
        index = (uint32_t)atomicAdd((unsigned long long *)sink->count, 1ULL);
#else
        index = (uint32_t)(*sink->count)++;
#endif
        sink->keys[index] = SW_CACHE_LOAD(&sw_cache_entry_at(slots, slot)->key);
        if (sink->scores != NULL) {
            sink->scores[index] = score;
        }
    }
    index = sw_cache_from(g, index, 0);
    if (sink->values != NULL) {
        moves->out_from = sw_cache_value_at(slots, slot);
        moves->out_to = sink->values + (uint64_t)index * slots->value_bytes;
    }
}

/* Finds the entry to evict for a new entry whose buckets are full. Returns its slot, and sets *left
 * to its score. Returns SW_CACHE_NOWHERE if the new entry is not admitted. If a bucket needs marks
 * first, sets *unmarked to that bucket and changes no entry. */
SW_CACHE_FN uint64_t sw_cache_make_room(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                                        const struct sw_cache_candidates *candidates,
                                        uint64_t score, uint64_t *left, uint64_t *unmarked)
{
    struct sw_cache_search first;
    struct sw_cache_search second;
    struct sw_cache_line marks_first;
    struct sw_cache_line marks_second;
    sw_cache_search_read(g, slots, candidates->first, &first, &marks_first);
    if (slots->two) {
        sw_cache_search_read(g, slots, candidates->second, &second, &marks_second);
    }
    sw_cache_search_judge(g, &first, &marks_first);
    if (slots->two) {
        sw_cache_search_judge(g, &second, &marks_second);
        sw_cache_search_prefetch(g, slots, &second);
    }
    uint64_t bucket = candidates->first;
    struct sw_cache_lowest lowest = sw_cache_search_end(g, slots, &first);
    if (lowest.slot == SW_CACHE_NONE) {
        *unmarked = candidates->first;
        return SW_CACHE_NOWHERE;
    }
    if (slots->two) {
        struct sw_cache_lowest other = sw_cache_search_end(g, slots, &second);
        if (other.slot == SW_CACHE_NONE) {
            *unmarked = candidates->second;
            return SW_CACHE_NOWHERE;
        }
        if (other.score < lowest.score) {
            lowest = other;
            bucket = candidates->second;
        }
    }
    *left = lowest.score;
    return score < lowest.score ? SW_CACHE_NOWHERE : bucket * SW_CACHE_BUCKET_SLOTS + lowest.slot;
}

/* Returns the slot for a new entry: an empty one of the emptier bucket, or that of an evicted
 * entry. */
SW_CACHE_FN uint64_t sw_cache_choose(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                                     const struct sw_cache_candidates *candidates,
                                     const struct sw_cache_line *first,
                                     const struct sw_cache_line *second,
                                     const struct sw_cache_sink *sink, uint64_t score,
                                     enum sw_cache_result *result, struct sw_cache_moves *moves,
                                     uint64_t *unmarked)
{
    uint64_t left = 0;
    uint64_t bucket = candidates->first;
    struct sw_cache_line emptier = *first;
    if (slots->two && sw_cache_count_empty(g, second) > sw_cache_count_empty(g, first)) {
        bucket = candidates->second;
        emptier = *second;
    }
    uint32_t empty = sw_cache_first_empty(g, &emptier);
    *result = SW_CACHE_INSERTED;
    if (empty != SW_CACHE_NONE) {
        return bucket * SW_CACHE_BUCKET_SLOTS + empty;
    }
    uint64_t slot = sw_cache_make_room(g, slots, candidates, score, &left, unmarked);
    *result = slot == SW_CACHE_NOWHERE ? SW_CACHE_REFUSED : SW_CACHE_REPLACED;
    if (slot != SW_CACHE_NOWHERE && sink->keys != NULL) {
        sw_cache_list(g, slots, sink, slot, left, moves);
    }
    return slot;
}

/* Executes one step except for the values. If a bucket needs marks first, sets *unmarked to that
 * bucket; the caller makes the marks and repeats the step. *moves must be SW_CACHE_NO_MOVES; it
 * receives the values, which the caller moves before any other thread uses the key's buckets. */
SW_CACHE_FN enum sw_cache_result
sw_cache_try_operate(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                     const struct sw_cache_time *time, const struct sw_cache_step *step,
                     const struct sw_cache_candidates *candidates, const struct sw_cache_sink *sink,
                     struct sw_cache_moves *moves, uint64_t *unmarked)
{
    struct sw_cache_line first = sw_cache_read_line(g, slots->digests, candidates->first);
    struct sw_cache_line second = first;
    if (slots->two) {
        second = sw_cache_read_line(g, slots->digests, candidates->second);
    }
    uint64_t resident = sw_cache_seek_candidates(g, slots, candidates, &first, &second, step->key);
    if (resident != SW_CACHE_NOWHERE) {
        sw_cache_hit(g, slots, time, step, resident, moves);
        return SW_CACHE_HIT;
    }
    if (!(step->actions & SW_CACHE_DO_INSERT)) {
        return SW_CACHE_MISS;
    }
    uint64_t score = sw_cache_score_new(slots->policy, time, step->index, step->given);
    enum sw_cache_result result;
    uint64_t slot = sw_cache_choose(g, slots, candidates, &first, &second, sink, score, &result,
                                    moves, unmarked);
    if (slot != SW_CACHE_NOWHERE) {
        if (g.lane == 0) {
            slots->digests[slot] = (uint8_t)candidates->digest;
            sw_cache_set_entry(slots, slot, step->key, score);
            sw_cache_mark(slots, slot / SW_CACHE_BUCKET_SLOTS, slot, score);
            if (step->score_out != NULL) {
                *step->score_out = score;
            }
        }
        moves->in_from = step->value;
        moves->slot = slot;
    }
    return result;
}

/* Fills `out` of an operation that found no entry: with zeros; of one that keeps values, with the
 * id of its new entry at `slot`, or with ones if that was not admitted. */
SW_CACHE_FN void sw_cache_fill(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                               const struct sw_cache_step *step, uint64_t slot)
{
    const bool keeps = (step->actions & SW_CACHE_DO_KEEP) != 0;
    const uint32_t *id = NULL;
    if (keeps && slot != SW_CACHE_NOWHERE) {
        id = (const uint32_t *)(const void *)sw_cache_value_at(slots, slot);
    }
    for (uint32_t at = g.lane; at < slots->value_bytes / 4; at += SW_CACHE_LANES) {
        ((uint32_t *)(void *)step->out)[at] = id != NULL ? SW_CACHE_LOAD(id + at)
                                              : keeps    ? UINT32_MAX
                                                         : 0;
    }
}

/* Makes the marks of a full bucket, after an operation that set *unmarked. */
SW_CACHE_FN void sw_cache_make_marks(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                                     uint64_t bucket)
{
    uint64_t first = bucket * SW_CACHE_BUCKET_SLOTS;
    sw_cache_mark_bucket(g, (const uint8_t *)&sw_cache_entry_at(slots, first)->score,
                         slots->entry_stride, slots->marks + first, slots->heads + bucket);
}

/* Executes one step; the same in every lane. If `fills`, calls sw_cache_fill unless the key was
 * present. (Makes marks here, where few variables are live: on
 * CUDA a call inside sw_cache_try_operate costs registers.) */
SW_CACHE_FN enum sw_cache_result sw_cache_operate(struct sw_cache_tile g,
                                                  const struct sw_cache_slots *slots,
                                                  const struct sw_cache_time *time,
                                                  const struct sw_cache_step *step,
                                                  const struct sw_cache_candidates *candidates,
                                                  const struct sw_cache_sink *sink, bool fills)
{
    for (;;) {
        uint64_t unmarked = SW_CACHE_NOWHERE;
        struct sw_cache_moves moves = SW_CACHE_NO_MOVES;
        enum sw_cache_result result =
            sw_cache_try_operate(g, slots, time, step, candidates, sink, &moves, &unmarked);
        if (unmarked == SW_CACHE_NOWHERE) {
            sw_cache_move(g, slots, step->element, &moves);
            if (fills && result != SW_CACHE_HIT) {
                sw_cache_fill(g, slots, step, moves.slot);
            }
            return result;
        }
        sw_cache_make_marks(g, slots, unmarked);
    }
}
