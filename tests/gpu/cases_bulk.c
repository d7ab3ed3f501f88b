/* SPDX-License-Identifier: MIT
 *
 * cases_bulk.c - cases about batches of one upsert: repeated keys, piles, and all else in between.
 *
 * If a batch does not request values, a CUDA table may merge it by streaming the whole table. Keys
 * that reach the cap then fall back to another path, so these cases do not compare `failures`.
 */
#include "tests/gpu/cases.h"
#include "tests/gpu/write_paths.h"

static const enum sw_op UPSERTS[] = {SW_SET, SW_SUM, SW_MIN, SW_MAX};
#define UPSERT_COUNT (sizeof(UPSERTS) / sizeof(UPSERTS[0]))

static uint64_t ones(const struct pair *pair)
{
    return pair->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
}

/* The key of the side cell. */
static uint64_t side_key(const struct pair *pair)
{
    return pair_key_of(pair, ones(pair));
}

/* Runs `in` as one group of one operation and compares the tables, or their contents if loose. */
static bool run_upserts(struct pair *pair, enum sw_op op, uint32_t count, enum pair_answers answers,
                        bool loose)
{
    pair->in.op = (int)op;
    pair->in.count = count;
    pair->in.group_count = 0;
    pair->answers = answers;
    bool good = pair_run(pair, true);
    pair->answers = PAIR_ANSWERS_DRAWN;
    return good && (loose ? pair_compare_contents(pair) : pair_compare(pair, false));
}

/* --- repeated keys ---------------------------------------------------------------------------- */

enum pattern {
    PATTERN_ONE_OLD, /* all equal; in the table before, unless that is empty */
    PATTERN_ONE_NEW,
    PATTERN_HOT,  /* one key is 30 % of the batch */
    PATTERN_PAIR, /* every key twice */
    PATTERN_OLD,  /* keys of the table before and new ones, repeated */
    PATTERN_DISTINCT,
    PATTERN_SIDE_ONCE,
    PATTERN_SIDE_REPEATED,
    PATTERN_COUNT
};

/* The i-th key of a batch of `count`; keys [0, old) are in the table. */
static uint64_t pattern_key(struct pair *pair, enum pattern pattern, uint32_t i, uint32_t count,
                            uint64_t old)
{
    switch (pattern) {
    case PATTERN_ONE_OLD:
        return pair_key(pair, old / 2);
    case PATTERN_ONE_NEW:
        return pair_key(pair, old + 5);
    case PATTERN_HOT:
        return pair_key(pair, pair_below(pair, 100) < 30 ? old : pair_below(pair, old + count));
    case PATTERN_PAIR:
        return pair_key(pair, old / 2 + i % ((count + 1) / 2));
    case PATTERN_OLD:
        return pair_key(pair, pair_below(pair, 2 * old + 100));
    case PATTERN_SIDE_ONCE:
        return i == count / 3 ? side_key(pair) : pair_key(pair, old / 2 + i);
    case PATTERN_SIDE_REPEATED:
        return i % 3 == 1 ? side_key(pair) : pair_key(pair, pair_below(pair, old + count));
    default:
        return pair_key(pair, old + i);
    }
}

static void fill_pattern(struct pair *pair, enum pattern pattern, uint32_t count, uint64_t old)
{
    for (uint32_t i = 0; i < count; i++) {
        pair->in.keys[i] = pattern_key(pair, pattern, i, count, old);
        pair->in.values[i] = pair_random(pair);
    }
}

/* Looks up the side cell's key, alone. */
static bool lookup_side(struct pair *pair)
{
    enum pair_answers before = pair->answers;
    pair->in.op = SW_GET;
    pair->in.count = 1;
    pair->in.group_count = 0;
    pair->in.keys[0] = side_key(pair);
    pair->answers = PAIR_ANSWERS_ALL;
    bool good = pair_run(pair, true);
    pair->answers = before;
    return good;
}

/* Every upsert with every pattern of keys, on an empty table and on one with keys: a batch without
 * answers, and one that asks for some. */
