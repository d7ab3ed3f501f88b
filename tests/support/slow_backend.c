/* SPDX-License-Identifier: MIT
 *
 * slow_backend.c - a backend that takes its time.
 */
#include "tests/support/slow_backend.h"

#include <stdlib.h>

#include "table/batch.h"

static void expect(struct slow *fake, bool holds, const char *rule)
{
    if (!holds && fake->broken == NULL) {
        fake->broken = rule;
    }
}

/* Under the lock. */
static void carry_out(struct slow *fake, struct sw_batch *batch)
{
    const uint32_t *keys = batch->keys;
    const uint64_t *values = batch->values;
    uint64_t *previous = batch->previous;
    for (uint32_t i = 0; batch->kind == SW_BATCH_OPERATIONS && i < batch->count; i++) {
        if (previous != NULL) {
            previous[i] = fake->values[keys[i]];
        }
        if (batch->op == SW_SET) {
            fake->values[keys[i]] = values[i];
        }
    }
    if (batch->write_sequence != 0) {
        expect(fake, batch->write_sequence == fake->sequence + 1, "writes in order, without gaps");
        fake->sequence = batch->write_sequence;
    }
    batch->counters.updated = batch->count;
}

int slow_queue_open(void *table, void **out)
{
    struct slow_queue *queue = calloc(1, sizeof(*queue));
    queue->fake = table;
    *out = queue;
    return SW_OK;
}

static void slow_flush(void *context, uint32_t stream)
{
    struct slow_queue *queue = context;
    (void)stream;
    pthread_mutex_lock(&queue->fake->lock);
    for (unsigned h = 0; h < queue->held_count; h++) {
        carry_out(queue->fake, queue->held[h]);
    }
    queue->held_count = 0;
    pthread_mutex_unlock(&queue->fake->lock);
}

void slow_queue_close(void *context)
{
    free(context);
}

static uint32_t most_of(const struct slow *fake, enum sw_op op)
{
    return op == SW_SET && fake->streamed != 0 ? fake->streamed : SLOW_COMBINED_OPS;
}

static uint32_t slow_combined_ops(void *table, enum sw_op op)
{
    return most_of(table, op);
}

/* How many polls a launch takes, counted down in its _ticket. */
static uint64_t delay(struct slow *fake)
{
    return random_below(&fake->random, 4);
}

static bool is_taken(const struct slow *fake)
{
    return fake->takes_one && fake->writes_in_flight > 0;
}

static int slow_submit(void *context, struct sw_batch *batch)
{
    struct slow_queue *queue = context;
    struct slow *fake = queue->fake;
    int status = SW_OK;
    pthread_mutex_lock(&fake->lock);
    batch->_ticket = delay(fake);
    if (fake->lost) {
        status = SW_E_DEVICE;
    } else if (batch->write_sequence != 0 && is_taken(fake)) {
        status = SW_E_BUSY;
    } else if (batch->kind == SW_BATCH_IMAGE) {
        expect(fake, fake->writes_in_flight == 0, "an image with nothing in flight");
        fake->images++;
    } else if (batch->write_sequence != 0) {
        expect(fake, fake->writes_in_flight < SW_COMBINED_LAUNCHES,
               "at most SW_COMBINED_LAUNCHES write launches");
        fake->writes_in_flight++;
        carry_out(fake, batch);
    } else if (queue->reads == SW_READS_MAX || random_below(&fake->random, 8) == 0) {
        status = SW_E_BUSY;
    } else {
        queue->held[queue->held_count++] = batch;
        queue->reads++;
    }
    pthread_mutex_unlock(&fake->lock);
    return status;
}

static int slow_poll(void *context, struct sw_batch *batch)
{
    struct slow_queue *queue = context;
    slow_flush(queue, 0);
    if (queue->fake->stalled || batch->_ticket > 0) {
        batch->_ticket -= batch->_ticket > 0;
        return SW_PENDING;
    }
    pthread_mutex_lock(&queue->fake->lock);
    queue->fake->writes_in_flight -= batch->write_sequence != 0;
    pthread_mutex_unlock(&queue->fake->lock);
    queue->reads -= batch->write_sequence == 0 && batch->kind != SW_BATCH_IMAGE;
    return SW_OK;
}

static int slow_submit_combined(void *context, struct sw_combined_launch *launch)
{
    struct slow *fake = ((struct slow_queue *)context)->fake;
    uint32_t operations = 0;
    pthread_mutex_lock(&fake->lock);
    if (fake->lost || is_taken(fake)) {
        pthread_mutex_unlock(&fake->lock);
        return fake->lost ? SW_E_DEVICE : SW_E_BUSY;
    }
    expect(fake, fake->writes_in_flight < SW_COMBINED_LAUNCHES,
           "at most SW_COMBINED_LAUNCHES write launches");
    expect(fake, launch->count >= 2 && launch->count <= SW_COMBINED_BATCHES_MAX, "several batches");
    for (uint32_t i = 0; i < launch->count; i++) {
        struct sw_batch *part = launch->parts[i];
        expect(fake, part->kind == SW_BATCH_OPERATIONS && part->op == SW_SET, "writes only");
        expect(fake, part->leftover_keys == NULL, "none that hands entries back");
        expect(fake, part->scores == NULL && part->scores_out == NULL, "none with scores");
        operations += part->count;
        carry_out(fake, part);
    }
    expect(fake, operations <= most_of(fake, SW_SET), "no more operations than the backend takes");
    fake->combined += launch->count;
    fake->writes_in_flight++;
    launch->whole._ticket = delay(fake);
    pthread_mutex_unlock(&fake->lock);
    return SW_OK;
}

static int slow_poll_combined(void *context, struct sw_combined_launch *launch)
{
    struct slow *fake = ((struct slow_queue *)context)->fake;
    if (fake->stalled || launch->whole._ticket > 0) {
        launch->whole._ticket -= launch->whole._ticket > 0;
        return SW_PENDING;
    }
    pthread_mutex_lock(&fake->lock);
    fake->writes_in_flight--;
    pthread_mutex_unlock(&fake->lock);
    return SW_OK;
}

static bool slow_tidy(void *context)
{
    struct slow *fake = ((struct slow_queue *)context)->fake;
    pthread_mutex_lock(&fake->lock);
    expect(fake, fake->writes_in_flight == 0, "an idle table has no launch in flight");
    fake->tidied++;
    pthread_mutex_unlock(&fake->lock);
    return true;
}

const struct sw_backend slow_backend = {
    .queue_open = slow_queue_open,
    .queue_close = slow_queue_close,
    .submit = slow_submit,
    .poll = slow_poll,
    .submit_combined = slow_submit_combined,
    .combined_ops = slow_combined_ops,
    .poll_combined = slow_poll_combined,
    .flush = slow_flush,
    .tidy = slow_tidy,
};
