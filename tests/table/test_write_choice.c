/* SPDX-License-Identifier: MIT
 *
 * test_write_choice.c - which write path a batch takes, for tables and batches on both sides of
 * each limit.
 */
#include <criterion/criterion.h>

#include "table/robin_hood/write_choice.h"

#define PIECE (1U << 22)

static struct sw_table_tuning tuning;
static uint8_t some_ops[1];
static uint32_t some_words[1];

/* A table of 2^27 slots that is filled to the load, and whose recent upserts found their keys. */
static struct sw_write_facts at_load(double load)
{
    tuning = (struct sw_table_tuning){.bulk = SW_CHOICE_AUTO};
    const uint64_t slots = 1U << 27;
    return (struct sw_write_facts){.tuning = &tuning,
                                   .costs = {.pass = 1, .moves = 1},
                                   .slots = slots,
                                   .entries = (uint64_t)(load * (double)slots),
                                   .occupied_max = slots,
                                   .stash_max = 64,
                                   .piece_ops = PIECE,
                                   .has_stash = true};
}

static struct sw_batch batch_of(enum sw_op op, uint32_t count)
{
    return (struct sw_batch){.op = op, .count = count};
}

Test(write_choice, room_is_certain_up_to_the_limit)
{
    struct sw_write_facts facts = at_load(0.5);
    struct sw_batch batch = batch_of(SW_SET, 1000);
    facts.occupied_max = facts.entries + 1000;
    cr_assert(sw_write_is_certain(&facts, &batch, false, 1000));
    facts.entries++;
    cr_assert_not(sw_write_is_certain(&facts, &batch, false, 1000));
    cr_assert(sw_write_is_certain(&facts, &batch, false, 0), "deletes need no room");
}

Test(write_choice, several_groups_are_certain_only_if_gathered)
{
    const struct sw_write_facts facts = at_load(0.5);
    struct sw_batch batch = batch_of(SW_SET, 1000);
    batch.group_count = 2;
    cr_assert_not(sw_write_is_certain(&facts, &batch, false, 1000));
    cr_assert(sw_write_is_certain(&facts, &batch, true, 1000));
    cr_assert(sw_write_is_certain(&facts, &batch, false, 0));
}

Test(write_choice, an_overfull_stash_makes_several_kinds_uncertain)
{
    struct sw_write_facts facts = at_load(0.5);
    struct sw_batch batch = batch_of(SW_SET, 1000);
    facts.stash = facts.stash_max + 1;
    cr_assert(sw_write_is_certain(&facts, &batch, true, 1000));
    batch.ops = some_ops;
    cr_assert_not(sw_write_is_certain(&facts, &batch, true, 1000));
    facts.stash = facts.stash_max;
    cr_assert(sw_write_is_certain(&facts, &batch, true, 1000));
}

Test(write_choice, updates_of_any_number_go_by_ranges)
{
    for (double load = 0.5; load < 1; load += 0.05) {
        struct sw_write_facts facts = at_load(load);
        for (uint32_t count = 1; count <= 1U << 24; count *= 2) {
            const struct sw_batch batch = batch_of(SW_SET, count);
            cr_assert_not(sw_write_merges(&facts, &batch), "%u updates at %g", count, load);
            cr_assert(sw_write_is_ranged(&facts, &batch));
        }
    }
}

Test(write_choice, a_table_without_a_stash_takes_one_piece)
{
    struct sw_write_facts facts = at_load(0.5);
    facts.has_stash = false;
    struct sw_batch batch = batch_of(SW_SET, PIECE);
    cr_assert(sw_write_is_ranged(&facts, &batch));
    batch.count++;
    cr_assert_not(sw_write_is_ranged(&facts, &batch));
    facts.has_stash = true;
    cr_assert(sw_write_is_ranged(&facts, &batch));
}

Test(write_choice, many_new_keys_are_merged)
{
    struct sw_write_facts facts = at_load(0.95);
    struct sw_batch batch = batch_of(SW_SET, 1U << 20);
    cr_assert_not(sw_write_merges(&facts, &batch), "none is new");
    facts.new_share = 1;
    cr_assert(sw_write_merges(&facts, &batch), "all are new, at a high load");
    batch.count = 1U << 17;
    cr_assert_not(sw_write_merges(&facts, &batch), "too few to read the whole table");
    facts = at_load(0);
    batch.count = 1U << 24;
    cr_assert(sw_write_merges(&facts, &batch), "an empty table has no present keys");
}

/* The choices where the costs are those of an H200, as measured, and on two invented GPUs: one
 * where passes cost half, and one where they cost twice as much and moves half. */
