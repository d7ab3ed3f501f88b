/* SPDX-License-Identifier: MIT
 *
 * calls.c - operations on keys: submit, and the blocking calls that split arrays of any length into
 * frames and keep several in flight.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "client/cache.h"
#include "client/cluster.h"
#include "client/error.h"
#include "client/follow.h"
#include "client/request.h"
#include "client/send.h"
#include "client/step.h"
#include "client/table.h"
#include "client/times.h"

/* The part of a call that goes into one frame. */
struct span {
    enum sherwood_operation operation;
    const uint8_t *keys;
    const uint8_t *values;
    uint8_t *previous;
    void *found; /* bits, or with found_bytes bytes */
    struct sw_client_details details;
    struct sherwood_cache *cache; /* of the whole call; this part begins at index `cache_at` */
    uint64_t cache_at;
    uint64_t cache_keys; /* of the whole call */
    uint32_t count;
    bool is_split; /* a part of a call whose replies have evicted entries */
    bool found_bytes;
};

static struct sw_request header_of(const struct sherwood *client, uint32_t operation,
                                   uint32_t count, bool wants_values, bool wants_found,
                                   const struct sherwood_cache *cache)
{
    struct sw_request header = {.operation = operation,
                                .count = count,
                                .key_bytes = client->table->server.key_bytes,
                                .value_bytes = client->table->server.value_bytes,
                                .table = client->table->number,
                                .want_values = wants_values,
                                .declines_found = !wants_found};
    if (cache != NULL) {
        header.has_scores = cache->scores != NULL;
        header.want_scores = cache->scores_out != NULL;
        header.want_not_admitted = cache->not_admitted != NULL;
        header.want_evicted = sw_client_cache_evicted(cache);
    }
    return header;
}

static struct sw_client_frame frame_of_span(const struct sherwood *client, const struct span *span)
{
    struct sw_request header = header_of(client, (uint32_t)span->operation, span->count,
                                         span->previous != NULL, span->found != NULL, span->cache);
    sw_client_add_details(&header, &span->details);
    header.found_bytes = span->found_bytes;
    return (struct sw_client_frame){
        .header = header,
        .ring_table = client->table,
        .single = {span->keys, span->values, span->previous, span->count},
        .second = span->found,
        .times_ms = span->details.times_ms,
        .cache = span->cache,
        .cache_at = span->cache_at,
        .cache_keys = span->cache_keys,
        .is_split = span->is_split,
    };
}

static bool wants_values(const struct sherwood_request *request)
{
    bool wants = request->previous != NULL || (request->flags & SHERWOOD_DISCARD) != 0;
    for (uint32_t i = 0; request->pieces != NULL && i < request->pieces_count; i++) {
        wants |= request->pieces[i].previous != NULL;
    }
    return wants;
}

static struct sw_client_frame frame_of_request(const struct sherwood *client,
                                               const struct sherwood_request *request)
{
    const struct sw_client_details details = sw_client_request_details(client, request);
    struct sw_request header =
        header_of(client, (uint32_t)request->operation, request->count, wants_values(request),
                  request->found != NULL, sw_client_request_cache(request));
    sw_client_add_details(&header, &details);
    header.found_bytes = request->found != NULL && (request->flags & SHERWOOD_FOUND_BYTES) != 0;
    return (struct sw_client_frame){
        .header = header,
        .ring_table = client->table,
        .single = {request->keys, request->values, request->previous, request->count},
        .pieces = request->pieces,
        .pieces_count = request->pieces_count,
        .second = request->found,
        .is_constant = (request->flags & SHERWOOD_CONSTANT) != 0,
        .times_ms = details.times_ms,
        .cache = sw_client_request_cache(request),
        .cache_keys = request->count,
    };
}

static struct sw_client_flight *queue_request(struct sw_client_connection *connection,
                                              struct sw_client_frame *frame,
                                              struct sherwood_request *request)
{
    frame->done = sw_client_request_done;
    frame->owner = request;
    struct sw_client_flight *flight = sw_client_queue(connection, frame);
    if (flight != NULL) {
        sw_client_request_begin(request, flight->id);
    }
    return flight;
}

