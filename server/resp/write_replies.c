/* SPDX-License-Identifier: MIT
 *
 * write_replies.c - writing the replies of a batch in RESP.
 *
 * Consecutive replies to the same connection are formatted into the loop's scratch buffer and sent
 * by one write.
 */
#include "server/resp/replies.h"

#include <assert.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/ops/apply.h"
#include "proto/resp.h"
#include "server/batch/blob.h"
#include "server/batch/refusals.h"
#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/batch_results.h"
#include "server/resp/output.h"
#include "server/resp/resp.h"
#include "server/resp/string_replies.h"
#include "server/resp/substring.h"
#include "server/resp/writer.h"

static const char collision[] = "-" SW_COLLISION_LINE "\r\n";

static void put_blob(struct sw_writer *writer, const struct sw_resp_batch *batch, uint32_t i,
                     bool found, bool resp3)
{
    if (!found) {
        sw_writer_value(writer, false, 0, resp3);
        return;
    }
    uint32_t size;
    const uint8_t *blob = sw_blob_at(&batch->batches->shape, batch->previous, i, &size);
    sw_writer_bulk(writer, blob, size);
}

static uint64_t count_of(const struct sw_resp_batch *batch, const struct sw_pending *pending)
{
    const uint32_t first = pending->first;
    return pending->kind == SW_REPLY_KIND_COUNT_PRESENT
               ? sw_result_count_found(batch, first, pending->count)
           : pending->kind == SW_REPLY_KIND_PREFIX ? sw_result_prefix(batch, first, pending->count)
                                                   : sw_result_entered(batch, first);
}

static bool overflowed(const struct sw_resp_batch *batch, const struct sw_pending *pending)
{
    uint64_t after = 0;
    return pending->kind == SW_REPLY_KIND_AFTER && !sw_result_after(batch, pending->first, &after);
}

/* Writes the reply to a SET with NX or XX. */
static void put_ok_or_null(struct sw_writer *writer, const struct sw_resp_batch *batch,
                           const struct sw_pending *pending)
{
    bool is_ok = pending->kind == SW_REPLY_KIND_OK_IF_ABSENT
                     ? sw_result_entered(batch, pending->first)
                     : sw_result_found(batch, pending->first);
    sw_writer_line(writer, is_ok ? "+OK\r\n" : pending->resp3 ? "_\r\n" : "$-1\r\n");
}

static void put_after(struct sw_writer *writer, const struct sw_resp_batch *batch, uint32_t i,
                      bool resp3)
{
    uint64_t after = 0;
    sw_result_after(batch, i, &after);
    if (sw_result_present_after(batch, i)) {
        sw_writer_unsigned(writer, after, resp3);
    } else {
        sw_writer_line(writer, resp3 ? "_\r\n" : "$-1\r\n");
    }
}

static void put_digits(struct sw_writer *writer, const struct sw_resp_batch *batch, uint32_t i,
                       bool resp3)
{
    char digits[SW_DECIMAL_DIGITS_MAX];
    const uint32_t size = sw_decimal_format(sw_result_value(batch, i), digits);
    sw_writer_unsigned(writer, sw_result_found(batch, i) ? size : 0, resp3);
}

static void put_entry_bytes(struct sw_writer *writer, const struct sw_resp_batch *batch, uint32_t i,
                            bool resp3)
{
    if (sw_result_found(batch, i)) {
        sw_writer_unsigned(writer, batch->batches->shape.entry_bytes, resp3);
    } else {
        sw_writer_value(writer, false, 0, resp3);
    }
}

/* Writes the reply to TTL and similar commands for operation i. */
static void put_time(struct sw_writer *writer, const struct sw_resp_batch *batch, uint32_t i,
                     enum sw_reply_kind kind, bool resp3)
{
    const uint64_t at = batch->shows_times ? batch->expires_out[i] : 0;
    const uint64_t clock = batch->flight->batch.clock_ms;
    if (!sw_result_found(batch, i) || at == 0) {
        sw_writer_line(writer, sw_result_found(batch, i) ? ":-1\r\n" : ":-2\r\n");
        return;
    }
    const bool left = kind == SW_REPLY_KIND_TTL || kind == SW_REPLY_KIND_PTTL;
    const bool seconds = kind == SW_REPLY_KIND_TTL || kind == SW_REPLY_KIND_EXPIRETIME;
    const uint64_t ms = left ? (at > clock ? at - clock : 0) : at;
    sw_writer_unsigned(writer, seconds ? (ms + 500) / 1000 : ms, resp3);
}

