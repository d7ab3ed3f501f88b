/* SPDX-License-Identifier: MIT
 *
 * snapshot.c - sherwood-cli snapshot: info, verify and export of a file, and load into a server.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "client/cli/cli.h"
#include "client/cli/numbers.h"
#include "client/cli/output.h"
#include "client/cli/pairs.h"
#include "client/cli/progress.h"
#include "client/cli/rows.h"
#include "client/cli/snapshot_read.h"
#include "client/error.h"
#include "proto/key_form.h"
#include "proto/plural.h"
#include "proto/value_type.h"

#define PATH_BYTES 4096

/* --- info and verify -------------------------------------------------------------------------- */

static bool expires(const struct sw_snapshot_header *header)
{
    return (header->columns & SW_SNAPSHOT_TIMES) != 0;
}

static void print_facts(FILE *out, const struct sw_cli_snapshot *snapshot)
{
    static const char *const engines[] = {"robin_hood", "cuckoo", "cache"};
    static const char *const policies[] = {"lru", "lfu", "epoch-lru", "epoch-lfu", "custom"};
    const struct sw_snapshot_header *header = &snapshot->header;
    char when[40] = "";
    struct tm utc;
    time_t seconds = (time_t)(header->wall_us / 1000000);
    if (gmtime_r(&seconds, &utc) != NULL) {
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    fprintf(out, "keys:%" PRIu64 "\nkey_bytes:%u\nvalue_bytes:%u\nvalue_format:%s\n",
            header->entries, header->key_bytes, header->value_bytes - header->key_text_bytes,
            sw_frame_values_name(header->value_format));
    if (header->value_type != SW_TYPE_BYTES) {
        fprintf(out, "value_type:%s\n", sw_value_type_name(header->value_type));
    }
    if (header->key_form != 0) {
        fprintf(out, "resp_keys:%s\n", sw_key_form_name(header->key_form));
    }
    if (header->key_text_bytes > 0) {
        fprintf(out, "key_text_bytes:%u\n", header->key_text_bytes);
    }
    fprintf(out, "engine:%s\ncapacity_slots:%" PRIu64 "\nsequence:%" PRIu64 "\ntaken_at:%s\n",
            engines[header->engine], header->capacity, header->sequence, when);
    if ((header->columns & SW_SNAPSHOT_SCORES) != 0) {
        fprintf(out, "policy:%s\nepoch:%" PRIu64 "\n", policies[header->policy], header->epoch);
    }
    if (expires(header)) {
        fprintf(out, "expires:yes\n");
    }
    char writer[sizeof(header->writer)];
    sw_client_clean(header->writer, sizeof(header->writer), writer, sizeof(writer));
    fprintf(out, "blocks:%" PRIu64 "\nbytes:%" PRIu64 "\nwriter:%s\n", sw_snapshot_blocks(header),
            snapshot->file_bytes, writer);
}

/* The function for each block. Returns false to stop, with the reason printed. */
typedef bool each_block(void *context, const struct sw_cli_snapshot *snapshot);

/* Reads all blocks. Returns true if the whole file is sound and `each` returned true for every
 * block. */
static bool read_all(struct sw_cli *cli, struct sw_cli_snapshot *snapshot, const char *verb,
                     each_block *each, void *context)
{
    struct sw_cli_progress progress;
    uint64_t done = 0;
    int more;
    sw_cli_progress_start(&progress, cli->messages, verb, cli->options->quiet);
    while ((more = sw_cli_snapshot_next(snapshot)) > 0 && each(context, snapshot)) {
        done += snapshot->entries;
        sw_cli_progress_update(&progress, done, snapshot->header.entries, done);
    }
    sw_cli_progress_finish(&progress, done, more == 0);
    return more == 0;
}

static bool verify_only(void *context, const struct sw_cli_snapshot *snapshot)
{
    (void)context;
    (void)snapshot;
    return true;
}

static int run_info(struct sw_cli *cli, struct sw_cli_snapshot *snapshot, const char *unused)
{
    (void)unused;
    print_facts(cli->out, snapshot);
    return 0;
}

static int run_verify(struct sw_cli *cli, struct sw_cli_snapshot *snapshot, const char *unused)
{
    (void)unused;
    if (!read_all(cli, snapshot, "verified", verify_only, NULL)) {
        return 1;
    }
    const uint64_t blocks = sw_snapshot_blocks(&snapshot->header);
    fprintf(cli->out, "%s is whole: %" PRIu64 " key%s in %" PRIu64 " block%s\n", snapshot->path,
            snapshot->header.entries, sw_plural_s(snapshot->header.entries), blocks,
            sw_plural_s(blocks));
    return 0;
}

/* --- export ----------------------------------------------------------------------------------- */

enum { KEYS, VALUES, SCORES, TIMES, COLUMNS };

struct columns {
    struct sw_cli *cli;
    FILE *csv; /* for a CSV file, instead of the outputs */
    struct sw_cli_output outputs[COLUMNS];
};

static bool write_csv(void *context, const struct sw_cli_snapshot *snapshot)
{
    struct columns *columns = context;
    const struct sw_snapshot_header *header = &snapshot->header;
    const void *keys = sw_cli_snapshot_column(snapshot, SW_SNAPSHOT_KEYS);
    const void *values = sw_cli_snapshot_column(snapshot, SW_SNAPSHOT_VALUES);
    const struct sw_cli_row_format format = {header->value_format, header->value_type,
                                             header->value_bytes};
    bool written = header->value_format == SW_FRAME_VALUES_INTEGER
                       ? sw_cli_pairs_write(columns->csv, SW_CLI_FORMAT_CSV, header->key_bytes,
                                            header->value_bytes, keys, values, snapshot->entries)
                       : sw_cli_rows_write(columns->csv, &format, header->key_bytes, keys, values,
                                           snapshot->entries);
    if (!written) {
        fprintf(columns->cli->messages, "sherwood-cli: cannot write the CSV: %s\n",
                strerror(errno));
        return false;
    }
    return true;
}

static bool complain(struct sw_cli *cli, const char *path)
{
    fprintf(cli->messages, "sherwood-cli: %s: %s\n", path, strerror(errno));
    return false;
}

static int export_csv(struct sw_cli *cli, struct sw_cli_snapshot *snapshot, const char *path)
{
    bool is_stdout = strcmp(path, "-") == 0;
    struct columns columns = {.cli = cli, .csv = cli->out};
    struct sw_cli_output *output = &columns.outputs[KEYS];
    if (!is_stdout && !sw_cli_output_open(output, path)) {
        complain(cli, path);
        return 1;
    }
    columns.csv = is_stdout ? cli->out : output->file;
    bool good = read_all(cli, snapshot, "exported", write_csv, &columns);
    bool written = is_stdout ? fflush(cli->out) == 0 : sw_cli_output_end(output, good);
    if (good && !written) {
        good = complain(cli, path);
    }
    return good ? 0 : 1;
}

static bool write_columns(void *context, const struct sw_cli_snapshot *snapshot)
{
    struct columns *columns = context;
    const struct sw_snapshot_header *header = &snapshot->header;
    static const uint32_t parts[] = {SW_SNAPSHOT_KEYS, SW_SNAPSHOT_VALUES, SW_SNAPSHOT_SCORES,
                                     SW_SNAPSHOT_TIMES};
    const size_t widths[] = {header->key_bytes, header->value_bytes, 8, 8};
    const size_t count = snapshot->entries;
    for (int i = 0; i < COLUMNS; i++) {
        FILE *file = columns->outputs[i].file;
        if (file != NULL &&
            fwrite(sw_cli_snapshot_column(snapshot, parts[i]), widths[i], count, file) != count) {
            return complain(columns->cli, "cannot write a column");
        }
    }
    return true;
}

static const char *ending_of_integers(uint32_t bytes)
{
    return bytes == 4 ? "u32" : "u64";
}

static const char *ending_of_values(const struct sw_snapshot_header *header)
{
    return header->value_format == SW_FRAME_VALUES_INTEGER ? ending_of_integers(header->value_bytes)
           : sw_value_type_bytes(header->value_type) > 0   ? sw_value_type_name(header->value_type)
                                                           : "bytes";
}

/* Opens DIR/name.ending. */
static bool open_column(struct sw_cli *cli, struct sw_cli_output *output, const char *folder,
                        const char *name, const char *ending)
{
    char path[PATH_BYTES];
    int size = snprintf(path, sizeof(path), "%s/%s.%s", folder, name, ending);
    errno = ENAMETOOLONG;
    return (size < (int)sizeof(path) && sw_cli_output_open(output, path)) || complain(cli, path);
}

/* Gives all columns their final names if all are on storage; otherwise removes them. */
static bool end_columns(struct columns *columns, bool good)
{
    for (int i = 0; i < COLUMNS && good; i++) {
        struct sw_cli_output *output = &columns->outputs[i];
        good = output->file == NULL || sw_cli_output_settle(output) ||
               complain(columns->cli, "cannot write a column");
    }
    for (int i = 0; i < COLUMNS; i++) {
        struct sw_cli_output *output = &columns->outputs[i];
        if (output->file != NULL && !sw_cli_output_end(output, good) && good) {
            good = complain(columns->cli, "cannot write a column");
        }
    }
    return good;
}

static int export_columns(struct sw_cli *cli, struct sw_cli_snapshot *snapshot, const char *folder)
{
    const struct sw_snapshot_header *header = &snapshot->header;
    bool has_scores = (header->columns & SW_SNAPSHOT_SCORES) != 0, has_times = expires(header);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        complain(cli, folder);
        return 1;
    }
    struct columns columns = {.cli = cli};
    struct sw_cli_output *outputs = columns.outputs;
    const char *const words = ending_of_integers(8);
    bool good =
        open_column(cli, &outputs[KEYS], folder, "keys", ending_of_integers(header->key_bytes)) &&
        (header->value_bytes == 0 ||
         open_column(cli, &outputs[VALUES], folder, "values", ending_of_values(header))) &&
        (!has_scores || open_column(cli, &outputs[SCORES], folder, "scores", words)) &&
        (!has_times || open_column(cli, &outputs[TIMES], folder, "expires", words)) &&
        read_all(cli, snapshot, "exported", write_columns, &columns);
    return end_columns(&columns, good) ? 0 : 1;
}