bool case_repeated(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t some = entries_at(pair, load - 0.5);
    uint32_t turn = 0;
    (void)scale;
    const struct write_paths before = write_paths_now(pair);
    for (size_t o = 0; o < UPSERT_COUNT; o++) {
        for (int p = 0; p < PATTERN_COUNT; p++) {
            for (int filled = 0; filled < 2; filled++) {
                uint64_t old = filled ? some : 0;
                uint32_t small = 1 + (uint32_t)pair_below(pair, 300);
                enum pair_answers answers = PAIR_ANSWERS_ALL + (enum pair_answers)(turn++ % 3);
                fill_pattern(pair, (enum pattern)p, pair->n_max, old);
                if (!pair_clear(pair) || !pair_range(pair, SW_SET, 0, old)) {
                    return false;
                }
                fill_pattern(pair, (enum pattern)p, pair->n_max, old);
                if (!run_upserts(pair, UPSERTS[o], pair->n_max, PAIR_ANSWERS_NONE, false) ||
                    !lookup_side(pair)) {
                    return false;
                }
                fill_pattern(pair, (enum pattern)p, small, old);
                if (!run_upserts(pair, UPSERTS[o], small, answers, false) || !lookup_side(pair)) {
                    return false;
                }
            }
        }
    }
    return pair_lookup(pair, 0, some + pair->n_max) &&
           write_paths_of_bulk(pair, &before, path_where_certain(pair));
}

/* Every upsert in batches of more than 2^22 operations, which ranges carry out in pieces, without
 * answers. */
bool case_beyond_ranges(struct pair *pair, const struct scale *scale, double load)
{
    static const enum pattern patterns[] = {PATTERN_OLD, PATTERN_PAIR, PATTERN_SIDE_ONCE};
    uint64_t old = entries_at(pair, load);
    const struct write_paths before = write_paths_now(pair);
    (void)scale;
    for (size_t o = 0; o < UPSERT_COUNT; o++) {
        enum pattern pattern = patterns[o % 3];
        if (!pair_clear(pair) || !pair_range(pair, SW_SET, 0, old)) {
            return false;
        }
        fill_pattern(pair, pattern, pair->n_max, old);
        if (!run_upserts(pair, UPSERTS[o], pair->n_max, PAIR_ANSWERS_NONE, false) ||
            !lookup_side(pair)) {
            return false;
        }
    }
    return pair_lookup(pair, 0, old + pair->n_max) &&
           write_paths_of_bulk(pair, &before, path_where_certain(pair));
}

/* Every upsert of keys that no segment has too many of, asking whether they were there: into the
 * empty table, then onto some of the same keys and new ones. Where bulk is always taken each of
 * these batches is streamed. */
bool case_merged_answers(struct pair *pair, const struct scale *scale, double load)
{
    static const enum pattern patterns[] = {PATTERN_PAIR, PATTERN_SIDE_ONCE, PATTERN_DISTINCT};
    const uint32_t count = (uint32_t)entries_at(pair, load / 2);
    (void)scale;
    for (size_t i = 0; i < 3 * UPSERT_COUNT; i++) {
        if (!pair_clear(pair)) {
            return false;
        }
        for (uint64_t old = 0; old <= count / 2; old += count / 2) {
            const struct write_paths before = write_paths_now(pair);
            fill_pattern(pair, patterns[i % 3], count, old);
            if (!run_upserts(pair, UPSERTS[i / 3], count, PAIR_ANSWERS_FOUND, false) ||
                !lookup_side(pair) ||
                !write_paths_of_bulk(pair, &before, path_where_certain(pair))) {
                return false;
            }
        }
    }
    return pair_lookup(pair, 0, 2 * (uint64_t)count);
}

/* --- all else in between ---------------------------------------------------------------------- */

static bool upsert_step(struct pair *pair, uint64_t universe)
{
    uint32_t count = pair->n_max / 2 + (uint32_t)pair_below(pair, pair->n_max / 2);
    enum sw_op op = UPSERTS[pair_below(pair, UPSERT_COUNT)];
    fill_random(pair, count, universe, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (pair_below(pair, 1000) == 0) {
            pair->in.keys[i] = side_key(pair);
        }
    }
    return run_upserts(pair, op, count, (enum pair_answers)pair_below(pair, 5), false);
}

static bool delete_step(struct pair *pair, uint64_t universe)
{
    fill_random(pair, 1 + (uint32_t)pair_below(pair, pair->n_max), universe, 0);
    pair->in.op = SW_DELETE;
    pair->in.keys[0] = side_key(pair);
    return pair_run(pair, true) && pair_compare(pair, false);
}

/* To the smallest capacity that holds the entries, and back to the first. */
static bool resize_step(struct pair *pair, uint64_t universe)
{
    struct sw_table_info info;
    sw_table_info(pair->side[0].table, &info);
    return pair_resize(pair, 0, SW_OK) && pair_compare(pair, false) &&
           pair_lookup(pair, 0, universe) && pair_resize(pair, info.capacity_slots, SW_OK) &&
           pair_compare(pair, false) && lookup_side(pair);
}

