/* SPDX-License-Identifier: MIT
 *
 * summary.c - sherwood-cli summary: scans the table and prints how keys and values are distributed.
 *
 * A column (the keys, the values, the lengths of values that are strings) is counted in 16 steps
 * for each power of two, so that memory does not grow with the table and a quantile is at most a
 * sixteenth above what it stands for. The least, the greatest and the number are exact.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "client/cli/numbers.h"
#include "client/cli/progress.h"
#include "client/cli/values.h"
#include "proto/plural.h"

#define STEP_BITS 4
#define STEPS (1U << STEP_BITS)
#define COUNTS ((65 - STEP_BITS) * STEPS)
#define TOP 5

struct column {
    const char *name;
    uint64_t counts[COUNTS];
    uint64_t number, least, greatest;
    double sum;
};

struct pair {
    uint64_t key, value;
};

struct summary {
    struct column keys, values;
    struct pair top[TOP]; /* the pairs with the greatest values, in descending order */
    uint64_t zeros;       /* values that are 0, or empty */
    uint32_t frame_keys;
    void *key_array, *value_array;
};

/* Returns the counter of a number. Each number below STEPS has its own; above, the five highest
 * bits choose it. */
static unsigned place_of(uint64_t number)
{
    if (number < STEPS) {
        return (unsigned)number;
    }
    unsigned shift = 63 - (unsigned)__builtin_clzll(number) - STEP_BITS;
    return (shift + 1) * STEPS + (unsigned)((number >> shift) & (STEPS - 1));
}

/* Returns the greatest number that this counter counts. */
static uint64_t end_of(unsigned place)
{
    if (place < STEPS) {
        return place;
    }
    unsigned shift = place / STEPS - 1;
    return ((uint64_t)(STEPS + place % STEPS) << shift) + ((UINT64_C(1) << shift) - 1);
}

static void summary_add(struct column *column, uint64_t number)
{
    column->least = column->number == 0 || number < column->least ? number : column->least;
    column->greatest = number > column->greatest ? number : column->greatest;
    column->counts[place_of(number)]++;
    column->number++;
    column->sum += (double)number;
}

static uint64_t quantile(const struct column *column, double share)
{
    double wanted = share * (double)column->number;
    uint64_t below = 0;
    for (unsigned i = 0; i < COUNTS; i++) {
        below += column->counts[i];
        if (below > 0 && (double)below >= wanted) {
            return end_of(i) < column->greatest ? end_of(i) : column->greatest;
        }
    }
    return column->greatest;
}

static void add_top(struct pair top[TOP], uint64_t filled, struct pair pair)
{
    unsigned at = filled < TOP ? (unsigned)filled : TOP;
    while (at > 0 && pair.value > top[at - 1].value) {
        if (at < TOP) {
            top[at] = top[at - 1];
        }
        at--;
    }
    if (at < TOP) {
        top[at] = pair;
    }
}

/* Returns the number that the summary counts for a value: the integer, or the length of the
 * value. */
static uint64_t measure(const struct sherwood_server *server, const void *values, uint32_t i)
{
    uint32_t length;
    if (server->value_format == SHERWOOD_VALUES_INTEGER) {
        return sw_cli_number_at(values, server->value_bytes, i);
    }
    if (server->value_format == SHERWOOD_VALUES_FIXED) {
        return server->value_bytes;
    }
    memcpy(&length, (const uint8_t *)values + (size_t)i * server->value_bytes, sizeof(length));
    return length;
}

static bool scan(struct sw_cli *cli, struct summary *summary)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    struct sherwood_stats stats;
    struct sw_cli_progress progress;
    uint64_t cursor = 0;
    bool good = sherwood_stats(cli->client, &stats, sizeof(stats)) == SHERWOOD_OK;
    sw_cli_progress_start(&progress, cli->messages, "counted", cli->options->quiet);
    do {
        uint32_t count = 0;
        good = good && sherwood_scan(cli->client, &cursor, summary->key_array, summary->value_array,
                                     summary->frame_keys, &count) == SHERWOOD_OK;
        for (uint32_t i = 0; good && i < count; i++) {
            const struct pair pair = {
                sw_cli_number_at(summary->key_array, server->key_bytes, i),
                measure(server, summary->value_array, i),
            };
            add_top(summary->top, summary->values.number, pair);
            summary_add(&summary->keys, pair.key);
            summary_add(&summary->values, pair.value);
            summary->zeros += pair.value == 0;
        }
        sw_cli_progress_update(&progress, summary->keys.number, stats.occupied,
                               summary->keys.number);
    } while (good && cursor != 0);
    sw_cli_progress_finish(&progress, summary->keys.number, good);
    return good || sw_cli_library_error(cli);
}