/* Prints an error for snapshots with key strings. No export format has key strings, and the frames
 * of load have none either. Returns whether the snapshot has them. */
static bool refuse_texts(struct sw_cli *cli, const struct sw_cli_snapshot *snapshot)
{
    if (snapshot->header.key_text_bytes > 0) {
        fprintf(cli->messages,
                "sherwood-cli: %s has rows with key strings (--resp-key-text-bytes), which only a "
                "server reads: put the file into its --data-dir\n",
                snapshot->path);
    }
    return snapshot->header.key_text_bytes > 0;
}

static int run_export(struct sw_cli *cli, struct sw_cli_snapshot *snapshot, const char *to)
{
    if (refuse_texts(cli, snapshot)) {
        return 1;
    }
    bool is_csv = strcmp(to, "-") == 0 || sw_cli_format_of_path(to) == SW_CLI_FORMAT_CSV;
    return is_csv ? export_csv(cli, snapshot, to) : export_columns(cli, snapshot, to);
}

/* --- load ------------------------------------------------------------------------------------- */

/* Copies elements to an array of elements of the same or a larger width; zeros fill the rest of
 * each. */
static void copy_wide(uint8_t *to, uint32_t to_bytes, const uint8_t *from, uint32_t from_bytes,
                      size_t count)
{
    memset(to, 0, count * to_bytes);
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * to_bytes, from + i * from_bytes, from_bytes);
    }
}

