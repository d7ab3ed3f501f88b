/* SPDX-License-Identifier: MIT
 *
 * cases_combined.c - cases about write batches that are carried out together.
 */
#include "tests/gpu/cases.h"
#include "tests/gpu/combined.h"
#include "tests/gpu/known.h"
#include "tests/gpu/write_paths.h"
#include "tests/support/ops.h"

/* Keys that no case fills the table with. */
#define FRESH (1U << 24)
#define OPERATIONS_MAX 6000 /* of a round */

/* A round of the n-th kind on keys [0, universe). */
static struct combined_round draw_round(struct pair *pair, uint32_t n, uint64_t universe)
{
    const uint64_t writes = SW_OPS_INTEGERS & ~SW_OPS_READ;
    struct combined_round round = {
        .batches = 2 + (uint32_t)pair_below(pair, 59),
        .count_max = n % 3 == 1 ? 30 : 300,
        .large = n % 2 == 0 ? 10 : 0,
        .queues = 1 + n % COMBINED_QUEUES,
        .op = SW_GET,
        .fresh = 15,
        .deletes = n % 2 == 0 ? 15 : 40,
        .universe = universe,
        .operations = OPERATIONS_MAX / 2 + pair_below(pair, OPERATIONS_MAX / 2),
    };
    if (n % 3 == 2) {
        round.op = (enum sw_op)ops_at(writes, (uint32_t)pair_below(pair, OPS_COUNT(writes)));
    }
    round.reads = round.queues == 1;
    round.clears = n % 4 == 3;
    if (n % 6 == 4 && info_of(pair, 1).stash_slots > 0) { /* else each is launched alone */
        round.batches = COMBINED_BATCHES_MAX;
        round.count_max = 3;
    }
    return round;
}

static bool run_round(struct pair *pair, struct combined *combined,
                      const struct combined_round *round)
{
    if (!combined_run(combined, round)) {
        return pair_fail(pair, "%u batches of %u queues: %s", round->batches, round->queues,
                         combined->failure);
    }
    return true;
}

/* Opens the rounds of a case; its end is close_rounds. */
static bool open_rounds(struct pair *pair, struct combined *combined)
{
    return combined_open(combined, pair->side[0].table, pair->side[1].table, OPERATIONS_MAX, FRESH,
                         pair_random(pair)) ||
           pair_fail(pair, "%s", combined->failure);
}

static bool close_rounds(struct pair *pair, struct combined *combined, bool good)
{
    pair->operations += combined->operations;
    combined_close(combined);
    return good;
}

/* With room for most, until what is new has filled the table; from then on it starts again. */
bool case_combined(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t universe = entries_at(pair, load);
    struct combined combined;
    bool good = open_rounds(pair, &combined);
    for (uint32_t n = 0; good && n < scale->rounds; n++) {
        struct combined_round round = draw_round(pair, n, n % 5 == 0 ? 200 : universe);
        good = run_round(pair, &combined, &round) && pair_compare(pair, false);
        if (good && stats_of(pair, 0).occupied > universe) {
            good = pair_clear(pair);
        }
    }
    return close_rounds(pair, &combined, good);
}

/* Sets keys [0, universe), each in a group of its own, until the table is full. */
static bool fill_up(struct pair *pair, uint64_t universe)
{
    pair->in.op = SW_SET;
    pair->in.count = (uint32_t)universe;
    pair->in.group_count = (uint32_t)universe;
    for (uint32_t i = 0; i < universe; i++) {
        pair->in.keys[i] = pair_key(pair, i);
        pair->in.values[i] = pair_random(pair);
        pair->in.group_ends[i] = i + 1;
    }
    return pair_run(pair, false) && pair_compare(pair, false);
}

/* The table is full, or nearly so: of most batches some groups are refused. */
bool case_combined_at_limit(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t limit = info_of(pair, 0).occupied_max;
    uint64_t universe = limit + limit / 4;
    uint64_t refused = 0;
    struct combined combined;
    bool good = open_rounds(pair, &combined) && pair_range(pair, SW_SET, 0, limit - 20);
    const struct write_paths paths_before = write_paths_now(pair);
    (void)load;
    for (uint32_t n = 0; good && n < scale->rounds; n++) {
        struct combined_round round = draw_round(pair, n, universe);
        round.fresh = 0;
        round.clears = false;
        uint64_t before = stats_of(pair, 1).counters.refused;
        good = run_round(pair, &combined, &round) && pair_compare(pair, false);
        refused += stats_of(pair, 1).counters.refused - before;
        good = good && fill_up(pair, universe);
    }
    good = good && (refused > 0 || pair_fail(pair, "no group of a round was refused")) &&
           write_paths_taken(pair, &paths_before, PATH_BIT(SW_WRITE_PATH_GENERAL)) &&
           write_paths_not_taken(pair, &paths_before, PATH_BIT(SW_WRITE_PATH_SERIAL));
    return close_rounds(pair, &combined, good);
}

/* The table grows on the way, up to where groups are refused. */
bool case_combined_growth(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t capacity = info_of(pair, 0).capacity_slots;
    uint64_t most = info_of(pair, 0).max_capacity_slots;
    uint64_t universe = (uint64_t)((double)most * load);
    struct combined combined;
    bool good = open_rounds(pair, &combined);
    for (uint32_t n = 0; good && n < scale->rounds; n++) {
        struct combined_round round = draw_round(pair, n, universe + universe / 8);
        good = run_round(pair, &combined, &round) && pair_compare_contents(pair);
        if (good && n % 4 == 3) {
            good = pair_clear(pair) && pair_resize(pair, capacity, SW_OK);
        }
    }
    good = good && (stats_of(pair, 1).grown > 0 || pair_fail(pair, "the table never grew"));
    return close_rounds(pair, &combined, good);
}

/* The stash holds more than stash_slots all the time: groups with an insert are refused. */
bool case_combined_stash_over(struct pair *pair, const struct scale *scale, double load)
{
    uint64_t plain = entries_at(pair, load);
    struct known known;
    struct combined combined;
    bool good = known_open(&known, pair, plain);
    good = open_rounds(pair, &combined) && good;
    for (uint32_t n = 0; good && n < scale->rounds; n++) {
        struct combined_round round = draw_round(pair, n, plain);
        round.clears = false;
        good = known_range(&known, SW_SET, 0, known.never) && run_round(pair, &combined, &round) &&
               pair_compare_contents(pair);
        for (int s = 0; good && s < 2; s++) {
            good = stats_of(pair, s).stash_occupied > info_of(pair, s).stash_slots ||
                   pair_fail(pair, "side %d: the stash is not overfull", s);
        }
        good = good && known_clear(&known);
    }
    good =
        good && (stats_of(pair, 1).counters.refused > 0 || pair_fail(pair, "no group was refused"));
    known_close(&known);
    return close_rounds(pair, &combined, good);
}
