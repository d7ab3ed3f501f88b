/* SPDX-License-Identifier: MIT
 *
 * data.c - turns the arguments of commands on keys into operations.
 */
#include "server/resp/data.h"
#include "server/batch/refusals.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/ops/range_apply.h"
#include "proto/ops/string_apply.h"
#include "server/batch/blob.h"
#include "server/batch/pairs.h"
#include "server/net/conn.h"
#include "server/resp/add.h"
#include "server/resp/admin_call.h"
#include "server/resp/data_help.h"
#include "server/resp/expire.h"
#include "server/resp/permit.h"
#include "server/resp/resp.h"
#include "server/resp/substring.h"
#include "table/expiring.h"

/* Size of the longest error line of this file. */
#define ERROR_BYTES 256

struct data;

/* The operations that differ between tables of integers and tables of byte strings. Functions
 * marked FOR_EACH_KIND are inlined once for each of the two, so that the pointer is constant in
 * them. */
struct values {
    bool (*add)(const struct data *data, enum sw_op op, uint32_t key, uint32_t value);
    bool are_bytes;
};
#define FOR_EACH_KIND static inline __attribute__((always_inline))

/* A command being turned into operations. */
struct data {
    struct sw_conn *conn;
    struct sw_resp *resp;
    struct sw_resp_batch *batch;
    const struct sw_command *command;
    const struct sw_resp_command *arguments;
    enum sw_data_purpose purpose;
    uint32_t first; /* number of operations in the batch before the command */
};

