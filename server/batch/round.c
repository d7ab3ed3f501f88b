/* SPDX-License-Identifier: MIT
 *
 * round.c - gathering commands into one batch.
 */
#include "server/batch/round.h"

#include <stdlib.h>
#include <string.h>

#include "server/batch/commit.h"
#include "server/limits.h"
#include "server/loop.h"
#include "server/net/conn.h"

/* Takes `bytes` at *offset, 64-byte aligned, and moves on. */
static void *carve(uint8_t *memory, size_t *offset, size_t bytes)
{
    void *at = memory == NULL ? NULL : memory + *offset;
    *offset += (bytes + 63) / 64 * 64;
    return at;
}

/* Lays the arrays out in `memory`; with NULL it only measures. */
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
    round->group_refused = carve(memory, &offset, n);
    return offset;
}

int sw_round_init(struct sw_round *round, struct sw_loop *loop)
{
    memset(round, 0, sizeof(*round));
    round->loop = loop;
    round->operations_max = loop->config->round_ops_max;
    round->pending_max = loop->config->round_ops_max;
    round->uniform = true;
    round->shows_values = loop->shape.value_format == SW_VALUE_INTEGER;
    sw_text_init(&round->text, SW_ROUND_TEXT_BYTES_MAX);
    round->memory_bytes = lay_out(round, NULL, &loop->shape);
    round->memory = sw_io_alloc(loop->table, round->memory_bytes);
    round->pending = calloc(round->pending_max, sizeof(*round->pending));
    if (round->memory == NULL || round->pending == NULL) {
        sw_round_fini(round);
        return -1;
    }
    lay_out(round, round->memory, &loop->shape);
    return 0;
}

void sw_round_fini(struct sw_round *round)
{
    if (round->memory != NULL) {
        sw_io_free(round->loop->table, round->memory, round->memory_bytes);
    }
    free(round->pending);
    sw_text_fini(&round->text);
    round->memory = NULL;
    round->pending = NULL;
}

bool sw_round_has_room(const struct sw_round *round, uint32_t operations)
{
    return round->pendings < round->pending_max &&
           operations <= round->operations_max - round->operations &&
           round->text.size <= SW_ROUND_TEXT_BYTES_MAX / 2;
}

static inline uint32_t add_key(struct sw_round *round, enum sw_op op, uint64_t key)
{
    uint32_t i = round->operations++;
    round->ops[i] = (uint8_t)op;
    round->uniform &= round->ops[0] == (uint8_t)op;
    sw_integer_put(round->keys, round->loop->shape.key_bytes, i, key);
    return i;
}

void sw_round_add(struct sw_round *round, enum sw_op op, uint64_t key, uint64_t value)
{
    uint32_t i = add_key(round, op, key);
    sw_integer_put(round->values, round->loop->shape.value_bytes, i, value);
}

uint8_t *sw_round_add_blob(struct sw_round *round, enum sw_op op, uint64_t key)
{
    uint32_t i = add_key(round, op, key);
    return (uint8_t *)round->values + (size_t)i * round->loop->shape.value_bytes;
}

void sw_round_rewind(struct sw_round *round, uint32_t operations)
{
    round->operations = operations;
    if (operations == 0) {
        round->uniform = true;
    }
}

static struct sw_pending *append(struct sw_round *round, struct sw_conn *conn,
                                 const struct sw_command *command)
{
    struct sw_pending *pending = &round->pending[round->pendings++];
    struct sw_session *session = &conn->session;
    memset(pending, 0, sizeof(*pending));
    pending->conn = conn;
    pending->command = (uint8_t)(command != NULL ? command->id : SW_COMMAND_COUNT);
    pending->resp3 = session->resp3;
    return pending;
}

void sw_round_answer(struct sw_round *round, struct sw_conn *conn, const struct sw_command *command,
                     enum sw_answer answer, uint32_t first)
{
    struct sw_pending *pending = append(round, conn, command);
    pending->answer = (uint8_t)answer;
    pending->first = first;
    pending->count = round->operations - first;
    pending->group = round->groups;
    round->shows_values |= answer >= SW_ANSWER_BLOB;
    pending->silent = conn->session.reply_mode != SW_REPLY_ON;
    if (conn->session.reply_mode == SW_REPLY_SKIP_NEXT) {
        conn->session.reply_mode = SW_REPLY_ON;
    }
    round->group_ends[round->groups++] = round->operations;
    sw_conn_accept(conn, true);
}

void sw_round_answer_text(struct sw_round *round, struct sw_conn *conn,
                          const struct sw_command *command, size_t first)
{
    struct sw_pending *pending = append(round, conn, command);
    pending->answer = SW_ANSWER_TEXT;
    pending->first = (uint32_t)first;
    pending->count = (uint32_t)(round->text.size - first);
    sw_conn_accept(conn, false);
}

/* Empties the round for the next gathering. */
static void reset(struct sw_round *round)
{
    round->operations = 0;
    round->pendings = 0;
    round->groups = 0;
    round->uniform = true;
    round->shows_values = round->loop->shape.value_format == SW_VALUE_INTEGER;
    sw_text_reset(&round->text);
}

static void finish(struct sw_round *round)
{
    struct sw_loop *loop = round->loop;
    sw_round_write_answers(round);
    reset(round);
    loop->running = NULL;
    loop->retry = true;
}

static void on_done(struct sw_flight *flight)
{
    struct sw_round *round =
        (struct sw_round *)((char *)flight - offsetof(struct sw_round, flight));
    finish(round);
}

bool sw_round_poll_shared(struct sw_round *round)
{
    if (!round->is_shared || !sw_commit_is_done(round)) {
        return false;
    }
    round->is_shared = false;
    finish(round);
    return true;
}

void sw_round_submit(struct sw_round *round)
{
    struct sw_loop *loop = round->loop;
    struct sw_batch *batch = &round->flight.batch;
    loop->running = round;
    loop->retry = true; /* the other one is empty: who waited for room has the first turn */
    loop->gathering = round == &loop->rounds[0] ? &loop->rounds[1] : &loop->rounds[0];
    if (round->operations == 0) {
        finish(round);
        return;
    }
    *batch = (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = round->ops[0],
        .ops = round->uniform ? NULL : round->ops,
        .count = round->operations,
        .keys = round->keys,
        .values = round->values,
        .previous = round->shows_values ? round->previous : NULL,
        .found = round->found,
    };
    bool writes = !(round->uniform && round->ops[0] == SW_GET);
    if (writes) {
        batch->not_admitted = round->not_admitted;
        batch->group_count = round->groups;
        batch->group_ends = round->group_ends;
        batch->group_refused = round->group_refused;
    }
    round->is_shared = writes && loop->owner.commit != NULL;
    if (round->is_shared) {
        sw_commit_start(round);
        return;
    }
    round->flight.done = on_done;
    sw_flight_start(&loop->round_flights, &round->flight);
}
