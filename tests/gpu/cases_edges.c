/* SPDX-License-Identifier: MIT
 *
 * cases_edges.c - cases about an overfull stash, deletes in bulk, and resizes that cannot be.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cases.h"
#include "tests/gpu/known.h"
#include "tests/gpu/write_paths.h"
#include "tests/support/ops.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- an overfull stash ------------------------------------------------------------------------ */

/* Draws keys that are present: distinct ones, or any. */
static void draw_present(struct known *known, uint32_t count, bool distinct)
{
    uint64_t first = pair_below(known->pair, known->never);
    bool side = known->present[known->side] != 0;
    for (uint32_t i = 0; i < count; i++) {
        known->numbers[i] = (uint32_t)(distinct ? (first + i) % known->never
                                                : pair_below(known->pair, known->never));
        if (side && (distinct ? i == 3 : i % 1000 == 3)) {
            known->numbers[i] = (uint32_t)known->side;
        }
    }
}

/* A batch of present keys succeeds; with an absent one among them it is refused. */
static bool over_step(struct known *known, enum sw_op op, bool large, enum pair_answers answers)
{
    struct pair *pair = known->pair;
    bool distinct = (op + (int)answers) % 2 == 0;
    uint32_t count = 1 + (uint32_t)pair_below(pair, 300);
    if (large) {
        count = distinct ? (uint32_t)smaller(pair->n_max, known->never) : pair->n_max;
    }
    draw_present(known, count, distinct);
    if (!known_run(known, op, count, answers, SW_OK)) {
        return false;
    }
    uint64_t drawn = pair_below(pair, 3);
    uint32_t at = drawn == 0 ? 0 : drawn == 1 ? count - 1 : (uint32_t)pair_below(pair, count);
    bool side = known->present[known->side] == 0 && pair_below(pair, 2) == 0;
    draw_present(known, count, distinct);
    known->numbers[at] = (uint32_t)(side ? known->side : known->never + pair_below(pair, NEVER));
    return known_run(known, op, count, answers, SW_E_FULL);
}

static bool over_steps(struct known *known, bool first_round)
{
    static const enum sw_op ops[] = {SW_SET, SW_SUM, SW_MIN, SW_MAX};
    for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
        bool good = over_step(known, ops[o], true, PAIR_ANSWERS_NONE) &&
                    over_step(known, ops[o], false, PAIR_ANSWERS_FOUND) &&
                    over_step(known, ops[o], false, PAIR_ANSWERS_NONE) &&
                    over_step(known, ops[o], true, PAIR_ANSWERS_FOUND);
        if (!good || !pair_compare(known->pair, false) || (first_round && !known_check(known))) {
            return false;
        }
    }
    return true;
}

static bool over_round(struct known *known, int round)
{
    struct pair *pair = known->pair;
    uint64_t capacity = info_of(pair, 0).capacity_slots;
    if ((round == 1 && !known_range(known, SW_SET, known->side, known->side + 1)) ||
        !known_range(known, SW_SET, 0, known->pile) ||
        !known_range(known, SW_SET, known->pile, known->never)) {
        return false;
    }
    if (stats_of(pair, 0).stash_occupied <= info_of(pair, 0).stash_slots) {
        return pair_fail(pair, "the stash is not overfull");
    }
    return over_steps(known, round == 0) && known_check(known) &&
           known_range(known, SW_DELETE, known->pile, known->never) &&
           known_range(known, SW_SET, known->never, known->side + 1) && known_check(known) &&
           pair_resize(pair, capacity, SW_OK) && pair_compare(pair, false) && known_check(known);
}

/* The stash holds more than stash_slots: what inserts nothing still takes effect. */
bool case_stash_over(struct pair *pair, const struct scale *scale, double load)
{
    struct known known;
    bool good = known_open(&known, pair, entries_at(pair, load));
    (void)scale;
    for (int round = 0; good && round < 2; round++) {
        good = over_round(&known, round) && known_clear(&known);
    }
    known_close(&known);
    return good;
}

/* --- deletes ---------------------------------------------------------------------------------- */

/* A large batch of deletes: present keys, absent ones and, if any, repeated ones. */
static bool delete_step(struct known *known, enum pair_answers answers, uint64_t distinct)
{
    struct pair *pair = known->pair;
    uint64_t first = pair_below(pair, known->never);
    for (uint32_t i = 0; i < pair->n_max; i++) {
        uint64_t drawn = distinct < pair->n_max ? pair_below(pair, distinct) : i;
        known->numbers[i] = (uint32_t)((first + drawn) % (known->side + 1));
    }
    known->numbers[pair->n_max / 3] = (uint32_t)known->side;
    known->numbers[pair->n_max / 2] = (uint32_t)(known->pile + pair_below(pair, PILE));
    return known_run(known, SW_DELETE, pair->n_max, answers, SW_OK) && known_check(known);
}

