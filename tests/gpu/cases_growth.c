/* SPDX-License-Identifier: MIT
 *
 * cases_growth.c - cases about tables that grow, and that are told to resize.
 *
 * The CUDA table counts all that is in flight as entries to come, so it may grow before the CPU
 * table does: until both are resized to one capacity, contents are compared, not buckets.
 */
#include "tests/gpu/cases.h"

#include <stdlib.h>
#include <string.h>

static struct sw_table_info info_of(const struct pair *pair, int s)
{
    struct sw_table_info info;
    sw_table_info(pair->side[s].table, &info);
    return info;
}

/* Both grew, by themselves if `grown`, and no attempt failed. */
static bool check_resizes(struct pair *pair, bool grown)
{
    for (int s = 0; s < 2; s++) {
        struct sw_table_stats stats;
        sw_table_stats(pair->side[s].table, &stats);
        if (stats.resize_failed != 0 || (grown && stats.grown == 0)) {
            return pair_fail(pair, "side %d: grew %llu times, failed to %llu times", s,
                             (unsigned long long)stats.grown,
                             (unsigned long long)stats.resize_failed);
        }
    }
    return true;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- growth --- */

/* A batch by which the keys [0, at) become [0, at + count), some of them older ones, some deleted.
 */
static bool growth_batch(struct pair *pair, uint32_t step, uint32_t count, uint64_t at)
{
    static const enum sw_op ops[] = {SW_SET, SW_SUM, SW_MAX, SW_MIN};
    uint64_t universe = at + count;
    fill_random(pair, count, universe, 10);
    if (step % 4 < 2) {
        pair->in.op = (int)ops[step / 4 % 4];
        for (uint32_t i = 0; i < count; i++) {
            pair->in.keys[i] =
                pair_key(pair, pair_below(pair, 4) == 0 ? pair_below(pair, universe) : at + i);
        }
        pair->in.keys[count / 2] = pair_key_of(pair, UINT64_MAX); /* the side cell */
    } else if (step % 4 == 2) {
        pair->in.op = SW_DELETE;
        pair->in.count = (count + 7) / 8;
    }
    return pair_run(pair, true);
}

/* Small and large batches until the table is as large as it may be, and refuses. */
bool case_growth(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t most = info_of(pair, 0).max_capacity_slots;
    uint64_t beyond = most + most / 10;
    uint64_t at = 0;
    uint32_t refused = 0;
    (void)scale;
    (void)load;
    for (uint32_t step = 0; refused < 4; step++) {
        uint32_t count = 1 + (uint32_t)pair_below(pair, step % 3 == 0 ? 64 : pair->n_max);
        count = (uint32_t)smaller(count, pair->n_max);
        if (step == 1000) {
            return pair_fail(pair, "the table never refused");
        }
        if (!growth_batch(pair, step, count, at)) {
            return false;
        }
        at = smaller(at + count, beyond);
        refused += pair->side[1].batch.status == SW_E_FULL;
        if (!pair_lookup(pair, 0, at) || (step % 4 == 3 && !pair_compare_contents(pair)) ||
            (step % 16 == 7 && !pair_scan(pair, 1000))) {
            return false;
        }
        if (pair->side[1].batch.status == SW_E_FULL && info_of(pair, 1).capacity_slots != most) {
            return pair_fail(pair, "refused before the table was as large as it may be");
        }
    }
    return pair_resize(pair, most, SW_OK) && pair_compare(pair, false) &&
           pair_lookup(pair, 0, at) && pair_range(pair, SW_DELETE, 0, at * 2 / 3) &&
           pair_compare(pair, false) && pair_resize(pair, most / 2, SW_OK) &&
           pair_compare(pair, false) && pair_lookup(pair, 0, at) && check_resizes(pair, true);
}

/* --- told to --- */

/* Slots of the largest prime number of buckets that are no more than so many. */
static uint64_t prime_below(uint64_t slots)
{
    uint64_t buckets = slots / 4;
    for (; buckets > 2; buckets--) {
        uint64_t divisor = 2;
        while (divisor * divisor <= buckets && buckets % divisor != 0) {
            divisor++;
        }
        if (divisor * divisor > buckets) {
            break;
        }
    }
    return buckets * 4;
}

/* Random batches, also with keys of one home and the side cell's. */
static bool churn(struct pair *pair, uint64_t universe)
{
    for (int batch = 0; batch < 3; batch++) {
        fill_random(pair, 1 + (uint32_t)pair_below(pair, smaller(pair->n_max, universe)), universe,
                    batch == 0 ? 40 : 15);
        for (uint32_t i = 0; i < pair->in.count; i++) {
            uint64_t draw = pair_below(pair, 100);
            if (draw < 4) {
                pair->in.keys[i] = one_home_key(pair, pair_below(pair, 300));
            } else if (draw == 4) {
                pair->in.keys[i] = pair_key_of(pair, UINT64_MAX);
            }
        }
        pair->in.op = batch == 1 ? (int)SW_SET : -1;
        if (!pair_run(pair, true)) {
            return false;
        }
    }
    return pair_compare_contents(pair);
}

static bool one_home_upserts(struct pair *pair, uint32_t keys)
{
    pair->in.op = SW_SUM;
    pair->in.count = keys;
    pair->in.group_count = 0;
    for (uint32_t i = 0; i < keys; i++) {
        pair->in.keys[i] = one_home_key(pair, i);
        pair->in.values[i] = pair_random(pair);
    }
    return pair_run(pair, true);
}

/* Up and down by all kinds of ratios, with a stash in use: after each the buckets are the same. */
bool case_resize(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t first = info_of(pair, 0).capacity_slots;
    uint64_t most = info_of(pair, 0).max_capacity_slots;
    uint64_t universe = entries_at(pair, load);
    const uint64_t sizes[] = {first * 13 / 10,
                              first * 7 / 10,
                              prime_below(2 * first),
                              most,
                              prime_below(most),
                              first,
                              0,
                              first + 1,
                              first * 3,
                              prime_below(first * 5 / 4),
                              most - 4,
                              1};
    (void)scale;
    if (!pair_range(pair, SW_SET, 0, universe) || !one_home_upserts(pair, 300)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (!pair_resize(pair, sizes[i], SW_OK) || !pair_compare(pair, false) ||
            !pair_lookup(pair, 0, universe) ||
            !pair_scan(pair, 1 + (uint32_t)pair_below(pair, pair->n_max)) ||
            !one_home_upserts(pair, 300) || !churn(pair, universe) ||
            !pair_resize(pair, most + 1, SW_E_INVALID) || !pair_compare_contents(pair)) {
            return false;
        }
    }
    return pair_clear(pair) && pair_resize(pair, first, SW_OK) && pair_compare(pair, false) &&
           check_resizes(pair, false);
}

/* Tables that the CUDA backend cannot resize: it says so, and nothing changed. */
bool case_resize_refused(struct pair *pair, const struct scale *scale, double load)
{
    int expected = scale->tested == SW_BACKEND_CUDA ? SW_E_INVALID : SW_OK;
    uint64_t entries = entries_at(pair, load);
    struct sw_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.kind = SW_BATCH_RESIZE;
    batch.capacity = info_of(pair, 1).capacity_slots;
    if (!pair_range(pair, SW_SET, 0, entries)) {
        return false;
    }
    int status = sw_batch_run(pair->side[1].queue, &batch);
    if (status != expected) {
        return pair_fail(pair, "resize: %s", sw_status_text(status));
    }
    return pair_compare_contents(pair) && pair_lookup(pair, 0, entries) &&
           pair_range(pair, SW_DELETE, 0, entries / 2) && pair_compare_contents(pair) &&
           pair_lookup(pair, 0, entries);
}

/* --- scans --- */

#define SCAN_WANTED 20

struct scan {
    uint64_t cursor;
    bool done;
    uint8_t *seen; /* [entries] */
};

/* One call of the scan: each entry below `entries` has its number as its value. */
static bool scan_call(struct pair *pair, int s, struct scan *scan, uint64_t entries)
{
    struct side *side = &pair->side[s];
    struct sw_batch *batch = &side->batch;
    memset(batch, 0, sizeof(*batch));
    batch->kind = SW_BATCH_SCAN;
    batch->count = SCAN_WANTED;
    batch->cursor = scan->cursor;
    batch->scan_keys = side->keys;
    batch->scan_values = side->values;
    int status = sw_batch_run(side->queue, batch);
    if (status != SW_OK) {
        return pair_fail(pair, "scan, side %d: %s", s, sw_status_text(status));
    }
    for (uint32_t i = 0; i < batch->scan_count; i++) {
        uint64_t number = pair_word(pair, side->values, i);
        uint64_t key = pair_word(pair, side->keys, i);
        if (key != pair_key(pair, number)) {
            return pair_fail(pair, "scan, side %d: key %#llx has the value %llu", s,
                             (unsigned long long)key, (unsigned long long)number);
        }
        if (number < entries) {
            scan->seen[number] = 1;
        }
    }
    scan->cursor = batch->cursor;
    scan->done = batch->cursor == 0;
    return true;
}

/* Sets keys [first, first + count) to their numbers. */
static bool set_numbers(struct pair *pair, uint64_t first, uint64_t count)
{
    while (count > 0) {
        pair->in.op = SW_SET;
        pair->in.count = (uint32_t)smaller(count, pair->n_max);
        pair->in.group_count = 0;
        for (uint32_t i = 0; i < pair->in.count; i++) {
            pair->in.keys[i] = pair_key(pair, first + i);
            pair->in.values[i] = first + i;
        }
        first += pair->in.count;
        count -= pair->in.count;
        if (!pair_run(pair, true)) {
            return false;
        }
    }
    return true;
}

static bool scan_and_resize(struct pair *pair, struct scan scans[2], uint64_t entries)
{
    uint64_t first = info_of(pair, 0).capacity_slots;
    const uint64_t sizes[] = {2 * first, first * 13 / 10, 8 * first, first, 0, 5 * first};
    uint64_t resizes = 0;
    for (uint64_t call = 1; !(scans[0].done && scans[1].done); call++) {
        for (int s = 0; s < 2; s++) {
            if (!scans[s].done && !scan_call(pair, s, &scans[s], entries)) {
                return false;
            }
        }
        if (call % 3 == 0 && !pair_resize(pair, sizes[resizes++ % 6], SW_OK)) {
            return false;
        }
        /* others come and go meanwhile */
        if (!set_numbers(pair, entries + call % 50, 10) ||
            !pair_range(pair, SW_DELETE, entries + (call + 25) % 50, 10)) {
            return false;
        }
        if (call > 100 * entries) {
            return pair_fail(pair, "the scan does not end");
        }
    }
    return resizes > 3 ||
           pair_fail(pair, "the scan ended after %llu resizes", (unsigned long long)resizes);
}

/* A scan with resizes between its calls returns every entry that was there all the time. */
bool case_scan_across_resize(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t entries = entries_at(pair, load - 0.15);
    struct scan scans[2] = {{0}, {0}};
    (void)scale;
    scans[0].seen = calloc(entries, 1);
    scans[1].seen = calloc(entries, 1);
    bool good = scans[0].seen != NULL && scans[1].seen != NULL && set_numbers(pair, 0, entries) &&
                scan_and_resize(pair, scans, entries) && pair_compare_contents(pair);
    for (uint64_t i = 0; good && i < 2 * entries; i++) {
        good = scans[i % 2].seen[i / 2] != 0 ||
               pair_fail(pair, "the scan of side %d skipped entry %llu", (int)(i % 2),
                         (unsigned long long)(i / 2));
    }
    free(scans[0].seen);
    free(scans[1].seen);
    return good;
}
