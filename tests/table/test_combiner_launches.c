/* SPDX-License-Identifier: MIT
 *
 * test_combiner_launches.c - which batches the combiner launches together, which reads it defers,
 * and what becomes of all when the device is lost.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "table/batch.h"
#include "tests/support/slow_backend.h"

TestSuite(combiner_launches, .timeout = 120);

/* --- what shares a launch --------------------------------------------------------------------- */

#define BATCHES 6

/* Writes that gather while two are in flight, all of one queue. */
struct gathered {
    struct slow fake;
    struct sw_combiner combiner;
    struct sw_sequencer sequencer;
    struct sw_combiner_queue own;
    void *queue;
    uint32_t keys[SLOW_COMBINED_OPS + 1];
    uint64_t values[SLOW_COMBINED_OPS + 1], previous[SLOW_COMBINED_OPS + 1];
    struct sw_batch first[SW_COMBINED_LAUNCHES], batches[BATCHES];
};

static struct sw_batch sets(struct gathered *g, uint32_t count)
{
    return (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = count,
                             .keys = g->keys,
                             .values = g->values,
                             .previous = g->previous};
}

static struct gathered *gather(void)
{
    struct gathered *g = calloc(1, sizeof(*g));
    g->fake.random = random_of(0);
    g->fake.stalled = true;
    pthread_mutex_init(&g->fake.lock, NULL);
    slow_queue_open(&g->fake, &g->queue);
    cr_assert_eq(sw_combiner_open(&g->combiner, &slow_backend, &g->fake, &g->sequencer,
                                  SLOW_COMBINED_OPS, SLOW_COMBINED_OPS, false),
                 SW_OK);
    sw_combiner_queue_init(&g->own, &g->combiner, g->queue);
    for (int i = 0; i < SW_COMBINED_LAUNCHES; i++) {
        g->first[i] = sets(g, 1);
        cr_assert_eq(sw_combiner_submit(&g->own, &g->first[i]), SW_OK);
    }
    cr_assert_eq(g->combiner.launches, SW_COMBINED_LAUNCHES, "with room, each is launched at once");
    for (int i = 0; i < BATCHES; i++) {
        g->batches[i] = sets(g, 10);
    }
    return g;
}

static void submit_all(struct gathered *g)
{
    for (int i = 0; i < BATCHES; i++) {
        cr_assert_eq(sw_combiner_submit(&g->own, &g->batches[i]), SW_OK);
    }
    cr_assert_eq(g->combiner.launches, SW_COMBINED_LAUNCHES, "they wait");
}

static void finish(struct gathered *g, uint64_t launches)
{
    g->fake.stalled = false;
    for (int i = 0; i < SW_COMBINED_LAUNCHES; i++) {
        while (sw_combiner_poll(&g->own, &g->first[i]) == SW_PENDING) {
        }
    }
    for (int i = 0; i < BATCHES; i++) {
        while (sw_combiner_poll(&g->own, &g->batches[i]) == SW_PENDING) {
        }
    }
    cr_assert_null(g->fake.broken, "%s", g->fake.broken);
    cr_assert_eq(g->combiner.launches, SW_COMBINED_LAUNCHES + launches, "%llu launches",
                 (unsigned long long)g->combiner.launches);
    sw_combiner_close(&g->combiner);
    pthread_mutex_destroy(&g->fake.lock);
    slow_queue_close(g->queue);
    free(g);
}

Test(combiner_launches, what_gathered_is_one_launch)
{
    struct gathered *g = gather();
    submit_all(g);
    finish(g, 1);
}

Test(combiner_launches, a_launch_grows_for_many_batches)
{
    struct gathered *g = gather();
    struct sw_batch many[SLOW_COMBINED_OPS];
    for (int i = 0; i < SLOW_COMBINED_OPS; i++) {
        many[i] = sets(g, 1);
        cr_assert_eq(sw_combiner_submit(&g->own, &many[i]), SW_OK);
    }
    cr_assert_gt(SLOW_COMBINED_OPS, SW_COMBINED_BATCHES_FEW);
    submit_all(g);
    g->fake.stalled = false;
    for (int i = 0; i < SLOW_COMBINED_OPS; i++) {
        while (sw_combiner_poll(&g->own, &many[i]) == SW_PENDING) {
        }
    }
    finish(g, 2);
}

Test(combiner_launches, no_more_operations_than_fit)
{
    struct gathered *g = gather();
    g->batches[2].count = 41; /* 10 + 10 + 41 are too many; 41 + 10 are not */
    submit_all(g);
    finish(g, 3);
}

/* Polls a batch `polls` times; whether it is done. */
static bool is_done(struct sw_combiner_queue *queue, struct sw_batch *batch, int polls)
{
    int status = SW_PENDING;
    for (int i = 0; i < polls && status == SW_PENDING; i++) {
        status = sw_combiner_poll(queue, batch);
    }
    return status == SW_OK;
}

/* Other queues complete what is in flight, and launch neither the image nor what comes after it. */
Test(combiner_launches, an_image_is_launched_by_who_asks_for_it)
{
    struct gathered *g = gather();
    struct sw_combiner_queue other;
    struct sw_batch image = {.kind = SW_BATCH_IMAGE};
    void *queue;
    slow_queue_open(&g->fake, &queue);
    sw_combiner_queue_init(&other, &g->combiner, queue);
    cr_assert_eq(sw_combiner_submit(&other, &image), SW_OK);
    submit_all(g);
    g->fake.stalled = false;
    for (int i = 0; i < SW_COMBINED_LAUNCHES; i++) {
        cr_assert(is_done(&g->own, &g->first[i], 1000));
    }
    cr_assert_not(is_done(&g->own, &g->batches[0], 1000));
    cr_assert_eq(g->fake.images, 0, "the other queue was not polled");
    cr_assert(is_done(&other, &image, 1000));
    cr_assert_eq(g->fake.images, 1);
    slow_queue_close(queue);
    finish(g, 2);
}

