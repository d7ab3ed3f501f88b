/* SPDX-License-Identifier: MIT
 *
 * bucket.inl - searches in one bucket: for a key, for an empty slot, for the lowest score.
 *
 * Included by files that execute operations. On CUDA the calling tile holds the bucket's lock, or
 * no other tile uses the bucket.
 */
#include "table/cache/score.h"
#include "table/cache/tile.h"

/* Returns the slot of `key` in its bucket, or SW_CACHE_NONE. `line` is the bucket's digests. */
SW_CACHE_FN uint32_t sw_cache_seek(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                                   uint64_t bucket, const struct sw_cache_line *line,
                                   uint32_t digest, uint64_t key)
{
    uint64_t first = bucket * SW_CACHE_BUCKET_SLOTS;
    struct sw_cache_set equal = sw_cache_match(line, digest);
    uint32_t mine = SW_CACHE_NONE;
    while (sw_cache_any(&equal)) {
        uint32_t slot = sw_cache_take(g, &equal);
        mine = SW_CACHE_LOAD(&sw_cache_entry_at(slots, first + slot)->key) == key ? slot : mine;
    }
    sw_cache_join(g); /* M3: the lanes meet again after the loop */
    uint32_t lanes = sw_cache_ballot(g, mine != SW_CACHE_NONE);
    return lanes == 0 ? SW_CACHE_NONE : sw_cache_from(g, mine, sw_cache_first_bit(lanes));
}

/* Returns the slot of `key` in the cache, or SW_CACHE_NOWHERE. The lines are the digests of its
 * buckets. On CUDA the loads of both buckets' keys overlap. */
SW_CACHE_FN uint64_t sw_cache_seek_candidates(struct sw_cache_tile g,
                                              const struct sw_cache_slots *slots,
                                              const struct sw_cache_candidates *candidates,
                                              const struct sw_cache_line *first,
                                              const struct sw_cache_line *second, uint64_t key)
{
#if SW_CACHE_LANES > 1
    uint64_t at_first = candidates->first * SW_CACHE_BUCKET_SLOTS + sw_cache_chunk_slot(g, 0);
    uint64_t at_second = candidates->second * SW_CACHE_BUCKET_SLOTS + sw_cache_chunk_slot(g, 0);
    uint32_t in_first = sw_cache_equal(&first->chunk[0], candidates->digest);
    uint32_t in_second = slots->two ? sw_cache_equal(&second->chunk[0], candidates->digest) : 0;
    uint64_t mine = SW_CACHE_NOWHERE;
    while ((in_first | in_second) != 0) {
        uint64_t slot_first = at_first + sw_cache_first_bit(in_first);
        uint64_t slot_second = at_second + sw_cache_first_bit(in_second);
        uint64_t key_first = ~key;
        uint64_t key_second = ~key;
        if (in_first != 0) {
            key_first = SW_CACHE_LOAD(&sw_cache_entry_at(slots, slot_first)->key);
        }
        if (in_second != 0) {
            key_second = SW_CACHE_LOAD(&sw_cache_entry_at(slots, slot_second)->key);
        }
        mine = key_first == key ? slot_first : mine;
        mine = key_second == key ? slot_second : mine;
        in_first &= in_first - 1;
        in_second &= in_second - 1;
    }
    __syncwarp(g.mask); /* M3: the lanes meet again after the loop */
    uint32_t lanes = sw_cache_ballot(g, mine != SW_CACHE_NOWHERE);
    uint32_t lane = lanes == 0 ? 0 : sw_cache_first_bit(lanes);
    return __shfl_sync(g.mask, mine, (int)lane, SW_CACHE_LANES);
#else
    uint64_t bucket = candidates->first;
    uint32_t at = sw_cache_seek(g, slots, bucket, first, candidates->digest, key);
    if (at == SW_CACHE_NONE && slots->two) {
        bucket = candidates->second;
        at = sw_cache_seek(g, slots, bucket, second, candidates->digest, key);
    }
    return at == SW_CACHE_NONE ? SW_CACHE_NOWHERE : bucket * SW_CACHE_BUCKET_SLOTS + at;
#endif
}