static void print_column(FILE *out, const struct column *column)
{
    static const struct {
        const char *name;
        double share;
    } rows[] = {{"1 %", .01}, {"10 %", .1}, {"half", .5}, {"90 %", .9}, {"99 %", .99}};
    fprintf(out, "%s\n  least       %20" PRIu64 "\n", column->name, column->least);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fprintf(out, "  %-4s up to  %20" PRIu64 "\n", rows[i].name,
                quantile(column, rows[i].share));
    }
    fprintf(out, "  greatest    %20" PRIu64 "\n  mean        %20.1f\n", column->greatest,
            column->sum / (double)column->number);
}

/* Prints a line for each power of two that has numbers. */
static void print_powers(FILE *out, const struct column *column)
{
    fprintf(out, "%s by powers of two\n", column->name);
    for (unsigned bits = 0; bits <= 64; bits++) {
        uint64_t first = bits == 0 ? 0 : UINT64_C(1) << (bits - 1);
        uint64_t last = bits == 0 ? 0 : first + (first - 1);
        uint64_t count = 0;
        for (unsigned i = place_of(first); i <= place_of(last); i++) {
            count += column->counts[i];
        }
        if (count > 0) {
            double share = (double)count / (double)column->number;
            fprintf(out, "  %20" PRIu64 " .. %-20" PRIu64 " %12" PRIu64 " %5.1f %% %.*s\n", first,
                    last, count, 100 * share, (int)(30 * share + 0.5),
                    "##############################");
        }
    }
}

static void print_operations(struct sw_cli *cli)
{
    struct sherwood_stats stats;
    if (sherwood_stats(cli->client, &stats, sizeof(stats)) != SHERWOOD_OK) {
        return;
    }
    const struct {
        const char *name;
        const struct sherwood_operation_stats *of;
    } rows[] = {{"get", &stats.get}, {"upsert", &stats.upsert}, {"remove", &stats.remove}};
    fprintf(
        cli->out,
        "operations since the start of the server: number, keys found, buckets read for each\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].of->operations > 0) {
            const double number = (double)rows[i].of->operations;
            fprintf(cli->out, "  %-8s %20" PRIu64 " %6.1f %% %8.2f\n", rows[i].name,
                    rows[i].of->operations, 100 * (double)rows[i].of->hits / number,
                    (double)rows[i].of->probes / number);
        }
    }
}

static void print(struct sw_cli *cli, const struct summary *summary)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    bool numbers = server->value_format == SHERWOOD_VALUES_INTEGER;
    fprintf(cli->out, "%" PRIu64 " key%s; %" PRIu64 " value%s %s\n", summary->keys.number,
            sw_plural_s(summary->keys.number), summary->zeros,
            sw_plural(summary->zeros, " is", "s are"), numbers ? "0" : "empty");
    if (summary->keys.number == 0) {
        return;
    }
    print_column(cli->out, &summary->keys);
    print_column(cli->out, &summary->values);
    print_powers(cli->out, &summary->keys);
    print_powers(cli->out, &summary->values);
    fprintf(cli->out, "greatest %s\n", summary->values.name);
    for (uint64_t i = 0; i < TOP && i < summary->values.number; i++) {
        fprintf(cli->out, "  %20" PRIu64 " of key %" PRIu64 "\n", summary->top[i].value,
                summary->top[i].key);
    }
    print_operations(cli);
}

int sw_cli_summary(struct sw_cli *cli, int count)
{
    int status = 1;
    if (count > 0) {
        fputs("usage: sherwood-cli [options] summary\n", cli->messages);
        return 2;
    }
    if (!sw_cli_connect(cli)) {
        return 1;
    }
    const struct sherwood_server *server = sherwood_server(cli->client);
    struct summary *summary = calloc(1, sizeof(*summary));
    uint32_t limit = server->frame_ops_max;
    uint32_t frame_keys = limit < SW_CLI_FRAME_KEYS ? limit : SW_CLI_FRAME_KEYS;
    void *keys = malloc((size_t)frame_keys * server->key_bytes);
    void *values = malloc((size_t)frame_keys * server->value_bytes);
    if (summary == NULL || keys == NULL || values == NULL) {
        fprintf(cli->messages, "sherwood-cli: summary: not enough memory\n");
    } else {
        summary->keys.name = "keys";
        summary->values.name =
            server->value_format == SHERWOOD_VALUES_INTEGER ? "values" : "lengths of values";
        summary->frame_keys = frame_keys;
        summary->key_array = keys;
        summary->value_array = values;
        if (scan(cli, summary)) {
            print(cli, summary);
            status = 0;
        }
    }
    free(summary);
    free(keys);
    free(values);
    return status;
}