/* Large batches of deletes with every kind of answers, with the side cell and a stash in use. A
 * table that is rebuilt by them takes back from its stash what fits: until a resize does the same
 * to the other one, the contents are compared. */
bool case_delete_bulk(struct pair *pair, const struct scale *scale, double load)
{
    struct known known;
    uint64_t capacity = info_of(pair, 0).capacity_slots;
    bool good = known_open(&known, pair, entries_at(pair, load));
    (void)scale;
    for (int turn = 0; good && turn < 8; turn++) {
        enum pair_answers answers = PAIR_ANSWERS_ALL + (enum pair_answers)(turn % 4);
        good = known_range(&known, SW_SET, 0, known.never) &&
               known_range(&known, SW_SUM, known.side, known.side + 1);
        if (good && stats_of(pair, 0).stash_occupied == 0) {
            good = pair_fail(pair, "the pile did not meet the cap");
        }
        const struct write_paths before = write_paths_now(pair);
        good = good && delete_step(&known, answers, turn < 4 ? pair->n_max : pair->n_max / 3) &&
               delete_step(&known, answers, turn < 4 ? 100 : pair->n_max);
        if (good && turn % 4 == 3) {
            good = known_range(&known, SW_DELETE, 0, known.side + 1) && known_check(&known) &&
                   delete_step(&known, answers, pair->n_max);
        }
        if (good && answers >= PAIR_ANSWERS_FOUND) {
            good = write_paths_of_bulk(pair, &before, path_where_certain(pair));
        }
        good = good && pair_resize(pair, capacity, SW_OK) && pair_compare(pair, false);
    }
    known_close(&known);
    return good;
}

/* --- resizes that cannot be ------------------------------------------------------------------- */

enum site { SITE_FIRST, SITE_MIDDLE, SITE_LAST, SITE_COUNT };

/* Makes the plain keys evenly spaced ones whose homes are a sixteenth of all. */
static void narrow(struct known *known, enum site site)
{
    uint64_t step = ones_of(known->pair) / 16 / known->pile;
    uint64_t first = site == SITE_FIRST    ? 0
                     : site == SITE_MIDDLE ? ones_of(known->pair) / 4
                                           : ones_of(known->pair) - 1 - step * known->pile;
    for (uint64_t k = 0; k < known->pile; k++) {
        known->keys[k] = pair_key_of(known->pair, first + step * (k * 4999 % known->pile));
    }
}

/* All but what a resize may count. */
static bool same_stats(const struct sw_table_stats *a, const struct sw_table_stats *b)
{
    return memcmp(&a->counters, &b->counters, sizeof(a->counters)) == 0 &&
           a->occupied == b->occupied && a->grown == b->grown;
}

/* Resizes one side: done, or refused for want of a capacity that serves. */
static bool resize_side(struct pair *pair, int s, uint64_t wanted, int *ended)
{
    struct sw_table_stats before = stats_of(pair, s);
    uint64_t capacity = info_of(pair, s).capacity_slots;
    struct sw_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.kind = SW_BATCH_RESIZE;
    batch.capacity = wanted;
    int status = sw_batch_run(pair->side[s].queue, &batch);
    struct sw_table_stats after = stats_of(pair, s);
    struct sw_table_info info = info_of(pair, s);
    bool as_it_was = info.capacity_slots == capacity && after.resized == before.resized &&
                     after.stash_occupied == before.stash_occupied;
    bool good = same_stats(&before, &after) && info.capacity_slots <= info.max_capacity_slots;
    if (status == SW_OK) {
        good = good && info.capacity_slots >= wanted && batch.capacity == info.capacity_slots &&
               after.resized == before.resized + 1 && after.resize_failed == before.resize_failed;
    } else if (status == SW_E_NOMEM) {
        good = good && as_it_was && after.resize_failed == before.resize_failed + 1;
    } else {
        good = good && as_it_was && status == SW_E_INVALID && wanted > info.max_capacity_slots &&
               after.resize_failed == before.resize_failed && after.batches == before.batches;
    }
    *ended = status;
    return good ||
           pair_fail(pair,
                     "side %d: resize of %llu slots to %llu: %s, has %llu; resized %llu, "
                     "failed to %llu times",
                     s, (unsigned long long)capacity, (unsigned long long)wanted,
                     sw_status_text(status), (unsigned long long)info.capacity_slots,
                     (unsigned long long)after.resized, (unsigned long long)after.resize_failed);
}

