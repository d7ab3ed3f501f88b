/* SPDX-License-Identifier: MIT
 *
 * calls.c - operations on keys: submit, and the blocking calls that split arrays of any length into
 * frames and keep several in flight.
 */
#include "client/internal.h"

/* One frame's worth of a call. */
struct span {
    enum sherwood_operation operation;
    const uint8_t *keys;
    const uint8_t *values;
    uint8_t *previous;
    uint64_t *found;
    uint32_t count;
};

static struct sw_client_flight *queue_span(struct sherwood *client, const struct span *span)
{
    struct sw_request header = {.operation = (uint32_t)span->operation,
                                .count = span->count,
                                .key_bytes = client->server.key_bytes,
                                .value_bytes = client->server.value_bytes,
                                .want_values = span->previous != NULL};
    bool writes = sw_operation_has_operands(header.operation);
    struct sw_client_flight *flight =
        sw_client_flight_queue(client, &header, span->keys, writes ? span->values : NULL);
    if (flight != NULL) {
        flight->first = span->previous;
        flight->second = span->found;
    }
    return flight;
}

static int check_arguments(struct sherwood *client, enum sherwood_operation operation,
                           const void *keys, const void *values)
{
    if (client->broken != 0) {
        return client->broken;
    }
    if (!sw_operation_is_data((uint32_t)operation)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "operation %d is not one on keys",
                              (int)operation);
    }
    if (keys == NULL || (values == NULL && sw_operation_has_operands((uint32_t)operation))) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "the %s array is NULL",
                              keys == NULL ? "keys" : "values");
    }
    return SHERWOOD_OK;
}

int sherwood_submit(struct sherwood *client, struct sherwood_request *request)
{
    if (client == NULL || request == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int rc = check_arguments(client, request->operation, request->keys, request->values);
    if (rc != SHERWOOD_OK) {
        return rc;
    }
    if (request->count == 0 || request->count > client->server.frame_ops_max) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "submit: %u keys in one request; this server takes 1 to %u",
                              request->count, client->server.frame_ops_max);
    }
    if (!sw_client_flight_free(client)) {
        sw_client_send(client);
        rc = sw_client_receive(client);
        if (rc != SHERWOOD_OK) {
            return rc;
        }
        if (!sw_client_flight_free(client)) {
            return sw_client_fail(client, SHERWOOD_E_BUSY, "submit: %u requests are unanswered",
                                  client->in_flight);
        }
    }
    struct span span = {request->operation, request->keys,  request->values,
                        request->previous,  request->found, request->count};
    struct sw_client_flight *flight = queue_span(client, &span);
    if (flight == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "submit: the frame cannot be encoded");
    }
    flight->request = request;
    request->_id = flight->id;
    request->_state = SW_REQUEST_FLYING;
    request->_next = NULL;
    request->status = SHERWOOD_OK;
    request->hits = 0;
    sw_client_send(client);
    return SHERWOOD_OK;
}

/* Keys of one frame of a long call: as many as the server takes, so that the next frame's found
 * bits begin at a word. */
static uint32_t frame_keys(const struct sherwood *client, size_t left)
{
    uint32_t whole =
        client->server.frame_ops_max / SW_CLIENT_SPLIT_KEYS * (uint32_t)SW_CLIENT_SPLIT_KEYS;
    if (left <= client->server.frame_ops_max) {
        return (uint32_t)left;
    }
    return whole;
}

/* The part of `call` from key `at` on. */
static struct span cut(const struct sherwood *client, const struct span *call, size_t at,
                       uint32_t count)
{
    size_t key_at = at * client->server.key_bytes;
    size_t value_at = at * client->server.value_bytes;
    return (struct span){
        .operation = call->operation,
        .keys = call->keys + key_at,
        .values = call->values == NULL ? NULL : call->values + value_at,
        .previous = call->previous == NULL ? NULL : call->previous + value_at,
        .found = call->found == NULL ? NULL : call->found + at / 64,
        .count = count,
    };
}

int sherwood_run(struct sherwood *client, enum sherwood_operation operation, const void *keys,
                 const void *values, size_t count, void *previous, uint64_t *found)
{
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int rc = client->broken;
    if (rc != SHERWOOD_OK || count == 0) {
        return rc;
    }
    rc = check_arguments(client, operation, keys, values);
    struct span whole = {.operation = operation,
                         .keys = keys,
                         .values = values,
                         .previous = previous,
                         .found = found};
    struct sw_client_call call = {0};
    for (size_t at = 0; rc == SHERWOOD_OK && at < count && call.status == SHERWOOD_OK;) {
        if (!sw_client_flight_free(client)) {
            rc = sw_client_step(client, client->request_timeout_ms);
            continue;
        }
        struct span span = cut(client, &whole, at, frame_keys(client, count - at));
        struct sw_client_flight *flight = queue_span(client, &span);
        if (flight == NULL) {
            rc = sw_client_fail(client, SHERWOOD_E_INVALID, "the frame cannot be encoded");
            break;
        }
        flight->call = &call;
        call.flights++;
        at += span.count;
        sw_client_send(client);
    }
    int ended = sw_client_finish_call(client, &call, client->request_timeout_ms);
    return ended != SHERWOOD_OK ? ended : rc;
}

int sherwood_get(struct sherwood *client, const void *keys, size_t count, void *values,
                 uint64_t *found)
{
    return sherwood_run(client, SHERWOOD_GET, keys, NULL, count, values, found);
}

int sherwood_set(struct sherwood *client, const void *keys, const void *values, size_t count)
{
    return sherwood_run(client, SHERWOOD_SET, keys, values, count, NULL, NULL);
}

int sherwood_delete(struct sherwood *client, const void *keys, size_t count, uint64_t *found)
{
    return sherwood_run(client, SHERWOOD_DELETE, keys, NULL, count, NULL, found);
}
