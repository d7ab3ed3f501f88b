/* SPDX-License-Identifier: MIT
 *
 * data.c - commands on keys.
 */
#include <strings.h>

#include "client/cli/commands.h"
#include "client/cli/numbers.h"
#include "client/cli/one.h"
#include "client/cli/reply.h"
#include "client/cli/times.h"
#include "client/cli/values.h"
#include "proto/operation.h"

static uint64_t value_max(const struct sw_cli *cli)
{
    return sw_cli_width_max(sherwood_server(cli->client)->value_bytes);
}

/* Reads keys from words[0], words[stride], ...; and values, if stride is 2, from the words between.
 */
static bool read_arrays(struct sw_cli *cli, struct sw_cli_arrays *arrays, int stride, char **words)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    for (size_t i = 0; i < arrays->count; i++) {
        uint64_t key = 0;
        char **at = words + i * (size_t)stride;
        if (!sw_cli_key(cli, at[0], &key) ||
            (stride == 2 && !sw_cli_value_put(cli, arrays->values, i, at[1]))) {
            return false;
        }
        sw_cli_number_put(arrays->keys, server->key_bytes, i, key);
    }
    return true;
}

void sw_cli_get(struct sw_cli *cli, int code, int count, char **words)
{
    bool found = false;
    uint64_t value[SW_CLI_VALUE_WORDS];
    (void)count;
    if (sw_cli_run_one(cli, code, words[1], NULL, &found, value)) {
        sw_cli_value_reply(cli, found, value, 0);
    }
}

/* The options of SET after the value. */
struct set_options {
    int operation;
    bool wants_previous;
    struct sherwood_times times;
};

/* Reads the options from words[3] on. If they are wrong, prints an error and returns false. */
static bool set_options(struct sw_cli *cli, struct set_options *options, int count, char **words)
{
    for (int i = 3; i < count; i++) {
        const enum sw_cli_time form = i + 1 < count ? sw_cli_time_option(words[i]) : SW_CLI_NO_TIME;
        const bool is_timed = options->times.when != SHERWOOD_UNSAID;
        if (strcasecmp(words[i], "GET") == 0) {
            options->wants_previous = true;
        } else if (strcasecmp(words[i], "NX") == 0 && options->operation != SHERWOOD_SET_PRESENT) {
            options->operation = SHERWOOD_SET_ABSENT;
        } else if (strcasecmp(words[i], "XX") == 0 && options->operation != SHERWOOD_SET_ABSENT) {
            options->operation = SHERWOOD_SET_PRESENT;
        } else if (strcasecmp(words[i], "KEEPTTL") == 0 && !is_timed) {
            options->times.when = SHERWOOD_KEEP;
        } else if (form != SW_CLI_NO_TIME && !is_timed) {
            if (!sw_cli_time_read(cli, form, words[++i], true, &options->times)) {
                return false;
            }
        } else {
            sw_cli_reply_error(cli, "ERR syntax error: SET key value [NX|XX] [GET] [EX n|PX n|"
                                    "EXAT n|PXAT n|KEEPTTL]");
            return false;
        }
    }
    if (options->operation == SHERWOOD_SET_ABSENT && options->times.when == SHERWOOD_KEEP) {
        options->times.when = SHERWOOD_UNSAID; /* a new key has no time to keep */
    }
    return true;
}

void sw_cli_set(struct sw_cli *cli, int code, int count, char **words)
{
    struct set_options options = {.operation = code, .times = SHERWOOD_TIMES_INIT};
    if (!set_options(cli, &options, count, words)) {
        return;
    }
    code = options.operation;
    uint64_t value[SW_CLI_VALUE_WORDS];
    uint64_t previous[SW_CLI_VALUE_WORDS];
    bool found = false;
    if (!sw_cli_value_put(cli, value, 0, words[2]) ||
        !sw_cli_run_timed(cli, code, words[1], value, &found, previous, &options.times)) {
        return;
    }
    bool done = code == SHERWOOD_SET || found == (code == SHERWOOD_SET_PRESENT);
    if (options.wants_previous) {
        sw_cli_value_reply(cli, found, previous, 0);
    } else if (done) {
        sw_cli_reply_status(cli, "OK");
    } else {
        sw_cli_reply_number(cli, false, 0);
    }
}

/* Runs INCR, DECR (by 1), INCRBY, DECRBY, SUM, MIN and MAX, and prints the new value. */
void sw_cli_combine(struct sw_cli *cli, int code, int count, char **words)
{
    uint32_t width = sherwood_server(cli->client)->value_bytes;
    uint64_t operand = 1;
    uint64_t value = 0;
    uint64_t previous = 0;
    uint64_t now = 0;
    bool found = false;
    if (!sw_cli_values_are_numbers(cli)) {
        sw_cli_reply_error(cli,
                           "ERR %s needs values that are integers: start the server with --engine "
                           "robin_hood and without --value-bytes%s",
                           words[0],
                           sherwood_server(cli->client)->value_format == SHERWOOD_VALUES_STRING
                               ? "; redis-cli counts in strings"
                               : "");
        return;
    }
    if (count == 3 && !sw_cli_number(cli, "value", words[2], value_max(cli), &operand)) {
        return;
    }
    sw_cli_number_put(&value, width, 0, operand);
    if (!sw_cli_run_one(cli, code, words[1], &value, &found, &previous)) {
        return;
    }
    previous = sw_cli_number_at(&previous, width, 0);
    if (!found && !sw_operation_inserts((uint32_t)code)) {
        sw_cli_value_reply(cli, false, &previous, 0);
    } else if (sw_operation_apply((uint32_t)code, found, previous, operand, value_max(cli), &now)) {
        sw_cli_reply_integer(cli, now);
    } else {
        sw_cli_reply_error(cli, sw_operation_inserts((uint32_t)code)
                                    ? "ERR increment or decrement would overflow"
                                    : "ERR the result would overflow");
    }
}

