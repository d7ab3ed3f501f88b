/* SPDX-License-Identifier: MIT
 *
 * test_combiner_single.c - how the combiner launches one waiting batch. A large batch takes the
 * combined path, because its operations are then copied during the previous launch.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/batch.h"
#include "table/write_combiner.h"

TestSuite(combiner_single, .timeout = 60);

/* A backend that counts launches and, unless they are to run, is done at once. */
struct counts {
    unsigned single;
    unsigned combined;
    unsigned tidied;
    bool is_running; /* batches are not done yet */
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
    ((struct counts *)queue)->single++;
    return SW_OK;
}

static int poll(void *queue, struct sw_batch *batch)
{
    (void)batch;
    return ((struct counts *)queue)->is_running ? SW_PENDING : SW_OK;
}

static int submit_combined(void *queue, struct sw_combined_launch *launch)
{
    cr_assert_eq(launch->count, 1);
    ((struct counts *)queue)->combined++;
    return SW_OK;
}

static int poll_combined(void *queue, struct sw_combined_launch *launch)
{
    (void)queue;
    (void)launch;
    return SW_OK;
}

static bool tidy(void *queue)
{
    ((struct counts *)queue)->tidied++;
    return true;
}

static const struct sw_backend backend = {
    .queue_open = open_queue,
    .queue_close = close_queue,
    .submit = submit,
    .poll = poll,
    .submit_combined = submit_combined,
    .poll_combined = poll_combined,
    .tidy = tidy,
};

/* Runs one write of `count` operations where a launch takes `most`. */
static struct counts launch_batch(uint32_t count, uint32_t most, void *leftovers, bool shared,
                                  bool on_device)
{
    struct counts counts = {0};
    struct sw_combiner combiner;
    struct sw_sequencer sequencer = {0};
    struct sw_combiner_queue own;
    uint64_t unused = 0;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .shared = shared,
                             .on_device = on_device,
                             .count = count,
                             .keys = &unused,
                             .values = &unused,
                             .leftover_keys = leftovers};
    cr_assert_eq(sw_combiner_open(&combiner, &backend, &counts, &sequencer, most, 2 * most, false),
                 SW_OK);
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
    return launch_batch(count, most, leftovers, false, false);
}

static void check_launches(struct counts seen, unsigned combined, unsigned single)
{
    cr_assert(seen.combined == combined && seen.single == single,
              "%u combined and %u single launches, expected %u and %u", seen.combined, seen.single,
              combined, single);
}

Test(combiner_single, a_large_batch_is_combined)
{
    struct counts counts = launch(SW_GATHERED_MIN, SW_GATHERED_MIN, NULL);
    check_launches(counts, 1, 0);
}

Test(combiner_single, a_small_batch_is_not)
{
    struct counts counts = launch(SW_GATHERED_MIN - 1, SW_GATHERED_MIN, NULL);
    check_launches(counts, 0, 1);
}

Test(combiner_single, a_batch_larger_than_a_launch_is_not)
{
    struct counts counts = launch(SW_GATHERED_MIN + 1, SW_GATHERED_MIN, NULL);
    check_launches(counts, 0, 1);
}

Test(combiner_single, a_batch_that_hands_entries_back_is_not)
{
    uint64_t leftovers;
    struct counts counts = launch(SW_GATHERED_MIN, SW_GATHERED_MIN, &leftovers);
    check_launches(counts, 0, 1);
}

/* Others may change its keys: each is loaded once, into the table's memory. */
Test(combiner_single, a_batch_of_shared_memory_is_combined_at_any_size)
{
    static const uint32_t sizes[] = {1, SW_GATHERED_MIN, 2 * SW_GATHERED_MIN};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int on_device = 0; on_device < 2; on_device++) {
            check_launches(launch_batch(sizes[i], SW_GATHERED_MIN, NULL, true, on_device != 0), 1,
                           0);
        }
    }
}

/* Its kernels load it as fast from there as from the table's memory. */
Test(combiner_single, a_large_batch_of_device_memory_is_not)
{
    check_launches(launch_batch(SW_GATHERED_MIN, SW_GATHERED_MIN, NULL, false, true), 0, 1);
}

