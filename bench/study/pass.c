/* SPDX-License-Identifier: MIT
 *
 * pass.c - submits the batches of a pass and waits for them.
 */
#include "bench/study/pass.h"

#include <stdbool.h>
#include <string.h>

#include "bench/study/report.h"

/* Batches in flight; a queue of the table takes as many. */
#define IN_FLIGHT 64

static const void *at(const void *array, uint64_t bytes)
{
    return array == NULL ? NULL : (const char *)array + bytes;
}

static void prepare(const struct sw_study_pass *pass, uint64_t number, struct sw_batch *batch)
{
    uint64_t first = number * pass->batch_ops;
    uint64_t rest = pass->count - first;
    memset(batch, 0, sizeof(*batch));
    batch->kind = SW_BATCH_OPERATIONS;
    batch->op = pass->op;
    batch->count = rest < pass->batch_ops ? (uint32_t)rest : pass->batch_ops;
    batch->keys = at(pass->keys, first * pass->key_bytes);
    batch->values = at(pass->values, first * pass->key_bytes);
    batch->previous = (void *)at(pass->previous, first * pass->key_bytes);
    batch->found = pass->found == NULL ? NULL : pass->found + first / 64;
    batch->leftover_keys = (void *)at(pass->leftover_keys, first * pass->key_bytes);
    batch->leftover_values = (void *)at(pass->leftover_values, first * pass->key_bytes);
}

static void add(struct sw_counters *sum, const struct sw_counters *counters)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)counters;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
        to[i] += from[i];
    }
}

static int wait_for(struct sw_queue *queue, struct sw_batch *batch, struct sw_counters *sum)
{
    int status;
    do {
        status = sw_batch_poll(queue, batch);
    } while (status == SW_PENDING);
    add(sum, &batch->counters);
    return status;
}

int sw_study_pass_run(struct sw_queue *queue, const struct sw_study_pass *pass,
                      struct sw_study_passed *out)
{
    struct sw_batch batches[IN_FLIGHT];
    uint64_t total = (pass->count + pass->batch_ops - 1) / pass->batch_ops;
    uint64_t submitted = 0;
    uint64_t completed = 0;
    int status = SW_OK;
    memset(out, 0, sizeof(*out));
    double start = sw_study_clock();
    while (completed < submitted || (status == SW_OK && submitted < total)) {
        bool room = submitted - completed < IN_FLIGHT;
        int submit_status = SW_E_BUSY;
        if (status == SW_OK && submitted < total && room) {
            prepare(pass, submitted, &batches[submitted % IN_FLIGHT]);
            submit_status = sw_batch_submit(queue, &batches[submitted % IN_FLIGHT]);
        }
        if (submit_status == SW_OK) {
            submitted++;
        } else if (submit_status != SW_E_BUSY || completed == submitted) {
            status = submit_status;
        } else {
            struct sw_batch *batch = &batches[completed % IN_FLIGHT];
            int done = wait_for(queue, batch, &out->counters);
            if (pass->leftovers != NULL) {
                pass->leftovers[completed] = batch->leftover_count;
            }
            status = status == SW_OK ? done : status;
            completed++;
        }
    }
    out->seconds = sw_study_clock() - start;
    out->batches = total;
    return status;
}