/* Both sides; that of the CPU finds a capacity that serves. */
static bool resize_either(struct pair *pair, uint64_t wanted)
{
    int ended[2] = {SW_OK, SW_OK};
    if (!resize_side(pair, 0, wanted, &ended[0]) || !resize_side(pair, 1, wanted, &ended[1])) {
        return false;
    }
    if (wanted > info_of(pair, 0).max_capacity_slots) {
        return (ended[0] == SW_E_INVALID && ended[1] == SW_E_INVALID) ||
               pair_fail(pair, "a resize beyond the largest capacity was not refused");
    }
    return ended[0] == SW_OK || pair_fail(pair, "resize, cpu: %s", sw_status_text(ended[0]));
}

/* Runs with `pile` further keys in the pile. */
static bool cannot_round(struct known *known, uint64_t pile)
{
    struct pair *pair = known->pair;
    struct sw_table_info info = info_of(pair, 0);
    uint64_t most = info.max_capacity_slots;
    const uint64_t sizes[] = {0, 1, known->pile * 3 / 2, known->pile * 4, info.capacity_slots};
    if (!known_range(known, SW_SET, 0, known->pile) ||
        !known_range(known, SW_SET, known->side, known->side + 1) ||
        !known_range(known, SW_SET, known->pile, known->pile + pile)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (!resize_either(pair, sizes[i]) || !known_check(known) ||
            !resize_either(pair, most + 1) || !known_check(known)) {
            return false;
        }
        for (int s = 0; i < 3 && s < 2; s++) {
            if (info_of(pair, s).capacity_slots <= known->pile * 4) {
                return pair_fail(pair, "side %d: the keys were to meet the cap", s);
            }
        }
        if (!known_range(known, SW_SUM, 0, known->pile + pile) || !known_check(known) ||
            !pair_resize(pair, most, SW_OK) || !pair_compare(pair, false) || !known_check(known)) {
            return false;
        }
    }
    return known_clear(known) && pair_resize(pair, info.capacity_slots, SW_OK);
}

/* Keys that would pile up in smaller tables, far beyond the size of the stash: no key is lost. */
bool case_resize_cannot(struct pair *pair, const struct scale *scale, double load)
{
    struct known known;
    bool good = known_open(&known, pair, pair->n_max / 2);
    (void)scale;
    (void)load;
    for (int site = 0; good && site < SITE_COUNT; site++) {
        struct sw_table_info info = info_of(pair, 0);
        uint64_t at_cap = (info.max_probe + 1) * (uint64_t)info.bucket_slots;
        narrow(&known, (enum site)site);
        good = cannot_round(&known, 0) && cannot_round(&known, at_cap + info.stash_slots / 2) &&
               cannot_round(&known, PILE);
    }
    known_close(&known);
    return good;
}

/* --- resizes behind batches at work ----------------------------------------------------------- */

#define DEPTH 8 /* batches submitted before the resize */

struct unpolled {
    struct sw_batch batches[2][DEPTH];
    struct sw_batch resize[2];
    struct io_memory io[2];
    void *keys[2][DEPTH];
    void *values[2][DEPTH];
};

static bool check_capacity(struct pair *pair, int s)
{
    struct sw_table_info info = info_of(pair, s);
    return info.capacity_slots <= info.max_capacity_slots ||
           pair_fail(pair, "side %d: %llu slots, more than %llu", s,
                     (unsigned long long)info.capacity_slots,
                     (unsigned long long)info.max_capacity_slots);
}

/* Gives one side the batches, then a resize, then polls them. */
static bool submit_unpolled(struct pair *pair, struct unpolled *unpolled, int s)
{
    struct sw_queue *queue = pair->side[s].queue;
    struct sw_batch *all[DEPTH + 1];
    int submitted = 0;
    int status = SW_OK;
    for (int i = 0; i <= DEPTH; i++) {
        all[i] = i < DEPTH ? &unpolled->batches[s][i] : &unpolled->resize[s];
    }
    for (; submitted <= DEPTH && status == SW_OK; submitted += status == SW_OK) {
        status = sw_batch_submit(queue, all[submitted]);
        check_capacity(pair, s);
    }
    if (status != SW_OK) {
        pair_fail(pair, "side %d, submit %d: %s", s, submitted, sw_status_text(status));
    }
    for (int i = 0; i < submitted; i++) {
        do {
            status = sw_batch_poll(queue, all[i]);
        } while (status == SW_PENDING);
        check_capacity(pair, s);
        if (status != SW_OK) {
            pair_fail(pair, "side %d, batch %d: %s", s, i, sw_status_text(status));
        }
    }
    return pair->failure[0] == '\0';
}

