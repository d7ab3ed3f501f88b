/* SPDX-License-Identifier: MIT
 *
 * bits.c - commands that compute the new value of one key from its old value: OR, XOR, AND, ANDNOT,
 * CAS, SETNX and GETSET.
 */
#include "client/cli/commands.h"
#include "client/cli/one.h"
#include "client/cli/reply.h"
#include "client/cli/values.h"
#include "proto/operation.h"

/* Prints the new value, computed from the previous value in the server's reply. */
void sw_cli_bits(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t value[SW_CLI_VALUE_WORDS] = {0}, previous[SW_CLI_VALUE_WORDS] = {0};
    bool found = false;
    (void)count;
    if (!sw_cli_value_put(cli, value, 0, words[2]) ||
        !sw_cli_run_one(cli, code, words[1], value, &found, previous)) {
        return;
    }
    for (size_t i = 0; i < SW_CLI_VALUE_WORDS; i++) {
        sw_operation_apply((uint32_t)code, true, previous[i], value[i], UINT64_MAX, &value[i]);
    }
    found |= sw_operation_inserts((uint32_t)code);
    sw_cli_value_reply(cli, found, value, 0);
}

void sw_cli_cas(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t pair[2 * SW_CLI_VALUE_WORDS] = {0};
    bool changed = false;
    (void)count;
    if (sw_cli_value_put(cli, pair, 0, words[2]) && sw_cli_value_put(cli, pair, 1, words[3]) &&
        sw_cli_run_one(cli, code, words[1], pair, &changed, NULL)) {
        sw_cli_reply_integer(cli, changed);
    }
}

void sw_cli_setnx(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t value[SW_CLI_VALUE_WORDS] = {0};
    bool found = false;
    (void)count;
    if (sw_cli_value_put(cli, value, 0, words[2]) &&
        sw_cli_run_one(cli, code, words[1], value, &found, NULL)) {
        sw_cli_reply_integer(cli, !found);
    }
}

void sw_cli_getset(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t value[SW_CLI_VALUE_WORDS] = {0}, previous[SW_CLI_VALUE_WORDS] = {0};
    bool found = false;
    (void)count;
    if (sw_cli_value_put(cli, value, 0, words[2]) &&
        sw_cli_run_one(cli, code, words[1], value, &found, previous)) {
        sw_cli_value_reply(cli, found, previous, 0);
    }
}
