/* SPDX-License-Identifier: MIT
 *
 * cases_ranges.c - cases about batches that are carried out range by range: hot keys, small ones.
 */
#include "tests/gpu/cases.h"
#include "tests/gpu/write_paths.h"

/* What the operations of a batch do: one operation, or any. */
static const int KINDS[] = {-1,     SW_SET_PRESENT, SW_SUM,       SW_SET,   SW_INCREMENT,
                            SW_MIN, SW_SET_ABSENT,  SW_DECREMENT, SW_DELETE};
#define KIND_COUNT (sizeof(KINDS) / sizeof(KINDS[0]))

/* Gives the batch one operation, or what fill_random drew, and answers that are wanted in turn. */
static bool run_kind(struct pair *pair, int kind, uint32_t turn)
{
    pair->in.op = kind;
    pair->answers = PAIR_ANSWERS_ALL + (enum pair_answers)(turn % 4);
    bool good = pair_run(pair, false);
    pair->answers = PAIR_ANSWERS_DRAWN;
    return good;
}

/* One key is a tenth, half or all of a batch of any operations, and of each one alone: a key that
 * is there, one that is not, and the one without a slot. */
bool case_hot_keys(struct pair *pair, const struct scale *scale, double load)
{
    static const uint32_t shares[] = {10, 2, 1};
    const uint64_t ones = pair->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
    const uint64_t universe = entries_at(pair, load);
    const struct write_paths before = write_paths_now(pair);
    uint32_t turn = 0;
    (void)scale;
    for (size_t k = 0; k < KIND_COUNT; k++) {
        for (int s = 0; s < 3; s++, turn++) {
            const uint64_t hot[] = {pair_key(pair, 0), pair_key(pair, universe + turn),
                                    pair_key_of(pair, ones)};
            if (!pair_range(pair, SW_SET, 0, universe / 2)) {
                return false;
            }
            fill_random(pair, pair->n_max - (uint32_t)pair_below(pair, 64), universe,
                        turn % 2 == 0 ? 10 : 40);
            for (uint32_t i = 0; i < pair->in.count; i++) {
                if (pair_below(pair, shares[s]) == 0) {
                    pair->in.keys[i] = hot[turn / 2 % 3];
                }
            }
            if (!run_kind(pair, KINDS[k], turn) || !pair_compare(pair, false)) {
                return false;
            }
        }
    }
    return pair_lookup(pair, 0, universe + turn) &&
           write_paths_taken(pair, &before, path_where_certain(pair));
}

/* Batches of 1 to 3,000 operations of any kinds, and of each one alone. */
bool case_small(struct pair *pair, const struct scale *scale, double load)
{
    const uint64_t universe = entries_at(pair, load);
    const struct write_paths before = write_paths_now(pair);
    uint32_t turn = 0;
    (void)scale;
    for (uint32_t count = 1; count <= pair->n_max && count <= 3000; turn++) {
        fill_random(pair, count, turn % 2 == 0 ? universe : 8 + count / 2, 20);
        if (!run_kind(pair, KINDS[turn / 2 % 2 == 0 ? 0 : turn % KIND_COUNT], turn) ||
            (turn % 8 == 7 && !pair_compare(pair, false))) {
            return false;
        }
        count += count < 8 ? 1 : 1 + (uint32_t)pair_below(pair, count / 4);
    }
    return pair_compare(pair, false) && pair_lookup(pair, 0, universe) &&
           write_paths_taken(pair, &before, path_where_certain(pair));
}
