/* SPDX-License-Identifier: MIT
 *
 * admin.c - commands that concern the table as a whole, the server or the program.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "client/cli/commands.h"
#include "client/cli/numbers.h"
#include "client/cli/reply.h"
#include "client/handle.h"
#include "client/sherwood-replicas.h"
#include "proto/decimal.h"
#include "proto/value_type.h"

#define SCAN_COUNT 10

void sw_cli_ping(struct sw_cli *cli, int code, int count, char **words)
{
    (void)code;
    if (sherwood_ping(cli->client) != SHERWOOD_OK) {
        sw_cli_library_error(cli);
    } else if (count == 2) {
        fprintf(cli->out, cli->raw ? "%s\n" : "\"%s\"\n", words[1]);
    } else {
        sw_cli_reply_status(cli, "PONG");
    }
}

void sw_cli_echo(struct sw_cli *cli, int code, int count, char **words)
{
    (void)code;
    (void)count;
    fprintf(cli->out, cli->raw ? "%s\n" : "\"%s\"\n", words[1]);
}

/* Prints fact number `i` of a map, as redis-cli shows RESP3 maps. */
static void reply_fact(struct sw_cli *cli, int i, const char *name, const char *value)
{
    if (cli->raw) {
        fprintf(cli->out, "%s %s\n", name, value);
    } else {
        fprintf(cli->out, "%d# \"%s\" => %s\n", i, name, value);
    }
}

static const char *format_name(const struct sherwood_server *server)
{
    return sw_frame_values_name((uint32_t)server->value_format);
}

void sw_cli_hello(struct sw_cli *cli, int code, int count, char **words)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    char text[16];
    (void)code;
    if (count == 2 && strcmp(words[1], "2") != 0 && strcmp(words[1], "3") != 0) {
        sw_cli_reply_error(cli, "NOPROTO unsupported protocol version");
        return;
    }
    reply_fact(cli, 1, "server", "sherwood");
    reply_fact(cli, 2, "version", server->version);
    reply_fact(cli, 3, "proto", "bulk");
    reply_fact(cli, 4, "backend", server->backend);
    snprintf(text, sizeof(text), "%" PRIu32, server->key_bytes);
    reply_fact(cli, 5, "key_bytes", text);
    snprintf(text, sizeof(text), "%" PRIu32, server->value_bytes);
    reply_fact(cli, 6, "value_bytes", text);
    reply_fact(cli, 7, "engine", server->engine);
    reply_fact(cli, 8, "value_format", format_name(server));
}

/* Does the last STATS say that a server loads its data? Older servers do not say so. */
static bool is_loading(const struct sherwood *client)
{
    const char *name;
    uint64_t value;
    bool is = false;
    for (uint32_t i = 0; !is && sherwood_figure(client, i, &name, &value); i++) {
        is = value != 0 && strcmp(name, "loading") == 0;
    }
    return is;
}

void sw_cli_dbsize(struct sw_cli *cli, int code, int count, char **words)
{
    struct sherwood_stats stats;
    (void)code;
    (void)count;
    (void)words;
    if (sherwood_stats(cli->client, &stats, sizeof(stats)) != SHERWOOD_OK) {
        sw_cli_library_error(cli);
    } else if (is_loading(cli->client)) { /* the count is of the keys that are loaded so far */
        sw_cli_reply_error(cli, "LOADING the server is loading its data: try again");
    } else {
        sw_cli_reply_integer(cli, stats.occupied);
    }
}

static void reply_scan(struct sw_cli *cli, uint64_t cursor, const void *keys, uint32_t count)
{
    uint32_t width = sherwood_server(cli->client)->key_bytes;
    sw_cli_reply_entry(cli, 0, 0, 2, cursor);
    if (!cli->raw) {
        fprintf(cli->out, "2) ");
    }
    if (count == 0) {
        sw_cli_reply_empty(cli);
    }
    for (uint32_t i = 0; i < count; i++) {
        sw_cli_reply_entry(cli, 3, i, count, sw_cli_number_at(keys, width, i));
    }
}

