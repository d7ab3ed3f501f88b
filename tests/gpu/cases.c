/* SPDX-License-Identifier: MIT
 *
 * cases.c - cases about contents and layout.
 */
#include "tests/gpu/cases.h"
#include "tests/gpu/write_paths.h"
#include "tests/support/ops.h"

#include <string.h>

uint64_t entries_at(const struct pair *pair, double load)
{
    struct sw_table_info info;
    sw_table_info(pair->side[0].table, &info);
    return (uint64_t)((double)info.capacity_slots * load);
}

void fill_random(struct pair *pair, uint32_t count, uint64_t universe, uint32_t deletes)
{
    const uint64_t others = SW_OPS_INTEGERS & ~SW_OPS_DELETE;
    pair->in.op = -1;
    pair->in.count = count;
    pair->in.group_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool hot = pair_below(pair, 8) == 0;
        pair->in.keys[i] = pair_key(pair, pair_below(pair, hot && universe > 8 ? 8 : universe));
        pair->in.values[i] = pair_below(pair, 2) == 0 ? pair_below(pair, 1000) : pair_random(pair);
        const uint64_t drawn = pair_below(pair, 100) < deletes ? SW_OPS_DELETE : others;
        pair->in.ops[i] = (uint8_t)ops_at(drawn, (uint32_t)pair_below(pair, OPS_COUNT(drawn)));
    }
}

/* Random batches on keys that fit the load. Every sixth batch is small and has keys beyond the
 * maximum load: it is refused, or applied in order. */
bool case_mixed(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t entries = entries_at(pair, load);
    uint64_t beyond = entries_at(pair, 1.1);
    uint32_t count_max = load > 0.9 ? pair->n_max / 8 : pair->n_max;
    if (!pair_range(pair, SW_SET, 0, entries) || !pair_compare(pair, false)) {
        return false;
    }
    const struct write_paths before = write_paths_now(pair);
    for (uint32_t round = 0; round < scale->rounds; round++) {
        if (round % 6 == 5) {
            fill_random(pair, 256, beyond, 10);
        } else {
            uint32_t count = 1 + (uint32_t)pair_below(pair, count_max);
            fill_random(pair, count, entries, round % 3 == 0 ? 50 : 15);
        }
        if (!pair_run(pair, false) || (round % 4 == 3 && !pair_compare(pair, false))) {
            return false;
        }
    }
    return pair_compare(pair, false) && pair_lookup(pair, 0, beyond) &&
           write_paths_taken(pair, &before, path_where_certain(pair));
}

/* Deletes half of a full table at random, in batches that ask for less and less, then fills it
 * again, then deletes everything. */
bool case_delete_half(struct pair *pair, const struct scale *scale, double load)
{
    const uint32_t count_max = pair->n_max / 4;
    uint64_t entries = entries_at(pair, load);
    uint32_t turn = 0;
    (void)scale;
    if (!pair_range(pair, SW_SET, 0, entries)) {
        return false;
    }
    const struct write_paths before = write_paths_now(pair);
    for (uint64_t at = 0; at < entries;) {
        uint32_t count = 0;
        for (; at < entries && count < count_max; at++) {
            if (pair_below(pair, 2) == 0) {
                pair->in.keys[count++] = pair_key(pair, at);
            }
        }
        pair->in.op = SW_DELETE;
        pair->in.count = count;
        pair->in.group_count = 0;
        pair->answers = PAIR_ANSWERS_FOUND + (enum pair_answers)(turn++ % 2);
        if (!pair_run(pair, false) || !pair_compare(pair, false)) {
            return false;
        }
    }
    pair->answers = PAIR_ANSWERS_DRAWN;
    return write_paths_taken(pair, &before,
                             path_where_certain(pair) | PATH_BIT(SW_WRITE_PATH_STREAM)) &&
           pair_lookup(pair, 0, entries) && pair_range(pair, SW_SET, 0, entries) &&
           pair_compare(pair, false) && pair_lookup(pair, 0, entries) &&
           pair_range(pair, SW_DELETE, 0, entries) && pair_compare(pair, false) &&
           pair_lookup(pair, 0, entries);
}

/* Batches so large that a thread answers several keys. */
bool case_big_batch(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t entries = entries_at(pair, load);
    (void)scale;
    if (!pair_range(pair, SW_SET, 0, entries) || !pair_compare(pair, false)) {
        return false;
    }
    fill_random(pair, pair->n_max, 2 * entries, 0);
    pair->in.op = SW_GET;
    if (!pair_run(pair, false)) {
        return false;
    }
    fill_random(pair, pair->n_max, entries, 30);
    return pair_run(pair, false) && pair_compare(pair, false) && pair_lookup(pair, 0, entries);
}
