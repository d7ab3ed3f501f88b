/* SPDX-License-Identifier: MIT
 *
 * control.c - requests without keys: PING, CLEAR, RESIZE, SCAN and STATS.
 */
#include <stddef.h>
#include <string.h>

#include "client/cluster.h"
#include "client/control_request.h"
#include "client/error.h"
#include "client/follow.h"

/* Addresses a request to its table: STATS has figures of one table. A request that uses no table is
 * for the default table, and has no widths then. A scan goes on in the table where it began. */
static void address(struct sw_client_frame *frame, const struct sw_client_table *table)
{
    struct sw_request *header = &frame->header;
    if (table->number != 0 && header->operation != SW_OPERATION_STATS &&
        !sw_operation_of_table(header->operation)) {
        header->key_bytes = header->value_bytes = 0;
        return;
    }
    header->table = table->number;
    frame->ring_table = table;
    if (header->operation == SW_OPERATION_SCAN) {
        header->table_id = header->cursor == 0 ? table->id : table->scan_id;
    }
}

/* Sends a request without keys to any server of the handle, waits for the reply, and follows the
 * refusal of a replica. The arrays receive the body of the reply. */
static int exchange(struct sherwood *client, const struct sw_request *header, void *first,
                    void *second, uint64_t *scores, struct sw_reply *reply)
{
    size_t from = 0;
    int status, follows = 0;
    do {
        struct sw_client_call call = {.reply = reply, .refused_from = SW_CLIENT_NOT_REFUSED};
        struct sw_client_frame frame = {
            .header = *header, .first = first, .second = second, .scores = scores};
        address(&frame, client->table);
        status = sw_client_control_request_once(client, NULL, &frame, &call);
        if (status == SHERWOOD_OK || call.status == SHERWOOD_OK) {
            return status;
        }
        status = sw_client_follow_call(client, &call, &follows, &from);
    } while (status == SHERWOOD_OK);
    return status;
}

static int control(struct sherwood *client, uint32_t operation, struct sw_reply *reply)
{
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (client->cluster != NULL) {
        return sw_client_cluster_all(client, operation);
    }
    const struct sw_request header = {.operation = operation,
                                      .key_bytes = client->table->server.key_bytes,
                                      .value_bytes = client->table->server.value_bytes};
    return exchange(client, &header, NULL, NULL, NULL, reply);
}

int sherwood_ping(struct sherwood *client)
{
    return control(client, SW_OPERATION_PING, NULL);
}

int sherwood_clear(struct sherwood *client)
{
    return control(client, SW_OPERATION_CLEAR, NULL);
}

int sherwood_resize(struct sherwood *client, uint64_t capacity_slots, uint64_t *now)
{
    client = sw_client_enter(client);
    int one = sw_client_one_node(client, "resize");
    if (one != SHERWOOD_OK) {
        return one;
    }
    struct sw_request header = {.operation = SW_OPERATION_RESIZE,
                                .key_bytes = client->table->server.key_bytes,
                                .value_bytes = client->table->server.value_bytes,
                                .capacity_slots = capacity_slots};
    struct sw_reply reply = {0};
    int rc = exchange(client, &header, NULL, NULL, NULL, &reply);
    if (rc == SHERWOOD_OK && now != NULL) {
        *now = reply.capacity_slots;
    }
    return rc;
}

void sw_client_vouch_for_cursors(struct sherwood *client)
{
    client->root->has_cursors = true;
}

/* Scans. The caller has set the other fields of the header. A cursor is valid for one process of
 * the server only, so it ends with its connection. */
static int scan(struct sherwood *client, struct sw_request header, uint64_t *cursor, void *keys,
                void *values, uint64_t *scores, uint32_t capacity, uint32_t *count)
{
    if (cursor == NULL || count == NULL || capacity == 0) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "scan: cursor or count is NULL, or capacity is 0: pass both, and "
                              "room for at least one entry");
    }
    if (*cursor != 0 && !client->has_cursors) {
        return sw_client_fail(
            client, SHERWOOD_E_INVALID,
            "scan: cursor %llu does not belong to this connection: begin again with 0",
            (unsigned long long)*cursor);
    }
    uint32_t limit = client->table->server.frame_ops_max;
    header.operation = SW_OPERATION_SCAN;
    header.count = capacity < limit ? capacity : limit;
    header.key_bytes = client->table->server.key_bytes;
    header.value_bytes = client->table->server.value_bytes;
    header.want_values = true;
    header.cursor = *cursor;
    struct sw_reply reply = {0};
    *count = 0;
    int rc = exchange(client, &header, keys, values, scores, &reply);
    if (rc == SHERWOOD_OK && *cursor != 0 && !client->has_cursors) { /* after a refusal */
        return sw_client_fail(client, SHERWOOD_E_CONNECTION,
                              "scan: the handle connected to another primary after the scan began: "
                              "begin again with 0");
    }
    if (rc == SHERWOOD_E_TABLE && *cursor != 0) {
        return sw_client_fail(client, rc,
                              "scan: another table lies in the place of '%s' since the scan began: "
                              "begin again with 0",
                              client->table->name);
    }
    if (rc == SHERWOOD_OK) {
        client->table->scan_id = *cursor == 0 ? client->table->id : client->table->scan_id;
        client->has_cursors |= reply.cursor != 0;
        *cursor = reply.cursor;
        *count = reply.count;
    }
    return rc;
}

