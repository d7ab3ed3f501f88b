/* SPDX-License-Identifier: MIT
 *
 * cases_flight.c - cases with several batches of one queue at work, on tables that may grow.
 */
#include "tests/gpu/cases.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 12 /* batches submitted before the first is polled */

struct flight {
    struct sw_batch batch[2]; /* of each side */
    void *keys[2];
    void *values[2];
    void *previous[2];
    uint64_t *found[2];
};

struct pipeline {
    struct flight flights[DEPTH];
    struct io_memory io[2];
};

static void pipeline_open(struct pair *pair, struct pipeline *pipeline)
{
    const size_t bytes = ((size_t)pair->n_max + 64) * sizeof(uint64_t);
    memset(pipeline, 0, sizeof(*pipeline));
    for (int s = 0; s < 2; s++) {
        struct io_memory *io = &pipeline->io[s];
        io->table = pair->side[s].table;
        for (int f = 0; f < DEPTH; f++) {
            struct flight *flight = &pipeline->flights[f];
            flight->keys[s] = io_array(io, bytes);
            flight->values[s] = io_array(io, bytes);
            flight->previous[s] = io_array(io, bytes);
            flight->found[s] = io_array(io, bytes);
        }
    }
}

/* A batch of another kind for both sides. */
static void fill_kind(struct flight *flight, enum sw_batch_kind kind, uint64_t capacity)
{
    for (int s = 0; s < 2; s++) {
        memset(&flight->batch[s], 0, sizeof(flight->batch[s]));
        flight->batch[s].kind = kind;
        flight->batch[s].capacity = capacity;
    }
}

/* Upserts without answers, between reads and deletes with them. */
static void fill_flight(struct pair *pair, struct flight *flight, uint32_t number,
                        uint64_t universe)
{
    static const enum sw_op ops[] = {SW_SET, SW_GET, SW_SUM, SW_DELETE, SW_MAX,      SW_SET,
                                     SW_GET, SW_MIN, SW_GET, SW_SET,    SW_INCREMENT};
    enum sw_op op = ops[number % (sizeof(ops) / sizeof(ops[0]))];
    bool bare = op == SW_SET || op == SW_SUM || op == SW_MIN || op == SW_MAX;
    uint32_t count =
        1 + (uint32_t)pair_below(pair, op == SW_DELETE ? pair->n_max / 8 + 1 : pair->n_max);
    fill_random(pair, count, universe, 0);
    for (int s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < count; i++) {
            pair_word_set(pair, flight->keys[s], i, pair->in.keys[i]);
            pair_word_set(pair, flight->values[s], i, pair->in.values[i] & 0xFFFF);
        }
        memset(&flight->batch[s], 0, sizeof(flight->batch[s]));
        flight->batch[s].op = op;
        flight->batch[s].count = count;
        flight->batch[s].keys = flight->keys[s];
        flight->batch[s].values = flight->values[s];
        flight->batch[s].previous = bare ? NULL : flight->previous[s];
        flight->batch[s].found = bare ? NULL : flight->found[s];
    }
    pair->operations += count;
}

/* Gives one side all batches, then polls them in order. */
static bool fly(struct pair *pair, struct pipeline *pipeline, int s)
{
    struct sw_queue *queue = pair->side[s].queue;
    int submitted = 0;
    int status = SW_OK;
    for (; submitted < DEPTH && status == SW_OK; submitted++) {
        status = sw_batch_submit(queue, &pipeline->flights[submitted].batch[s]);
    }
    if (status != SW_OK) {
        submitted--;
        pair_fail(pair, "side %d: submit: %s", s, sw_status_text(status));
    }
    for (int f = 0; f < submitted; f++) {
        do {
            status = sw_batch_poll(queue, &pipeline->flights[f].batch[s]);
        } while (status == SW_PENDING);
        if (status != SW_OK) {
            pair_fail(pair, "side %d, batch %d in flight: %s", s, f, sw_status_text(status));
        }
    }
    return pair->failure[0] == '\0';
}

static bool compare_flight(struct pair *pair, const struct flight *flight, int f)
{
    const struct sw_batch *a = &flight->batch[0];
    const struct sw_batch *b = &flight->batch[1];
    for (uint32_t i = 0; a->found != NULL && i < a->count; i++) { /* other kinds have no `found` */
        bool found_a = a->found[i / 64] >> (i % 64) & 1;
        bool found_b = b->found[i / 64] >> (i % 64) & 1;
        if (found_a != found_b ||
            pair_word(pair, a->previous, i) != pair_word(pair, b->previous, i)) {
            return pair_fail(pair, "batch %d in flight, op %d, operation %u of %u: answers differ",
                             f, (int)a->op, i, a->count);
        }
    }
    /* with batches in flight CUDA counts all they might insert as entries to make room for */
    if (a->kind == SW_BATCH_RESIZE && a->capacity > b->capacity) {
        return pair_fail(pair, "batch %d in flight: resized to %llu by cpu, %llu by tested", f,
                         (unsigned long long)a->capacity, (unsigned long long)b->capacity);
    }
    if (a->counters.inserted != b->counters.inserted ||
        a->counters.updated != b->counters.updated || a->counters.deleted != b->counters.deleted) {
        return pair_fail(pair,
                         "batch %d in flight, op %d: inserted %llu by cpu, %llu by tested, "
                         "updated %llu, %llu",
                         f, (int)a->op, (unsigned long long)a->counters.inserted,
                         (unsigned long long)b->counters.inserted,
                         (unsigned long long)a->counters.updated,
                         (unsigned long long)b->counters.updated);
    }
    return true;
}

/* Many batches in flight, clears and, where the table grows, resizes among them: how many entries
 * the earlier ones leave is not known when the later ones are submitted. */
bool case_pipeline(struct pair *pair, const struct scale *scale, double load)
{
    struct pipeline pipeline;
    struct sw_table_info info;
    sw_table_info(pair->side[0].table, &info);
    bool grows = info.max_capacity_slots > info.capacity_slots;
    uint64_t most = (uint64_t)((double)info.max_capacity_slots * load);
    bool good = true;
    pipeline_open(pair, &pipeline);
    for (uint32_t round = 0; good && round < scale->rounds; round++) {
        uint64_t universe = 1 + most * (round + 1) / scale->rounds;
        universe = universe < most ? universe : most;
        for (uint32_t f = 0; f < DEPTH; f++) {
            uint32_t number = round * DEPTH + f;
            if (number % 31 == 20) {
                fill_kind(&pipeline.flights[f], SW_BATCH_CLEAR, 0);
            } else if (grows && number % 10 == 7) {
                fill_kind(&pipeline.flights[f], SW_BATCH_RESIZE,
                          pair_below(pair, info.max_capacity_slots + 1));
            } else {
                fill_flight(pair, &pipeline.flights[f], number, universe);
            }
        }
        good = fly(pair, &pipeline, 0) && fly(pair, &pipeline, 1);
        for (int f = 0; good && f < DEPTH; f++) {
            good = compare_flight(pair, &pipeline.flights[f], f);
        }
        good = good && (grows ? pair_compare_contents(pair) : pair_compare(pair, false));
    }
    io_free(&pipeline.io[0]);
    io_free(&pipeline.io[1]);
    return good && pair_lookup(pair, 0, most) &&
           pair_resize(pair, info.max_capacity_slots, SW_OK) && pair_compare(pair, false);
}
