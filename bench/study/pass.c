/* SPDX-License-Identifier: MIT
 *
 * pass.c - submits batches and waits for them.
 */
#include "bench/study/pass.h"

#include <string.h>

#include "bench/study/span.h"
#include "table/instance.h"

/* Batches in flight; the maximum of a queue of the table. */
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
    batch->on_device = pass->on_device;
    batch->count = rest < pass->batch_ops ? (uint32_t)rest : pass->batch_ops;
    batch->keys = at(pass->keys, first * pass->key_bytes);
    batch->values = at(pass->values, first * pass->key_bytes);
    batch->previous = (void *)at(pass->previous, first * pass->key_bytes);
    batch->found = pass->found == NULL ? NULL : pass->found + first / 64;
    batch->leftover_keys = (void *)at(pass->leftover_keys, first * pass->key_bytes);
    batch->leftover_values = (void *)at(pass->leftover_values, first * pass->key_bytes);
}

static void sum_counters(struct sw_counters *sum, const struct sw_counters *counters)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)counters;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
        to[i] += from[i];
    }
}

/* --- marks ------------------------------------------------------------------------------------ */

static uint64_t launches_of(const struct sw_queue *queue)
{
    return queue->table->combines ? sw_combiner_launches(&queue->table->combiner) : 0;
}

/* Marks the end of the enqueued work: reads in the queue's stream, writes in the stream that all
 * writes use. */
static void mark(struct sw_queue *queue, const struct sw_batch *batch)
{
    struct sw_table *table = queue->table;
    if (table->kind == SW_BACKEND_CUDA) {
        bool is_elsewhere = table->combines && !sw_batch_is_read(batch);
        sw_study_span_mark_channel(is_elsewhere ? table->combiner.queue : queue->memory);
    }
}

/* The first poll marks reads, because it launches small ones. */
static int submit(struct sw_queue *queue, struct sw_batch *batch)
{
    int status = sw_batch_submit(queue, batch);
    if (status == SW_OK && !sw_batch_is_read(batch)) {
        mark(queue, batch);
    }
    return status;
}

/* A poll may launch work: small reads that waited for others, and writes that waited for other
 * writes. */
static int wait_for(struct sw_queue *queue, struct sw_batch *batch)
{
    bool is_first = true;
    int status;
    do {
        uint64_t launches = launches_of(queue);
        status = sw_batch_poll(queue, batch);
        const bool ends_read = is_first && sw_batch_is_read(batch);
        if ((is_first && status == SW_PENDING) || ends_read || launches != launches_of(queue)) {
            mark(queue, batch);
        }
        is_first = false;
    } while (status == SW_PENDING);
    return status;
}

int sw_study_batch_run(struct sw_queue *queue, struct sw_batch *batch)
{
    int status = submit(queue, batch);
    return status == SW_OK ? wait_for(queue, batch) : status;
}

int sw_study_batches_run(struct sw_queue *queue, struct sw_batch *one, struct sw_batch *two)
{
    int first = submit(queue, one);
    if (first != SW_OK) {
        return first;
    }
    int second = submit(queue, two);
    first = wait_for(queue, one);
    second = second == SW_OK ? wait_for(queue, two) : second;
    return first == SW_OK ? second : first;
}

/* --- a pass ----------------------------------------------------------------------------------- */

int sw_study_pass_run(struct sw_queue *queue, const struct sw_study_pass *pass,
                      struct sw_study_passed *out)
{
    struct sw_batch batches[IN_FLIGHT];
    uint64_t total = (pass->count + pass->batch_ops - 1) / pass->batch_ops;
    uint64_t submitted = 0;
    uint64_t completed = 0;
    int status = SW_OK;
    memset(out, 0, sizeof(*out));
    while (completed < submitted || (status == SW_OK && submitted < total)) {
        bool room = submitted - completed < IN_FLIGHT;
        int submit_status = SW_E_BUSY;
        if (status == SW_OK && submitted < total && room) {
            prepare(pass, submitted, &batches[submitted % IN_FLIGHT]);
            submit_status = submit(queue, &batches[submitted % IN_FLIGHT]);
        }
        if (submit_status == SW_OK) {
            submitted++;
        } else if (submit_status != SW_E_BUSY || completed == submitted) {
            status = submit_status;
        } else {
            struct sw_batch *batch = &batches[completed % IN_FLIGHT];
            int done = wait_for(queue, batch);
            sum_counters(&out->counters, &batch->counters);
            if (pass->leftovers != NULL) {
                pass->leftovers[completed] = batch->leftover_count;
            }
            status = status == SW_OK ? done : status;
            completed++;
        }
    }
    out->batches = total;
    return status;
}