/* Returns the number of empty slots of a bucket. */
SW_CACHE_FN uint32_t sw_cache_count_empty(struct sw_cache_tile g, const struct sw_cache_line *line)
{
    struct sw_cache_set empty = sw_cache_match(line, 0);
    return sw_cache_add(g, sw_cache_count(&empty));
}

/* Returns the first empty slot, or SW_CACHE_NONE. */
SW_CACHE_FN uint32_t sw_cache_first_empty(struct sw_cache_tile g, const struct sw_cache_line *line)
{
    struct sw_cache_set empty = sw_cache_match(line, 0);
    uint32_t lanes = sw_cache_ballot(g, sw_cache_any(&empty));
    uint32_t mine = sw_cache_any(&empty) ? sw_cache_take(g, &empty) : SW_CACHE_NONE;
    return lanes == 0 ? SW_CACHE_NONE : sw_cache_from(g, mine, sw_cache_first_bit(lanes));
}

struct sw_cache_lowest {
    uint64_t score;
    uint32_t slot;
};

/* Returns the lowest score of all lanes. If several slots have it, returns the lowest of these
 * slots. */
SW_CACHE_FN struct sw_cache_lowest sw_cache_lowest_of(struct sw_cache_tile g,
                                                      struct sw_cache_lowest mine)
{
    struct sw_cache_lowest all;
    all.score = sw_cache_min_wide(g, mine.score);
    all.slot = sw_cache_min(g, mine.score == all.score ? mine.slot : SW_CACHE_NONE);
    return all;
}

/* Returns the lowest of the marks that a lane has. */
SW_CACHE_FN uint32_t sw_cache_lowest_byte(const struct sw_cache_line *line)
{
#ifdef __CUDACC__
    uint32_t least = 0xffffffffU;
    SW_CACHE_UNROLL
    for (uint32_t w = 0; w < 4 * SW_CACHE_CHUNKS; w++) {
        least = __vminu4(least, line->chunk[w / 4].word[w % 4]);
    }
    least = __vminu4(least, least >> 16 | 0xffff0000U);
    return min(least & 0xff, least >> 8 & 0xff);
#else
    uint8_t bytes[sizeof(*line)];
    memcpy(bytes, line, sizeof(bytes));
    uint32_t least = 255;
    for (uint32_t i = 0; i < sizeof(bytes); i++) {
        least = bytes[i] < least ? bytes[i] : least;
    }
    return least;
#endif
}

/* Returns how many of a lane's bytes are at most `limit`. */
SW_CACHE_FN uint32_t sw_cache_count_within(const struct sw_cache_line *line, uint32_t limit)
{
    uint32_t count = 0;
    SW_CACHE_UNROLL
    for (uint32_t c = 0; c < SW_CACHE_CHUNKS; c++) {
#ifdef __CUDACC__
        SW_CACHE_UNROLL
        for (uint32_t w = 0; w < 4; w++) {
            count += __popc(__vcmpleu4(line->chunk[c].word[w], limit * 0x01010101U)) / 8;
        }
#else
        for (uint32_t i = 0; i < SW_CACHE_CHUNK_SLOTS; i++) {
            count += sw_cache_byte(&line->chunk[c], i) <= limit;
        }
#endif
    }
    return count;
}

SW_CACHE_FN void sw_cache_write_chunk(uint8_t *bytes, const struct sw_cache_chunk *chunk)
{
#ifdef __CUDACC__
    *(uint4 *)bytes = make_uint4(chunk->word[0], chunk->word[1], chunk->word[2], chunk->word[3]);
#else
    memcpy(bytes, chunk, sizeof(*chunk));
#endif
}

