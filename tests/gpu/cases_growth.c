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