/* An image that is requested while a launch is in flight waits for its end. */
Test(combiner_launches, an_image_waits_for_what_is_in_flight)
{
    struct gathered *g = gather();
    struct sw_batch image = {.kind = SW_BATCH_IMAGE};
    g->fake.stalled = false;
    cr_assert(is_done(&g->own, &g->first[0], 1000));
    g->fake.stalled = true;
    cr_assert_eq(sw_combiner_submit(&g->own, &g->first[0]), SW_OK);
    cr_assert_eq(sw_combiner_submit(&g->own, &image), SW_OK);
    cr_assert_not(is_done(&g->own, &image, 1000));
    cr_assert_eq(g->fake.images, 0);
    g->fake.stalled = false;
    cr_assert(is_done(&g->own, &image, 1000));
    cr_assert_null(g->fake.broken, "%s", g->fake.broken);
    for (int i = 0; i < BATCHES; i++) {
        cr_assert_eq(sw_combiner_submit(&g->own, &g->batches[i]), SW_OK);
    }
    while (g->combiner.flying > 0) {
        is_done(&g->own, &g->batches[BATCHES - 1], 1);
    }
    sw_combiner_close(&g->combiner);
    pthread_mutex_destroy(&g->fake.lock);
    slow_queue_close(g->queue);
    free(g);
}

/* Batches of 40 operations in a table that streams from 100 on. Batches before number `plain`
 * decline `previous`. */
static struct gathered *gather_streamed(int plain)
{
    struct gathered *g = gather();
    g->fake.streamed = 100;
    for (int i = 0; i < BATCHES; i++) {
        g->batches[i].count = 40;
        g->batches[i].previous = i < plain ? NULL : g->previous;
    }
    submit_all(g);
    return g;
}

Test(combiner_launches, more_operations_where_they_are_streamed)
{
    finish(gather_streamed(BATCHES), 3);
}

Test(combiner_launches, no_more_of_those_that_want_the_values_before)
{
    finish(gather_streamed(0), BATCHES);
    finish(gather_streamed(3), 5); /* 2, then four that find no other one to go with */
}

Test(combiner_launches, no_more_of_another_operation)
{
    struct gathered *g = gather();
    g->fake.streamed = 100;
    for (int i = 0; i < BATCHES; i++) {
        g->batches[i].previous = NULL;
        g->batches[i].count = 40;
        g->batches[i].op = i % 2 == 0 ? SW_SET : SW_SUM;
    }
    submit_all(g);
    finish(g, BATCHES);
}

Test(combiner_launches, a_batch_larger_than_a_launch_goes_alone)
{
    struct gathered *g = gather();
    g->batches[1].count = SLOW_COMBINED_OPS + 1;
    submit_all(g);
    finish(g, 3);
}

Test(combiner_launches, a_resize_goes_alone)
{
    struct gathered *g = gather();
    g->batches[3].kind = SW_BATCH_RESIZE;
    submit_all(g);
    finish(g, 3);
}

/* --- deferred reads --------------------------------------------------------------------------- */

/* Submits reads of this stream until the queue takes no more. Returns how many it took. */
static unsigned fill(struct gathered *g, struct sw_batch *reads, uint32_t stream)
{
    unsigned count = 0;
    for (unsigned tries = 0; tries < 20 * SW_READS_MAX; tries++) {
        cr_assert_lt(count, SW_READS_MAX, "the queue takes no more");
        reads[count] = sets(g, 1);
        reads[count].op = SW_GET;
        reads[count].stream = stream;
        count += sw_combiner_submit(&g->own, &reads[count]) == SW_OK;
    }
    return count;
}

Test(combiner_launches, later_reads_take_no_place_of_a_deferred_one)
{
    struct gathered *g = gather();
    struct sw_batch *reads = calloc(SW_READS_MAX, sizeof(*reads));
    struct sw_batch deferred = sets(g, 1);
    deferred.op = SW_GET;
    submit_all(g);
    cr_assert_eq(sw_combiner_submit(&g->own, &deferred), SW_OK);
    cr_assert_eq(fill(g, reads, 1), SW_READS_MAX - 1, "one place is the deferred read's");
    g->fake.stalled = false;
    while (sw_combiner_poll(&g->own, &deferred) == SW_PENDING) { /* and no other */
    }
    for (int i = 0; i < SW_READS_MAX - 1; i++) {
        while (sw_combiner_poll(&g->own, &reads[i]) == SW_PENDING) {
        }
    }
    free(reads);
    finish(g, 1);
}

/* --- a backend without room, and a lost device ------------------------------------------------ */

Test(combiner_launches, a_launch_without_room_waits_for_the_one_before)
{
    struct gathered *g = gather();
    g->fake.takes_one = true;
    g->batches[3].leftover_keys = g->keys; /* launched alone: three launches */
    submit_all(g);
    g->fake.stalled = false;
    for (int i = BATCHES - 1; i >= 0; i--) {
        int status;
        while ((status = sw_combiner_poll(&g->own, &g->batches[i])) == SW_PENDING) {
        }
        cr_assert_eq(status, SW_OK);
    }
    finish(g, 3);
}

Test(combiner_launches, a_lost_device_completes_everything)
{
    struct gathered *g = gather();
    submit_all(g);
    g->fake.lost = true;
    g->fake.stalled = false;
    for (int i = 0; i < BATCHES; i++) {
        int status;
        while ((status = sw_combiner_poll(&g->own, &g->batches[i])) == SW_PENDING) {
        }
        cr_assert_eq(status, SW_E_DEVICE);
    }
    finish(g, 1);
}