/* Writes an integer reply: an expiry time, a number of digits or bytes, or a count. */
static void put_number(struct sw_writer *writer, const struct sw_resp_batch *batch,
                       const struct sw_pending *pending)
{
    const enum sw_reply_kind kind = (enum sw_reply_kind)pending->kind;
    if (kind >= SW_REPLY_KIND_TTL && kind <= SW_REPLY_KIND_PEXPIRETIME) {
        put_time(writer, batch, pending->first, kind, pending->resp3);
    } else if (kind == SW_REPLY_KIND_DIGITS) {
        put_digits(writer, batch, pending->first, pending->resp3);
    } else if (kind == SW_REPLY_KIND_BYTES) {
        put_entry_bytes(writer, batch, pending->first, pending->resp3);
    } else {
        sw_writer_unsigned(writer, count_of(batch, pending), pending->resp3);
    }
}

/* Has EXPIRE or PERSIST changed the expiry time of its key? */
static bool changed_time(const struct sw_resp_batch *batch, const struct sw_pending *pending)
{
    const uint32_t i = pending->first;
    const uint64_t before = batch->shows_times ? batch->expires_out[i] : 0;
    return sw_result_found(batch, i) &&
           (pending->kind == SW_REPLY_KIND_PERSISTED
                ? before != 0
                : sw_expire_holds(batch->ops[i], before, batch->expires[i]));
}

/* Writes an array of the values of all keys; of ids, with 1 behind each that is new, else 0 (no id,
 * because a cache did not admit the key: null and 0); of keys without values, these alone. */
static void put_all(struct sw_writer *writer, const struct sw_resp_batch *batch,
                    const struct sw_pending *pending)
{
    const bool tells_new = pending->kind == SW_REPLY_KIND_IDS;
    const bool has_ids = tells_new && batch->batches->shape.has_ids;
    sw_writer_array(writer, pending->count * (has_ids ? 2 : 1));
    for (uint32_t i = pending->first; i < pending->first + pending->count; i++) {
        const bool found = sw_result_found(batch, i), is_new = sw_result_entered(batch, i);
        if (has_ids) {
            sw_writer_number(writer, found || is_new, sw_result_value(batch, i), pending->resp3);
        }
        if (tells_new) {
            sw_writer_unsigned(writer, is_new, pending->resp3);
        } else if (pending->kind == SW_REPLY_KIND_BLOBS) {
            put_blob(writer, batch, i, found, pending->resp3);
        } else {
            sw_writer_value(writer, found, sw_result_value(batch, i), pending->resp3);
        }
    }
}

static void put_blob_after(struct sw_writer *writer, const struct sw_resp_batch *batch, uint32_t i,
                           bool resp3)
{
    uint8_t row[SW_VALUE_BYTES_MAX];
    if (sw_result_present_after(batch, i)) {
        sw_writer_bulk(writer, row, sw_result_row_after(batch, i, row));
    } else {
        sw_writer_value(writer, false, 0, resp3);
    }
}

static void put_blob_bytes(struct sw_writer *writer, const struct sw_resp_batch *batch, uint32_t i,
                           bool resp3)
{
    uint32_t size = 0;
    if (sw_result_found(batch, i)) {
        sw_blob_at(&batch->batches->shape, batch->previous, i, &size);
    }
    sw_writer_unsigned(writer, size, resp3);
}

/* Writes the part of the value before operation i that its operand selects. */
static void put_range(struct sw_writer *writer, const struct sw_resp_batch *batch, uint32_t i)
{
    const struct sw_table_shape *shape = &batch->batches->shape;
    char digits[SW_DECIMAL_DIGITS_MAX];
    const uint8_t *value = (const uint8_t *)digits;
    struct sw_substring range;
    uint32_t size = 0, bytes = 0;
    if (sw_result_found(batch, i) && shape->value_format == SW_VALUE_INTEGER) {
        size = (uint32_t)sw_decimal_format(sw_result_value(batch, i), digits);
    } else if (sw_result_found(batch, i)) {
        value = sw_blob_at(shape, batch->previous, i, &size);
    }
    memcpy(&range, (const uint8_t *)batch->values + (size_t)i * shape->value_bytes, sizeof(range));
    const uint32_t first = sw_substring_in(range, size, &bytes);
    sw_writer_bulk(writer, value + first, bytes);
}