int sherwood_submit(struct sherwood *client, struct sherwood_request *request)
{
    client = sw_client_enter(client);
    if (client == NULL || request == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int rc = sw_client_check_request(client, request);
    if (rc != SHERWOOD_OK) {
        return rc;
    }
    if (client->cluster != NULL) {
        const char *only_one = sw_client_request_cache(request) != NULL       ? "arrays of a cache"
                               : (request->flags & SHERWOOD_FOUND_BYTES) != 0 ? "found bytes"
                                                                              : NULL;
        rc = only_one == NULL ? SHERWOOD_OK : sw_client_one_node(client, only_one);
        return rc != SHERWOOD_OK ? rc : sw_client_cluster_submit(client, request);
    }
    struct sw_client_frame frame = frame_of_request(client, request);
    return sw_client_submit_frame(client, &frame, request);
}

int sw_client_submit_frame(struct sherwood *client, struct sw_client_frame *frame,
                           struct sherwood_request *request)
{
    struct sw_client_connection *connection = NULL;
    int rc = sw_client_connection_for(client, frame, &connection);
    if (rc == SHERWOOD_OK && connection == NULL) {
        sw_client_send_all(client);
        sw_client_step(client, 0);
        rc = sw_client_connection_for(client, frame, &connection);
    }
    if (client->broken != 0 || rc != SHERWOOD_OK) {
        return client->broken != 0 ? client->broken : rc;
    }
    if (connection == NULL) {
        return sw_client_fail(client, SHERWOOD_E_BUSY,
                              "submit: the limit in flight, %u, is reached: wait for one first",
                              client->in_flight);
    }
    if (queue_request(connection, frame, request) == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "submit: the frame cannot be encoded");
    }
    if ((request->flags & SHERWOOD_DELAY) == 0) {
        sw_client_send_all(client);
    }
    return SHERWOOD_OK;
}

/* The header of one key, which has the widths of the arrays. */
static struct sw_request header_of_one(const struct sherwood *client, const struct span *span)
{
    struct sw_request header =
        header_of(client, (uint32_t)span->operation, 1, span->previous != NULL, true, span->cache);
    sw_client_add_details(&header, &span->details);
    return header;
}

/* Returns how many keys fit into a frame for which the server needs memory beside the bodies.
 * Returns frame_ops_max if not even one key fits. */
static uint32_t keys_with_room(const struct sherwood *client, const struct sw_request *header)
{
    const bool has_values = sw_request_logs_results(header) ||
                            sw_operation_has_range(header->operation) ||
                            sw_operation_has_pairs(header->operation);
    const uint64_t each =
        header->key_bytes + sw_request_operand_bytes(header) + sw_request_answer_bytes(header) +
        SW_CLIENT_KEY_ROOM + (has_values ? 2ULL * header->value_bytes : 0) +
        (sw_client_keeps(header)
             ? 2ULL * header->key_bytes + 4ULL * header->value_bytes + SW_CLIENT_KEY_ROOM
             : 0);
    const uint64_t fit = client->table->server.frame_bytes_max / each;
    const uint32_t most = client->table->server.frame_ops_max;
    return fit == 0 || fit > most ? most : (uint32_t)fit;
}

/* Returns how many keys of a call the server takes in one frame. */
static uint32_t keys_max(const struct sherwood *client, const struct span *call)
{
    uint32_t most = client->table->server.frame_ops_max;
    if (call->cache != NULL) {
        struct sw_request header = header_of(client, (uint32_t)call->operation, most,
                                             call->previous != NULL, true, call->cache);
        most = sw_client_cache_keys(client, &header);
    }
    const struct sw_request one = header_of_one(client, call);
    if (sw_request_logs_results(&one) || sw_operation_is_composed(one.operation) ||
        sw_operation_has_pairs(one.operation) || sw_operation_has_range(one.operation) ||
        one.times != 0) {
        uint32_t fit = keys_with_room(client, &one) / (sw_client_keeps(&one) ? 2 : 1);
        most = fit > SW_CLIENT_SPLIT_KEYS ? fit : most;
    }
    return most;
}

uint32_t sherwood_frame_keys(const struct sherwood *client, const struct sherwood_request *request)
{
    const struct sherwood *root = sw_client_enter(client);
    const struct span call = {.operation = request->operation,
                              .previous = request->previous,
                              .details = sw_client_request_details(root, request),
                              .cache = sw_client_request_cache(request)};
    return keys_max(root, &call);
}

/* Returns the number of keys of the next frame of a call: the rest of the call, or at most the
 * server's limit. In the second case it is a multiple of 64, so that the found bits of the next
 * frame begin at a word. */
static uint32_t frame_keys(const struct sherwood *client, const struct span *call, size_t left)
{
    const uint32_t most = keys_max(client, call);
    return left <= most ? (uint32_t)left
                        : most / SW_CLIENT_SPLIT_KEYS * (uint32_t)SW_CLIENT_SPLIT_KEYS;
}