/* Runs an operation on all keys at once. Calls `print` for each of them, in order. */
static void run_keys(struct sw_cli *cli, int code, int count, char **words,
                     void (*print)(struct sw_cli *cli, const struct sw_cli_arrays *arrays,
                                   size_t i))
{
    struct sw_cli_arrays arrays;
    if (!sw_cli_arrays_init(cli, &arrays, (size_t)count - 1)) {
        return;
    }
    if (read_arrays(cli, &arrays, 1, words + 1)) {
        if (sherwood_run(cli->client, (enum sherwood_operation)code, arrays.keys, NULL,
                         arrays.count, arrays.values, arrays.found) != SHERWOOD_OK) {
            sw_cli_library_error(cli);
        } else {
            for (size_t i = 0; i < arrays.count; i++) {
                sw_cli_reply_place(cli, 0, i, arrays.count);
                print(cli, &arrays, i);
            }
        }
    }
    sw_cli_arrays_fini(&arrays);
}

static void print_value(struct sw_cli *cli, const struct sw_cli_arrays *arrays, size_t i)
{
    sw_cli_value_reply(cli, sherwood_found(arrays->found, i), arrays->values, i);
}

void sw_cli_mget(struct sw_cli *cli, int code, int count, char **words)
{
    run_keys(cli, code, count, words, print_value);
}

/* Prints the id of a key, and 1 if the id is new, else 0. */
static void print_id(struct sw_cli *cli, const struct sw_cli_arrays *arrays, size_t i)
{
    char line[32];
    const uint32_t width = sherwood_server(cli->client)->value_bytes;
    snprintf(line, sizeof(line), "%llu %d",
             (unsigned long long)sw_cli_number_at(arrays->values, width, i),
             !sherwood_found(arrays->found, i));
    sw_cli_reply_status(cli, line);
}

void sw_cli_assign(struct sw_cli *cli, int code, int count, char **words)
{
    run_keys(cli, code, count, words, print_id);
}

/* Prints 1 if the key is new, else 0. */
static void print_new(struct sw_cli *cli, const struct sw_cli_arrays *arrays, size_t i)
{
    sw_cli_reply_integer(cli, !sherwood_found(arrays->found, i));
}

void sw_cli_insert(struct sw_cli *cli, int code, int count, char **words)
{
    if (sherwood_server(cli->client)->value_type != SHERWOOD_NONE) {
        sw_cli_reply_error(cli, "ERR INSERT needs keys without values: start the server with "
                                "--engine robin_hood --value-type none");
        return;
    }
    run_keys(cli, code, count, words, print_new);
}

void sw_cli_mset(struct sw_cli *cli, int code, int count, char **words)
{
    struct sw_cli_arrays arrays;
    if (count % 2 == 0) {
        sw_cli_reply_error(cli, "ERR wrong number of arguments for 'mset' command");
        return;
    }
    if (!sw_cli_arrays_init(cli, &arrays, (size_t)(count - 1) / 2)) {
        return;
    }
    if (read_arrays(cli, &arrays, 2, words + 1)) {
        if (sherwood_run(cli->client, (enum sherwood_operation)code, arrays.keys, arrays.values,
                         arrays.count, NULL, NULL) == SHERWOOD_OK) {
            sw_cli_reply_status(cli, "OK");
        } else {
            sw_cli_library_error(cli);
        }
    }
    sw_cli_arrays_fini(&arrays);
}

/* Prints the number of present keys before the first absent one. */
void sw_cli_prefix(struct sw_cli *cli, int code, int count, char **words)
{
    struct sw_cli_arrays arrays;
    size_t present = 0;
    (void)code;
    if (!sw_cli_arrays_init(cli, &arrays, (size_t)count - 1)) {
        return;
    }
    if (read_arrays(cli, &arrays, 1, words + 1)) {
        if (sherwood_prefix(cli->client, arrays.keys, arrays.count, &present) == SHERWOOD_OK) {
            sw_cli_reply_integer(cli, present);
        } else {
            sw_cli_library_error(cli);
        }
    }
    sw_cli_arrays_fini(&arrays);
}

/* Runs DEL and EXISTS, and prints how many of the keys were present. */
void sw_cli_count(struct sw_cli *cli, int code, int count, char **words)
{
    struct sw_cli_arrays arrays;
    if (!sw_cli_arrays_init(cli, &arrays, (size_t)count - 1)) {
        return;
    }
    if (read_arrays(cli, &arrays, 1, words + 1)) {
        if (sherwood_run(cli->client, (enum sherwood_operation)code, arrays.keys, NULL,
                         arrays.count, NULL, arrays.found) == SHERWOOD_OK) {
            uint64_t hits = 0;
            for (size_t i = 0; i < sherwood_found_words(arrays.count); i++) {
                hits += (uint64_t)__builtin_popcountll(arrays.found[i]);
            }
            sw_cli_reply_integer(cli, hits);
        } else {
            sw_cli_library_error(cli);
        }
    }
    sw_cli_arrays_fini(&arrays);
}