/* Writes the kinds of replies that show a byte string or a property of one, or a value after. */
static void put_blob_reply(struct sw_writer *writer, const struct sw_resp_batch *batch,
                           const struct sw_pending *pending)
{
    uint32_t i = pending->first;
    bool resp3 = pending->resp3;
    switch (pending->kind) {
    case SW_REPLY_KIND_BLOB:
        put_blob(writer, batch, i, sw_result_found(batch, i), resp3);
        break;
    case SW_REPLY_KIND_AFTER:
        put_after(writer, batch, i, resp3);
        break;
    case SW_REPLY_KIND_BLOB_AFTER:
        put_blob_after(writer, batch, i, resp3);
        break;
    case SW_REPLY_KIND_BLOB_BYTES:
        put_blob_bytes(writer, batch, i, resp3);
        break;
    case SW_REPLY_KIND_BLOB_ENCODING:
        sw_writer_word(writer, sw_result_found(batch, i), "$3\r\nraw\r\n", resp3);
        break;
    case SW_REPLY_KIND_RANGE:
        put_range(writer, batch, i);
        break;
    default:
        assert(!"a reply of another kind");
    }
}

/* Returns the reply if its kind has only a few fixed lines. */
static const char *fixed_line(const struct sw_resp_batch *batch, const struct sw_pending *pending)
{
    switch (pending->kind) {
    case SW_REPLY_KIND_TYPE:
        return sw_result_found(batch, pending->first) ? "+string\r\n" : "+none\r\n";
    case SW_REPLY_KIND_EXPIRED:
    case SW_REPLY_KIND_PERSISTED:
        return changed_time(batch, pending) ? ":1\r\n" : ":0\r\n";
    case SW_REPLY_KIND_SWAPPED:
        return sw_result_is_swapped(batch, pending->first) ? ":1\r\n" : ":0\r\n";
    case SW_REPLY_KIND_OK:
        return "+OK\r\n";
    case SW_REPLY_KIND_QUEUED:
        return "+QUEUED\r\n";
    case SW_REPLY_KIND_NULL_ARRAY:
        return pending->resp3 ? "_\r\n" : "*-1\r\n";
    case SW_REPLY_KIND_NULL:
        return pending->resp3 ? "_\r\n" : "$-1\r\n";
    case SW_REPLY_KIND_ONE:
        return ":1\r\n";
    default:
        return ":0\r\n";
    }
}

/* Writes a reply. There is a case for every kind, so that the compiler warns of a missing one. */
static void put_reply(struct sw_writer *writer, const struct sw_replies *replies,
                      const struct sw_pending *pending)
{
    const struct sw_resp_batch *batch = &replies->batch;
    uint32_t i = pending->first;
    bool resp3 = pending->resp3;
    switch ((enum sw_reply_kind)pending->kind) {
    case SW_REPLY_KIND_TEXT:
        sw_writer_text(writer, replies->text.data + i, pending->count);
        break;
    case SW_REPLY_KIND_MADE:
        sw_writer_text(writer, replies->text.data, replies->text.size);
        break;
    case SW_REPLY_KIND_ARRAY:
        sw_writer_array(writer, pending->count);
        break;
    case SW_REPLY_KIND_OK_IF_ABSENT:
    case SW_REPLY_KIND_OK_IF_PRESENT:
        put_ok_or_null(writer, batch, pending);
        break;
    case SW_REPLY_KIND_TRY_AGAIN:
    case SW_REPLY_KIND_NO_KEY:
    case SW_REPLY_KIND_SAME_KEY:
    case SW_REPLY_KIND_TOO_MANY:
    case SW_REPLY_KIND_COUNTED:
    case SW_REPLY_KIND_FLOAT:
    case SW_REPLY_KIND_APPENDED:
        break; /* refusal() has the error, or string_replies.c the reply */
    case SW_REPLY_KIND_VALUE:
        sw_writer_value(writer, sw_result_found(batch, i), sw_result_value(batch, i), resp3);
        break;
    case SW_REPLY_KIND_VALUES:
    case SW_REPLY_KIND_IDS:
    case SW_REPLY_KIND_BLOBS:
        put_all(writer, batch, pending);
        break;
    case SW_REPLY_KIND_COUNT_PRESENT:
    case SW_REPLY_KIND_ONE_IF_ABSENT:
    case SW_REPLY_KIND_PREFIX:
    case SW_REPLY_KIND_TTL:
    case SW_REPLY_KIND_PTTL:
    case SW_REPLY_KIND_EXPIRETIME:
    case SW_REPLY_KIND_PEXPIRETIME:
    case SW_REPLY_KIND_DIGITS:
    case SW_REPLY_KIND_BYTES:
        put_number(writer, batch, pending);
        break;
    case SW_REPLY_KIND_TYPE:
    case SW_REPLY_KIND_EXPIRED:
    case SW_REPLY_KIND_PERSISTED:
    case SW_REPLY_KIND_SWAPPED:
    case SW_REPLY_KIND_NULL_ARRAY:
    case SW_REPLY_KIND_NULL:
    case SW_REPLY_KIND_OK:
    case SW_REPLY_KIND_QUEUED:
    case SW_REPLY_KIND_ZERO:
    case SW_REPLY_KIND_ONE:
        sw_writer_line(writer, fixed_line(batch, pending));
        break;
    case SW_REPLY_KIND_ENCODING:
        sw_writer_word(writer, sw_result_found(batch, i), "$3\r\nint\r\n", resp3);
        break;
    case SW_REPLY_KIND_AFTER:
    case SW_REPLY_KIND_BLOB:
    case SW_REPLY_KIND_BLOB_AFTER:
    case SW_REPLY_KIND_BLOB_BYTES:
    case SW_REPLY_KIND_BLOB_ENCODING:
    case SW_REPLY_KIND_RANGE:
        put_blob_reply(writer, batch, pending);
        break;
    }
}