void sw_cli_scan(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t cursor = 0;
    uint64_t wanted = SCAN_COUNT;
    uint32_t limit = sherwood_server(cli->client)->frame_ops_max;
    (void)code;
    if (!sw_cli_number(cli, "cursor", words[1], UINT64_MAX, &cursor)) {
        return;
    }
    if (cursor == 0) {
        cli->lost_cursors = false;
    } else if (cli->lost_cursors) {
        sw_cli_reply_error(
            cli, "ERR the cursor belongs to a connection that was lost: begin again with SCAN 0");
        return;
    } else if (!cli->options->cluster) {
        /* The cursor comes from another run of sherwood-cli. The user knows whether the server has
         * restarted since. */
        sw_client_vouch_for_cursors(cli->client);
    }
    if (count != 2 && (count != 4 || strcasecmp(words[2], "COUNT") != 0)) {
        sw_cli_reply_error(cli, "ERR syntax error: SCAN cursor [COUNT n]");
        return;
    }
    if (count == 4 && !sw_cli_number(cli, "count", words[3], limit, &wanted)) {
        return;
    }
    struct sw_cli_arrays arrays;
    if (wanted == 0) {
        sw_cli_reply_error(cli, "ERR syntax error: COUNT must be at least 1");
    } else if (sw_cli_arrays_init(cli, &arrays, (size_t)wanted)) {
        uint32_t got = 0;
        if (sherwood_scan(cli->client, &cursor, arrays.keys, arrays.values, (uint32_t)wanted,
                          &got) == SHERWOOD_OK) {
            cli->has_cursor |= cursor != 0;
            reply_scan(cli, cursor, arrays.keys, got);
        } else {
            sw_cli_library_error(cli);
        }
        sw_cli_arrays_fini(&arrays);
    }
}

void sw_cli_flushall(struct sw_cli *cli, int code, int count, char **words)
{
    (void)code;
    (void)count;
    (void)words;
    if (sherwood_clear(cli->client) == SHERWOOD_OK) {
        sw_cli_reply_status(cli, "OK");
    } else {
        sw_cli_library_error(cli);
    }
}

void sw_cli_resize(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t wanted = 0;
    uint64_t now = 0;
    (void)code;
    (void)count;
    if (!sw_decimal_parse_size((const uint8_t *)words[1], strlen(words[1]), UINT64_MAX, &wanted)) {
        sw_cli_reply_error(
            cli,
            "ERR slots \"%.40s\" is not a whole number (K, M, G or T may follow) or out "
            "of range",
            words[1]);
    } else if (sherwood_resize(cli->client, wanted, &now) == SHERWOOD_OK) {
        sw_cli_reply_integer(cli, now);
    } else {
        sw_cli_library_error(cli);
    }
}

void sw_cli_wait(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t replicas = 0, ms = 0;
    uint32_t reached = 0;
    (void)code;
    (void)count;
    if (!sw_cli_number(cli, "replicas", words[1], INT32_MAX, &replicas) ||
        !sw_cli_number(cli, "ms", words[2], INT32_MAX, &ms)) {
        return;
    }
    if (sherwood_wait_replicas(cli->client, (uint32_t)replicas, ms == 0 ? -1 : (int)ms, &reached) ==
        SHERWOOD_OK) {
        sw_cli_reply_integer(cli, reached);
    } else {
        sw_cli_library_error(cli);
    }
}

static void info_server(FILE *out, const char *address, const struct sherwood_server *server,
                        const struct sherwood_stats *stats)
{
    fprintf(out, "# Server\n");
    fprintf(out, "address:%s\n", address);
    fprintf(out, "sherwood_version:%s\n", server->version);
    fprintf(out, "uptime_in_seconds:%" PRIu64 "\n", stats->uptime_seconds);
    fprintf(out, "connected_clients:%" PRIu64 "\n", stats->connections);
    fprintf(out, "frame_keys_max:%" PRIu32 "\n", server->frame_ops_max);
    fprintf(out, "requests_in_flight_max:%" PRIu32 "\n", server->requests_in_flight_max);
    fprintf(out, "backend:%s\n", server->backend);
    fprintf(out, "backend_reason:%s\n", server->backend_reason);
}

