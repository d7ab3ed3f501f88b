/* SPDX-License-Identifier: MIT
 *
 * slow.c - records slow RESP commands for SLOWLOG and LATENCY.
 */
#include "server/resp/slow.h"

#include <string.h>

#include "proto/decimal.h"
#include "server/net/conn.h"
#include "server/observe/timings.h"
#include "server/resp/secrets.h"

/* Counters of commands that are compared at once: a batch has few different commands. */
#define COMPARED 16

uint64_t sw_slow_begin(const struct sw_resp *resp)
{
    return resp->owner.timings == NULL ? 0 : uv_hrtime();
}

/* --- commands of a batch ---------------------------------------------------------------------- */

static bool put_number(struct sw_slowlog_draft *draft, uint64_t number, bool is_negative)
{
    char digits[1 + SW_DECIMAL_DIGITS_MAX] = "-";
    size_t size = sw_decimal_format(number, digits + 1);
    return sw_slowlog_argument(draft, is_negative ? digits : digits + 1, size + is_negative);
}

static bool put_operand(struct sw_slowlog_draft *draft, const struct sw_resp_batch *batch,
                        uint32_t i, bool is_negative)
{
    const struct sw_table_shape *shape = &batch->batches->shape;
    const uint8_t *blob = (const uint8_t *)batch->values + (size_t)i * shape->value_bytes;
    uint32_t size = shape->blob_bytes_max;
    if (shape->value_format == SW_VALUE_INTEGER) {
        return put_number(draft, sw_integer_at(batch->values, shape->value_bytes, i), is_negative);
    }
    if (shape->value_format == SW_VALUE_STRING) {
        memcpy(&size, blob, sizeof(size));
        blob += SW_VALUE_LENGTH_BYTES;
    }
    if (is_negative && blob[0] == '-') {
        return sw_slowlog_argument(draft, blob + 1, size - 1);
    }
    if (is_negative) {
        char text[SW_DECIMAL_DIGITS_MAX + 2] = "-"; /* an integer */
        memcpy(text + 1, blob, size);
        return sw_slowlog_argument(draft, text, size + 1);
    }
    return sw_slowlog_argument(draft, blob, size);
}

/* Does the command have an operand for each key that is still in the batch? A write by rmw.c
 * replaces the operand by the result. */
static bool has_operand(const struct sw_resp_batch *batch, const struct sw_command *command)
{
    const bool is_string = batch->batches->shape.value_format == SW_VALUE_STRING;
    const bool is_row = batch->batches->shape.value_format == SW_VALUE_FIXED; /* no text */
    return (command->maker == SW_MAKER_BY_FLOAT && is_string) ||
           (command->maker == SW_MAKER_BY && command->arity == 3 && !is_row) ||
           command->maker == SW_MAKER_SET || command->maker == SW_MAKER_MSET ||
           command->maker == SW_MAKER_PAIRS ||
           (command->maker == SW_MAKER_ONE_KEY && command->operand != 0 &&
            command->kind != SW_KIND_RMW);
}

/* Returns the number of keys in the command. A command of one key may have several operations on
 * it. */
static uint32_t keys_of(const struct sw_pending *pending, const struct sw_command *command)
{
    const bool is_one = command->first_key == command->last_key && pending->count > 0;
    return is_one ? 1 : pending->count;
}

/* Returns the time that a command sets if that is its purpose, otherwise 0. */
static uint64_t time_of(const struct sw_resp_batch *batch, const struct sw_pending *pending)
{
    const bool is_about = pending->command == SW_COMMAND_SETEX ||
                          pending->command == SW_COMMAND_PSETEX ||
                          sw_op_expires(batch->ops[pending->first]);
    return is_about && pending->count == 1 && batch->gives_times ? batch->expires[pending->first]
                                                                 : 0;
}

/* Writes a command on keys from its operations. They lack the options of SET, and have absolute
 * expiry times. */
static void put_command(struct sw_slowlog_draft *draft, const struct sw_resp_batch *batch,
                        const struct sw_pending *pending, const struct sw_command *command)
{
    const struct sw_key_string *keys = &sw_resp_of(pending->conn)->resp->keys;
    char room[SW_KEY_STRING_BYTES_MAX];
    size_t size = 0;
    const uint32_t end = pending->first + keys_of(pending, command);
    bool operand = has_operand(batch, command), more = true;
    more = sw_slowlog_word(draft, command->name);
    if (command->maker == SW_MAKER_MEMORY || command->maker == SW_MAKER_OBJECT) {
        more = sw_slowlog_word(draft, command->maker == SW_MAKER_MEMORY ? "usage" : "encoding");
    }
    for (uint32_t i = pending->first; more && i < end; i++) {
        uint64_t key = sw_integer_at(batch->keys, batch->batches->shape.key_bytes, i);
        const char *text =
            sw_key_string_at(keys, &batch->batches->shape, key, batch->values, i, room, &size);
        more = sw_slowlog_argument(draft, text, size);
        /* INCRBY and DECRBY negate a negative operand, and DECRBY that of strings. */
        bool turned = command->maker == SW_MAKER_BY &&
                      (SW_OPS_HAS(SW_OPS_STRING, batch->ops[i]) ? command->id == SW_COMMAND_DECRBY
                                                                : batch->ops[i] != command->op);
        more = more && (!operand || put_operand(draft, batch, i, turned));
    }
    const uint64_t at = time_of(batch, pending);
    if (more && at != 0) {
        more = sw_slowlog_word(draft, "PXAT") && put_number(draft, at, false);
    }
}

