/* SPDX-License-Identifier: MIT
 *
 * load.c - sherwood-cli load: stores the pairs of a file in the order of the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/pairs.h"
#include "client/cli/progress.h"
#include "client/cli/values.h"
#include "client/endpoints.h"
#include "client/sherwood-replicas.h"

/* A batch goes to another primary at most this many times. */
#define FOLLOWS_MAX 4

struct batch {
    struct sherwood_request request;
    void *keys;
    void *values;
    size_t count;
    uint64_t line_first, line_last;
    bool flying;
};

struct load {
    struct sw_cli *cli;
    struct sw_cli_pairs_reader *reader;
    struct sw_cli_progress progress;
    struct batch batches[2];
    uint32_t batch_keys;
    uint64_t whole_bytes; /* of the file; 0 if unknown */
    uint64_t stored;      /* pairs that the server has acknowledged */
    bool follows;         /* there are several addresses, so the tool follows a fail-over */
};

static bool init(struct load *load)
{
    const struct sherwood_server *server = sherwood_server(load->cli->client);
    uint32_t limit = server->frame_ops_max;
    load->batch_keys = limit < SW_CLI_FRAME_KEYS ? limit : SW_CLI_FRAME_KEYS;
    for (int i = 0; i < 2; i++) {
        struct batch *batch = &load->batches[i];
        batch->keys = malloc((size_t)load->batch_keys * server->key_bytes);
        batch->values = malloc((size_t)load->batch_keys * server->value_bytes);
        if (batch->keys == NULL || batch->values == NULL) {
            fprintf(load->cli->messages, "sherwood-cli: not enough memory for the batches\n");
            return false;
        }
    }
    return true;
}

static void fini(struct load *load)
{
    for (int i = 0; i < 2; i++) {
        free(load->batches[i].keys);
        free(load->batches[i].values);
    }
}

/* Sends a batch to the primary after a replica refused it, if there are several addresses. The
 * refused batch stored nothing. Returns the status of the batch. */
static int follow(struct load *load, struct batch *batch, int status)
{
    struct sherwood *client = load->cli->client;
    for (int i = 0; i < FOLLOWS_MAX && status == SHERWOOD_E_SHARD && load->follows; i++) {
        status = sherwood_follow(client);
        if (status == SHERWOOD_OK) {
            status = sherwood_submit(client, &batch->request);
        }
        if (status == SHERWOOD_OK) {
            status = sherwood_wait(client, &batch->request);
        }
    }
    return status;
}

/* Waits for the reply to a batch, if one is in flight. Returns false with the reason printed if the
 * server refused the batch or the connection ended. */
static bool settle(struct load *load, struct batch *batch)
{
    if (!batch->flying) {
        return true;
    }
    batch->flying = false;
    int status = sherwood_wait(load->cli->client, &batch->request);
    status = follow(load, batch, status);
    if (status == SHERWOOD_OK) {
        load->stored += batch->request.count;
        return true;
    }
    const char *unit = load->reader->format == SW_CLI_FORMAT_CSV ? "lines" : "pairs";
    const char *text = sherwood_error(load->cli->client);
    fprintf(load->cli->messages, "sherwood-cli: %s %" PRIu64 " to %" PRIu64 " of %s: %s%s\n", unit,
            batch->line_first, batch->line_last, load->reader->name, text,
            sw_cli_cluster_hint(load->cli, text));
    if (status == SHERWOOD_E_FULL) {
        fprintf(load->cli->messages, "sherwood-cli: delete keys, or start sherwoodd with a larger "
                                     "table (--max-capacity), then load again\n");
    }
    return false;
}

/* Fills a batch from the file. Returns false if the file cannot be read, or has a bad line. */
static bool fill(struct load *load, struct batch *batch)
{
    struct sw_cli_pairs_reader *reader = load->reader;
    batch->line_first = reader->line + 1;
    batch->count = sw_cli_pairs_read(reader, batch->keys, batch->values, load->batch_keys);
    batch->line_last = reader->line;
    if (reader->error != 0) {
        fprintf(load->cli->messages, "sherwood-cli: %s: %s\n", reader->name,
                strerror(reader->error));
        return false;
    }
    return reader->bad == 0;
}

static bool send_batch(struct load *load, struct batch *batch)
{
    batch->request = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                               .operation = SHERWOOD_SET,
                                               .count = (uint32_t)batch->count,
                                               .keys = batch->keys,
                                               .values = batch->values};
    if (sherwood_submit(load->cli->client, &batch->request) != SHERWOOD_OK) {
        fprintf(load->cli->messages, "sherwood-cli: %s\n", sherwood_error(load->cli->client));
        return false;
    }
    batch->flying = true;
    return true;
}

/* Sends one batch at a time, and reads the next from the file meanwhile. With two in flight, the
 * server could store the second after it refused the first. Then the table would not have a
 * beginning of the file. */
static bool load_batches(struct load *load)
{
    struct batch *next = &load->batches[0], *sent = &load->batches[1];
    for (;;) {
        bool is_good = fill(load, next);
        is_good = settle(load, sent) && is_good;
        sw_cli_progress_update(&load->progress, load->reader->read_bytes, load->whole_bytes,
                               load->stored);
        if (!is_good || next->count == 0) {
            return is_good;
        }
        if (!send_batch(load, next)) {
            return false;
        }
        struct batch *swap = next;
        next = sent;
        sent = swap;
    }
}

static bool load_file(struct sw_cli *cli, int fd, const char *name, enum sw_cli_format format)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    struct stat facts;
    struct load load = {.cli = cli, .reader = calloc(1, sizeof(*load.reader))};
    load.follows = !cli->options->cluster && sw_client_is_list(cli->options->address);
    bool good = false;
    if (load.reader == NULL) {
        fprintf(cli->messages, "sherwood-cli: not enough memory\n");
        return false;
    }
    *load.reader = (struct sw_cli_pairs_reader){.format = format,
                                                .key_bytes = server->key_bytes,
                                                .value_bytes = server->value_bytes,
                                                .has_rows = !sw_cli_values_are_numbers(cli),
                                                .rows = sw_cli_format_of_rows(cli),
                                                .fd = fd,
                                                .messages = cli->messages,
                                                .name = name,
                                                .quiet = cli->options->quiet};
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
        load.whole_bytes = (uint64_t)facts.st_size;
    }
    sw_cli_progress_start(&load.progress, cli->messages, "loaded", cli->options->quiet);
    if (init(&load)) {
        good = load_batches(&load);
        sw_cli_progress_finish(&load.progress, load.stored, good);
    }
    if (!good) {
        fprintf(cli->messages,
                "sherwood-cli: load stopped; pairs known to be stored: %" PRIu64
                "; loading the whole file again later is safe\n",
                load.stored);
    }
    fini(&load);
    free(load.reader);
    return good;
}

int sw_cli_load(struct sw_cli *cli, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "stdin" : path;
    enum sw_cli_format format = cli->options->format;
    if (format == SW_CLI_FORMAT_UNKNOWN) {
        format = sw_cli_format_of_path(path);
    }
    if (format == SW_CLI_FORMAT_UNKNOWN) {
        sw_cli_format_unknown(cli, name);
        return 1;
    }
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fprintf(cli->messages, "sherwood-cli: %s: %s: name a file that this user can read\n", path,
                strerror(errno));
        return 1;
    }
    bool good = sw_cli_connect(cli) && sw_cli_enter_table(cli) &&
                load_file(cli, fd, name, format) && sw_cli_swap_table(cli);
    if (!is_stdin) {
        close(fd);
    }
    return good ? 0 : 1;
}
