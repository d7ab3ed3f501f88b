/* SPDX-License-Identifier: MIT
 *
 * cases_hints.c - look-ups in nearly full tables: every key, and the keys beside it in order of m.
 *
 * A displacement hint that is wrong sends a look-up past its key, or to a key's neighbour.
 */
#include "tests/gpu/cases.h"

#define SMALL_KEYS 300

/* Looks up keys [first, first + count) and for each those of m - 1 and m + 1. */
static bool lookup_beside(struct pair *pair, uint64_t first, uint64_t count)
{
    for (uint64_t batch = 0; count > 0; batch++) {
        uint64_t now = pair->n_max / 3;
        now = now < count ? now : count;
        now = batch == 0 && now > SMALL_KEYS ? SMALL_KEYS : now; /* a small one too */
        for (uint64_t i = 0; i < now; i++) {
            uint64_t m = pair_mix(pair, pair_key(pair, first + i));
            pair->in.keys[3 * i] = pair_key_of(pair, m - 1);
            pair->in.keys[3 * i + 1] = pair_key(pair, first + i);
            pair->in.keys[3 * i + 2] = pair_key_of(pair, m + 1);
        }
        pair->in.op = SW_GET;
        pair->in.count = (uint32_t)(3 * now);
        pair->in.group_count = 0;
        pair->answers = batch % 2 == 0 ? PAIR_ANSWERS_DRAWN : PAIR_ANSWERS_ALL;
        bool good = pair_run(pair, false);
        pair->answers = PAIR_ANSWERS_DRAWN;
        if (!good) {
            return false;
        }
        first += now;
        count -= now;
    }
    return true;
}

static bool check(struct pair *pair, uint64_t count)
{
    return pair_compare(pair, false) && lookup_beside(pair, 0, count);
}

/* Deletes a random `of_thousand` / 1000 of the keys [0, count). */
static bool delete_some(struct pair *pair, uint64_t count, uint64_t of_thousand)
{
    for (uint64_t at = 0; at < count;) {
        pair->in.op = SW_DELETE;
        pair->in.count = 0;
        pair->in.group_count = 0;
        for (; at < count && pair->in.count < pair->n_max; at++) {
            if (pair_below(pair, 1000) < of_thousand) {
                pair->in.keys[pair->in.count++] = pair_key(pair, at);
            }
        }
        if (!pair_run(pair, false)) {
            return false;
        }
    }
    return true;
}

bool case_neighbours(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t entries = entries_at(pair, load);
    uint64_t capacity = entries_at(pair, 1.0);
    (void)scale;
    return pair_range(pair, SW_SET, 0, entries) && check(pair, entries) &&
           delete_some(pair, entries, 10) && check(pair, entries) &&
           delete_some(pair, entries, 500) && check(pair, entries) &&
           pair_range(pair, SW_SUM, 0, entries) && check(pair, entries) && pair_clear(pair) &&
           check(pair, entries / 8) && pair_range(pair, SW_MAX, 0, entries / 2) &&
           check(pair, entries) && pair_resize(pair, 0, SW_OK) && check(pair, entries) &&
           delete_some(pair, entries / 2, 10) && check(pair, entries / 2) &&
           pair_resize(pair, capacity, SW_OK) && check(pair, entries) &&
           pair_range(pair, SW_SET_ABSENT, 0, entries) && check(pair, entries);
}