/* Two tables with one sequencer: each write takes the next number, whichever table it is of. */
Test(combiner_single, tables_share_the_numbers_of_a_sequencer)
{
    struct counts counts[2] = {{0}};
    struct sw_combiner combiners[2];
    struct sw_combiner_queue queues[2];
    struct sw_sequencer sequencer = {0};
    uint64_t unused = 0;
    for (int t = 0; t < 2; t++) {
        cr_assert_eq(
            sw_combiner_open(&combiners[t], &backend, &counts[t], &sequencer, 64, 128, false),
            SW_OK);
        sw_combiner_queue_init(&queues[t], &combiners[t], &counts[t]);
    }
    for (uint64_t i = 1; i <= 9; i++) {
        const int t = i % 3 == 0;
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_SET,
                                 .count = 1,
                                 .keys = &unused,
                                 .values = &unused};
        cr_assert_eq(sw_combiner_submit(&queues[t], &batch), SW_OK);
        while (sw_combiner_poll(&queues[t], &batch) == SW_PENDING) {
        }
        cr_assert_eq(batch.write_sequence, i);
        cr_assert_eq(sw_combiner_last_sequence(&combiners[t]), i);
    }
    cr_assert_eq(sw_combiner_last_sequence(&combiners[0]), 8);
    for (int t = 0; t < 2; t++) {
        sw_combiner_close(&combiners[t]);
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
    struct sw_sequencer sequencer = {0};
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
    *counts = (struct counts){0};
    cr_assert_eq(sw_combiner_open(&combiner, &timed, counts, &sequencer, 64, 128, false), SW_OK);
    sw_combiner_queue_init(&own, &combiner, counts);
    cr_assert_eq(sw_combiner_submit(&own, &batch), SW_OK);
    int status = sw_combiner_poll(&own, &batch);
    while (status == SW_PENDING) {
        status = sw_combiner_poll(&own, &batch);
    }
    sw_combiner_close(&combiner);
    return status;
}

/* A batch that was submitted before the table had its first expiry time may have more groups than
 * operations. The arrays of gathered batches have no room for these groups. */
Test(combiner_single, a_batch_with_more_groups_than_operations_is_not)
{
    struct counts counts;
    cr_assert_eq(launch_groups(false, &counts), SW_OK);
    check_launches(counts, 0, 1);
    cr_assert_eq(launch_groups(true, &counts), SW_E_INVALID);
    check_launches(counts, 0, 0);
}

Test(combiner_single, an_idle_table_is_tidied_once)
{
    struct counts counts = {0};
    struct sw_combiner combiner;
    struct sw_sequencer sequencer = {0};
    struct sw_combiner_queue own;
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    cr_assert_eq(sw_combiner_open(&combiner, &backend, &counts, &sequencer, 1, 1, false), SW_OK);
    sw_combiner_queue_init(&own, &combiner, &counts);
    for (unsigned round = 0; round < 3; round++) {
        sw_combiner_tidy(&combiner);
        sw_combiner_tidy(&combiner);
        cr_assert_eq(counts.tidied, round, "nothing was written since");
        counts.is_running = true;
        cr_assert_eq(sw_combiner_submit(&own, &batch), SW_OK);
        sw_combiner_tidy(&combiner);
        sw_combiner_tidy(&combiner);
        cr_assert_eq(counts.tidied, round, "the batch runs");
        counts.is_running = false;
        cr_assert_eq(sw_combiner_poll(&own, &batch), SW_OK);
        cr_assert_eq(sw_combiner_submit(&own, &batch), SW_OK);
        cr_assert_eq(sw_combiner_poll(&own, &batch), SW_OK);
        sw_combiner_tidy(&combiner);
        cr_assert_eq(counts.tidied, round, "a batch was written since the last call");
        sw_combiner_tidy(&combiner);
        cr_assert_eq(counts.tidied, round + 1);
    }
    sw_combiner_close(&combiner);
}

/* --- who leads -------------------------------------------------------------------------------- */

static unsigned led; /* times that a leader looked for batches to launch */
static bool is_full; /* no launch may begin */

static bool counts_leads(const void *table, uint32_t flying)
{
    (void)table;
    (void)flying;
    led++;
    return is_full;
}

Test(combiner_single, a_read_leads_only_if_a_batch_waits)
{
    struct counts counts = {0};
    struct sw_backend counting = backend;
    struct sw_combiner combiner;
    struct sw_sequencer sequencer = {0};
    struct sw_combiner_queue own;
    uint64_t unused = 0;
    struct sw_batch read = {.kind = SW_BATCH_OPERATIONS, .op = SW_GET, .count = 1, .keys = &unused};
    struct sw_batch write = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = 1,
                             .keys = &unused,
                             .values = &unused,
                             .stream = 1};
    counting.must_wait = counts_leads;
    cr_assert_eq(sw_combiner_open(&combiner, &counting, &counts, &sequencer, 4, 8, false), SW_OK);
    sw_combiner_queue_init(&own, &combiner, &counts);
    cr_assert_eq(sw_combiner_submit(&own, &read), SW_OK);
    cr_assert_eq(sw_combiner_poll(&own, &read), SW_OK);
    cr_assert_eq(led, 0, "a read led, and no batch waited");
    is_full = true;
    cr_assert_eq(sw_combiner_submit(&own, &write), SW_OK);
    cr_assert_eq(sw_combiner_launches(&combiner), 0);
    is_full = false;
    cr_assert_eq(sw_combiner_submit(&own, &read), SW_OK);
    cr_assert_eq(sw_combiner_launches(&combiner), 1, "the read launched the write that waited");
    cr_assert_eq(sw_combiner_poll(&own, &read), SW_OK);
    while (sw_combiner_poll(&own, &write) == SW_PENDING) {
    }
    sw_combiner_close(&combiner);
}