/* Large batches of one upsert alternate with batches of all operations, deletes, scans, resizes and
 * clears. */
bool case_alternating(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t universe = entries_at(pair, load);
    for (uint32_t round = 0; round < 2 * scale->rounds; round++) {
        bool good = true;
        if (round % 12 == 11) {
            good = pair_clear(pair) && pair_compare(pair, false);
        } else if (round % 6 == 3) {
            good = resize_step(pair, universe);
        } else if (round % 6 == 4) {
            good = pair_scan(pair, 1 + (uint32_t)pair_below(pair, pair->n_max));
        } else if (round % 2 == 1) {
            good = delete_step(pair, universe);
        } else {
            fill_random(pair, 1 + (uint32_t)pair_below(pair, pair->n_max), universe, 20);
            good = pair_run(pair, false) && pair_compare(pair, false);
        }
        if (!good || !upsert_step(pair, universe)) {
            return false;
        }
    }
    return pair_scan(pair, pair->n_max) && pair_lookup(pair, 0, universe);
}

/* --- piles ------------------------------------------------------------------------------------ */

/* Where keys meet. */
enum site { SITE_FIRST, SITE_MIDDLE, SITE_LAST, SITE_COUNT };

/* The i-th of keys with the first, the middle or the last home bucket. */
static uint64_t pile_key(const struct pair *pair, enum site site, uint64_t i)
{
    uint64_t most = ones(pair);
    uint64_t scattered = (i & ~63ULL) | (i * 37 & 63);
    return pair_key_of(pair, site == SITE_FIRST    ? scattered
                             : site == SITE_MIDDLE ? most / 2 + 1 + scattered
                                                   : most - 1 - scattered);
}

struct pile {
    struct pair *pair;
    enum site site;
    uint64_t universe; /* of other keys */
    bool loose;        /* what is in the stash may differ */
};

/* Upserts keys [0, keys) of the pile, scattered among `others`. */
static bool pile_upserts(const struct pile *pile, enum sw_op op, uint64_t keys, uint32_t others,
                         enum pair_answers answers)
{
    struct pair *pair = pile->pair;
    uint32_t count = (uint32_t)keys + others;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t turn = i * keys / count;
        bool of_pile = (i + 1) * keys / count != turn;
        pair->in.keys[i] = of_pile ? pile_key(pair, pile->site, turn)
                                   : pair_key(pair, pair_below(pair, pile->universe));
        pair->in.values[i] = pair_random(pair);
    }
    return run_upserts(pair, op, count, answers, pile->loose);
}

/* One operation, GET or DELETE, on keys of the pile. */
static bool pile_range(const struct pile *pile, enum sw_op op, uint64_t keys, uint64_t step)
{
    struct pair *pair = pile->pair;
    pair->in.op = (int)op;
    pair->in.count = 0;
    pair->in.group_count = 0;
    for (uint64_t i = 0; i < keys; i += step) {
        pair->in.keys[pair->in.count++] = pile_key(pair, pile->site, i);
    }
    return pair_run(pair, true) &&
           (pile->loose ? pair_compare_contents(pair) : pair_compare(pair, false));
}

static bool pile_up(const struct pile *pile)
{
    return pile_upserts(pile, SW_SET, 200, 1000, PAIR_ANSWERS_NONE) &&
           pile_upserts(pile, SW_SUM, 260, 1000, PAIR_ANSWERS_NONE) &&
           pile_upserts(pile, SW_SET, 300, 700, PAIR_ANSWERS_FOUND) &&
           pile_upserts(pile, SW_MIN, 310, 1000, PAIR_ANSWERS_NONE) &&
           pile_upserts(pile, SW_MAX, 320, 10, PAIR_ANSWERS_ALL) &&
           pile_range(pile, SW_GET, 330, 1);
}

static bool pile_down(const struct pile *pile)
{
    return pile_range(pile, SW_DELETE, 330, 2) && pile_range(pile, SW_GET, 330, 1) &&
           pile_upserts(pile, SW_SET, 320, 1000, PAIR_ANSWERS_NONE) &&
           pile_range(pile, SW_GET, 330, 1) && pile_range(pile, SW_DELETE, 330, 1) &&
           pile_range(pile, SW_GET, 330, 1) &&
           pile_upserts(pile, SW_MAX, 100, 1000, PAIR_ANSWERS_NONE) &&
           pile_range(pile, SW_GET, 330, 1);
}