/* Returns the error that every command of the group gets, or NULL. */
static const char *group_refusal(const struct sw_resp_batch *batch,
                                 const struct sw_pending *pending)
{
    const struct sw_batch *result = &batch->flight->batch;
    if (pending->group == SW_NO_GROUP || result->status == SW_OK ||
        (result->status == SW_E_FULL &&
         (result->group_count == 0 || result->group_refused[pending->group] == 0))) {
        return NULL;
    }
    return result->status == SW_E_NOMEM  ? "-OOM " SW_NO_QUEUE "\r\n"
           : result->status != SW_E_FULL ? "-" SW_TABLE_FAILED_LINE "\r\n"
           : result->group_count > 0 &&
                   result->group_refused[pending->group] == SW_REFUSED_COLLISION
               ? collision
               : sw_batches_full_line(batch->batches);
}

/* Returns the error of the command alone, or NULL. The command is not an operation on strings. */
static const char *refusal(const struct sw_resp_batch *batch, const struct sw_pending *pending)
{
    if (overflowed(batch, pending)) {
        return SW_OPS_HAS(SW_OPS_INSERT, batch->ops[pending->first])
                   ? "-ERR increment or decrement would overflow\r\n"
                   : "-ERR the result would overflow\r\n"; /* redis does not have these */
    }
    switch (pending->kind) {
    case SW_REPLY_KIND_TRY_AGAIN:
        return "-TRYAGAIN the topology has changed meanwhile; nothing was changed\r\n";
    case SW_REPLY_KIND_NO_KEY:
        return "-ERR no such key\r\n";
    case SW_REPLY_KIND_SAME_KEY:
        return "-ERR source and destination objects are the same\r\n";
    case SW_REPLY_KIND_TOO_MANY:
        return "-ERR too many watched keys: raise --watched-keys-max\r\n";
    default:
        return NULL;
    }
}

/* Returns the text reply if it is an error, otherwise NULL. */
static const char *error_text(const struct sw_replies *replies, const struct sw_pending *pending)
{
    const char *text = replies->text.data;
    if (pending->kind == SW_REPLY_KIND_TEXT && pending->count > 0) {
        text += pending->first;
    } else if (pending->kind != SW_REPLY_KIND_MADE) {
        return NULL;
    }
    return *text == '-' ? text : NULL;
}

/* Counts the command of a reply. */
static void count_command(struct sw_loop_counters *counters, const struct sw_pending *pending,
                          uint64_t share_ns)
{
    const bool is_carried_out = pending->kind != SW_REPLY_KIND_QUEUED;
    SW_COUNT(counters, commands_processed, is_carried_out);
    if (is_carried_out && pending->command < SW_COMMAND_COUNT) {
        SW_COUNT(counters, commands[pending->command], 1);
        SW_COUNT(counters, command_ns[pending->command], share_ns);
    }
}

