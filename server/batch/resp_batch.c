/* SPDX-License-Identifier: MIT
 *
 * resp_batch.c - collecting operations into one batch.
 */
#include "server/batch/resp_batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/limits.h"

/* In `expires`: the command sets no expiry time. sw_resp_batch_submit replaces it. */
#define UNSAID (SW_EXPIRE_KEEP - 1)

/* Returns the address at *offset, and advances *offset by `bytes`, rounded up to 64 bytes. */
static void *carve(uint8_t *memory, size_t *offset, size_t bytes)
{
    void *at = memory == NULL ? NULL : memory + *offset;
    *offset += (bytes + 63) / 64 * 64;
    return at;
}

/* Places the arrays in `memory` and returns the bytes they take; NULL only measures them. */
static size_t lay_out(struct sw_resp_batch *batch, uint8_t *memory,
                      const struct sw_table_shape *shape)
{
    size_t n = batch->operations_max;
    size_t offset = 0;
    struct sw_resp_flight *flight = carve(memory, &offset, sizeof(*flight));
    if (flight != NULL) {
        *flight = (struct sw_resp_flight){.batch = batch};
    }
    batch->flight = flight == NULL ? NULL : &flight->flight;
    batch->keys = carve(memory, &offset, n * shape->key_bytes);
    /* room for one operand before the first: `expected` of each operation is the one before it */
    carve(memory, &offset, shape->value_bytes);
    batch->values = carve(memory, &offset, n * shape->value_bytes);
    batch->previous = carve(memory, &offset, n * shape->value_bytes);
    batch->found = carve(memory, &offset, (n + 63) / 64 * 8);
    batch->not_admitted =
        shape->engine == SW_ENGINE_CACHE ? carve(memory, &offset, (n + 63) / 64 * 8) : NULL;
    batch->ops = carve(memory, &offset, n);
    batch->group_ends = carve(memory, &offset, n * sizeof(uint32_t));
    if (shape->value_format != SW_VALUE_INTEGER) {
        batch->ranges = carve(memory, &offset, n * sizeof(*batch->ranges));
    }
    if (shape->expires) {
        batch->expires = carve(memory, &offset, n * sizeof(uint64_t));
        batch->expires_out = carve(memory, &offset, n * sizeof(uint64_t));
    }
    batch->group_refused = carve(memory, &offset, n);
    return offset;
}

void sw_resp_batch_init(struct sw_resp_batch *batch, struct sw_batches *batches,
                        uint32_t operations_max, void (*done)(struct sw_resp_batch *batch))
{
    memset(batch, 0, sizeof(*batch));
    batch->batches = batches;
    batch->flights = &batches->resp_flights;
    batch->done = done;
    batch->operations_max = operations_max;
    sw_resp_batch_reset(batch);
    batch->memory_bytes = lay_out(batch, NULL, &batches->shape);
}

void sw_resp_batch_set_memory(struct sw_resp_batch *batch, void *memory)
{
    assert(batch->operations == 0);
    lay_out(batch, memory, &batch->batches->shape);
}

static inline uint32_t add_key(struct sw_resp_batch *batch, enum sw_op op, uint64_t key)
{
    uint32_t i = batch->operations++;
    batch->ops[i] = (uint8_t)op;
    if (batch->gives_times) {
        batch->expires[i] = batch->unsaid;
    }
    batch->alike += batch->alike == i && batch->ops[0] == (uint8_t)op;
    sw_integer_put(batch->keys, batch->batches->shape.key_bytes, i, key);
    return i;
}

void sw_resp_batch_add(struct sw_resp_batch *batch, enum sw_op op, uint64_t key, uint64_t value)
{
    uint32_t i = add_key(batch, op, key);
    sw_integer_put(batch->values, batch->batches->shape.value_bytes, i, value);
}

uint8_t *sw_resp_batch_add_blob(struct sw_resp_batch *batch, enum sw_op op, uint64_t key)
{
    uint32_t i = add_key(batch, op, key);
    return (uint8_t *)batch->values + (size_t)i * batch->batches->shape.value_bytes;
}

void sw_resp_batch_set_time(struct sw_resp_batch *batch, uint64_t at)
{
    assert(batch->expires != NULL && batch->operations > 0);
    if (!batch->gives_times) {
        batch->unsaid = batch->batches->shape.default_ttl_ms > 0 ? UNSAID : 0;
        for (uint32_t i = 0; i < batch->operations; i++) {
            batch->expires[i] = batch->unsaid;
        }
        batch->gives_times = true;
    }
    batch->expires[batch->operations - 1] = at;
}