int sherwood_scan(struct sherwood *client, uint64_t *cursor, void *keys, void *values,
                  uint32_t capacity, uint32_t *count)
{
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (client->cluster != NULL) {
        return sw_client_cluster_scan(client, cursor, keys, values, capacity, count);
    }
    const struct sw_request everything = {0};
    return scan(client, everything, cursor, keys, values, NULL, capacity, count);
}

/* --- scores ----------------------------------------------------------------------------------- */

int sherwood_scan_scores(struct sherwood *client, uint64_t *cursor, uint64_t score_min,
                         uint64_t score_max, void *keys, void *values, uint64_t *scores,
                         uint32_t capacity, uint32_t *count)
{
    client = sw_client_enter(client);
    int one = sw_client_one_node(client, "a range of scores");
    if (one != SHERWOOD_OK) {
        return one;
    }
    const struct sw_request range = {.by_score = true,
                                     .score_min = score_min,
                                     .score_max = score_max,
                                     .want_scores = scores != NULL};
    return scan(client, range, cursor, keys, values, scores, capacity, count);
}

/* Sends a request without arrays. The caller has set the other fields of the header. */
static int request_plain(struct sherwood *client, struct sw_request header, struct sw_reply *reply)
{
    client = sw_client_enter(client);
    int one = sw_client_one_node(client, "scores and epochs");
    if (one != SHERWOOD_OK) {
        return one;
    }
    header.key_bytes = client->table->server.key_bytes;
    header.value_bytes = client->table->server.value_bytes;
    return exchange(client, &header, NULL, NULL, NULL, reply);
}

static int ask_range(struct sherwood *client, uint32_t operation, uint64_t score_min,
                     uint64_t score_max, uint64_t *matched)
{
    struct sw_reply reply = {0};
    const struct sw_request header = {
        .operation = operation, .score_min = score_min, .score_max = score_max};
    int rc = request_plain(client, header, &reply);
    if (rc == SHERWOOD_OK && matched != NULL) {
        *matched = reply.matched;
    }
    return rc;
}

int sherwood_count_scores(struct sherwood *client, uint64_t score_min, uint64_t score_max,
                          uint64_t *matched)
{
    return ask_range(client, SW_OPERATION_COUNT_SCORES, score_min, score_max, matched);
}

int sherwood_erase_scores(struct sherwood *client, uint64_t score_min, uint64_t score_max,
                          uint64_t *matched)
{
    return ask_range(client, SW_OPERATION_ERASE_SCORES, score_min, score_max, matched);
}

int sw_client_wait_durable(struct sherwood *client, uint64_t incarnation, uint64_t sequence,
                           int timeout_ms)
{
    client = sw_client_enter(client);
    int one = sw_client_one_node(client, "wait_durable");
    if (one != SHERWOOD_OK) {
        return one;
    }
    if (client->lost_durable) {
        client->lost_durable = false;
        return sw_client_fail(
            client, SHERWOOD_E_CONNECTION,
            "wait_durable: the handle connected to another primary after its last write: it is "
            "unknown whether that primary has these writes; read the keys, or write them again");
    }
    if (client->incarnation == 0) {
        return sw_client_fail(
            client, SHERWOOD_E_REQUEST,
            "wait_durable: the server has no write-ahead log: start it with --appendonly yes");
    }
    int rc = SHERWOOD_OK;
    struct sw_reply reply = {0};
    while (rc == SHERWOOD_OK && reply.durable_through < sequence) {
        const int wait = sw_client_wait_once_ms(client, timeout_ms);
        const struct sw_request header = {.operation = SW_OPERATION_WAIT_DURABLE,
                                          .sequence = sequence,
                                          .incarnation = incarnation,
                                          .timeout_ms = (uint32_t)wait};
        rc = exchange(client, &header, NULL, NULL, NULL, &reply);
        if (rc == SHERWOOD_OK && reply.durable_through < sequence && timeout_ms == 0) {
            return sw_client_fail(client, SHERWOOD_E_TIMEOUT,
                                  "wait_durable: writes up to %llu are durable, those up to %llu "
                                  "not yet: wait longer",
                                  (unsigned long long)reply.durable_through,
                                  (unsigned long long)sequence);
        }
        timeout_ms -= timeout_ms < 0 ? 0 : wait;
    }
    return rc;
}