/* Returns the `count` keys of `call` from key `at` on. */
static struct span cut(const struct sherwood *client, const struct span *call, size_t at,
                       uint32_t count)
{
    size_t key_at = at * client->table->server.key_bytes;
    const struct sw_request one = header_of_one(client, call);
    size_t value_at = at * sw_request_answer_bytes(&one);
    size_t operand_at = at * sw_request_operand_bytes(&one);
    struct sw_client_details details = call->details;
    details.times_ms = details.times_ms == NULL ? NULL : details.times_ms + at;
    return (struct span){
        .operation = call->operation,
        .details = details,
        .keys = call->keys + key_at,
        .values = call->values == NULL ? NULL : call->values + operand_at,
        .previous = call->previous == NULL ? NULL : call->previous + value_at,
        .found = call->found == NULL
                     ? NULL
                     : (uint8_t *)call->found + (call->found_bytes ? at : at / 64 * 8),
        .found_bytes = call->found_bytes,
        .cache = call->cache,
        .cache_at = at,
        .count = count,
    };
}

/* Queues the call from key `from` on, frame by frame. The frames of a read go to any connection;
 * those of a write all go to one, which keeps their order. */
static int queue_call(struct sherwood *client, const struct span *whole, size_t from, size_t count,
                      struct sw_client_call *call)
{
    struct sw_client_connection *only = NULL;
    for (size_t at = from; at < count && call->status == SHERWOOD_OK;) {
        struct span span = cut(client, whole, at, frame_keys(client, whole, count - at));
        span.cache_keys = count;
        span.is_split = whole->cache != NULL && span.count < count &&
                        sw_client_cache_evicted(whole->cache) != 0;
        struct sw_client_frame frame = frame_of_span(client, &span);
        struct sw_client_connection *connection = NULL;
        int rc = sw_client_connection_for(client, &frame, &connection);
        if (only != NULL && !frame.by_ring) {
            connection = sw_client_connection_is_free(only) ? only : NULL;
        }
        if (client->broken != 0 || (only != NULL && only->broken != 0)) {
            return only != NULL ? only->broken : client->broken;
        }
        if (rc != SHERWOOD_OK) {
            return rc;
        }
        if (connection == NULL) {
            sw_client_send_all(client);
            sw_client_step(client, -1);
            continue;
        }
        frame.done = sw_client_call_done;
        frame.owner = call;
        frame.call_at = at;
        if (sw_client_queue(connection, &frame) == NULL) {
            return sw_client_fail(client, SHERWOOD_E_INVALID, "the frame cannot be encoded");
        }
        call->flights++;
        at += span.count;
        only = sw_operation_writes((uint32_t)whole->operation) ? connection : NULL;
        sw_client_send(connection);
    }
    return SHERWOOD_OK;
}

static int run_whole(struct sherwood *client, const struct span *whole, size_t count)
{
    size_t from = 0;
    uint64_t overflows = 0;
    int ended, follows = 0;
    client->overflows = 0;
    if (client->table->changes != client->changes) { /* records of the ring then have its id */
        (void)sw_client_table_renew(client, SHERWOOD_OK);
    }
    do {
        struct sw_client_call call = {.refused_from = SW_CLIENT_NOT_REFUSED};
        int rc = queue_call(client, whole, from, count, &call);
        ended = sw_client_finish_call(client, &call);
        overflows += call.overflows;
        client->overflows = overflows;
        if (ended == SHERWOOD_OK || rc != SHERWOOD_OK) {
            return ended != SHERWOOD_OK ? ended : rc;
        }
        ended = sw_client_follow_call(client, &call, &follows, &from);
    } while (ended == SHERWOOD_OK);
    return ended;
}

int sherwood_run(struct sherwood *client, enum sherwood_operation operation, const void *keys,
                 const void *values, size_t count, void *previous, uint64_t *found)
{
    return sherwood_run_cache(client, operation, keys, values, count, previous, found, NULL);
}

/* Carries out a call whose arguments are right. */
static int run_anywhere(struct sherwood *client, const struct span *whole, size_t count)
{
    int rc = sw_client_check_arguments(client, whole->operation, whole->keys, whole->values);
    client->overflows = 0;
    if (rc == SHERWOOD_OK && whole->found_bytes) {
        rc = sw_client_one_node(client, "found bytes");
    }
    if (rc != SHERWOOD_OK) {
        return rc;
    }
    return client->cluster == NULL
               ? run_whole(client, whole, count)
               : sw_client_cluster_run(client, whole->operation, &whole->details, whole->keys,
                                       whole->values, count, whole->previous, whole->found);
}

