/* SPDX-License-Identifier: MIT
 *
 * cases_limits.c - cases about the probe cap and the maximum load.
 */
#include "tests/gpu/cases.h"
#include "tests/gpu/write_paths.h"

uint64_t one_home_key(const struct pair *pair, uint64_t i)
{
    uint64_t scattered = (i & ~63ULL) | (i * 37 & 63);
    uint64_t middle = pair->slot_bits == 64 ? 1ULL << 31 : 1ULL << 63;
    return pair_key_of(pair, middle + scattered);
}

/* A run of full buckets in the stash that is longer than the window a scan reads at first: where
 * the cursor is past what the window shows, a larger one is read. Keys come in order, few at a
 * time, so that they do not all push at the same buckets. */
bool case_scan_long_run(struct pair *pair, const struct scale *scale, double load)
{
    const uint64_t entries = 70000; /* the window has 2^14 buckets of 4 */
    uint64_t m = 0;
    (void)scale;
    (void)load;
    while (m < entries) {
        pair->in.op = SW_SET;
        pair->in.group_count = 0;
        for (pair->in.count = 0;
             pair->in.count < pair->n_max && pair->in.count < 4096 && m < entries;
             pair->in.count++, m++) {
            pair->in.keys[pair->in.count] = pair_key_of(pair, m);
            pair->in.values[pair->in.count] = m ^ 0x5555;
        }
        if (!pair_run(pair, false)) {
            return false;
        }
    }
    return pair_compare(pair, false) && pair_scan(pair, pair->n_max);
}

static uint64_t occupied_max(const struct pair *pair)
{
    struct sw_table_info info;
    sw_table_info(pair->side[0].table, &info);
    return info.occupied_max;
}

/* The operations of a batch at the limit. */
enum mixture { MIXTURE_SET, MIXTURE_INCREMENT, MIXTURE_UPSERTS, MIXTURE_ALL, MIXTURE_COUNT };

/* A batch of groups of `size` operations, or of 0 to 7 if `size` is 0. Every third operation is on
 * one of a few keys, present or absent. */
static void fill_groups(struct pair *pair, enum mixture mixture, uint32_t size, uint64_t limit)
{
    const uint32_t count = pair->n_max / 2 + (uint32_t)pair_below(pair, pair->n_max / 2);
    fill_random(pair, count, limit + limit / 3, mixture == MIXTURE_ALL ? 35 : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (pair_below(pair, 3) == 0) {
            pair->in.keys[i] = pair_key(pair, limit - 8 + pair_below(pair, 32));
        }
    }
    pair->in.op = mixture == MIXTURE_SET         ? SW_SET
                  : mixture == MIXTURE_INCREMENT ? SW_INCREMENT
                                                 : -1;
    for (uint32_t end = 0; end < count && pair->in.group_count < pair->n_max;) {
        end += size != 0 ? size : (uint32_t)pair_below(pair, 8);
        end = end < count && pair->in.group_count + 1 < pair->n_max ? end : count;
        pair->in.group_ends[pair->in.group_count++] = end;
    }
}

/* Groups of one operation on a full table: one key is set and deleted in turn, so whether one of
 * them is refused depends on all before it. */
static void fill_turns(struct pair *pair, uint64_t limit)
{
    fill_random(pair, 2048, limit + limit / 3, 0);
    for (uint32_t i = 0; i < 2048; i++) {
        if (i >= 1 && i <= 200) {
            pair->in.keys[i] = pair_key(pair, i == 1 ? 7 : limit + 1);
            pair->in.ops[i] = i % 2 == 1 ? (uint8_t)SW_DELETE : (uint8_t)SW_SET;
        }
        pair->in.group_ends[pair->in.group_count++] = i + 1;
    }
}

/* Large batches of groups of one size on a table with room for no entry or a few: the table refuses
 * some groups. One thread never executes a whole batch. */
bool case_full(struct pair *pair, const struct scale *scale, double load)
{
    static const uint32_t sizes[] = {1, 3, 1000, 0};
    static const uint64_t rooms[] = {0, 1, 2, 5, 300};
    const uint64_t limit = occupied_max(pair);
    uint64_t refused = 0;
    uint32_t turn = 0;
    (void)scale;
    (void)load;
    const struct write_paths before = write_paths_now(pair);
    for (int mixture = 0; mixture < MIXTURE_COUNT; mixture++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            const uint64_t room = rooms[turn++ % (sizeof(rooms) / sizeof(rooms[0]))];
            if (!pair_clear(pair) || !pair_range(pair, SW_SET, 0, limit - room)) {
                return false;
            }
            fill_groups(pair, (enum mixture)mixture, sizes[s], limit);
            if (!pair_run(pair, false) || !pair_compare(pair, false)) {
                return false;
            }
            refused += pair->side[1].batch.counters.refused;
        }
    }
    if (!pair_clear(pair) || !pair_range(pair, SW_SET, 0, limit)) {
        return false;
    }
    fill_turns(pair, limit);
    return pair_run(pair, false) && pair_compare(pair, false) &&
           (refused > 0 || pair_fail(pair, "no group was refused")) &&
           pair_lookup(pair, 0, limit + limit / 3) &&
           write_paths_taken(pair, &before, PATH_BIT(SW_WRITE_PATH_GENERAL)) &&
           write_paths_not_taken(pair, &before, PATH_BIT(SW_WRITE_PATH_SERIAL));
}
