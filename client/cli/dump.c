/* SPDX-License-Identifier: MIT
 *
 * dump.c - sherwood-cli dump: writes every pair of the table to a file, which keeps its old
 * contents until the dump is complete.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/output.h"
#include "client/cli/pairs.h"
#include "client/cli/progress.h"
#include "client/cli/values.h"

struct dump {
    struct sw_cli *cli;
    FILE *out;
    struct sw_cli_output output; /* the output that owns `out`; not open if `out` is stdout */
    const char *name;
    enum sw_cli_format format;
    void *keys;
    void *values;
    uint32_t frame_keys;
    uint64_t written;
};

static bool complain(const struct dump *dump, const char *text)
{
    fprintf(dump->cli->messages, "sherwood-cli: %s: %s; %s\n", dump->name, text,
            dump->output.beside != NULL ? "the file was not replaced"
                                        : "the output is not complete");
    return false;
}

static bool write_pairs(const struct dump *dump, uint32_t count)
{
    const struct sherwood_server *server = sherwood_server(dump->cli->client);
    const struct sw_cli_row_format rows = sw_cli_format_of_rows(dump->cli);
    if (dump->format == SW_CLI_FORMAT_CSV && !sw_cli_values_are_numbers(dump->cli)) {
        return sw_cli_rows_write(dump->out, &rows, server->key_bytes, dump->keys, dump->values,
                                 count);
    }
    return sw_cli_pairs_write(dump->out, dump->format, server->key_bytes, server->value_bytes,
                              dump->keys, dump->values, count);
}

static bool dump_entries(struct dump *dump, struct sw_cli_progress *progress, uint64_t whole)
{
    struct sherwood *client = dump->cli->client;
    uint64_t cursor = 0;
    do {
        uint32_t count = 0;
        if (sherwood_scan(client, &cursor, dump->keys, dump->values, dump->frame_keys, &count) !=
            SHERWOOD_OK) {
            return complain(dump, sherwood_error(client));
        }
        if (!write_pairs(dump, count)) {
            return complain(dump, strerror(errno));
        }
        dump->written += count;
        sw_cli_progress_update(progress, dump->written, whole, dump->written);
    } while (cursor != 0);
    return fflush(dump->out) == 0 || complain(dump, strerror(errno));
}

static bool dump_to(struct dump *dump)
{
    struct sw_cli *cli = dump->cli;
    const struct sherwood_server *server = sherwood_server(cli->client);
    struct sherwood_stats stats;
    bool good = false;
    if (sherwood_stats(cli->client, &stats, sizeof(stats)) != SHERWOOD_OK) {
        return complain(dump, sherwood_error(cli->client));
    }
    uint32_t limit = server->frame_ops_max;
    dump->frame_keys = limit < SW_CLI_FRAME_KEYS ? limit : SW_CLI_FRAME_KEYS;
    dump->keys = malloc((size_t)dump->frame_keys * server->key_bytes);
    dump->values = malloc((size_t)dump->frame_keys * server->value_bytes);
    if (dump->keys == NULL || dump->values == NULL) {
        complain(dump, "not enough memory");
    } else {
        struct sw_cli_progress progress;
        sw_cli_progress_start(&progress, cli->messages, "dumped", cli->options->quiet);
        good = dump_entries(dump, &progress, stats.occupied);
        sw_cli_progress_finish(&progress, dump->written, good);
    }
    free(dump->keys);
    free(dump->values);
    return good;
}

int sw_cli_dump(struct sw_cli *cli, const char *path)
{
    bool is_stdout = strcmp(path, "-") == 0;
    struct dump dump = {.cli = cli, .name = is_stdout ? "stdout" : path};
    dump.format = cli->options->format;
    if (dump.format == SW_CLI_FORMAT_UNKNOWN) {
        dump.format = is_stdout ? SW_CLI_FORMAT_CSV : sw_cli_format_of_path(path);
    }
    if (dump.format == SW_CLI_FORMAT_UNKNOWN) {
        sw_cli_format_unknown(cli, path);
        return 1;
    }
    if (!sw_cli_connect(cli)) {
        return 1;
    }
    if (!is_stdout && !sw_cli_output_open(&dump.output, path)) {
        fprintf(cli->messages, "sherwood-cli: %s: %s\n", path, strerror(errno));
        return 1;
    }
    dump.out = is_stdout ? cli->out : dump.output.file;
    bool good = dump_to(&dump);
    if (!is_stdout && good && !sw_cli_output_settle(&dump.output)) {
        good = complain(&dump, strerror(errno));
    }
    if (!is_stdout && !sw_cli_output_end(&dump.output, good) && good) {
        good = complain(&dump, strerror(errno));
    }
    return good ? 0 : 1;
}
