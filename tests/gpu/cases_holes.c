/* SPDX-License-Identifier: MIT
 *
 * cases_holes.c - batches of deletes that leave holes, between look-ups and all else.
 *
 * Some keys have the smallest m, so that bucket 0 and the buckets behind it hold entries of the
 * first home. Some have the largest m. A batch deletes random keys, all keys between two m, the
 * keys at both ends, or a few keys again and again.
 */
#include "table/idle.h"
#include "tests/gpu/cases.h"
#include "tests/gpu/known.h"
#include "tests/gpu/write_paths.h"

/* Keys at each end: three buckets' worth. */
#define AT_END 12

static uint64_t key_at(const struct pair *pair, uint64_t i)
{
    const uint64_t ones = pair->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
    return i < AT_END       ? pair_key_of(pair, i)
           : i < 2 * AT_END ? pair_key_of(pair, ones - (i - AT_END))
                            : pair_key(pair, i);
}

static bool is_between(const struct pair *pair, uint64_t key, uint64_t m, uint64_t span)
{
    const uint64_t mask = pair->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
    return ((pair_mix(pair, key) - m) & mask) < span;
}

/* Fills the batch with at most n_max keys of [0, universe) in one of four manners. */
static void draw_keys(struct pair *pair, uint64_t universe)
{
    const uint64_t manner = pair_below(pair, 4);
    const uint64_t mask = pair->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
    const uint64_t m = pair_random(pair) & mask;
    const uint64_t span = mask / (2 + pair_below(pair, 12));
    const uint64_t thousandths = 1 + pair_below(pair, 500);
    uint32_t count = 0;
    for (uint64_t i = 0; i < universe && count < pair->n_max; i++) {
        const uint64_t key = key_at(pair, i);
        const bool wanted = manner == 0   ? pair_below(pair, 1000) < thousandths
                            : manner == 1 ? is_between(pair, key, m, span)
                            : manner == 2 ? i < 2 * AT_END && pair_below(pair, 4) != 0
                                          : true;
        if (wanted) {
            pair->in.keys[count++] =
                manner == 3 ? key_at(pair, pair_below(pair, 1 + thousandths % 9)) : key;
        }
    }
    pair->in.count = count;
    pair->in.group_count = 0;
}

/* Runs one operation on the keys of the batch. */
static bool run_keys(struct pair *pair, enum sw_op op, enum pair_answers answers)
{
    for (uint32_t i = 0; i < pair->in.count; i++) {
        pair->in.values[i] = pair_random(pair);
    }
    pair->in.op = (int)op;
    pair->answers = answers;
    const bool good = pair->in.count == 0 || pair_run(pair, false);
    pair->answers = PAIR_ANSWERS_DRAWN;
    return good;
}

static bool run_all(struct pair *pair, enum sw_op op, uint64_t universe)
{
    for (uint64_t at = 0; at < universe;) {
        pair->in.count = 0;
        pair->in.group_count = 0;
        for (; at < universe && pair->in.count < pair->n_max; at++) {
            pair->in.keys[pair->in.count++] = key_at(pair, at);
        }
        if (!run_keys(pair, op, PAIR_ANSWERS_FOUND)) {
            return false;
        }
    }
    return true;
}

/* If growth ended at different sizes, compares only the contents. */
static bool compare(struct pair *pair)
{
    return info_of(pair, 0).capacity_slots == info_of(pair, 1).capacity_slots
               ? pair_compare(pair, false)
               : pair_compare_contents(pair);
}

/* A step between deletes: a write, a scan, or a resize to the capacity that the table has. */
static bool step(struct pair *pair, uint64_t universe)
{
    static const enum sw_op ops[] = {SW_SET, SW_SET, SW_SUM, SW_SET_ABSENT, SW_INCREMENT};
    const uint64_t drawn = pair_below(pair, 8);
    switch (drawn) {
    case 5:
        return pair_scan(pair, 1 + (uint32_t)pair_below(pair, pair->n_max));
    case 6:
        return pair_resize(pair, entries_at(pair, 1.0), SW_OK);
    case 7:
        fill_random(pair, 1 + (uint32_t)pair_below(pair, pair->n_max / 2), universe, 30);
        return pair_run(pair, false);
    default:
        draw_keys(pair, universe);
        return run_keys(pair, ops[drawn], PAIR_ANSWERS_NONE);
    }
}

/* Leaves the tables idle, and checks that this closes all holes, by at most one pass. */
static bool rest(struct pair *pair)
{
    bool good = true;
    for (int s = 0; s < 2; s++) {
        const struct sw_table_stats before = stats_of(pair, s);
        for (int call = 0; call < 3; call++) {
            sw_table_tidy(pair->side[s].table);
        }
        const struct sw_table_stats after = stats_of(pair, s);
        good = good && after.holes_max == 0 &&
               after.hole_passes == before.hole_passes + (before.holes_max != 0);
    }
    return good || pair_fail(pair, "an idle table has holes");
}

bool case_holes(struct pair *pair, const struct scale *scale, double load)
{
    const uint64_t universe = entries_at(pair, load);
    const struct write_paths before = write_paths_now(pair);
    for (uint32_t round = 0; round < 3 * scale->rounds; round++) {
        if (round % 6 == 0 && !run_all(pair, SW_SET, universe)) {
            return false;
        }
        for (uint64_t deletes = 1 + pair_below(pair, 4); deletes > 0; deletes--) {
            draw_keys(pair, universe);
            if (!run_keys(pair, SW_DELETE,
                          deletes % 2 == 0 ? PAIR_ANSWERS_FOUND : PAIR_ANSWERS_NONE) ||
                (pair_below(pair, 3) == 0 && !rest(pair)) || !compare(pair) ||
                !run_all(pair, SW_GET, universe)) {
                return false;
            }
        }
        if (!step(pair, universe) || !compare(pair)) {
            return false;
        }
    }
    return run_all(pair, SW_DELETE, universe) && compare(pair) && run_all(pair, SW_GET, universe) &&
           run_all(pair, SW_SET, universe) && compare(pair) && pair_clear(pair) && compare(pair) &&
           write_paths_taken(pair, &before, ~0U);
}