int sherwood_wait_durable(struct sherwood *client, int timeout_ms)
{
    const struct sherwood *root = client == NULL ? NULL : client->root;
    return sw_client_wait_durable(client, root == NULL ? 0 : root->incarnation,
                                  root == NULL ? 0 : root->last_write, timeout_ms);
}

int sherwood_epoch(struct sherwood *client, uint64_t epoch, uint64_t *now)
{
    struct sw_reply reply = {0};
    const struct sw_request header = {.operation = SW_OPERATION_EPOCH, .epoch = epoch};
    int rc = request_plain(client, header, &reply);
    if (rc == SHERWOOD_OK && now != NULL) {
        *now = reply.epoch;
    }
    return rc;
}

/* --- statistics ------------------------------------------------------------------------------- */

/* Maps each field of struct sherwood_stats to the server's name for its figure. */
#define CLASS_MAP(X, class)                   \
    X(class.operations, #class "_operations") \
    X(class.probes, #class "_probes")         \
    X(class.hits, #class "_hits")             \
    X(class.misses, #class "_misses")
#define STATS_MAP(X)                            \
    CLASS_MAP(X, get)                           \
    CLASS_MAP(X, upsert)                        \
    X(remove.operations, "delete_operations")   \
    X(remove.probes, "delete_probes")           \
    X(remove.hits, "delete_hits")               \
    X(remove.misses, "delete_misses")           \
    X(inserted, "inserted")                     \
    X(updated, "updated")                       \
    X(deleted, "deleted")                       \
    X(failures, "probe_failures")               \
    X(refused, "refused")                       \
    X(occupied, "keys")                         \
    X(capacity_slots, "capacity_slots")         \
    X(stash_occupied, "stash_keys")             \
    X(batches, "table_batches")                 \
    X(connections, "connected_clients")         \
    X(uptime_seconds, "uptime_in_seconds")      \
    X(occupied_max, "keys_max")                 \
    X(max_capacity_slots, "max_capacity_slots") \
    X(growths, "growths")                       \
    X(resizes, "resizes")                       \
    X(resize_failures, "resize_failures")       \
    X(table_bytes, "table_bytes")               \
    X(evicted, "evicted")                       \
    X(not_admitted, "not_admitted")

/* Fills those fields that lie completely within `size` bytes of the struct. */
static void fill_stats(const struct sherwood *client, void *stats, size_t size)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
#define FIELD(field, name) {name, offsetof(struct sherwood_stats, field)},
        STATS_MAP(FIELD)};
    memset(stats, 0, size);
    for (uint32_t i = 0; i < client->figures_count; i++) {
        const struct sw_figure *figure = &client->figures[i];
        for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
            if (fields[f].offset + sizeof(figure->value) <= size &&
                strcmp(fields[f].name, figure->name) == 0) {
                memcpy((uint8_t *)stats + fields[f].offset, &figure->value, sizeof(figure->value));
            }
        }
    }
}

/* Returns NULL, or a phrase for what is wrong with the figures of a reply. */
static const char *check_figures(const struct sherwood *client)
{
    for (uint32_t i = 0; i < client->figures_count; i++) {
        if (!sw_figure_is_valid(&client->figures[i])) {
            return "with a figure whose name is not valid";
        }
    }
    return client->figures_count == 0 ? "without statistics" : NULL;
}

static int request_stats(struct sherwood *client)
{
    const struct sw_request header = {.operation = SW_OPERATION_STATS,
                                      .count = SW_FIGURES_MAX,
                                      .key_bytes = client->table->server.key_bytes,
                                      .value_bytes = client->table->server.value_bytes};
    struct sw_reply reply = {0};
    client->figures_count = 0;
    int rc = exchange(client, &header, client->figures, NULL, NULL, &reply);
    client->figures_count = rc == SHERWOOD_OK ? reply.count : 0;
    return rc;
}

int sherwood_stats(struct sherwood *client, struct sherwood_stats *stats, size_t size)
{
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (stats == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "stats: the pointer to the struct is NULL");
    }
    int rc = client->cluster != NULL ? sw_client_cluster_stats(client) : request_stats(client);
    if (rc != SHERWOOD_OK) {
        return rc;
    }
    const char *wrong = check_figures(client);
    if (wrong != NULL) {
        client->figures_count = 0;
        for (uint32_t i = 0; i < client->connections_count; i++) {
            rc = sw_client_break(client->connections[i], SHERWOOD_E_PROTOCOL,
                                 "%s: the server replied to STATS %s", client->address, wrong);
        }
        return rc;
    }
    fill_stats(client, stats, size);
    return SHERWOOD_OK;
}

bool sherwood_figure(const struct sherwood *client, uint32_t i, const char **name, uint64_t *value)
{
    client = client == NULL ? NULL : client->root;
    if (client == NULL || i >= client->figures_count) {
        return false;
    }
    if (name != NULL) {
        *name = client->figures[i].name;
    }
    if (value != NULL) {
        *value = client->figures[i].value;
    }
    return true;
}
