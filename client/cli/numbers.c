/* SPDX-License-Identifier: MIT
 *
 * numbers.c - reads numbers from words, and allocates arrays of the server's width.
 */
#include "client/cli/numbers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/cli/reply.h"
#include "proto/decimal.h"
#include "proto/plural.h"

bool sw_cli_number(struct sw_cli *cli, const char *what, const char *word, uint64_t max,
                   uint64_t *out)
{
    return sw_cli_number_or(cli, what, word, max, "", out);
}

bool sw_cli_number_or(struct sw_cli *cli, const char *what, const char *word, uint64_t max,
                      const char *remedy, uint64_t *out)
{
    if (sw_decimal_parse((const uint8_t *)word, strlen(word), max, out)) {
        return true;
    }
    sw_cli_reply_error(
        cli, "ERR %s \"%.40s\" is not an unsigned integer or out of range (0 to %" PRIu64 ")%s",
        what, word, max, remedy);
    return false;
}

/* Returns what a user of text keys can do. */
static const char *remedy_of_texts(const struct sw_cli *cli)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    if (cli->options->cluster) {
        return "; a cluster has no string keys: use integers";
    }
    if (server->resp_keys == SHERWOOD_RESP_KEYS_HASH) {
        return "; redis-cli writes the string keys of this server";
    }
    return server->key_bytes == sizeof(uint64_t)
               ? "; for string keys start the server with --resp-keys auto"
               : "; for string keys start the server with --key-bits 64";
}

bool sw_cli_key(struct sw_cli *cli, const char *word, uint64_t *out)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    if (server->resp_keys == SHERWOOD_RESP_KEYS_AUTO) {
        *out = sherwood_text_key(word, strlen(word));
        return true;
    }
    if (server->resp_keys == SHERWOOD_RESP_KEYS_HASH && !cli->warned_of_hashes &&
        !cli->options->quiet) {
        fprintf(cli->messages,
                "sherwood-cli: redis clients of this server hash their keys (--resp-keys hash), "
                "this program does not: key %.40s is another key to them (-q: no warning)\n",
                word);
        cli->warned_of_hashes = true;
    }
    return sw_cli_number_or(cli, "key", word, sw_cli_width_max(server->key_bytes),
                            remedy_of_texts(cli), out);
}

bool sw_cli_arrays_init(struct sw_cli *cli, struct sw_cli_arrays *arrays, size_t count)
{
    *arrays = (struct sw_cli_arrays){.count = count};
    arrays->keys = calloc(count, sizeof(uint64_t));
    arrays->values = calloc(count, sherwood_server(cli->client)->value_bytes);
    arrays->found = calloc(sherwood_found_words(count), sizeof(uint64_t));
    if (arrays->keys == NULL || arrays->values == NULL || arrays->found == NULL) {
        sw_cli_arrays_fini(arrays);
        sw_cli_reply_error(cli, "ERR not enough memory for %zu key%s", count, sw_plural_s(count));
        return false;
    }
    return true;
}

void sw_cli_arrays_fini(struct sw_cli_arrays *arrays)
{
    free(arrays->keys);
    free(arrays->values);
    free(arrays->found);
    *arrays = (struct sw_cli_arrays){0};
}