static void unpolled_open(struct pair *pair, struct unpolled *unpolled)
{
    const size_t bytes = pair->n_max * sizeof(uint64_t);
    memset(unpolled, 0, sizeof(*unpolled));
    for (int s = 0; s < 2; s++) {
        unpolled->io[s].table = pair->side[s].table;
        for (int b = 0; b < DEPTH; b++) {
            unpolled->keys[s][b] = io_array(&unpolled->io[s], bytes);
            unpolled->values[s][b] = io_array(&unpolled->io[s], bytes);
        }
    }
}

/* Batches of upserts: each inserts `fresh` keys and updates keys [0, end). Then a resize to the
 * largest capacity. */
static bool unpolled_step(struct known *known, struct unpolled *unpolled, uint64_t end,
                          uint32_t fresh)
{
    static const enum sw_op ops[] = {SW_SUM, SW_SET, SW_MAX, SW_MIN};
    struct pair *pair = known->pair;
    memset(unpolled->batches, 0, sizeof(unpolled->batches));
    memset(unpolled->resize, 0, sizeof(unpolled->resize));
    for (int b = 0; b < DEPTH; b++) {
        enum sw_op op = ops[b % 4];
        for (uint32_t i = 0; i < pair->n_max; i++) {
            uint32_t number = (uint32_t)(i < fresh ? end + i : pair_below(pair, end));
            uint64_t value = pair_random(pair) & ones_of(pair);
            known_upsert(known, op, number, value);
            for (int s = 0; s < 2; s++) {
                pair_word_set(pair, unpolled->keys[s][b], i, known->keys[number]);
                pair_word_set(pair, unpolled->values[s][b], i, value);
            }
        }
        end += fresh;
        for (int s = 0; s < 2; s++) {
            unpolled->batches[s][b].op = op;
            unpolled->batches[s][b].count = pair->n_max;
            unpolled->batches[s][b].keys = unpolled->keys[s][b];
            unpolled->batches[s][b].values = unpolled->values[s][b];
        }
    }
    uint64_t most = info_of(pair, 0).max_capacity_slots;
    for (int s = 0; s < 2; s++) {
        unpolled->resize[s].kind = SW_BATCH_RESIZE;
        unpolled->resize[s].capacity = most;
        if (!submit_unpolled(pair, unpolled, s)) {
            return false;
        }
        if (info_of(pair, s).capacity_slots != most) {
            return pair_fail(pair, "side %d was not resized to the largest capacity", s);
        }
    }
    return pair_compare(pair, false) && known_check(known);
}

/* Unpolled updates, which would not all fit as inserts, and then a resize to the largest
 * capacity: with few entries, and with the maximum of entries. */
bool case_resize_unpolled(struct pair *pair, const struct scale *scale, double load)
{
    struct sw_table_info info = info_of(pair, 0);
    uint64_t limit = (uint64_t)((double)info.max_capacity_slots * info.max_load) - 1;
    uint32_t fresh = (uint32_t)smaller(pair->n_max / 2, limit / 4 / DEPTH);
    struct unpolled unpolled;
    struct known known;
    bool good = known_open(&known, pair, limit);
    unpolled_open(pair, &unpolled);
    (void)scale;
    (void)load;
    for (int round = 0; good && round < 2; round++) {
        good = known_range(&known, SW_SET, 0, info.occupied_max / 2) &&
               unpolled_step(&known, &unpolled, info.occupied_max / 2, round == 0 ? 0 : fresh) &&
               known_range(&known, SW_SET, 0, limit - (uint64_t)DEPTH * fresh) &&
               unpolled_step(&known, &unpolled, limit - (uint64_t)DEPTH * fresh,
                             round == 0 ? 0 : fresh) &&
               unpolled_step(&known, &unpolled, limit - (uint64_t)DEPTH * fresh, 0) &&
               known_clear(&known) && pair_resize(pair, info.capacity_slots, SW_OK);
    }
    io_free(&unpolled.io[0]);
    io_free(&unpolled.io[1]);
    known_close(&known);
    return good;
}
