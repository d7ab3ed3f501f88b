/* SPDX-License-Identifier: MIT
 *
 * round.c - collecting operations into one batch.
 */
#include "server/batch/round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/limits.h"

/* In `expires`: the command sets no expiry time. sw_round_submit replaces it. */
#define UNSAID (SW_EXPIRE_KEEP - 1)

/* Returns the address at *offset, and advances *offset by `bytes`, rounded up to 64 bytes. */
static void *carve(uint8_t *memory, size_t *offset, size_t bytes)
{
    void *at = memory == NULL ? NULL : memory + *offset;
    *offset += (bytes + 63) / 64 * 64;
    return at;
}

/* Places the arrays in `memory` and returns the bytes they take; NULL only measures them. */
static size_t lay_out(struct sw_round *round, uint8_t *memory, const struct sw_table_shape *shape)
{
    size_t n = round->operations_max;
    size_t offset = 0;
    round->keys = carve(memory, &offset, n * shape->key_bytes);
    round->values = carve(memory, &offset, n * shape->value_bytes);
    round->previous = carve(memory, &offset, n * shape->value_bytes);
    round->found = carve(memory, &offset, (n + 63) / 64 * 8);
    round->not_admitted =
        shape->engine == SW_ENGINE_CACHE ? carve(memory, &offset, (n + 63) / 64 * 8) : NULL;
    round->ops = carve(memory, &offset, n);
    round->group_ends = carve(memory, &offset, n * sizeof(uint32_t));
    if (shape->expires) {
        round->expires = carve(memory, &offset, n * sizeof(uint64_t));
        round->expires_out = carve(memory, &offset, n * sizeof(uint64_t));
    }
    round->group_refused = carve(memory, &offset, n);
    return offset;
}

int sw_round_init(struct sw_round *round, struct sw_batches *batches, uint32_t operations_max,
                  void (*done)(struct sw_round *round))
{
    memset(round, 0, sizeof(*round));
    round->batches = batches;
    round->flights = &batches->round_flights;
    round->done = done;
    round->operations_max = operations_max;
    sw_round_reset(round);
    round->memory_bytes = lay_out(round, NULL, &batches->shape);
    round->memory = sw_io_alloc(batches->table, round->memory_bytes);
    if (round->memory == NULL) {
        return -1;
    }
    lay_out(round, round->memory, &batches->shape);
    return 0;
}

void sw_round_fini(struct sw_round *round)
{
    if (round->memory != NULL) {
        sw_io_free(round->batches->table, round->memory, round->memory_bytes);
    }
    round->memory = NULL;
}

static inline uint64_t time_unsaid(const struct sw_round *round)
{
    return round->batches->shape.default_ttl_ms > 0 ? UNSAID : 0;
}

static inline uint32_t add_key(struct sw_round *round, enum sw_op op, uint64_t key)
{
    uint32_t i = round->operations++;
    round->ops[i] = (uint8_t)op;
    if (round->gives_times) {
        round->expires[i] = time_unsaid(round);
    }
    round->alike += round->alike == i && round->ops[0] == (uint8_t)op;
    sw_integer_put(round->keys, round->batches->shape.key_bytes, i, key);
    return i;
}

void sw_round_add(struct sw_round *round, enum sw_op op, uint64_t key, uint64_t value)
{
    uint32_t i = add_key(round, op, key);
    sw_integer_put(round->values, round->batches->shape.value_bytes, i, value);
}

uint8_t *sw_round_add_blob(struct sw_round *round, enum sw_op op, uint64_t key)
{
    uint32_t i = add_key(round, op, key);
    return (uint8_t *)round->values + (size_t)i * round->batches->shape.value_bytes;
}

void sw_round_give_time(struct sw_round *round, uint64_t at)
{
    assert(round->expires != NULL && round->operations > 0);
    if (!round->gives_times) {
        for (uint32_t i = 0; i < round->operations; i++) {
            round->expires[i] = time_unsaid(round);
        }
        round->gives_times = true;
    }
    round->expires[round->operations - 1] = at;
}

void sw_round_rewind(struct sw_round *round, uint32_t operations)
{
    assert(operations <= round->operations);
    assert(round->groups == 0 || operations >= round->group_ends[round->groups - 1]);
    round->operations = operations;
    round->alike = round->alike < operations ? round->alike : operations;
}

void sw_round_join_groups(struct sw_round *round, uint32_t first)
{
    if (round->groups > first) {
        round->group_ends[first] = round->group_ends[round->groups - 1];
        round->groups = first + 1;
    }
}

void sw_round_rewrite(struct sw_round *round, uint32_t operations)
{
    assert(operations > 0 && operations <= round->operations_max);
    round->operations = operations;
    round->alike = 0;
    while (round->alike < operations && round->ops[round->alike] == round->ops[0]) {
        round->alike++;
    }
    round->groups = 0;
    sw_round_end_group(round);
}

void sw_round_reset(struct sw_round *round)
{
    round->operations = 0;
    round->alike = 0;
    round->groups = 0;
    round->gives_times = false;
    round->shows_times = false;
    round->shows_values = round->batches->shape.value_format == SW_VALUE_INTEGER;
}

static void on_done(struct sw_flight *flight)
{
    struct sw_round *round = SW_CONTAINER(flight, struct sw_round, flight);
    round->done(round);
}

/* Gives the default expiry time to the operations that set none. */
static void give_default_time(struct sw_round *round, struct sw_batch *batch)
{
    const uint64_t at = sw_batches_default_time(round->batches);
    if (at == 0 || sw_flight_reads(batch)) {
        return;
    }
    if (!round->gives_times) {
        batch->expire_at = at;
        return;
    }
    for (uint32_t i = 0; i < round->operations; i++) {
        round->expires[i] = round->expires[i] == UNSAID ? at : round->expires[i];
    }
}

void sw_round_submit(struct sw_round *round)
{
    struct sw_batch *batch = &round->flight.batch;
    bool uniform = sw_round_is_uniform(round);
    assert(round->operations > 0 && round->group_ends[round->groups - 1] == round->operations);
    *batch = (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = round->ops[0],
        .ops = uniform ? NULL : round->ops,
        .count = round->operations,
        .keys = round->keys,
        .values = round->values,
        .previous = round->shows_values ? round->previous : NULL,
        .found = round->found,
        .expires = round->gives_times ? round->expires : NULL,
        .expires_out = round->shows_times ? round->expires_out : NULL,
    };
    give_default_time(round, batch);
    if (!uniform || (round->ops[0] != SW_GET && round->ops[0] != SW_PEEK) ||
        round->batches->shape.key_text_bytes > 0) {
        batch->not_admitted = round->not_admitted;
        batch->group_count = round->groups;
        batch->group_ends = round->group_ends;
        batch->group_refused = round->group_refused;
    }
    round->flight.done = on_done;
    sw_flight_start(round->flights, &round->flight);
}