void sw_resp_batch_set_range(struct sw_resp_batch *batch, uint32_t range)
{
    assert(batch->ranges != NULL && batch->operations > 0);
    batch->ranges[batch->operations - 1] = range;
    batch->sets_parts = true;
    batch->shows_values = true; /* the log also needs the values before */
}

void sw_resp_batch_set_compared(struct sw_resp_batch *batch, uint32_t bytes)
{
    assert(batch->operations > 1);
    if (batch->ranges != NULL) {
        batch->ranges[batch->operations - 1] = bytes;
    }
    batch->compares = true;
    batch->shows_values = true; /* the reply and the log need the values before */
}

void sw_resp_batch_rewind(struct sw_resp_batch *batch, uint32_t operations)
{
    assert(operations <= batch->operations);
    assert(batch->groups == 0 || operations >= batch->group_ends[batch->groups - 1]);
    batch->operations = operations;
    batch->alike = batch->alike < operations ? batch->alike : operations;
}

void sw_resp_batch_join_groups(struct sw_resp_batch *batch, uint32_t first)
{
    if (batch->groups > first) {
        batch->group_ends[first] = batch->group_ends[batch->groups - 1];
        batch->groups = first + 1;
    }
}

void sw_resp_batch_rewrite(struct sw_resp_batch *batch, uint32_t operations)
{
    assert(operations > 0 && operations <= batch->operations_max);
    batch->operations = operations;
    batch->alike = 0;
    while (batch->alike < operations && batch->ops[batch->alike] == batch->ops[0]) {
        batch->alike++;
    }
    batch->groups = 0;
    sw_resp_batch_end_group(batch);
}

void sw_resp_batch_reset(struct sw_resp_batch *batch)
{
    batch->operations = 0;
    batch->alike = 0;
    batch->groups = 0;
    batch->gives_times = false;
    batch->unsaid = 0;
    batch->sets_parts = false;
    batch->compares = false;
    batch->shows_times = false;
    batch->shows_values = batch->batches->shape.value_format == SW_VALUE_INTEGER;
}

static void on_done(struct sw_flight *flight)
{
    struct sw_resp_batch *batch = SW_CONTAINER(flight, struct sw_resp_flight, flight)->batch;
    batch->done(batch);
}

/* Gives the default expiry time to the operations that set none. TABLE ALTER may have changed
 * default-ttl since they were added. */
static void give_default_time(struct sw_resp_batch *batch, struct sw_batch *table_batch)
{
    const uint64_t at = sw_batches_default_time(batch->batches);
    if (sw_flight_reads(table_batch)) {
        return;
    }
    if (!batch->gives_times) {
        table_batch->expire_at = at;
        return;
    }
    if (batch->unsaid == 0) {
        return;
    }
    for (uint32_t i = 0; i < batch->operations; i++) {
        batch->expires[i] = batch->expires[i] == UNSAID ? at : batch->expires[i];
    }
}

/* Returns the array whose element i is operand i - 1. */
static const void *operand_before(const struct sw_resp_batch *batch)
{
    return (const uint8_t *)batch->values - batch->batches->shape.value_bytes;
}

void sw_resp_batch_submit(struct sw_resp_batch *batch)
{
    struct sw_batch *table_batch = &batch->flight->batch;
    bool uniform = sw_resp_batch_is_uniform(batch);
    assert(batch->operations > 0 && batch->group_ends[batch->groups - 1] == batch->operations);
    *table_batch = (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = batch->ops[0],
        .ops = uniform ? NULL : batch->ops,
        .stream = batch->stream,
        .count = batch->operations,
        .keys = batch->keys,
        .values = batch->values,
        .expected = batch->compares ? operand_before(batch) : NULL,
        .ranges = batch->sets_parts || batch->compares ? batch->ranges : NULL,
        .previous = batch->shows_values ? batch->previous : NULL,
        .found = batch->found,
        .expires = batch->gives_times ? batch->expires : NULL,
        .expires_out = batch->shows_times ? batch->expires_out : NULL,
    };
    give_default_time(batch, table_batch);
    if (!uniform || !SW_OPS_HAS(SW_OPS_READ, batch->ops[0]) ||
        batch->batches->shape.key_text_bytes > 0) {
        table_batch->not_admitted = batch->not_admitted;
        table_batch->group_count = batch->groups;
        table_batch->group_ends = batch->group_ends;
        table_batch->group_refused = batch->group_refused;
    }
    batch->flight->done = on_done;
    sw_batches_activate(batch->batches);
    sw_flight_start(batch->flights, batch->flight);
}
