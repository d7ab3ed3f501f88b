/* SPDX-License-Identifier: MIT
 *
 * test_combine.c - the combiner of writes, over a backend that completes batches some polls after
 * they were launched, and that checks what it is given.
 *
 * Each stream of each queue has a key that nobody else writes. So what a read must find, and what a
 * write must replace, is known when it is submitted, whatever is launched in between.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/combine.h"
#include "tests/support/random.h"

TestSuite(combine, .timeout = 120);

#define THREADS 4
#define STREAMS 5
#define KEYS (THREADS * STREAMS)
#define OPS_MAX 16 /* of a batch */
#define TOGETHER_OPS 60

/* --- the backend ------------------------------------------------------------------------------ */

struct fake {
    pthread_mutex_t lock;
    uint64_t values[KEYS]; /* effects are those of the order of submit and submit_together */
    uint64_t sequence;     /* of the last write carried out */
    uint64_t together;     /* batches that shared a launch */
    unsigned writes_in_flight;
    bool lost;         /* every submit is SW_E_DEVICE */
    bool stalled;      /* nothing completes */
    uint32_t streamed; /* what together_ops says for SW_SET; 0: TOGETHER_OPS */
    struct random random;
    /* the first rule that was broken */
    const char *broken;
};

struct fake_queue {
    struct fake *fake;
    struct sw_batch *held[SW_READS_MAX]; /* reads that were not carried out yet */
    unsigned held_count;
    unsigned reads; /* in flight */
};

static void expect(struct fake *fake, bool holds, const char *rule)
{
    if (!holds && fake->broken == NULL) {
        fake->broken = rule;
    }
}

/* Under the lock. */
static void carry_out(struct fake *fake, struct sw_batch *batch)
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

static int fake_queue_open(void *table, void **out)
{
    struct fake_queue *queue = calloc(1, sizeof(*queue));
    queue->fake = table;
    *out = queue;
    return SW_OK;
}

static void fake_flush(void *context, uint32_t stream)
{
    struct fake_queue *queue = context;
    (void)stream;
    pthread_mutex_lock(&queue->fake->lock);
    for (unsigned h = 0; h < queue->held_count; h++) {
        carry_out(queue->fake, queue->held[h]);
    }
    queue->held_count = 0;
    pthread_mutex_unlock(&queue->fake->lock);
}

static void fake_queue_close(void *context)
{
    free(context);
}

static uint32_t most_of(const struct fake *fake, enum sw_op op)
{
    return op == SW_SET && fake->streamed != 0 ? fake->streamed : TOGETHER_OPS;
}

static uint32_t fake_together_ops(void *table, enum sw_op op)
{
    return most_of(table, op);
}

/* How many polls a launch takes, counted down in its _ticket. */
static uint64_t delay(struct fake *fake)
{
    return random_below(&fake->random, 4);
}