Test(write_choice, the_faster_path_of_the_measured_batches_is_taken)
{
    static const struct sw_write_costs costs[] = {
        {.pass = 1, .moves = 1}, {.pass = 0.5, .moves = 1}, {.pass = 2, .moves = 0.5}};
    static const struct {
        enum sw_op op;
        double load; /* of the table before the batch */
        uint32_t count;
        bool streams[sizeof(costs) / sizeof(costs[0])];
    } batches[] = {
        {SW_SET, 0.47, 1U << 22, {false, false, false}},
        {SW_SET, 0.72, 1U << 22, {false, false, false}},
        {SW_SET, 0.82, 1U << 22, {false, true, false}},
        {SW_SET, 0.91, 1U << 22, {true, true, false}},
        {SW_SET, 0.38, 1U << 24, {false, true, false}},
        {SW_SET, 0.62, 1U << 24, {true, true, false}},
        {SW_SET, 0.93, 1U << 20, {false, true, false}},
        {SW_DELETE, 0.5, 1U << 24, {false, false, false}},
        {SW_DELETE, 0.75, 1U << 22, {false, false, false}},
        {SW_DELETE, 0.75, 1U << 24, {true, true, false}},
        {SW_DELETE, 0.85, 1U << 20, {false, false, false}},
        {SW_DELETE, 0.93, 1U << 22, {true, true, true}},
    };
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
        struct sw_write_facts facts = at_load(batches[i].load);
        facts.new_share = 1;
        const struct sw_batch batch = batch_of(batches[i].op, batches[i].count);
        for (size_t gpu = 0; gpu < sizeof(costs) / sizeof(costs[0]); gpu++) {
            facts.costs = costs[gpu];
            cr_assert_eq(batch.op == SW_SET ? sw_write_merges(&facts, &batch)
                                            : sw_write_streams_delete(&facts, &batch),
                         batches[i].streams[gpu], "row %zu, GPU %zu", i, gpu);
        }
    }
}

Test(write_choice, a_merge_answers_neither_kinds_nor_previous)
{
    struct sw_write_facts facts = at_load(0.95);
    facts.new_share = 1;
    struct sw_batch batch = batch_of(SW_SET, 1U << 22);
    cr_assert(sw_write_merges(&facts, &batch));
    batch.previous = some_words;
    cr_assert_not(sw_write_merges(&facts, &batch));
    batch.previous = NULL;
    batch.ops = some_ops;
    cr_assert_not(sw_write_merges(&facts, &batch));
    batch.ops = NULL;
    batch.op = SW_INCREMENT;
    cr_assert_not(sw_write_merges(&facts, &batch));
}

Test(write_choice, many_deletes_are_streamed)
{
    const struct sw_write_facts low = at_load(0.5);
    const struct sw_write_facts high = at_load(0.95);
    struct sw_batch batch = batch_of(SW_DELETE, 1U << 20);
    cr_assert_not(sw_write_streams_delete(&low, &batch));
    cr_assert(sw_write_streams_delete(&high, &batch));
    batch.op = SW_SET;
    cr_assert_not(sw_write_streams_delete(&high, &batch));
    batch.op = SW_DELETE;
    batch.ops = some_ops;
    cr_assert_not(sw_write_streams_delete(&high, &batch));
}

Test(write_choice, small_batches_stream_only_if_told)
{
    struct sw_write_facts facts = at_load(0.99);
    facts.slots = 1U << 10; /* reading the whole table costs next to nothing */
    facts.entries = 1U << 9;
    facts.new_share = 1;
    struct sw_batch set = batch_of(SW_SET, SW_WRITE_LARGE_MIN - 1);
    struct sw_batch erase = batch_of(SW_DELETE, SW_WRITE_LARGE_MIN - 1);
    cr_assert_not(sw_write_merges(&facts, &set));
    cr_assert_not(sw_write_streams_delete(&facts, &erase));
    tuning.bulk = SW_CHOICE_ALWAYS;
    cr_assert(sw_write_merges(&facts, &set));
    cr_assert(sw_write_streams_delete(&facts, &erase));
    tuning.bulk = SW_CHOICE_NEVER;
    set.count = erase.count = 1U << 24;
    cr_assert_not(sw_write_merges(&facts, &set));
    cr_assert_not(sw_write_streams_delete(&facts, &erase));
}

Test(write_choice, tuning_forbids_ranges)
{
    const struct sw_write_facts facts = at_load(0.5);
    const struct sw_batch batch = batch_of(SW_SET, 1000);
    cr_assert(sw_write_is_ranged(&facts, &batch));
    tuning.ranges = SW_CHOICE_NEVER;
    cr_assert_not(sw_write_is_ranged(&facts, &batch));
}