/* Makes exact marks for a full bucket. The base is its lowest score. The shift is the smallest at
 * which half of its marks are below 255, so that half of the entries can leave before new marks are
 * needed. The scores are `stride` bytes apart. (The function does not take the struct of the slots:
 * on CUDA, kernel arguments whose address is taken are copied.) */
SW_CACHE_SLOW void sw_cache_mark_bucket(struct sw_cache_tile g, const uint8_t *scores,
                                        uint32_t stride, uint8_t *marks, struct sw_cache_head *head)
{
    struct sw_cache_lowest mine = {UINT64_MAX, SW_CACHE_NONE};
    for (uint32_t c = 0; c < SW_CACHE_CHUNKS; c++) {
        SW_CACHE_UNROLL
        for (uint32_t i = 0; i < SW_CACHE_CHUNK_SLOTS; i++) {
            uint32_t slot = sw_cache_chunk_slot(g, c) + i;
            uint64_t score = SW_CACHE_LOAD(sw_cache_score_at(scores, stride, slot));
            if (score < mine.score || mine.slot == SW_CACHE_NONE) {
                mine.score = score;
                mine.slot = slot;
            }
        }
    }
    struct sw_cache_lowest lowest = sw_cache_lowest_of(g, mine);
    struct sw_cache_line shifts = {0};
    SW_CACHE_UNROLL
    for (uint32_t c = 0; c < SW_CACHE_CHUNKS; c++) {
        SW_CACHE_UNROLL
        for (uint32_t i = 0; i < SW_CACHE_CHUNK_SLOTS; i++) {
            uint32_t slot = sw_cache_chunk_slot(g, c) + i;
            uint64_t score = SW_CACHE_LOAD(sw_cache_score_at(scores, stride, slot));
            uint32_t needed = sw_cache_shift_for(score - lowest.score);
            sw_cache_set_byte(&shifts.chunk[c], i, needed);
        }
    }
    uint32_t shift = 0;
    for (uint32_t step = 32; step > 0; step /= 2) {
        uint32_t within = sw_cache_add(g, sw_cache_count_within(&shifts, shift + step - 1));
        shift += within < SW_CACHE_BUCKET_SLOTS / 2 ? step : 0;
    }
    SW_CACHE_UNROLL
    for (uint32_t c = 0; c < SW_CACHE_CHUNKS; c++) {
        struct sw_cache_chunk fresh = {0};
        SW_CACHE_UNROLL
        for (uint32_t i = 0; i < SW_CACHE_CHUNK_SLOTS; i++) {
            uint32_t slot = sw_cache_chunk_slot(g, c) + i;
            uint64_t score = SW_CACHE_LOAD(sw_cache_score_at(scores, stride, slot));
            sw_cache_set_byte(&fresh, i, sw_cache_mark_of(lowest.score, shift, score));
        }
        sw_cache_write_chunk(marks + sw_cache_chunk_slot(g, c), &fresh);
    }
    if (g.lane == 0) {
        head->base = lowest.score;
        head->shift = shift;
    }
    sw_cache_join(g); /* M3: base and shift */
}

/* Maximum entries with the lowest mark; if there are more, the bucket gets new marks. */
#define SW_CACHE_CANDIDATES_MAX 8

/* State of the search for the lowest score of a bucket. It is loaded before any code waits for
 * it. */
struct sw_cache_search {
    uint64_t bucket;
    struct sw_cache_head head;
    uint32_t mark;                  /* the lowest */
    struct sw_cache_set candidates; /* this lane's slots with the lowest mark */
    bool marked;                    /* the bucket has marks, and they are precise enough */
};

/* Returns the lowest score of the candidates whose score really has the mark `mark`. The other
 * candidates receive the mark of their score. slot is SW_CACHE_NONE if no candidate has that
 * mark. */
