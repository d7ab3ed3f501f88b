/* SPDX-License-Identifier: MIT
 *
 * data.c - arguments to operations.
 */
#include "server/data.h"

#include "proto/decimal.h"
#include "server/conn.h"
#include "server/loop.h"
#include "server/resp.h"

/* A command being turned into operations. */
struct data {
    struct sw_conn *conn;
    struct sw_round *round;
    const struct sw_command *command;
    const struct sw_resp_command *arguments;
    uint32_t first; /* the round's operations before it */
};

static bool integer_at(const struct data *data, uint32_t i, uint32_t bytes, uint64_t *out)
{
    const struct sw_resp_argument *argument = &data->arguments->arguments[i];
    return sw_decimal_parse(argument->text, argument->size, bytes == 8 ? UINT64_MAX : UINT32_MAX,
                            out);
}

/* Takes back what the command added, and answers with an error. */
static void refuse(const struct data *data, const char *line)
{
    sw_round_rewind(data->round, data->first);
    sw_resp_error(data->conn, data->command, "%s", line);
}

/* Adds `op` on the key in argument `key`, with the operand in argument `value` (0: operand 1). */
static bool add(const struct data *data, enum sw_op op, uint32_t key, uint32_t value)
{
    const struct sw_table_shape *shape = &data->conn->loop->shape;
    uint64_t k = 0;
    uint64_t v = 1;
    if (!integer_at(data, key, shape->key_bytes, &k)) {
        refuse(data, "ERR key is not an unsigned integer or out of range");
        return false;
    }
    if (value != 0 && !integer_at(data, value, shape->value_bytes, &v)) {
        refuse(data, "ERR value is not an unsigned integer or out of range");
        return false;
    }
    sw_round_add(data->round, op, k, v);
    return true;
}

static void answer(const struct data *data, enum sw_answer answer)
{
    sw_round_answer(data->round, data->conn, data->command, answer, data->first);
}

static void run_one(const struct data *data, enum sw_op op, uint32_t key, uint32_t value,
                    enum sw_answer how)
{
    if (add(data, op, key, value)) {
        answer(data, how);
    }
}

static void run_keys(const struct data *data, enum sw_op op, enum sw_answer how)
{
    for (uint32_t i = 1; i < data->arguments->count; i++) {
        if (!add(data, op, i, 0)) {
            return;
        }
    }
    answer(data, how);
}

static void run_mset(const struct data *data)
{
    if (data->arguments->count % 2 == 0) {
        refuse(data, "ERR wrong number of arguments for 'mset' command");
        return;
    }
    for (uint32_t i = 1; i < data->arguments->count; i += 2) {
        if (!add(data, SW_SET, i, i + 1)) {
            return;
        }
    }
    answer(data, SW_ANSWER_OK);
}

/* SET key value [NX | XX] [GET]. Nothing expires here, so the options of expiry are refused rather
 * than ignored; KEEPTTL changes nothing and is accepted. */
static void run_set(const struct data *data)
{
    bool absent = false;
    bool present = false;
    bool get = false;
    for (uint32_t i = 3; i < data->arguments->count; i++) {
        const struct sw_resp_argument *option = &data->arguments->arguments[i];
        if (sw_argument_is(option, "NX")) {
            absent = true;
        } else if (sw_argument_is(option, "XX")) {
            present = true;
        } else if (sw_argument_is(option, "GET")) {
            get = true;
        } else if (sw_argument_is(option, "EX") || sw_argument_is(option, "PX") ||
                   sw_argument_is(option, "EXAT") || sw_argument_is(option, "PXAT")) {
            refuse(data, "ERR keys do not expire in this server: use SET without EX or PX");
            return;
        } else if (!sw_argument_is(option, "KEEPTTL")) {
            refuse(data, "ERR syntax error");
            return;
        }
    }
    if (absent && present) {
        refuse(data, "ERR syntax error");
        return;
    }
    run_one(data,
            absent    ? SW_SET_ABSENT
            : present ? SW_SET_PRESENT
                      : SW_SET,
            1, 2,
            get       ? SW_ANSWER_VALUE
            : absent  ? SW_ANSWER_OK_IF_ABSENT
            : present ? SW_ANSWER_OK_IF_PRESENT
                      : SW_ANSWER_OK);
}