static int fake_submit(void *context, struct sw_batch *batch)
{
    struct fake_queue *queue = context;
    struct fake *fake = queue->fake;
    int status = SW_OK;
    pthread_mutex_lock(&fake->lock);
    batch->_ticket = delay(fake);
    if (fake->lost) {
        status = SW_E_DEVICE;
    } else if (batch->write_sequence != 0) {
        expect(fake, fake->writes_in_flight < SW_TOGETHERS, "at most so many launches of writes");
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

static int fake_poll(void *context, struct sw_batch *batch)
{
    struct fake_queue *queue = context;
    fake_flush(queue, 0);
    if (queue->fake->stalled || batch->_ticket > 0) {
        batch->_ticket -= batch->_ticket > 0;
        return SW_PENDING;
    }
    pthread_mutex_lock(&queue->fake->lock);
    queue->fake->writes_in_flight -= batch->write_sequence != 0;
    pthread_mutex_unlock(&queue->fake->lock);
    queue->reads -= batch->write_sequence == 0;
    return SW_OK;
}

static int fake_submit_together(void *context, struct sw_together *together)
{
    struct fake *fake = ((struct fake_queue *)context)->fake;
    uint32_t operations = 0;
    pthread_mutex_lock(&fake->lock);
    if (fake->lost) {
        pthread_mutex_unlock(&fake->lock);
        return SW_E_DEVICE;
    }
    expect(fake, fake->writes_in_flight < SW_TOGETHERS, "at most so many launches of writes");
    expect(fake, together->count >= 2 && together->count <= SW_TOGETHER_MAX, "several batches");
    for (uint32_t i = 0; i < together->count; i++) {
        struct sw_batch *part = together->parts[i];
        expect(fake, part->kind == SW_BATCH_OPERATIONS && part->op == SW_SET, "writes only");
        expect(fake, part->leftover_keys == NULL, "none that hands entries back");
        expect(fake, part->scores == NULL && part->scores_out == NULL, "none with scores");
        operations += part->count;
        carry_out(fake, part);
    }
    expect(fake, operations <= most_of(fake, SW_SET), "no more operations than the backend takes");
    fake->together += together->count;
    fake->writes_in_flight++;
    together->whole._ticket = delay(fake);
    pthread_mutex_unlock(&fake->lock);
    return SW_OK;
}

static int fake_poll_together(void *context, struct sw_together *together)
{
    struct fake *fake = ((struct fake_queue *)context)->fake;
    if (fake->stalled || together->whole._ticket > 0) {
        together->whole._ticket -= together->whole._ticket > 0;
        return SW_PENDING;
    }
    pthread_mutex_lock(&fake->lock);
    fake->writes_in_flight--;
    pthread_mutex_unlock(&fake->lock);
    return SW_OK;
}

static const struct sw_backend backend = {
    .queue_open = fake_queue_open,
    .queue_close = fake_queue_close,
    .submit = fake_submit,
    .poll = fake_poll,
    .submit_together = fake_submit_together,
    .together_ops = fake_together_ops,
    .poll_together = fake_poll_together,
    .flush = fake_flush,
};

/* --- several threads -------------------------------------------------------------------------- */

#define IN_FLIGHT 16

/* A batch of operations on one key. */
struct request {
    struct sw_batch batch;
    bool busy;
    uint32_t keys[OPS_MAX];
    uint64_t values[OPS_MAX];
    uint64_t previous[OPS_MAX];
    uint64_t wanted[OPS_MAX];
    uint32_t leftover[OPS_MAX];
    uint64_t scores[OPS_MAX];
};

struct client {
    struct sw_combiner *combiner;
    struct fake *fake;
    uint32_t number;
    uint32_t requests;
    uint64_t errors;
    uint64_t writes;
    uint64_t now[STREAMS]; /* the value of each stream's key, once all submitted is done */
};

/* Fills a request in; `now` is what the key's value is before and after. */
static void draw(struct client *client, struct random *random, struct request *request,
                 uint32_t stream)
{
    uint64_t *now = &client->now[stream];
    memset(request, 0, sizeof(*request));
    request->busy = true;
    struct sw_batch *batch = &request->batch;
    batch->stream = stream + (random_below(random, 2) == 0 ? SW_COMBINE_STREAMS : 0);
    batch->kind = random_below(random, 30) == 0 ? SW_BATCH_RESIZE : SW_BATCH_OPERATIONS;
    batch->op = random_below(random, 3) == 0 ? SW_GET : SW_SET;
    batch->count = (uint32_t)random_below(random, OPS_MAX) + 1;
    batch->keys = request->keys;
    batch->values = request->values;
    batch->previous = request->previous;
    batch->leftover_keys = random_below(random, 20) == 0 ? request->leftover : NULL;
    batch->scores = random_below(random, 20) == 0 ? request->scores : NULL;
    batch->scores_out = random_below(random, 20) == 0 ? request->scores : NULL;
    for (uint32_t i = 0; i < batch->count && batch->kind == SW_BATCH_OPERATIONS; i++) {
        request->keys[i] = client->number * STREAMS + stream;
        request->wanted[i] = *now;
        request->values[i] = *now + 1;
        *now += batch->op == SW_SET;
    }
    client->writes += batch->kind == SW_BATCH_RESIZE || batch->op == SW_SET;
}

static void check(struct client *client, const struct request *request, int status)
{
    const struct sw_batch *batch = &request->batch;
    bool writes = batch->kind == SW_BATCH_RESIZE || batch->op == SW_SET;
    client->errors += status != SW_OK;
    client->errors += (batch->write_sequence != 0) != writes;
    client->errors +=
        memcmp(request->previous, request->wanted, batch->count * sizeof(uint64_t)) != 0;
}

/* Polls each request of `requests` once. Returns whether any is still busy. */
static bool poll_all(struct client *client, struct sw_combine_lane *lane, struct request *requests)
{
    bool busy = false;
    for (int r = 0; r < IN_FLIGHT; r++) {
        if (requests[r].busy) {
            int status = sw_combine_poll(lane, &requests[r].batch);
            requests[r].busy = status == SW_PENDING;
            busy |= status == SW_PENDING;
            if (status != SW_PENDING) {
                check(client, &requests[r], status);
            }
        }
    }
    return busy;
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    struct random random = random_of(client->number + 1);
    struct request *requests = calloc(IN_FLIGHT, sizeof(*requests));
    struct sw_combine_lane lane;
    void *queue;
    fake_queue_open(client->fake, &queue);
    sw_combine_lane_init(&lane, client->combiner, queue);
    for (uint32_t n = 0; n < client->requests; n++) {
        struct request *request = &requests[random_below(&random, IN_FLIGHT)];
        while (request->busy) {
            poll_all(client, &lane, requests);
        }
        draw(client, &random, request, (uint32_t)random_below(&random, STREAMS));
        while (sw_combine_submit(&lane, &request->batch) == SW_E_BUSY) {
            request->busy = false;
            poll_all(client, &lane, requests);
            request->busy = true;
        }
        if (random_below(&random, 4) == 0) {
            poll_all(client, &lane, requests);
        }
    }
    while (poll_all(client, &lane, requests)) {
    }
    free(requests);
    fake_queue_close(queue);
    return NULL;
}

static void run(uint32_t threads, uint32_t requests)
{
    struct fake fake = {.random = random_of(0)};
    struct sw_combiner combiner;
    struct client clients[THREADS];
    pthread_t ids[THREADS];
    uint64_t writes = 0;
    pthread_mutex_init(&fake.lock, NULL);
    cr_assert_eq(sw_combiner_open(&combiner, &backend, &fake, TOGETHER_OPS), SW_OK);
    for (uint32_t t = 0; t < threads; t++) {
        clients[t] = (struct client){&combiner, &fake, t, requests, 0, 0, {0}};
        cr_assert_eq(pthread_create(&ids[t], NULL, run_client, &clients[t]), 0);
    }
    for (uint32_t t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        cr_assert_eq(clients[t].errors, 0, "thread %u saw %llu wrong results", t,
                     (unsigned long long)clients[t].errors);
        writes += clients[t].writes;
    }
    cr_assert_null(fake.broken, "%s", fake.broken);
    cr_assert_eq(fake.sequence, writes, "every write was carried out once");
    cr_assert_eq(combiner.launched, writes);
    cr_assert_gt(fake.together, 0, "some shared a launch");
    cr_assert_lt(combiner.launches, writes);
    sw_combiner_close(&combiner);
    pthread_mutex_destroy(&fake.lock);
}

Test(combine, one_thread)
{
    run(1, 20000);
}

Test(combine, several_threads)
{
    run(THREADS, 4000);
}

/* --- what shares a launch --------------------------------------------------------------------- */

#define BATCHES 6

/* Writes that gather while two are in flight, all of one queue. */
struct gathered {
    struct fake fake;
    struct sw_combiner combiner;
    struct sw_combine_lane lane;
    void *queue;
    uint32_t keys[TOGETHER_OPS + 1];
    uint64_t values[TOGETHER_OPS + 1], previous[TOGETHER_OPS + 1];
    struct sw_batch first[SW_TOGETHERS], batches[BATCHES];
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
    fake_queue_open(&g->fake, &g->queue);
    cr_assert_eq(sw_combiner_open(&g->combiner, &backend, &g->fake, TOGETHER_OPS), SW_OK);
    sw_combine_lane_init(&g->lane, &g->combiner, g->queue);
    for (int i = 0; i < SW_TOGETHERS; i++) {
        g->first[i] = sets(g, 1);
        cr_assert_eq(sw_combine_submit(&g->lane, &g->first[i]), SW_OK);
    }
    cr_assert_eq(g->combiner.launches, SW_TOGETHERS, "with room, each is launched at once");
    for (int i = 0; i < BATCHES; i++) {
        g->batches[i] = sets(g, 10);
    }
    return g;
}

static void submit_all(struct gathered *g)
{
    for (int i = 0; i < BATCHES; i++) {
        cr_assert_eq(sw_combine_submit(&g->lane, &g->batches[i]), SW_OK);
    }
    cr_assert_eq(g->combiner.launches, SW_TOGETHERS, "they wait");
}

static void finish(struct gathered *g, uint64_t launches)
{
    g->fake.stalled = false;
    for (int i = 0; i < SW_TOGETHERS; i++) {
        while (sw_combine_poll(&g->lane, &g->first[i]) == SW_PENDING) {
        }
    }
    for (int i = 0; i < BATCHES; i++) {
        while (sw_combine_poll(&g->lane, &g->batches[i]) == SW_PENDING) {
        }
    }
    cr_assert_null(g->fake.broken, "%s", g->fake.broken);
    cr_assert_eq(g->combiner.launches, SW_TOGETHERS + launches, "%llu launches",
                 (unsigned long long)g->combiner.launches);
    sw_combiner_close(&g->combiner);
    pthread_mutex_destroy(&g->fake.lock);
    fake_queue_close(g->queue);
    free(g);
}

Test(combine, what_gathered_is_one_launch)
{
    struct gathered *g = gather();
    submit_all(g);
    finish(g, 1);
}

Test(combine, no_more_operations_than_fit)
{
    struct gathered *g = gather();
    g->batches[2].count = 41; /* 10 + 10 + 41 are too many; 41 + 10 are not */
    submit_all(g);
    finish(g, 3);
}

/* Batches of 40 operations where 100 may be streamed, of which those before `plain` do not want
 * `previous`. */
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

Test(combine, more_operations_where_they_are_streamed)
{
    finish(gather_streamed(BATCHES), 3);
}

Test(combine, no_more_of_those_that_want_the_values_before)
{
    finish(gather_streamed(0), BATCHES);
    finish(gather_streamed(3), 5); /* 2, then four that find no other one to go with */
}

Test(combine, no_more_of_another_operation)
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

Test(combine, a_batch_larger_than_a_launch_goes_alone)
{
    struct gathered *g = gather();
    g->batches[1].count = TOGETHER_OPS + 1;
    submit_all(g);
    finish(g, 3);
}

Test(combine, a_resize_goes_alone)
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
        count += sw_combine_submit(&g->lane, &reads[count]) == SW_OK;
    }
    return count;
}