/* Removes the operations that the command has added, and replies with an error. */
__attribute__((format(printf, 2, 3))) static void refuse(const struct data *data,
                                                         const char *format, ...)
{
    char line[ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    sw_resp_batch_rewind(data->batch, data->first);
    sw_resp_error(data->conn, data->command, "%s", line);
}

static bool key_at(const struct data *data, uint32_t i, uint64_t *key)
{
    if (!sw_key_string_read(&data->resp->keys, &data->arguments->arguments[i], key)) {
        refuse(data, "%s", sw_key_string_error(&data->resp->keys));
        return false;
    }
    return true;
}

/* --- adding an operation ---------------------------------------------------------------------- */

/* Adds `op` on the key in argument number `key`, with the operand in argument number `value`. If
 * `value` is 0, the operand is 1. */
static bool add_integer(const struct data *data, enum sw_op op, uint32_t key, uint32_t value)
{
    const struct sw_resp_argument *number = &data->arguments->arguments[value];
    const bool wide = data->resp->batches->shape.value_bytes == 8;
    uint64_t k = 0, v = 1;
    if (!key_at(data, key, &k)) {
        return false;
    }
    if (value != 0 &&
        !sw_decimal_parse(number->text, number->size, wide ? UINT64_MAX : UINT32_MAX, &v)) {
        refuse(data, SW_OPS_HAS(SW_OPS_ROWS, op)
                         ? "ERR value is not an unsigned integer or out of range; for strings "
                           "start the server with --value-bytes N --value-type string"
                         : "ERR value is not an unsigned integer or out of range");
        return false;
    }
    sw_resp_batch_add(data->batch, op, k, v);
    return true;
}

static bool fits(const struct data *data, uint32_t size)
{
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    if (shape->is_set && size > 0) {
        refuse(data, "ERR keys have no values (--value-type none): send an empty value, or INSERT "
                     "keys");
        return false;
    }
    if (shape->value_format == SW_VALUE_FIXED && size != shape->blob_bytes_max) {
        refuse(data, "ERR value must have exactly %u bytes (--value-bytes%s)",
               shape->blob_bytes_max,
               shape->engine == SW_ENGINE_CACHE ? ", --value-format fixed" : "");
        return false;
    }
    if (size > shape->blob_bytes_max) {
        refuse(data, "ERR value is longer than %u bytes (--value-bytes)", shape->blob_bytes_max);
        return false;
    }
    return true;
}

static bool add_blob(const struct data *data, enum sw_op op, uint32_t key, uint32_t value)
{
    const struct sw_resp_argument *blob = &data->arguments->arguments[value];
    uint64_t k = 0;
    if (!key_at(data, key, &k) || (value != 0 && !fits(data, blob->size))) {
        return false;
    }
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    uint8_t *out = sw_resp_batch_add_blob(data->batch, op, k);
    if (value != 0) {
        sw_blob_put(shape, out, blob->text, blob->size);
    }
    if (shape->key_text_bytes > 0) {
        sw_key_string_put(shape, out, &data->arguments->arguments[key]);
    }
    return true;
}

/* Returns the operation of a command. An engine without PEEK, which reads a key without counting a
 * use, gets GET instead. */
static enum sw_op op_of(const struct data *data)
{
    enum sw_op op = (enum sw_op)data->command->op;
    bool has = (data->resp->batches->shape.operations >> SW_PEEK & 1) != 0;
    return op == SW_PEEK && !has ? SW_GET : op;
}

/* --- commands --------------------------------------------------------------------------------- */

/* Refuses the command if its user is limited to ranges of keys, and one of its keys is outside.
 * Returns true if so. */
static bool refuse_keys(const struct data *data)
{
    const struct sw_ranges *ranges = data->conn->login.ranges;
    uint32_t bytes = data->resp->batches->shape.key_bytes;
    const uint8_t *keys = (const uint8_t *)data->batch->keys + (size_t)data->first * bytes;
    uint32_t count = data->batch->operations - data->first, bad = 0;
    if (sw_ranges_hold(ranges, keys, bytes, count)) {
        return false;
    }
    while (sw_ranges_hold(ranges, keys + (size_t)bad * bytes, bytes, 1)) {
        bad++;
    }
    const struct sw_command *command = data->command;
    uint32_t at = (uint32_t)command->first_key + bad * (uint32_t)command->key_step;
    sw_resp_batch_rewind(data->batch, data->first);
    sw_permit_refuse_key(sw_resp_of(data->conn), command, &data->arguments->arguments[at]);
    return true;
}

/* Refuses the command, or stalls it for a frozen slot, if this node does not own its keys or they
 * are in several slots. Returns true if so. */
static bool refuse_slots(const struct data *data)
{
    uint32_t bytes = data->resp->batches->shape.key_bytes;
    const uint8_t *keys = (const uint8_t *)data->batch->keys + (size_t)data->first * bytes;
    char line[SW_CLUSTER_LINE_BYTES];
    if (!sw_redirect_refuses(sw_resp_of(data->conn), data->command, data->arguments->arguments,
                             keys, bytes, data->batch->operations - data->first,
                             &sw_resp_of(data->conn)->slots, line)) {
        return false;
    }
    sw_resp_batch_rewind(data->batch, data->first);
    if (line[0] != 'T' || !sw_redirect_waits(sw_resp_of(data->conn))) {
        sw_resp_error(data->conn, data->command, "%s", line);
    }
    return true;
}

static void add_reply(const struct data *data, enum sw_reply_kind kind)
{
    if ((data->conn->login.ranges != NULL && refuse_keys(data)) ||
        (data->conn->net->cluster.view != NULL && refuse_slots(data))) {
        return;
    }
    if (data->purpose == SW_DATA_CHECK) {
        sw_resp_batch_rewind(data->batch, data->first);
        return;
    }
    sw_replies_add(data->resp->filling, data->conn, data->command, kind, data->first);
}

/* The kind of reply for byte strings that corresponds to one for integers. */
static enum sw_reply_kind of_bytes(enum sw_reply_kind reply)
{
    switch (reply) {
    case SW_REPLY_KIND_VALUE:
        return SW_REPLY_KIND_BLOB;
    case SW_REPLY_KIND_VALUES:
        return SW_REPLY_KIND_BLOBS;
    case SW_REPLY_KIND_AFTER:
        return SW_REPLY_KIND_BLOB_AFTER;
    case SW_REPLY_KIND_DIGITS:
        return SW_REPLY_KIND_BLOB_BYTES;
    case SW_REPLY_KIND_ENCODING:
        return SW_REPLY_KIND_BLOB_ENCODING;
    default:
        return reply;
    }
}

FOR_EACH_KIND void run_one(const struct data *data, const struct values *values, enum sw_op op,
                           uint32_t key, uint32_t value, enum sw_reply_kind how)
{
    if (values->add(data, op, key, value)) {
        add_reply(data, values->are_bytes ? of_bytes(how) : how);
    }
}

FOR_EACH_KIND void run_keys(const struct data *data, const struct values *values)
{
    enum sw_reply_kind how = (enum sw_reply_kind)data->command->reply;
    enum sw_op op = op_of(data);
    for (uint32_t i = 1; i < data->arguments->count; i++) {
        if (!values->add(data, op, i, 0)) {
            return;
        }
    }
    add_reply(data, values->are_bytes ? of_bytes(how) : how);
}

/* Adds pairs of a key and its operand: writes for MSET, reads for MSETNX. */
FOR_EACH_KIND void run_pairs(const struct data *data, const struct values *values)
{
    if (data->arguments->count % 2 == 0) {
        refuse(data, "ERR wrong number of arguments for '%s' command", data->command->name);
        return;
    }
    for (uint32_t i = 1; i < data->arguments->count; i += 2) {
        if (!values->add(data, (enum sw_op)data->command->op, i, i + 1)) {
            return;
        }
    }
    add_reply(data, (enum sw_reply_kind)data->command->reply);
}

/* Adds reads of the two keys of RENAME, RENAMENX and COPY. */
FOR_EACH_KIND void run_two(const struct data *data, const struct values *values)
{
    if (values->add(data, SW_GET, 1, 0) && values->add(data, SW_GET, 2, 0)) {
        add_reply(data, (enum sw_reply_kind)data->command->reply);
    }
}

FOR_EACH_KIND void run_copy(const struct data *data, const struct values *values)
{
    const char *error = sw_rmw_copy_options(data->conn, data->arguments);
    if (error != NULL) {
        refuse(data, "%s", error);
    } else {
        run_two(data, values);
    }
}

#include "server/resp/data_string.inl"

#include "server/resp/data_expire.inl"

/* CAS key old new: a read, which has the old value as its operand, and the operation. */
FOR_EACH_KIND void run_cas(const struct data *data, const struct values *values)
{
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    const uint32_t at = data->batch->operations;
    if (values->add(data, SW_GET, 1, 2) && values->add(data, SW_CAS, 1, 3)) {
        const uint8_t *old = (const uint8_t *)data->batch->values + (size_t)at * shape->value_bytes;
        sw_resp_batch_set_compared(data->batch, sw_pair_bytes(shape, old));
        add_reply(data, SW_REPLY_KIND_SWAPPED);
    }
}

/* SET key value IFEQ old [GET]. Adds two reads of the key: one keeps the new value as its operand,
 * the other the old value. */
FOR_EACH_KIND void run_compare(const struct data *data, const struct values *values, uint32_t value,
                               uint32_t old, uint64_t at, enum sw_reply_kind how)
{
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    if (shape->engine == SW_ENGINE_CACHE) {
        refuse(data, "ERR the %s engine has no SET IFEQ" SW_WHY_EVICTS, shape->engine_name);
    } else if (values->add(data, SW_GET, 1, value)) {
        if (at != 0) { /* the time of the SET that may replace this read */
            sw_resp_batch_set_time(data->batch, at);
        }
        if (!values->add(data, SW_GET, 1, old)) {
            return;
        }
        add_reply(data, values->are_bytes ? of_bytes(how) : how);
    }
}

/* GETRANGE: a GET, whose operand says which part of the value is the reply. */
FOR_EACH_KIND void run_range(const struct data *data, const struct values *values)
{
    const struct sw_resp_argument *words = data->arguments->arguments;
    const uint32_t bytes = data->resp->batches->shape.value_bytes;
    struct sw_substring range;
    if (!sw_substring_read(&words[2], &words[3], &range)) {
        refuse(data, "ERR value is not an integer or out of range");
    } else if (values->add(data, SW_GET, 1, 0)) {
        const uint32_t at = data->batch->operations - 1;
        memcpy((uint8_t *)data->batch->values + (size_t)at * bytes, &range, sizeof(range));
        add_reply(data, SW_REPLY_KIND_RANGE);
    }
}

/* ADD. Multiplies the row in the batch, from where the table adds it. */
FOR_EACH_KIND void run_add(const struct data *data, const struct values *values)
{
    struct sw_add add;
    const char *error = sw_add_read(data->batch->batches->config, data->arguments, &add);
    if (error != NULL) {
        refuse(data, "%s", error);
    } else if (values->add(data, add.op, 1, 2)) {
        sw_add_scale(&add, data->batch);
        add_reply(data, SW_REPLY_KIND_COUNT_PRESENT);
    }
}

#include "server/resp/data_set.inl"

/* DELEX key [IFEQ value | IFNE value], DELIFEQ key value. Adds reads of the key, as SET IFEQ
 * does. */
FOR_EACH_KIND void run_delex(const struct data *data, const struct values *values)
{
    const struct sw_resp_argument *words = data->arguments->arguments;
    const uint32_t count = data->arguments->count;
    const bool names = data->command->id == SW_COMMAND_DELEX; /* it names its condition */
    if (names && count == 2) {
        run_one(data, values, SW_GET, 1, 0, SW_REPLY_KIND_ONE);
    } else if (names && count != 4) {
        refuse(data, "ERR wrong number of arguments for '%s' command", data->command->name);
    } else if (names && !sw_argument_is(&words[2], "IFEQ") && !sw_argument_is(&words[2], "IFNE")) {
        refuse(data, "ERR Invalid condition. Use IFEQ or IFNE");
    } else {
        run_compare(data, values, count - 1, count - 1, 0, SW_REPLY_KIND_ONE);
    }
}

/* Runs a command whose only subcommand has a key as its argument. */
FOR_EACH_KIND void run_subcommand(const struct data *data, const struct values *values,
                                  const struct sw_subcommand *list)
{
    const struct sw_resp_argument *word = &data->arguments->arguments[1];
    char line[ERROR_BYTES * 4];
    const bool is_it = sw_argument_is(word, list->name);
    const char *wrong = is_it && data->command->maker == SW_MAKER_MEMORY
                            ? sw_data_wrong_samples(data->arguments)
                            : NULL;
    if (sw_argument_is(word, "HELP") && data->arguments->count == 2) {
        sw_data_help(data->conn, data->command, list, data->purpose);
    } else if (wrong != NULL) {
        refuse(data, "%s", wrong);
    } else if (is_it && sw_subcommand_arity_fits(list, data->arguments->count)) {
        run_one(data, values, op_of(data), 2, 0, (enum sw_reply_kind)data->command->reply);
    } else {
        if (is_it) {
            sw_subcommand_wrong_count(data->command, list, line, sizeof(line));
        } else {
            sw_subcommand_unknown(data->command, word, line, sizeof(line));
        }
        sw_resp_error(data->conn, data->command, "%s", line);
    }
}

FOR_EACH_KIND void run(const struct data *data, const struct values *values)
{
    const struct sw_command *command = data->command;
    switch (command->maker) {
    case SW_MAKER_ONE_KEY:
        run_one(data, values, op_of(data), 1, command->operand, (enum sw_reply_kind)command->reply);
        break;
    case SW_MAKER_EACH_KEY:
    case SW_MAKER_EACH_ID:
        run_keys(data, values);
        break;
    case SW_MAKER_SET:
        run_set(data, values);
        break;
    case SW_MAKER_MSET:
    case SW_MAKER_PAIRS:
        run_pairs(data, values);
        break;
    case SW_MAKER_RENAME:
        run_two(data, values);
        break;
    case SW_MAKER_COPY:
        run_copy(data, values);
        break;
    case SW_MAKER_CAS:
        run_cas(data, values);
        break;
    case SW_MAKER_DELEX:
        run_delex(data, values);
        break;
    case SW_MAKER_RANGE:
        run_range(data, values);
        break;
    case SW_MAKER_SET_RANGE:
        run_set_range(data, values);
        break;
    case SW_MAKER_ADD:
        run_add(data, values);
        break;
    case SW_MAKER_BY:
        run_by(data, values);
        break;
    case SW_MAKER_BY_FLOAT:
        run_by_float(data, values);
        break;
    case SW_MAKER_GETEX:
        run_getex(data, values);
        break;
    case SW_MAKER_SETEX:
        run_setex(data, values);
        break;
    case SW_MAKER_EXPIRE:
        run_expire(data, values);
        break;
    case SW_MAKER_PERSIST:
        run_persist(data, values);
        break;
    case SW_MAKER_MEMORY:
    case SW_MAKER_OBJECT:
        run_subcommand(data, values, sw_data_subcommands(command));
        break;
    case SW_MAKER_NONE:
        assert(!"a command of another kind");
        break;
    }
}

static const struct values integers = {add_integer, false};
static const struct values blobs = {add_blob, true};

/* Fills in `data`. Returns false, with the connection stalled, if the batch has no room. */
static bool begin_data(struct data *data, struct sw_conn *conn, const struct sw_command *command,
                       const struct sw_resp_command *arguments, enum sw_data_purpose purpose)
{
    struct sw_resp *resp = sw_resp_of(conn)->resp;
    struct sw_resp_batch *batch = &resp->filling->batch;
    *data = (struct data){
        .conn = conn,
        .resp = resp,
        .batch = batch,
        .command = command,
        .arguments = arguments,
        .purpose = purpose,
        .first = batch->operations,
    };
    if (!sw_replies_has_room(resp->filling, arguments->count)) {
        SW_COUNT(conn->net->counters, round_pauses, !conn->retried);
        sw_resp_of(conn)->operations_wanted = arguments->count;
        sw_conn_stall(conn, SW_STALL_BATCH_FULL);
        return false;
    }
    return true;
}

FOR_EACH_KIND bool run_begun(struct data *data, const struct values *values)
{
    run(data, values);
    return data->conn->stall == SW_STALL_NONE;
}

bool sw_data_run_integers(struct sw_conn *conn, const struct sw_command *command,
                          const struct sw_resp_command *arguments, enum sw_data_purpose purpose)
{
    struct data data;
    return begin_data(&data, conn, command, arguments, purpose) && run_begun(&data, &integers);
}

bool sw_data_run_blobs(struct sw_conn *conn, const struct sw_command *command,
                       const struct sw_resp_command *arguments, enum sw_data_purpose purpose)
{
    struct data data;
    return begin_data(&data, conn, command, arguments, purpose) && run_begun(&data, &blobs);
}
