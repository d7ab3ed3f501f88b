/* SPDX-License-Identifier: MIT
 *
 * one.c - runs an operation on one key.
 */
#include "client/cli/one.h"

#include "client/cli/numbers.h"

bool sw_cli_run_timed(struct sw_cli *cli, int operation, const char *key_word, const void *operand,
                      bool *found, void *previous, const struct sherwood_times *times)
{
    uint64_t number = 0;
    uint64_t key = 0;
    uint64_t bits = 0;
    if (!sw_cli_key(cli, key_word, &number)) {
        return false;
    }
    sw_cli_number_put(&key, sherwood_server(cli->client)->key_bytes, 0, number);
    if (sherwood_run_times(cli->client, (enum sherwood_operation)operation, &key, operand, 1,
                           previous, &bits, times) != SHERWOOD_OK) {
        return sw_cli_library_error(cli);
    }
    *found = (bits & 1) != 0;
    return true;
}

bool sw_cli_run_one(struct sw_cli *cli, int operation, const char *key_word, const void *operand,
                    bool *found, void *previous)
{
    return sw_cli_run_timed(cli, operation, key_word, operand, found, previous, NULL);
}