static struct sw_write_facts with_holes_at(double load)
{
    struct sw_write_facts facts = at_load(load);
    facts.can_have_holes = true;
    return facts;
}

Test(write_choice, only_long_batches_of_deletes_begin_to_leave_holes)
{
    struct sw_write_facts facts = with_holes_at(0.5);
    struct sw_batch batch = batch_of(SW_DELETE, 1U << 18);
    cr_assert_not(sw_write_leaves_holes(&facts, &batch), "it saves less than the pass takes");
    facts.holes.before_ns = 1e9;
    cr_assert(sw_write_leaves_holes(&facts, &batch));
    batch.count--;
    cr_assert_not(sw_write_leaves_holes(&facts, &batch));
    facts.holes.most = 1;
    cr_assert(sw_write_leaves_holes(&facts, &batch), "the table has holes already");
    batch.previous = some_words;
    cr_assert_not(sw_write_leaves_holes(&facts, &batch), "the values before");
    batch.previous = NULL;
    batch.ops = some_ops;
    cr_assert_not(sw_write_leaves_holes(&facts, &batch), "several kinds");
    batch = batch_of(SW_SET, 1U << 20);
    cr_assert_not(sw_write_leaves_holes(&facts, &batch));
    batch.op = SW_DELETE;
    facts.can_have_holes = false;
    cr_assert_not(sw_write_leaves_holes(&facts, &batch));
    facts.can_have_holes = true;
    tuning.holes = SW_CHOICE_NEVER;
    cr_assert_not(sw_write_leaves_holes(&facts, &batch));
    tuning.holes = SW_CHOICE_ALWAYS;
    facts.holes = (struct sw_hole_facts){0};
    batch.count = 1;
    cr_assert(sw_write_leaves_holes(&facts, &batch));
}

/* Returns which batch of 2^count_log2 deletes, from 1 on, is the first to leave holes. */
static int first_with_holes(double load, int count_log2, double pass)
{
    struct sw_write_facts facts = with_holes_at(load);
    facts.costs.pass = pass;
    const struct sw_batch erase = batch_of(SW_DELETE, 1U << count_log2);
    for (int i = 1; i < 1000; i++) {
        const bool leaves = sw_write_leaves_holes(&facts, &erase);
        sw_hole_facts_note(&facts.holes, &facts, &erase, leaves);
        if (leaves) {
            return i;
        }
    }
    return 0;
}

Test(write_choice, a_run_of_deletes_must_save_what_the_pass_takes)
{
    cr_assert_eq(first_with_holes(0.95, 22, 1), 1);
    cr_assert_eq(first_with_holes(0.85, 22, 1), 1);
    cr_assert_eq(first_with_holes(0.75, 22, 1), 2);
    cr_assert_eq(first_with_holes(0.85, 20, 1), 3);
    cr_assert_eq(first_with_holes(0.85, 20, 2), 5, "a GPU where a pass takes twice the time");
    cr_assert_gt(first_with_holes(0.5, 22, 1), 5);
}

Test(write_choice, another_batch_ends_a_run_of_deletes)
{
    struct sw_write_facts facts = with_holes_at(0.85);
    const struct sw_batch erase = batch_of(SW_DELETE, 1U << 20);
    const struct sw_batch set = batch_of(SW_SET, 1U << 20);
    for (int turn = 0; turn < 100; turn++) {
        cr_assert_not(sw_write_leaves_holes(&facts, &erase), "each run is too short");
        sw_hole_facts_note(&facts.holes, &facts, &erase, false);
        sw_hole_facts_note(&facts.holes, &facts, &set, false);
        cr_assert_eq(facts.holes.saving_ns, 0);
    }
    for (int i = 0; i < 8; i++) {
        sw_hole_facts_note(&facts.holes, &facts, &erase, false);
    }
    sw_hole_facts_note(&facts.holes, &facts, &set, false);
    cr_assert(sw_write_leaves_holes(&facts, &erase), "the run before was long enough");
}

Test(write_choice, a_quarter_of_the_slots_may_be_holes)
{
    struct sw_write_facts facts = with_holes_at(0.5);
    const struct sw_batch batch = batch_of(SW_DELETE, 1U << 20);
    cr_assert_not(sw_write_fills_up(&facts, &batch), "there are none to close");
    facts.holes.most = (1U << 25) - (1U << 20);
    cr_assert_not(sw_write_fills_up(&facts, &batch));
    facts.holes.most++;
    cr_assert(sw_write_fills_up(&facts, &batch));
}

