/* SPDX-License-Identifier: MIT
 *
 * control.c - requests without keys: ping, clear, resize, scan, statistics.
 */
#include "client/internal.h"

/* Queues a control request, waits for a free flight if need be, and for its reply. */
static int exchange(struct sherwood *client, const struct sw_request *header, void *first,
                    void *second, struct sw_reply *reply)
{
    struct sw_client_call call = {.flights = 1, .reply = reply};
    struct sw_stripe *stripe;
    while ((stripe = sw_stripe_pick(client)) == NULL && client->broken == 0) {
        sw_client_send_all(client);
        sw_client_step(client, -1);
    }
    if (stripe == NULL) {
        return client->broken;
    }
    const struct sw_client_frame frame = {.header = *header};
    struct sw_client_flight *flight = sw_client_flight_queue(stripe, &frame);
    if (flight == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "the frame cannot be encoded");
    }
    flight->first = first;
    flight->second = second;
    flight->call = &call;
    return sw_client_finish_call(client, &call);
}

static int control(struct sherwood *client, uint32_t operation, struct sw_reply *reply)
{
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    const struct sw_request header = {.operation = operation,
                                      .key_bytes = client->server.key_bytes,
                                      .value_bytes = client->server.value_bytes};
    return exchange(client, &header, NULL, NULL, reply);
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
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    struct sw_request header = {.operation = SW_OPERATION_RESIZE,
                                .key_bytes = client->server.key_bytes,
                                .value_bytes = client->server.value_bytes,
                                .capacity_slots = capacity_slots};
    struct sw_reply reply = {0};
    int rc = exchange(client, &header, NULL, NULL, &reply);
    if (rc == SHERWOOD_OK && now != NULL) {
        *now = reply.capacity_slots;
    }
    return rc;
}

int sherwood_scan(struct sherwood *client, uint64_t *cursor, void *keys, void *values,
                  uint32_t capacity, uint32_t *count)
{
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (cursor == NULL || count == NULL || capacity == 0) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "scan: needs a cursor, a count and room for at least one entry");
    }
    uint32_t limit = client->server.frame_ops_max;
    struct sw_request header = {.operation = SW_OPERATION_SCAN,
                                .count = capacity < limit ? capacity : limit,
                                .key_bytes = client->server.key_bytes,
                                .value_bytes = client->server.value_bytes,
                                .want_values = true,
                                .cursor = *cursor};
    struct sw_reply reply = {0};
    *count = 0;
    int rc = exchange(client, &header, keys, values, &reply);
    if (rc == SHERWOOD_OK) {
        *cursor = reply.cursor;
        *count = reply.count;
    }
    return rc;
}

static struct sherwood_operation_stats operation_stats(const struct sw_operation_stats *from)
{
    return (struct sherwood_operation_stats){from->operations, from->probes, from->hits,
                                             from->misses};
}

int sherwood_stats(struct sherwood *client, struct sherwood_stats *stats)
{
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (stats == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "stats: no struct to fill");
    }
    struct sw_reply reply = {0};
    int rc = control(client, SW_OPERATION_STATS, &reply);
    if (rc != SHERWOOD_OK) {
        return rc;
    }
    if (!reply.has_stats) {
        for (uint32_t i = 0; i < client->stripes_count; ++i) {
            rc = sw_client_break(client->stripes[i], SHERWOOD_E_PROTOCOL,
                                 "%s: the server answered STATS without statistics",
                                 client->address);
        }
        return rc;
    }
    const struct sw_server_stats *from = &reply.stats;
    *stats = (struct sherwood_stats){
        .get = operation_stats(&from->get),
        .upsert = operation_stats(&from->upsert),
        .remove = operation_stats(&from->delete),
        .inserted = from->inserted,
        .updated = from->updated,
        .deleted = from->deleted,
        .failures = from->failures,
        .refused = from->refused,
        .occupied = from->occupied,
        .capacity_slots = from->capacity_slots,
        .stash_occupied = from->stash_occupied,
        .batches = from->batches,
        .connections = from->connections,
        .uptime_seconds = from->uptime_seconds,
        .occupied_max = from->occupied_max,
        .max_capacity_slots = from->max_capacity_slots,
        .growths = from->growths,
        .resizes = from->resizes,
        .resize_failures = from->resize_failures,
        .table_bytes = from->table_bytes,
        .evicted = from->evicted,
        .not_admitted = from->not_admitted,
    };
    return SHERWOOD_OK;
}