SW_CACHE_FN struct sw_cache_lowest sw_cache_examine(struct sw_cache_tile g,
                                                    const struct sw_cache_slots *slots,
                                                    const struct sw_cache_search *search)
{
    const struct sw_cache_head *head = &search->head;
    uint64_t first = search->bucket * SW_CACHE_BUCKET_SLOTS;
    struct sw_cache_lowest mine = {UINT64_MAX, SW_CACHE_NONE};
    struct sw_cache_set left = search->candidates;
    /* at shift 0 all scores with this mark are equal: a lane's first is enough */
    while (sw_cache_any(&left) && !(head->shift == 0 && mine.slot != SW_CACHE_NONE)) {
        uint32_t slot = sw_cache_take(g, &left);
        uint64_t score = SW_CACHE_LOAD(&sw_cache_entry_at(slots, first + slot)->score);
        uint32_t actual = sw_cache_mark_of(head->base, head->shift, score);
        if (actual != search->mark) {
            slots->marks[first + slot] = (uint8_t)actual;
        } else if (score < mine.score || mine.slot == SW_CACHE_NONE) {
            mine.score = score;
            mine.slot = slot;
        }
    }
    return sw_cache_lowest_of(g, mine);
}

SW_CACHE_FN void sw_cache_search_read(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                                      uint64_t bucket, struct sw_cache_search *search,
                                      struct sw_cache_line *line)
{
    search->bucket = bucket;
    search->head.base = SW_CACHE_LOAD(&slots->heads[bucket].base);
    search->head.shift = SW_CACHE_LOAD(&slots->heads[bucket].shift);
    *line = sw_cache_read_line(g, slots->marks, bucket);
}

SW_CACHE_FN void sw_cache_search_judge(struct sw_cache_tile g, struct sw_cache_search *search,
                                       const struct sw_cache_line *line)
{
    uint32_t mark = sw_cache_min(g, sw_cache_lowest_byte(line));
    search->candidates = sw_cache_match(line, mark);
    uint32_t alike = sw_cache_add(g, sw_cache_count(&search->candidates));
    bool crowded = alike > SW_CACHE_CANDIDATES_MAX && search->head.shift > 0 && mark > 1;
    search->mark = mark;
    search->marked =
        search->head.shift != SW_CACHE_UNMARKED && mark != 0 && mark != 255 && !crowded;
}

/* Prefetches the score that this lane reads first. */
SW_CACHE_FN void sw_cache_search_prefetch(struct sw_cache_tile g,
                                          const struct sw_cache_slots *slots,
                                          const struct sw_cache_search *search)
{
#ifdef __CUDACC__
    struct sw_cache_set candidates = search->candidates;
    if (search->marked && sw_cache_any(&candidates)) {
        uint64_t slot = search->bucket * SW_CACHE_BUCKET_SLOTS + sw_cache_take(g, &candidates);
        asm volatile("prefetch.global.L2 [%0];" : : "l"(sw_cache_entry_at(slots, slot)));
    }
#else
    (void)g;
    (void)slots;
    (void)search;
#endif
}

/* Ends the search: returns the lowest score of a full bucket. If several slots have it, returns the
 * lowest of these slots. A mark is a lower bound, so only the entries with the lowest mark must be
 * read. If all these bounds were too low, they are corrected and the search begins again. slot is
 * SW_CACHE_NONE if the bucket needs new marks first. */
SW_CACHE_FN struct sw_cache_lowest sw_cache_search_end(struct sw_cache_tile g,
                                                       const struct sw_cache_slots *slots,
                                                       struct sw_cache_search *search)
{
    while (search->marked) {
        struct sw_cache_lowest lowest = sw_cache_examine(g, slots, search);
        if (lowest.slot != SW_CACHE_NONE) {
            return lowest;
        }
        sw_cache_join(g); /* M3: the marks that lanes have corrected */
        struct sw_cache_line line = sw_cache_read_line(g, slots->marks, search->bucket);
        sw_cache_search_judge(g, search, &line);
    }
    struct sw_cache_lowest none = {0, SW_CACHE_NONE};
    return none;
}