static void info_table(FILE *out, const struct sherwood_server *server,
                       const struct sherwood_stats *stats)
{
    static const char *const forms[] = {[SHERWOOD_RESP_KEYS_DECIMAL] = "decimal",
                                        [SHERWOOD_RESP_KEYS_RAW] = "raw",
                                        [SHERWOOD_RESP_KEYS_HASH] = "hash",
                                        [SHERWOOD_RESP_KEYS_AUTO] = "auto"};
    double load =
        stats->capacity_slots == 0 ? 0 : (double)stats->occupied / (double)stats->capacity_slots;
    fprintf(out, "\n# Table\n");
    fprintf(out, "engine:%s\n", server->engine);
    fprintf(out, "value_format:%s\n", format_name(server));
    if (server->value_format != SHERWOOD_VALUES_INTEGER) {
        fprintf(out, "value_type:%s\n", sw_value_type_name((uint32_t)server->value_type));
    }
    if (server->policy[0] != '\0') {
        fprintf(out, "policy:%s\n", server->policy);
    }
    fprintf(out, "key_bytes:%" PRIu32 "\n", server->key_bytes);
    if (server->resp_keys <= SHERWOOD_RESP_KEYS_AUTO) {
        fprintf(out, "resp_keys:%s\n", forms[server->resp_keys]);
    }
    fprintf(out, "value_bytes:%" PRIu32 "\n", server->value_bytes);
    fprintf(out, "keys:%" PRIu64 "\n", stats->occupied);
    fprintf(out, "keys_max:%" PRIu64 "\n", stats->occupied_max);
    fprintf(out, "capacity_slots:%" PRIu64 "\n", stats->capacity_slots);
    fprintf(out, "max_capacity_slots:%" PRIu64 "\n", stats->max_capacity_slots);
    fprintf(out, "table_bytes:%" PRIu64 "\n", stats->table_bytes);
    fprintf(out, "load:%.4f\n", load);
    fprintf(out, "stash_keys:%" PRIu64 "\n", stats->stash_occupied);
    fprintf(out, "growths:%" PRIu64 "\n", stats->growths);
    fprintf(out, "resizes:%" PRIu64 "\n", stats->resizes);
    fprintf(out, "resize_failures:%" PRIu64 "\n", stats->resize_failures);
}

/* Prints every figure that the server sent, except for those that the sections above have. */
static void info_stats(FILE *out, const struct sherwood *client)
{
    static const char *const shown[] = {
        "uptime_in_seconds",  "connected_clients", "keys",       "keys_max", "capacity_slots",
        "max_capacity_slots", "table_bytes",       "stash_keys", "growths",  "resizes",
        "resize_failures",
    };
    const char *name;
    uint64_t value;
    fprintf(out, "\n# Stats\n");
    for (uint32_t i = 0; sherwood_figure(client, i, &name, &value); i++) {
        bool is_new = true;
        for (size_t k = 0; k < sizeof(shown) / sizeof(shown[0]); k++) {
            is_new = is_new && strcmp(name, shown[k]) != 0;
        }
        if (is_new) {
            fprintf(out, "%s:%" PRIu64 "\n", name, value);
        }
    }
}

void sw_cli_info(struct sw_cli *cli, int code, int count, char **words)
{
    struct sherwood_stats stats;
    (void)code;
    (void)count;
    (void)words;
    if (sherwood_stats(cli->client, &stats, sizeof(stats)) != SHERWOOD_OK) {
        sw_cli_library_error(cli);
        return;
    }
    const struct sherwood_server *server = sherwood_server(cli->client);
    info_server(cli->out, cli->options->address, server, &stats);
    info_table(cli->out, server, &stats);
    info_stats(cli->out, cli->client);
}

void sw_cli_quit(struct sw_cli *cli, int code, int count, char **words)
{
    (void)code;
    (void)count;
    (void)words;
    cli->quit = true;
}