struct arrays {
    struct sw_cli *cli;
    uint8_t *keys, *values; /* of a full block, in the server's widths */
};

static bool store(void *context, const struct sw_cli_snapshot *snapshot)
{
    const struct arrays *arrays = context;
    const struct sw_snapshot_header *header = &snapshot->header;
    struct sherwood *client = arrays->cli->client;
    const struct sherwood_server *server = sherwood_server(client);
    copy_wide(arrays->keys, server->key_bytes, sw_cli_snapshot_column(snapshot, SW_SNAPSHOT_KEYS),
              header->key_bytes, snapshot->entries);
    copy_wide(arrays->values, server->value_bytes,
              sw_cli_snapshot_column(snapshot, SW_SNAPSHOT_VALUES), header->value_bytes,
              snapshot->entries);
    if (sherwood_set(client, arrays->keys, arrays->values, snapshot->entries) != SHERWOOD_OK) {
        fprintf(arrays->cli->messages,
                "sherwood-cli: block %" PRIu64 " of %s: %s; the blocks before it are stored\n",
                snapshot->number - 1, snapshot->path, sherwood_error(client));
        return false;
    }
    return true;
}

static bool fits(struct sw_cli *cli, const struct sw_cli_snapshot *snapshot)
{
    const struct sw_snapshot_header *header = &snapshot->header;
    const struct sherwood_server *server = sherwood_server(cli->client);
    bool same = header->value_format == (uint32_t)server->value_format;
    bool fixed = header->value_format == SW_FRAME_VALUES_FIXED;
    if (!sw_value_types_fit(header->value_type, (uint32_t)server->value_type)) {
        fprintf(cli->messages,
                "sherwood-cli: %s has rows of %s, but the server has rows of %s: load it into a "
                "server with the same --value-type\n",
                snapshot->path, sw_value_type_name(header->value_type),
                sw_value_type_name((uint32_t)server->value_type));
        return false;
    }
    if (expires(header)) {
        fprintf(cli->messages,
                "sherwood-cli: %s has keys that expire, which load cannot store: put the file into "
                "the --data-dir of a server\n",
                snapshot->path);
        return false;
    }
    if (same && header->key_bytes <= server->key_bytes &&
        (fixed ? header->value_bytes == server->value_bytes
               : header->value_bytes <= server->value_bytes)) {
        return true;
    }
    fprintf(cli->messages,
            "sherwood-cli: %s has keys of %u bytes and %s values of %u bytes, which do not fit the "
            "keys of %u bytes and %s values of %u bytes of the server\n",
            snapshot->path, header->key_bytes, sw_frame_values_name(header->value_format),
            header->value_bytes, server->key_bytes,
            sw_frame_values_name((uint32_t)server->value_format), server->value_bytes);
    return false;
}