int sherwood_run_cache(struct sherwood *client, enum sherwood_operation operation, const void *keys,
                       const void *values, size_t count, void *previous, uint64_t *found,
                       struct sherwood_cache *cache)
{
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int rc = client->broken;
    if (rc != SHERWOOD_OK || count == 0) {
        return rc;
    }
    rc = sw_client_cache_check(client, cache);
    if (rc == SHERWOOD_OK && client->cluster != NULL && cache != NULL) {
        rc = sw_client_one_node(client, "arrays of a cache");
    }
    const struct span whole = {.operation = operation,
                               .keys = keys,
                               .values = values,
                               .previous = previous,
                               .found = found,
                               .cache = cache};
    return rc == SHERWOOD_OK ? run_anywhere(client, &whole, count) : rc;
}

/* Returns the operation that adds numbers of this type; 0: the type has no numbers to add. */
static enum sherwood_operation add_of(enum sherwood_type type, bool present_only)
{
    return (enum sherwood_operation)sw_operation_that_adds(type, present_only);
}

int sherwood_add(struct sherwood *client, const void *keys, const void *rows, size_t count,
                 float scale, enum sherwood_type operand_type, bool present_only)
{
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    const enum sherwood_type type = client->table->server.value_type;
    struct span whole = {.operation = add_of(type, present_only), .keys = keys, .values = rows};
    if (client->broken != 0 || count == 0) {
        return client->broken;
    }
    if (whole.operation == 0) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "add: the values of this server are not rows of numbers: start it "
                              "with --value-bytes and a numeric --value-type");
    }
    if (scale != 1) {
        memcpy(&whole.details.scale_bits, &scale, sizeof(scale));
    }
    whole.details.operand_type = operand_type == type ? 0 : (uint32_t)operand_type;
    return run_anywhere(client, &whole, count);
}

uint64_t sherwood_overflows(const struct sherwood *client)
{
    return client == NULL ? 0 : client->root->overflows;
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

/* --- parts of values, and values that depend on those before ---------------------------------- */

static int run_part(struct sherwood *client, const struct span *whole, size_t count)
{
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    return client->broken != 0 || count == 0 ? client->broken : run_anywhere(client, whole, count);
}

int sherwood_get_range(struct sherwood *client, const void *keys, size_t count, uint32_t offset,
                       uint32_t bytes, void *parts, uint64_t *found)
{
    const struct span whole = {.operation = SHERWOOD_GETRANGE,
                               .keys = keys,
                               .previous = parts,
                               .found = found,
                               .details = {.range_offset = offset, .range_bytes = bytes}};
    return run_part(client, &whole, count);
}

int sherwood_set_range(struct sherwood *client, const void *keys, const void *parts, size_t count,
                       uint32_t offset, uint32_t bytes, uint64_t *found)
{
    const struct span whole = {.operation = SHERWOOD_SETRANGE,
                               .keys = keys,
                               .values = parts,
                               .found = found,
                               .details = {.range_offset = offset, .range_bytes = bytes}};
    return run_part(client, &whole, count);
}

int sherwood_cas(struct sherwood *client, const void *keys, const void *pairs, size_t count,
                 uint64_t *changed)
{
    const struct span whole = {
        .operation = SHERWOOD_CAS, .keys = keys, .values = pairs, .found = changed};
    return run_part(client, &whole, count);
}

int sherwood_read_found_bytes(struct sherwood *client, enum sherwood_operation operation,
                              const void *keys, size_t count, void *values, uint8_t *found)
{
    const struct span whole = {.operation = operation,
                               .keys = keys,
                               .previous = values,
                               .found = found,
                               .found_bytes = true};
    return found == NULL ? SHERWOOD_E_INVALID : run_part(client, &whole, count);
}

/* --- times ------------------------------------------------------------------------------------ */

int sherwood_run_times(struct sherwood *client, enum sherwood_operation operation, const void *keys,
                       const void *values, size_t count, void *previous, uint64_t *found,
                       const struct sherwood_times *times)
{
    struct sherwood *root = sw_client_enter(client);
    struct span whole = {.operation = operation,
                         .keys = keys,
                         .values = values,
                         .previous = previous,
                         .found = found};
    int rc = root == NULL        ? SHERWOOD_E_INVALID
             : root->broken != 0 ? root->broken
                                 : sw_client_times_check(root, times);
    if (rc != SHERWOOD_OK) {
        return rc;
    }
    sw_client_add_times(&whole.details, times);
    return run_part(client, &whole, count);
}
