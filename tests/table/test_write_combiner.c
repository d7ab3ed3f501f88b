/* SPDX-License-Identifier: MIT
 *
 * test_write_combiner.c - the combiner of writes, by several threads, over a backend that is slow.
 *
 * Each stream of each queue has a key that no other stream writes. So what a read must find, and
 * what a write must replace, is known when it is submitted, whatever is launched in between.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/batch.h"
#include "tests/support/slow_backend.h"
#include "tests/support/threads.h"

TestSuite(write_combiner, .timeout = 120);

#define THREADS 4
#define STREAMS (SLOW_KEYS / THREADS)
#define OPS_MAX 16 /* of a batch */

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
    struct slow *fake;
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
    batch->stream = stream + (random_below(random, 2) == 0 ? SW_COMBINER_STREAMS : 0);
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
static bool poll_all(struct client *client, struct sw_combiner_queue *own, struct request *requests)
{
    bool busy = false;
    for (int r = 0; r < IN_FLIGHT; r++) {
        if (requests[r].busy) {
            int status = sw_combiner_poll(own, &requests[r].batch);
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
    struct sw_combiner_queue own;
    void *queue;
    slow_queue_open(client->fake, &queue);
    sw_combiner_queue_init(&own, client->combiner, queue);
    for (uint32_t n = 0; n < client->requests; n++) {
        struct request *request = &requests[random_below(&random, IN_FLIGHT)];
        while (request->busy) {
            poll_all(client, &own, requests);
        }
        draw(client, &random, request, (uint32_t)random_below(&random, STREAMS));
        while (sw_combiner_submit(&own, &request->batch) == SW_E_BUSY) {
            request->busy = false;
            poll_all(client, &own, requests);
            request->busy = true;
        }
        if (random_below(&random, 4) == 0) {
            poll_all(client, &own, requests);
        }
        if (client->number == 0) {
            sw_combiner_tidy(client->combiner);
        }
    }
    while (poll_all(client, &own, requests)) {
    }
    free(requests);
    slow_queue_close(queue);
    return NULL;
}

static void run_clients(uint32_t threads, uint32_t requests)
{
    struct slow fake = {.random = random_of(0)};
    struct sw_combiner combiner;
    struct sw_sequencer sequencer = {0};
    struct client clients[THREADS];
    uint64_t writes = 0;
    pthread_mutex_init(&fake.lock, NULL);
    cr_assert_eq(sw_combiner_open(&combiner, &slow_backend, &fake, &sequencer, SLOW_COMBINED_OPS,
                                  SLOW_COMBINED_OPS, false),
                 SW_OK);
    for (uint32_t t = 0; t < threads; t++) {
        clients[t] = (struct client){&combiner, &fake, t, requests, 0, 0, {0}};
    }
    threads_run(threads, run_client, clients, sizeof(clients[0]));
    for (uint32_t t = 0; t < threads; t++) {
        cr_assert_eq(clients[t].errors, 0, "thread %u saw %llu wrong results", t,
                     (unsigned long long)clients[t].errors);
        writes += clients[t].writes;
    }
    cr_assert_null(fake.broken, "%s", fake.broken);
    cr_assert_eq(fake.sequence, writes, "every write was carried out once");
    cr_assert_eq(combiner.launched, writes);
    cr_assert_gt(fake.combined, 0, "some shared a launch");
    cr_assert_lt(combiner.launches, writes);
    const unsigned tidied = fake.tidied;
    for (uint32_t call = 0; call < 4; call++) {
        sw_combiner_tidy(&combiner);
    }
    cr_assert_leq(fake.tidied, tidied + 1, "an idle table is tidied once");
    cr_assert_gt(fake.tidied, 0);
    sw_combiner_close(&combiner);
    pthread_mutex_destroy(&fake.lock);
}

Test(write_combiner, one_thread)
{
    run_clients(1, 20000);
}

Test(write_combiner, several_threads)
{
    run_clients(THREADS, 4000);
}

/* A batch is gathered if its operations, groups and entries handed back fit the launch. */
Test(write_combiner, gathers_batches_that_fit)
{
    uint32_t entries[1] = {0};
    uint64_t scores[1] = {0};
    struct sw_combiner combiner = {.gathered_max = OPS_MAX};
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS, .count = OPS_MAX, .group_count = OPS_MAX};
    cr_assert(sw_combiner_gathers(&combiner, &batch));
    batch.count = OPS_MAX + 1;
    cr_assert_not(sw_combiner_gathers(&combiner, &batch), "too many operations");
    batch.count = OPS_MAX - 1;
    cr_assert_not(sw_combiner_gathers(&combiner, &batch), "more groups than operations");
    batch.group_count = 0;
    batch.leftover_keys = entries;
    cr_assert_not(sw_combiner_gathers(&combiner, &batch), "it may hand entries back");
    combiner.gathers_all = true;
    cr_assert(sw_combiner_gathers(&combiner, &batch), "no batch hands entries back");
    batch.scores = scores;
    cr_assert_not(sw_combiner_gathers(&combiner, &batch), "it has scores");
    batch.scores = NULL;
    batch.scores_out = scores;
    cr_assert_not(sw_combiner_gathers(&combiner, &batch), "it wants scores");
    batch.scores_out = NULL;
    batch.kind = SW_BATCH_RESIZE;
    cr_assert_not(sw_combiner_gathers(&combiner, &batch), "it resizes");
}