static void log_commands(const struct sw_replies *replies, struct sw_timings *timings, uint64_t us)
{
    uint32_t logged = 0;
    for (uint32_t i = 0; i < replies->pendings && logged < SW_SLOW_OF_A_BATCH; i++) {
        const struct sw_pending *pending = &replies->pending[i];
        struct sw_slowlog_draft draft;
        if (pending->command >= SW_COMMAND_COUNT || pending->kind == SW_REPLY_KIND_TEXT ||
            pending->kind == SW_REPLY_KIND_QUEUED || pending->kind == SW_REPLY_KIND_ARRAY ||
            pending->kind == SW_REPLY_KIND_NULL_ARRAY) {
            continue; /* a text reply was timed when it was made; the array belongs to EXEC */
        }
        const struct sw_command *command = sw_command_at((enum sw_command_id)pending->command);
        uint64_t arguments =
            (uint64_t)keys_of(pending, command) * (has_operand(&replies->batch, command) ? 2 : 1) +
            1 + (time_of(&replies->batch, pending) != 0 ? 2 : 0);
        sw_slowlog_begin(&draft, us, pending->conn->peer.address, pending->conn->shown.name,
                         arguments);
        put_command(&draft, &replies->batch, pending, command);
        sw_timings_slow(timings, &draft);
        logged++;
    }
}

void sw_slow_batch_done(const struct sw_replies *replies, struct sw_slow_batch *batch)
{
    struct sw_timings *timings = replies->resp->owner.timings;
    const struct sw_loop_counters *counters = replies->resp->net->counters;
    batch->tracks = sw_timings_track(timings);
    if (timings == NULL) {
        return;
    }
    batch->us = (uv_hrtime() - replies->began_ns) / 1000;
    if (replies->batch.operations > 0) {
        sw_timings_event(timings, SW_LATENCY_COMMAND, batch->us);
        if (sw_timings_are_slow(timings, batch->us)) {
            log_commands(replies, timings, batch->us);
        }
    }
    if (batch->tracks) {
        memcpy(batch->commands, counters->commands, sizeof(batch->commands));
    }
}

/* Counts the commands from `first` to before `end` that the replies of the batch have counted. */
static void count_written(const struct sw_replies *replies, const struct sw_slow_batch *batch,
                          int first, int end)
{
    const struct sw_loop_counters *counters = replies->resp->net->counters;
    for (int id = first; id < end; id++) {
        const uint64_t count = counters->commands[id] - batch->commands[id];
        if (count > 0) {
            sw_latency_count(&replies->resp->owner.timings->latency, (enum sw_command_id)id,
                             batch->us, count);
        }
    }
}

void sw_slow_batch_written(const struct sw_replies *replies, const struct sw_slow_batch *batch)
{
    const uint64_t *now = replies->resp->net->counters->commands;
    for (int id = 0; batch->tracks && id < SW_COMMAND_COUNT; id += COMPARED) {
        const int end = id + COMPARED < SW_COMMAND_COUNT ? id + COMPARED : SW_COMMAND_COUNT;
        if (memcmp(&now[id], &batch->commands[id], (size_t)(end - id) * sizeof(*now)) != 0) {
            count_written(replies, batch, id, end);
        }
    }
}

/* --- other commands --------------------------------------------------------------------------- */

void sw_slow_admin(const struct sw_conn *conn, const struct sw_resp_command *arguments,
                   uint64_t began_ns)
{
    struct sw_timings *timings = sw_resp_of_const(conn)->resp->owner.timings;
    if (timings == NULL) {
        return;
    }
    uint64_t us = (uv_hrtime() - began_ns) / 1000;
    sw_timings_event(timings, SW_LATENCY_COMMAND, us);
    if (!sw_timings_are_slow(timings, us)) {
        return;
    }
    struct sw_slowlog_draft draft;
    const struct sw_secrets secrets = sw_secrets_of(arguments);
    bool more = true;
    sw_slowlog_begin(&draft, us, conn->peer.address, conn->shown.name, arguments->count);
    for (uint32_t i = 0; more && i < arguments->count; i++) {
        const struct sw_resp_argument *argument = &arguments->arguments[i];
        more = i >= secrets.from && i < secrets.to
                   ? sw_slowlog_word(&draft, "(redacted)")
                   : sw_slowlog_argument(&draft, argument->text, argument->size);
    }
    sw_timings_slow(timings, &draft);
}

void sw_slow_control(const struct sw_conn *conn, const struct sw_command *command, uint64_t us)
{
    struct sw_timings *timings = sw_resp_of_const(conn)->resp->owner.timings;
    sw_timings_event(timings, SW_LATENCY_COMMAND, us);
    if (sw_timings_track(timings)) {
        sw_latency_count(&timings->latency, command->id, us, 1);
    }
    if (sw_timings_are_slow(timings, us)) {
        struct sw_slowlog_draft draft;
        sw_slowlog_begin(&draft, us, conn->peer.address, conn->shown.name, 1);
        sw_slowlog_word(&draft, command->name);
        sw_timings_slow(timings, &draft);
    }
}