/* MEMORY USAGE key [SAMPLES n], OBJECT ENCODING key. */
static void run_subcommand(const struct data *data, const char *word, enum sw_answer how)
{
    if (data->arguments->count < 3 || !sw_argument_is(&data->arguments->arguments[1], word)) {
        const struct sw_resp_argument *name = &data->arguments->arguments[1];
        int size = (int)(name->size < 128 ? name->size : 128);
        sw_resp_error(data->conn, data->command,
                      "ERR unknown subcommand or wrong number of arguments for '%.*s'", size,
                      (const char *)name->text);
        return;
    }
    run_one(data, SW_GET, 2, 0, how);
}

/* Commands that are one operation on one key, or the same on each of many. */
static const struct plain {
    enum sw_op op;
    enum sw_answer answer;
    uint8_t operand; /* argument that holds it; 0: none, or 1 */
    bool each;       /* every argument is a key */
} plain_commands[SW_COMMAND_COUNT] = {
    [SW_COMMAND_GET] = {SW_GET, SW_ANSWER_VALUE, 0, false},
    [SW_COMMAND_MGET] = {SW_GET, SW_ANSWER_VALUES, 0, true},
    [SW_COMMAND_SETNX] = {SW_SET_ABSENT, SW_ANSWER_ONE_IF_ABSENT, 2, false},
    [SW_COMMAND_GETSET] = {SW_SET, SW_ANSWER_VALUE, 2, false},
    [SW_COMMAND_GETDEL] = {SW_DELETE, SW_ANSWER_VALUE, 0, false},
    [SW_COMMAND_DEL] = {SW_DELETE, SW_ANSWER_COUNT_PRESENT, 0, true},
    [SW_COMMAND_UNLINK] = {SW_DELETE, SW_ANSWER_COUNT_PRESENT, 0, true},
    [SW_COMMAND_EXISTS] = {SW_GET, SW_ANSWER_COUNT_PRESENT, 0, true},
    [SW_COMMAND_TOUCH] = {SW_GET, SW_ANSWER_COUNT_PRESENT, 0, true},
    [SW_COMMAND_INCR] = {SW_INCREMENT, SW_ANSWER_SUM, 0, false},
    [SW_COMMAND_INCRBY] = {SW_INCREMENT, SW_ANSWER_SUM, 2, false},
    [SW_COMMAND_DECR] = {SW_DECREMENT, SW_ANSWER_DIFFERENCE, 0, false},
    [SW_COMMAND_DECRBY] = {SW_DECREMENT, SW_ANSWER_DIFFERENCE, 2, false},
    [SW_COMMAND_STRLEN] = {SW_GET, SW_ANSWER_DIGITS, 0, false},
    [SW_COMMAND_TYPE] = {SW_GET, SW_ANSWER_TYPE, 0, false},
    [SW_COMMAND_TTL] = {SW_GET, SW_ANSWER_TTL, 0, false},
    [SW_COMMAND_PTTL] = {SW_GET, SW_ANSWER_TTL, 0, false},
    [SW_COMMAND_PERSIST] = {SW_GET, SW_ANSWER_ZERO, 0, false},
};

static void run(const struct data *data)
{
    const struct plain *plain = &plain_commands[data->command->id];
    switch (data->command->id) {
    case SW_COMMAND_SET:
        run_set(data);
        break;
    case SW_COMMAND_MSET:
        run_mset(data);
        break;
    case SW_COMMAND_MEMORY:
        run_subcommand(data, "USAGE", SW_ANSWER_BYTES);
        break;
    case SW_COMMAND_OBJECT:
        run_subcommand(data, "ENCODING", SW_ANSWER_ENCODING);
        break;
    default:
        if (plain->each) {
            run_keys(data, plain->op, plain->answer);
        } else {
            run_one(data, plain->op, 1, plain->operand, plain->answer);
        }
        break;
    }
}

bool sw_data_run(struct sw_conn *conn, const struct sw_command *command,
                 const struct sw_resp_command *arguments)
{
    struct sw_round *round = conn->loop->gathering;
    struct data data = {
        .conn = conn,
        .round = round,
        .command = command,
        .arguments = arguments,
        .first = round->operations,
    };
    if (!sw_round_has_room(round, arguments->count)) {
        SW_COUNT(&conn->loop->counters, round_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_ROUND);
        return false;
    }
    run(&data);
    return true;
}