static int run_load(struct sw_cli *cli, struct sw_cli_snapshot *snapshot, const char *unused)
{
    (void)unused;
    if (refuse_texts(cli, snapshot) || !sw_cli_connect(cli) || !fits(cli, snapshot)) {
        return 1;
    }
    const struct sherwood_server *server = sherwood_server(cli->client);
    const size_t most = snapshot->header.block_entries;
    struct arrays arrays = {cli, malloc(most * server->key_bytes),
                            malloc(most * server->value_bytes)};
    bool good = false;
    if (arrays.keys == NULL || arrays.values == NULL) {
        fprintf(cli->messages, "sherwood-cli: not enough memory for a block\n");
    } else {
        good = read_all(cli, snapshot, "loaded", store, &arrays);
    }
    free(arrays.keys);
    free(arrays.values);
    return good ? 0 : 1;
}

/* --- the command ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int words; /* the name counts */
    int (*run)(struct sw_cli *cli, struct sw_cli_snapshot *snapshot, const char *to);
} verbs[] = {
    {"info", 2, run_info},
    {"verify", 2, run_verify},
    {"export", 3, run_export},
    {"load", 2, run_load},
};

int sw_cli_run_snapshot(struct sw_cli *cli, int count, char **words)
{
    struct sw_cli_snapshot snapshot;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (count == verbs[i].words && strcasecmp(words[0], verbs[i].name) == 0) {
            int status = 1;
            if (sw_cli_snapshot_open(&snapshot, words[1], cli->messages)) {
                status = verbs[i].run(cli, &snapshot, count > 2 ? words[2] : NULL);
            }
            sw_cli_snapshot_fini(&snapshot);
            return status;
        }
    }
    fprintf(cli->messages, "usage: sherwood-cli [options] snapshot info|verify|load FILE\n"
                           "       sherwood-cli [options] snapshot export FILE FOLDER|OUT.csv|-\n");
    return 2;
}