/* Counts and writes an error. */
static void write_error(struct sw_writer *writer, struct sw_loop_counters *counters,
                        const struct sw_pending *pending, const char *error)
{
    sw_error_reply_count(counters, error);
    SW_COUNT(counters, key_collisions, error == collision);
    if (!pending->silent) {
        sw_writer_line(writer, error);
    }
}

/* Writes the reply to an operation on strings whose group was not refused. Apart from write_one, so
 * that other replies need no stack for the large result. */
static void write_string(struct sw_writer *writer, const struct sw_replies *replies,
                         const struct sw_pending *pending)
{
    struct sw_string_result string;
    const char *error = sw_string_reply_error(&replies->batch, pending, &string);
    if (error != NULL) {
        write_error(writer, replies->resp->net->counters, pending, error);
    } else if (!pending->silent) {
        sw_string_reply_put(writer, pending, &string);
    }
}

static void write_one(struct sw_writer *writer, const struct sw_replies *replies,
                      const struct sw_pending *pending, uint64_t share_ns)
{
    struct sw_loop_counters *counters = replies->resp->net->counters;
    const char *error = group_refusal(&replies->batch, pending);
    if (pending->element && (replies->is_aborted || error != NULL)) {
        return; /* the array's head is the error: no command was executed */
    }
    count_command(counters, pending, share_ns);
    if (error == NULL && sw_string_reply_is(pending)) {
        write_string(writer, replies, pending);
        return;
    }
    error = error != NULL ? error : refusal(&replies->batch, pending);
    if (error != NULL) {
        write_error(writer, counters, pending, error);
        return;
    }
    const char *text = error_text(replies, pending);
    if (text != NULL) {
        sw_error_reply_count(counters, text);
    }
    if (!pending->silent) {
        put_reply(writer, replies, pending);
    }
}

/* Returns the write that replies from `i` on to the same connection show; 0: none. */
static uint64_t sequence_from(const struct sw_replies *replies, uint32_t i)
{
    const struct sw_conn *conn = replies->pending[i].conn;
    uint64_t sequence =
        replies->batch.operations > 0 ? replies->batch.flight->batch.write_sequence : 0;
    for (; sequence > 0 && i < replies->pendings && replies->pending[i].conn == conn; i++) {
        uint8_t command = replies->pending[i].command;
        if (replies->pending[i].group != SW_NO_GROUP && command < SW_COMMAND_COUNT &&
            sw_command_writes(sw_command_at((enum sw_command_id)command))) {
            return sequence;
        }
    }
    return 0;
}

/* Do replies from `i` on to the same connection show results of the table? */
static bool has_read(const struct sw_replies *replies, uint32_t i)
{
    const struct sw_conn *conn = replies->pending[i].conn;
    for (; i < replies->pendings && replies->pending[i].conn == conn; i++) {
        if (replies->pending[i].group != SW_NO_GROUP) {
            return true;
        }
    }
    return false;
}

void sw_replies_write(struct sw_replies *replies)
{
    const uint64_t shown = sw_batches_shown(replies->resp->batches);
    char *scratch = replies->resp->scratch;
    uint64_t share_ns =
        replies->submitted_ns == 0 ? 0 : (uv_hrtime() - replies->submitted_ns) / replies->pendings;
    uint32_t i = 0;
    while (i < replies->pendings) {
        struct sw_conn *conn = replies->pending[i].conn;
        const uint64_t write = sequence_from(replies, i);
        struct sw_writer writer = {.conn = conn,
                                   .sequence = shown > 0 && has_read(replies, i) ? shown : write,
                                   .at = scratch,
                                   .begin = scratch,
                                   .end = scratch + SW_SCRATCH_BYTES};
        uint32_t first = i, data = 0;
        for (; i < replies->pendings && replies->pending[i].conn == conn; i++) {
            write_one(&writer, replies, &replies->pending[i], share_ns);
            data += replies->pending[i].kind > SW_REPLY_KIND_ARRAY;
        }
        sw_writer_flush(&writer);
        sw_last_write_note(&sw_resp_of(conn)->last_write, sw_resp_of(conn)->resp->owner.repl,
                           write);
        sw_conn_requests_done(conn, i - first, data);
    }
}