Test(combine, later_reads_take_no_place_of_a_deferred_one)
{
    struct gathered *g = gather();
    struct sw_batch *reads = calloc(SW_READS_MAX, sizeof(*reads));
    struct sw_batch deferred = sets(g, 1);
    deferred.op = SW_GET;
    submit_all(g);
    cr_assert_eq(sw_combine_submit(&g->lane, &deferred), SW_OK);
    cr_assert_eq(fill(g, reads, 1), SW_READS_MAX - 1, "one place is the deferred read's");
    g->fake.stalled = false;
    while (sw_combine_poll(&g->lane, &deferred) == SW_PENDING) { /* and no other */
    }
    for (int i = 0; i < SW_READS_MAX - 1; i++) {
        while (sw_combine_poll(&g->lane, &reads[i]) == SW_PENDING) {
        }
    }
    free(reads);
    finish(g, 1);
}

/* --- a lost device ---------------------------------------------------------------------------- */

Test(combine, a_lost_device_completes_everything)
{
    struct gathered *g = gather();
    submit_all(g);
    g->fake.lost = true;
    g->fake.stalled = false;
    for (int i = 0; i < BATCHES; i++) {
        int status;
        while ((status = sw_combine_poll(&g->lane, &g->batches[i])) == SW_PENDING) {
        }
        cr_assert_eq(status, SW_E_DEVICE);
    }
    finish(g, 1);
}