Test(write_choice, a_batch_that_leaves_holes_is_counted_until_they_are_closed)
{
    const struct sw_write_facts facts = with_holes_at(0.5);
    const struct sw_batch batch = batch_of(SW_DELETE, 1000);
    struct sw_hole_facts holes = {0};
    sw_hole_facts_note(&holes, &facts, &batch, false);
    cr_assert_eq(holes.most, 0);
    sw_hole_facts_note(&holes, &facts, &batch, true);
    cr_assert_eq(holes.most, 1000);
    sw_hole_facts_end(&holes);
    cr_assert_eq(holes.most, 1000, "a run ends; its holes stay");
}

Test(write_choice, many_inserts_and_all_removals_are_direct)
{
    struct sw_write_facts facts = at_load(0.5);
    struct sw_batch batch = batch_of(SW_SET, 1000);
    cr_assert_not(sw_write_is_direct(&facts, &batch), "updates");
    facts.new_share = 0.5;
    cr_assert(sw_write_is_direct(&facts, &batch));
    batch.op = SW_SUM;
    cr_assert(sw_write_is_direct(&facts, &batch));
    batch.op = SW_SET_PRESENT;
    cr_assert_not(sw_write_is_direct(&facts, &batch), "it inserts nothing");
    facts.new_share = 0;
    batch.op = SW_DELETE;
    cr_assert(sw_write_is_direct(&facts, &batch));
    facts.clears_hints = true;
    cr_assert_not(sw_write_is_direct(&facts, &batch), "a cleared slot would leave its hints");
}

Test(write_choice, a_key_set_adds_keys_directly_and_is_streamed)
{
    struct sw_write_facts facts = at_load(0.75);
    facts.new_share = 1;
    struct sw_batch batch = batch_of(SW_SET_ABSENT, PIECE);
    for (int is_set = 0; is_set < 2; is_set++) {
        facts.is_set = is_set != 0;
        batch.op = SW_SET_ABSENT;
        tuning.bulk = SW_CHOICE_ALWAYS;
        cr_assert_eq(sw_write_is_direct(&facts, &batch), facts.is_set);
        cr_assert_eq(sw_write_merges(&facts, &batch), facts.is_set);
        batch.op = SW_SET;
        cr_assert(sw_write_merges(&facts, &batch));
        batch.op = SW_DELETE;
        cr_assert(sw_write_streams_delete(&facts, &batch));
        cr_assert(sw_write_is_direct(&facts, &batch));
    }
}

Test(write_choice, operations_that_keep_their_order_are_not_direct)
{
    struct sw_write_facts facts = at_load(0.5);
    facts.new_share = 1;
    struct sw_batch batch = batch_of(SW_SET_ABSENT, 1000);
    cr_assert_not(sw_write_is_direct(&facts, &batch));
    for (int removes = 0; removes < 2; removes++) {
        batch = batch_of(removes != 0 ? SW_DELETE : SW_SET, 1000);
        batch.ops = some_ops;
        cr_assert_not(sw_write_is_direct(&facts, &batch), "several kinds");
        batch.ops = NULL;
        batch.previous = some_words;
        cr_assert_not(sw_write_is_direct(&facts, &batch), "the values before");
    }
}

Test(write_choice, few_new_keys_end_by_ranges)
{
    struct sw_write_facts facts = at_load(0.5);
    struct sw_batch batch = batch_of(SW_SET, PIECE);
    cr_assert(sw_write_ends_by_ranges(&facts, &batch), "updates");
    facts.new_share = 0.02;
    cr_assert_not(sw_write_ends_by_ranges(&facts, &batch), "2 %% of 4 million keys");
    batch.count = 8192;
    cr_assert(sw_write_ends_by_ranges(&facts, &batch));
    batch.count++;
    cr_assert_not(sw_write_ends_by_ranges(&facts, &batch));
}

Test(write_choice, what_another_kernel_must_end_does_not_end_by_ranges)
{
    struct sw_write_facts facts = at_load(0.5);
    struct sw_batch batch = batch_of(SW_DELETE, 1000);
    cr_assert_not(sw_write_ends_by_ranges(&facts, &batch), "entries move");
    batch = batch_of(SW_SET, 1000);
    batch.group_count = 2;
    cr_assert_not(sw_write_ends_by_ranges(&facts, &batch), "a group may be refused");
    batch.group_count = 1;
    cr_assert(sw_write_ends_by_ranges(&facts, &batch));
    batch.ops = some_ops;
    cr_assert_not(sw_write_ends_by_ranges(&facts, &batch), "several kinds");
    batch = batch_of(SW_SET, PIECE + 1);
    cr_assert_not(sw_write_ends_by_ranges(&facts, &batch), "two pieces");
    batch.count = 1000;
    facts.has_stash = false;
    cr_assert_not(sw_write_ends_by_ranges(&facts, &batch), "entries may be handed back");
}