/* More keys of one home than the cap allows, within large batches: first with an empty stash, then
 * with what the stash holds by then, then after deletes; on a table with keys, and on an empty one.
 * Where the CUDA table may merge into a table with keys (its cap is the derived one) such a merge
 * takes back from the stash what fits after deletes, as a resize does; the CPU table leaves it
 * there, so from the first delete to the next resize the contents are compared. */
bool case_pile(struct pair *pair, const struct scale *scale, double load)
{
    struct sw_table_info info;
    sw_table_info(pair->side[0].table, &info);
    bool merges = info.max_probe != PILE_MAX_PROBE;
    uint64_t fill = entries_at(pair, load);
    uint64_t universe = fill + fill / 4;
    (void)scale;
    for (int round = 0; round < 2; round++) {
        for (int s = 0; s < SITE_COUNT; s++) {
            struct pile pile = {pair, (enum site)s, universe, false};
            struct sw_table_stats stats;
            if (!pair_range(pair, SW_SET, 0, round == 0 ? fill : 0) || !pile_up(&pile)) {
                return false;
            }
            sw_table_stats(pair->side[1].table, &stats);
            if (stats.stash_occupied == 0) {
                return pair_fail(pair, "the pile did not meet the cap");
            }
            pile.loose = merges;
            if (!pile_down(&pile) || (merges && (!pair_resize(pair, info.capacity_slots, SW_OK) ||
                                                 !pair_compare(pair, false)))) {
                return false;
            }
        }
        if (!pair_scan(pair, 100) || !pair_lookup(pair, 0, universe) || !pair_clear(pair)) {
            return false;
        }
    }
    return pair_compare(pair, false);
}

/* --- long runs -------------------------------------------------------------------------------- */

struct run {
    uint64_t keys;
    uint64_t parts; /* its homes are this part of all */
};

static void fill_run(struct pair *pair, enum site site, struct run run)
{
    uint64_t most = ones(pair);
    uint64_t step = most / run.parts / run.keys;
    uint64_t first = site == SITE_FIRST    ? 0
                     : site == SITE_MIDDLE ? most / 2 + 1 - step * run.keys
                                           : most - step * run.keys;
    for (uint64_t i = 0; i < run.keys; i++) {
        pair->in.keys[i] = pair_key_of(pair, first + step * (i * 4999 % run.keys));
        pair->in.values[i] = pair_random(pair);
    }
}

static bool run_step(struct pair *pair, enum site site, struct run run)
{
    for (size_t o = 0; o < UPSERT_COUNT; o++) {
        fill_run(pair, site, run);
        uint32_t count = (uint32_t)(o == 0 ? run.keys * 2 / 3 : run.keys);
        if (!run_upserts(pair, UPSERTS[o], count, PAIR_ANSWERS_NONE, false)) {
            return false;
        }
    }
    fill_run(pair, site, run);
    pair->in.op = SW_DELETE;
    pair->in.count = (uint32_t)(run.keys / 3);
    struct sw_table_stats stats;
    bool good = pair_run(pair, false) && pair_compare(pair, false);
    sw_table_stats(pair->side[1].table, &stats);
    return good && (stats.stash_occupied == 0 || pair_fail(pair, "the run met the cap"));
}

/* More keys than their homes have slots, all within the cap: they are displaced into the next
 * segments of the bulk path and past the last home bucket. With a max_probe of its own, runs longer
 * than a segment, merged into an empty table; with the derived one (of max_load 1) shorter ones at
 * the ends of segments, merged also into a table with keys. */
bool case_long_run(struct pair *pair, const struct scale *scale, double load)
{
    struct sw_table_info info;
    sw_table_info(pair->side[0].table, &info);
    bool own = info.max_probe == RUN_MAX_PROBE;
    struct run run = own ? (struct run){6000, 16} : (struct run){640, 128};
    uint64_t fill = own ? 0 : entries_at(pair, load);
    (void)scale;
    for (int s = 0; s < SITE_COUNT; s++) {
        if (!pair_range(pair, SW_SET, 0, fill) || !run_step(pair, (enum site)s, run) ||
            (own && !pair_clear(pair))) {
            return false;
        }
    }
    return (own || resize_step(pair, fill)) && pair_scan(pair, 1000) && pair_lookup(pair, 0, fill);
}
