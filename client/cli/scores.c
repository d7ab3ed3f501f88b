/* SPDX-License-Identifier: MIT
 *
 * scores.c - commands on the scores of a cache, and on its epochs.
 */
#include "client/cli/commands.h"
#include "client/cli/numbers.h"
#include "client/cli/reply.h"

void sw_cli_score(struct sw_cli *cli, int code, int count, char **words)
{
    const uint32_t key_bytes = sherwood_server(cli->client)->key_bytes;
    struct sherwood_cache cache = SHERWOOD_CACHE_INIT;
    uint64_t number = 0, key = 0, given = 0, score = 0, found = 0;
    (void)code;
    if (!sw_cli_key(cli, words[1], &number) ||
        (count > 2 && !sw_cli_number(cli, "score", words[2], UINT64_MAX, &given))) {
        return;
    }
    sw_cli_number_put(&key, key_bytes, 0, number);
    cache.scores = count > 2 ? &given : NULL;
    cache.scores_out = &score;
    enum sherwood_operation operation = count > 2 ? SHERWOOD_SET_SCORE : SHERWOOD_PEEK;
    if (sherwood_run_cache(cli->client, operation, &key, NULL, 1, NULL, &found, &cache) !=
        SHERWOOD_OK) {
        sw_cli_library_error(cli);
        return;
    }
    sw_cli_reply_number(cli, (found & 1) != 0, score);
}

void sw_cli_score_range(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t min = 0, max = 0, matched = 0;
    (void)count;
    if (!sw_cli_number(cli, "score", words[1], UINT64_MAX, &min) ||
        !sw_cli_number(cli, "score", words[2], UINT64_MAX, &max)) {
        return;
    }
    int status = code == SW_CLI_ERASE ? sherwood_erase_scores(cli->client, min, max, &matched)
                                      : sherwood_count_scores(cli->client, min, max, &matched);
    if (status == SHERWOOD_OK) {
        sw_cli_reply_integer(cli, matched);
    } else {
        sw_cli_library_error(cli);
    }
}

void sw_cli_epoch(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t epoch = 0, now = 0;
    (void)code;
    if (count > 1 && !sw_cli_number(cli, "epoch", words[1], UINT32_MAX, &epoch)) {
        return;
    }
    if (sherwood_epoch(cli->client, epoch, &now) == SHERWOOD_OK) {
        sw_cli_reply_integer(cli, now);
    } else {
        sw_cli_library_error(cli);
    }
}
