/* SPDX-License-Identifier: MIT
 *
 * test_combine_alone.c - which way the combiner launches a batch that is alone: as several are
 * where it is large, since its operations are then collected beside the launch before it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/batch.h"
#include "table/write_combiner.h"

TestSuite(combine_alone, .timeout = 60);

/* A backend that counts launches and is done at once. */
struct counts {
    unsigned alone;
    unsigned together;
};

static int open_queue(void *table, void **out)
{
    *out = table;
    return SW_OK;
}

static void close_queue(void *queue)
{
    (void)queue;
}

static int submit(void *queue, struct sw_batch *batch)
{
    (void)batch;
    ((struct counts *)queue)->alone++;
    return SW_OK;
}

static int poll(void *queue, struct sw_batch *batch)
{
    (void)queue;
    (void)batch;
    return SW_OK;
}

static int submit_combined(void *queue, struct sw_combined_launch *together)
{
    cr_assert_eq(together->count, 1);
    ((struct counts *)queue)->together++;
    return SW_OK;
}

static int poll_combined(void *queue, struct sw_combined_launch *together)
{
    (void)queue;
    (void)together;
    return SW_OK;
}

static const struct sw_backend backend = {
    .queue_open = open_queue,
    .queue_close = close_queue,
    .submit = submit,
    .poll = poll,
    .submit_combined = submit_combined,
    .poll_combined = poll_combined,
};

/* Runs one write of `count` operations where a launch takes `most`. */
static struct counts launch_batch(uint32_t count, uint32_t most, void *leftovers, bool shared)
{
    struct counts counts = {0, 0};
    struct sw_combiner combiner;
    struct sw_combiner_queue own;
    uint64_t unused = 0;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .shared = shared,
                             .count = count,
                             .keys = &unused,
                             .values = &unused,
                             .leftover_keys = leftovers};
    cr_assert_eq(sw_combiner_open(&combiner, &backend, &counts, most, 2 * most, false), SW_OK);
    sw_combiner_queue_init(&own, &combiner, &counts);
    cr_assert_eq(sw_combiner_submit(&own, &batch), SW_OK);
    while (sw_combiner_poll(&own, &batch) == SW_PENDING) {
    }
    cr_assert_eq(sw_combiner_launches(&combiner), 1);
    sw_combiner_close(&combiner);
    return counts;
}

static struct counts launch(uint32_t count, uint32_t most, void *leftovers)
{
    return launch_batch(count, most, leftovers, false);
}

Test(combine_alone, a_large_batch_is_collected)
{
    struct counts counts = launch(SW_COLLECTED_MIN, SW_COLLECTED_MIN, NULL);
    cr_assert(counts.together == 1 && counts.alone == 0);
}

Test(combine_alone, a_smaller_one_is_not)
{
    struct counts counts = launch(SW_COLLECTED_MIN - 1, SW_COLLECTED_MIN, NULL);
    cr_assert(counts.together == 0 && counts.alone == 1);
}

Test(combine_alone, nor_is_one_that_a_launch_has_no_room_for)
{
    struct counts counts = launch(SW_COLLECTED_MIN + 1, SW_COLLECTED_MIN, NULL);
    cr_assert(counts.together == 0 && counts.alone == 1);
}

Test(combine_alone, nor_one_that_hands_entries_back)
{
    uint64_t leftovers;
    struct counts counts = launch(SW_COLLECTED_MIN, SW_COLLECTED_MIN, &leftovers);
    cr_assert(counts.together == 0 && counts.alone == 1);
}

/* Others may change its keys: each is loaded once, into the table's memory. */
Test(combine_alone, one_of_shared_memory_is_however_large_it_is)
{
    static const uint32_t sizes[] = {1, SW_COLLECTED_MIN, 2 * SW_COLLECTED_MIN};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct counts counts = launch_batch(sizes[i], SW_COLLECTED_MIN, NULL, true);
        cr_assert(counts.together == 1 && counts.alone == 0);
    }
}

static bool always(const void *table)
{
    (void)table;
    return true;
}

/* Runs a write of two operations in three groups, where keys may expire or not. Returns how the
 * batch ended. */
static int launch_groups(bool expire, struct counts *counts)
{
    struct sw_backend timed = backend;
    struct sw_combiner combiner;
    struct sw_combiner_queue own;
    uint64_t unused[2] = {0, 0};
    const uint32_t ends[3] = {1, 1, 2};
    uint8_t refused[3];
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = 2,
                             .keys = unused,
                             .values = unused,
                             .group_count = 3,
                             .group_ends = ends,
                             .group_refused = refused};
    timed.keeps_times = expire ? always : NULL;
    *counts = (struct counts){0, 0};
    cr_assert_eq(sw_combiner_open(&combiner, &timed, counts, 64, 128, false), SW_OK);
    sw_combiner_queue_init(&own, &combiner, counts);
    cr_assert_eq(sw_combiner_submit(&own, &batch), SW_OK);
    int status = sw_combiner_poll(&own, &batch);
    while (status == SW_PENDING) {
        status = sw_combiner_poll(&own, &batch);
    }
    sw_combiner_close(&combiner);
    return status;
}

/* A batch that was submitted before the first time was given has more groups than operations. The
 * arrays of collected batches have no room for these. */
Test(combine_alone, more_groups_than_operations_are_not_collected)
{
    struct counts counts;
    cr_assert_eq(launch_groups(false, &counts), SW_OK);
    cr_assert(counts.together == 0 && counts.alone == 1);
    cr_assert_eq(launch_groups(true, &counts), SW_E_INVALID);
    cr_assert(counts.together == 0 && counts.alone == 0);
}
