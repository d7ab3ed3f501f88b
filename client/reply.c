/* SPDX-License-Identifier: MIT
 *
 * reply.c - checks whether a reply fits the request that it names. Nothing that a server sends is
 * used before this check.
 *
 * Every byte of a body that reaches an array of the caller goes through add_array, which compares
 * it with the room that the caller gave. The check of the header finds a wrong count earlier; this
 * one holds even if that check forgets a case.
 */
#include "client/reply.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "client/endpoints.h"
#include "client/error.h"
#include "client/handle.h"
#include "client/segments.h"

static int contradiction(struct sw_client_connection *connection, const char *what)
{
    const struct sherwood *client = connection->client;
    return sw_client_break(connection, SHERWOOD_E_PROTOCOL,
                           "%s: the server's reply %s: the client and the server do not agree on "
                           "the protocol (server version %s)",
                           connection->address, what,
                           client->own.server.version[0] != '\0' ? client->own.server.version
                                                                 : "unknown");
}

/* Copies the message of the server, or the text of the status if there is none. */
static void copy_message(const struct sw_reply *reply, char *out, size_t out_bytes)
{
    sw_client_clean(reply->message, sizeof(reply->message), out, out_bytes);
    if (out[0] == '\0') {
        const char *text = sherwood_status_text(sw_client_status(reply->status));
        sw_client_clean(text, strlen(text), out, out_bytes);
    }
}

int sw_client_turned_away(struct sw_client_connection *connection, const char *message)
{
    return sw_client_break(connection, SHERWOOD_E_CONNECTION,
                           "%s: the server has reached its limit of connections (%s): close some, "
                           "or raise --connections-max",
                           connection->address, message);
}

/* Returns the fields of a refusal. A refused request has no counts, whatever the server sends. */
static struct sw_reply refusal_of(const struct sw_reply *reply)
{
    return (struct sw_reply){.request_id = reply->request_id,
                             .status = reply->status,
                             .first_bad_index = reply->first_bad_index,
                             .slot = reply->slot,
                             .map_epoch = reply->map_epoch};
}

/* Notes that a replica has refused a request, and which primary it named. */
static void refused_by_replica(struct sw_client_connection *connection, const char *primary)
{
    struct sherwood *client = connection->client;
    const char *colon = strrchr(primary, ':');
    const bool is_path = strncmp(primary, "unix:", 5) == 0;
    const bool is_v6 = !is_path && primary[0] != '[' && strchr(primary, ':') != colon;
    char cleaned[SW_CLIENT_ADDRESS_BYTES];
    sw_client_clean(primary, strlen(primary), cleaned, sizeof(cleaned));
    client->is_at_replica = true;
    if (colon == NULL || cleaned[0] == '\0') {
        client->primary[0] = '\0';
        sw_client_fail(client, SHERWOOD_E_SHARD,
                       "%s: this server is a replica that does not know its primary: try again",
                       connection->address);
        return;
    }
    colon = strrchr(cleaned, ':');
    snprintf(client->primary, sizeof(client->primary), "%s%s%.*s%s%s",
             client->endpoints != NULL && client->endpoints->is_secure && !is_path ? "tls://" : "",
             is_v6 ? "[" : "", (int)(colon - cleaned), cleaned, is_v6 ? "]" : "", colon);
    sw_client_fail(client, SHERWOOD_E_SHARD, "%s: this server is a replica; its primary is %s",
                   connection->address, cleaned);
}

/* Handles a reply whose status is not OK; it has no body. */
static int refused(struct sw_client_connection *connection, struct sw_client_flight *flight,
                   const struct sw_reply *reply)
{
    const struct sw_reply refusal = refusal_of(reply);
    struct sherwood *client = connection->client;
    char message[SW_FRAME_TEXT_BYTES_MAX];
    int status = sw_client_status(reply->status);
    copy_message(reply, message, sizeof(message));
    if (status == SHERWOOD_E_PROTOCOL) {
        return contradiction(connection, "has an unknown status");
    }
    if (reply->status == SW_REPLY_TOO_MANY_CONNECTIONS) {
        return sw_client_turned_away(connection, message);
    }
    if (flight != NULL && !flight->sent && flight->refused == SW_REPLY_OK &&
        status == SHERWOOD_E_TABLE) { /* the server reads the rest of the frame */
        flight->refused = reply->status;
        return sw_client_fail(client, SHERWOOD_OK, "the server refused the request: %s", message);
    }
    if (flight == NULL || !flight->sent) {
        /* The reply is about the connection as a whole, or the server gave up on a frame before it
         * was completely sent. It would not understand what follows. */
        return sw_client_break(connection, SHERWOOD_E_CONNECTION,
                               "%s: the server ended the connection: %s", connection->address,
                               message);
    }
    if (reply->status == SW_REPLY_NOT_PRIMARY && client->cluster == NULL) {
        refused_by_replica(connection, reply->message);
    } else {
        sw_client_fail(client, status, "the server refused the request: %s", message);
    }
    sw_client_flight_finish(connection, flight, status, &refusal);
    return SHERWOOD_OK;
}

static bool width_differs(uint32_t sent, uint32_t expected, bool needed)
{
    return sent != expected && (needed || sent != 0);
}

/* Returns how many more evicted entries the caller's arrays can hold. Their beginning has the
 * evicted entries of the call's earlier replies. */
static uint64_t evicted_room(const struct sw_client_flight *flight)
{
    const struct sherwood_cache *cache = flight->cache;
    bool has_room = cache != NULL && cache->evicted_count < flight->cache_keys;
    return has_room ? flight->cache_keys - cache->evicted_count : 0;
}

/* Returns NULL, or a phrase for the error in the fields of a cache. */
static const char *check_cache(const struct sw_reply *reply, const struct sw_client_flight *flight)
{
    const struct sw_request *request = &flight->header;
    const bool may_evict = request->want_evicted != 0 && sw_operation_writes(request->operation);
    if (reply->has_scores != request->want_scores ||
        reply->has_not_admitted != request->want_not_admitted ||
        reply->has_evicted != request->want_evicted) {
        return "has scores or evicted entries that were not requested, or lacks those that were";
    }
    if (reply->evicted_count > (may_evict ? reply->count : 0) ||
        reply->evicted_count > (may_evict ? evicted_room(flight) : 0) ||
        reply->not_admitted > reply->count) {
        return "counts more evicted entries, or more keys that were not admitted, than keys";
    }
    return NULL;
}

/* Returns NULL, or a phrase for what is wrong with a reply whose status is OK. */
static const char *check_ok(const struct sw_reply *reply, const struct sw_client_flight *flight,
                            uint64_t body_bytes)
{
    const struct sw_request *request = &flight->header;
    bool is_scan = request->operation == SW_OPERATION_SCAN;
    bool is_stats = request->operation == SW_OPERATION_STATS;
    bool is_data = sw_operation_is_data(request->operation);
    bool is_topology = request->operation == SW_OPERATION_TOPOLOGY;
    bool is_tables = request->operation == SW_OPERATION_TABLES;
    if (request->operation == SW_OPERATION_DIGEST && !reply->has_digest) {
        return "lacks the digest that was requested";
    }
    if (!is_scan && !is_data && !is_stats && !is_topology && !is_tables) {
        return body_bytes == 0 ? NULL : "has a body that was not requested";
    }
    if (is_data ? reply->count != request->count : reply->count > request->count) {
        return is_stats      ? "has more figures than were requested"
               : is_topology ? "has more of the topology than was requested"
               : is_tables   ? "has more tables than were requested"
                             : "is for another number of keys than the request";
    }
    if (is_data && reply->has_values != request->want_values) {
        return "has values that were not requested, or lacks those that were";
    }
    if (is_data && reply->lacks_found && !request->declines_found) {
        return "lacks the found bitmap that was requested";
    }
    const char *wrong = check_cache(reply, flight);
    if (wrong != NULL) {
        return wrong;
    }
    if (flight->segments != NULL) {
        return reply->hits > reply->count ? "counts more hits than keys"
               : body_bytes ==
                       sw_client_segments_answer(flight, reply->has_values, !reply->lacks_found)
                   ? NULL
                   : "has a body length that contradicts its segments";
    }
    bool has_entries = is_scan && reply->count > 0;
    if (width_differs(reply->key_bytes, request->key_bytes, has_entries) ||
        width_differs(reply->value_bytes, sw_request_answer_bytes(request),
                      has_entries || reply->has_values)) {
        return "has another key or value width than the server announced";
    }
    struct sw_reply expected = *reply;
    expected.key_bytes = request->key_bytes;
    expected.value_bytes = sw_request_answer_bytes(request);
    expected.has_values = is_scan || request->want_values;
    if (body_bytes != sw_reply_layout(&expected, request->operation).bytes) {
        return "has a body length that contradicts its count and widths";
    }
    if (reply->overflows > (sw_operation_may_overflow(request->operation) ? reply->count : 0)) {
        return "counts more overflows than keys";
    }
    return is_data && reply->hits > reply->count ? "counts more hits than keys" : NULL;
}

/* Bytes that are dropped lengthen such a part before them. So a read takes more of the body. */
static void add_part(struct sw_client_connection *connection, void *data, uint64_t bytes)
{
    struct sw_client_part *last =
        connection->parts_count > 0 ? &connection->parts[connection->parts_count - 1] : NULL;
    if (last != NULL && last->data == NULL && data == NULL) {
        last->bytes += (size_t)bytes;
    } else if (bytes > 0) {
        assert(connection->parts_count < SW_CLIENT_PARTS_MAX);
        connection->parts[connection->parts_count++] = (struct sw_client_part){data, (size_t)bytes};
    }
}

/* Adds an array and its padding. If `data` is NULL, the bytes are dropped; otherwise the caller
 * gave `room` bytes there. Returns false if the array is longer than that. */
static bool add_array(struct sw_client_connection *connection, void *data, uint64_t room,
                      uint64_t bytes)
{
    if (data != NULL && bytes > room) {
        return false;
    }
    add_part(connection, data, bytes);
    add_part(connection, NULL, sw_frame_align(bytes) - bytes);
    return true;
}

/* Adds the values, piece by piece, and their padding. The caller gave the pieces; their counts add
 * up to the count of the request. */
static bool add_values(struct sw_client_connection *connection,
                       const struct sw_client_flight *flight)
{
    const uint64_t each = sw_request_answer_bytes(&flight->header);
    const uint64_t bytes = connection->reply.count * each;
    uint64_t room = 0;
    for (uint32_t i = 0; i < flight->pieces_count; i++) {
        const struct sherwood_piece *piece = &flight->pieces[i];
        add_part(connection, piece->previous, piece->count * each);
        room += piece->count * each;
    }
    add_part(connection, NULL, sw_frame_align(bytes) - bytes);
    return bytes == room;
}

/* Adds the values and found bits of each segment. An array that the caller declined is dropped. */
static void add_segments(struct sw_client_connection *connection,
                         const struct sw_client_flight *flight)
{
    const struct sw_reply *reply = &connection->reply;
    for (uint32_t i = 0; i < flight->segments_count; i++) {
        const struct sherwood_segment *segment = &flight->segments[i];
        const uint64_t values = reply->has_values ? sw_client_segment_value_bytes(segment) : 0;
        const uint64_t found = reply->lacks_found ? 0 : sw_found_bytes(segment->count);
        (void)add_array(connection, segment->values, values, values);
        (void)add_array(connection, segment->found, found, found);
    }
}

/* Returns the address of element `at` of an array, or NULL if the array is NULL. */
static void *place(void *array, uint64_t at, uint64_t bytes)
{
    return array == NULL ? NULL : (uint8_t *)array + at * bytes;
}

/* Adds the arrays that only a cache sends. */
static bool add_cache(struct sw_client_connection *connection,
                      const struct sw_client_flight *flight)
{
    const struct sw_reply *reply = &connection->reply;
    const struct sherwood_cache *cache = flight->cache;
    const uint64_t evicted = reply->evicted_count, at = cache->evicted_count;
    const uint64_t room = evicted_room(flight);
    const struct {
        uint32_t bit;
        void *array;
        uint64_t each;
    } arrays[] = {
        {SW_FRAME_EVICTED_KEYS, cache->evicted_keys, flight->header.key_bytes},
        {SW_FRAME_EVICTED_VALUES, cache->evicted_values, flight->header.value_bytes},
        {SW_FRAME_EVICTED_SCORES, cache->evicted_scores, sizeof(uint64_t)},
    };
    bool fits = true;
    if (reply->has_not_admitted) {
        fits &= add_array(connection, cache->not_admitted + flight->cache_at / 64,
                          sw_found_bytes(flight->header.count), sw_found_bytes(reply->count));
    }
    if (reply->has_scores) {
        fits &= add_array(connection, cache->scores_out + flight->cache_at,
                          flight->header.count * sizeof(uint64_t), reply->count * sizeof(uint64_t));
    }
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        const uint64_t each = arrays[i].each;
        if ((reply->has_evicted & arrays[i].bit) != 0) {
            fits &= add_array(connection, place(arrays[i].array, at, each), room * each,
                              evicted * each);
        }
    }
    return fits;
}

/* Adds the entries of a SCAN. */
static bool add_entries(struct sw_client_connection *connection,
                        const struct sw_client_flight *flight)
{
    const struct sw_request *request = &flight->header;
    const uint64_t count = connection->reply.count, room = request->count;
    bool fits =
        add_array(connection, flight->first, room * request->key_bytes, count * request->key_bytes);
    fits &= add_array(connection, flight->second, room * request->value_bytes,
                      count * request->value_bytes);
    if (connection->reply.has_scores) {
        fits &= add_array(connection, flight->scores, room * sizeof(uint64_t),
                          count * sizeof(uint64_t));
    }
    return fits;
}

/* Lists where the body goes. Returns false if an array of the caller is too short for it. */
static bool set_parts(struct sw_client_connection *connection,
                      const struct sw_client_flight *flight)
{
    const struct sw_request *request = &flight->header;
    const uint64_t count = connection->reply.count;
    connection->part = 0;
    connection->parts_count = 0;
    if (request->operation == SW_OPERATION_SCAN) {
        return add_entries(connection, flight);
    }
    if (request->operation == SW_OPERATION_STATS) {
        const uint64_t each = sizeof(struct sw_figure);
        return add_array(connection, flight->first, request->count * each, count * each);
    }
    if (request->operation == SW_OPERATION_TABLES) {
        const uint64_t each = sizeof(struct sw_frame_place);
        return add_array(connection, flight->first, request->count * each, count * each);
    }
    if (request->operation == SW_OPERATION_TOPOLOGY) {
        return add_array(connection, flight->first, request->count, count);
    }
    if (flight->segments != NULL) {
        add_segments(connection, flight);
        return true;
    }
    bool fits = !request->want_values || add_values(connection, flight);
    /* An older server sends the bitmap even if the request declined it; it is dropped. */
    if (!connection->reply.lacks_found) {
        fits &= add_array(connection, flight->second, sw_found_bytes(request->count),
                          sw_found_bytes(connection->reply.count));
    }
    return fits && (flight->cache == NULL || add_cache(connection, flight));
}

int sw_client_reply(struct sw_client_connection *connection, uint64_t body_bytes)
{
    const struct sw_reply *reply = &connection->reply;
    struct sw_client_flight *flight = sw_client_flight_find(connection, reply->request_id);
    if (reply->request_id == 0 && reply->status == SW_REPLY_OK && connection->ring.memory != NULL &&
        body_bytes == 0) {
        return SHERWOOD_OK; /* the reply is a doorbell: the waiting call reads the ring */
    }
    if (flight == NULL && (reply->request_id != 0 || reply->status == SW_REPLY_OK)) {
        return contradiction(connection, "is to a request that the client did not send");
    }
    if (reply->status != SW_REPLY_OK) {
        if (body_bytes != 0) {
            return contradiction(connection, "refuses the request, but has a body");
        }
        return refused(connection, flight, reply);
    }
    if (!flight->sent || flight->by_ring) {
        return contradiction(connection, "came before the request had been sent");
    }
    const char *wrong = check_ok(reply, flight, body_bytes);
    if (wrong != NULL) {
        return contradiction(connection, wrong);
    }
    if (connection->client->last_write < reply->write_sequence) {
        connection->client->last_write = reply->write_sequence;
    }
    if (body_bytes == 0) {
        sw_client_flight_finish(connection, flight, SHERWOOD_OK, reply);
        return SHERWOOD_OK;
    }
    if (!set_parts(connection, flight)) {
        return contradiction(connection, "is longer than the caller's arrays for it");
    }
    assert(connection->receiving == NULL && connection->parts_count > 0);
    connection->receiving = flight;
    return SHERWOOD_OK;
}

int sw_client_completion(struct sw_client_connection *connection,
                         const struct sw_completion *completion)
{
    struct sw_client_flight *flight = sw_client_flight_find(connection, completion->id);
    struct sw_reply reply;
    if (flight == NULL || !flight->by_ring) {
        return contradiction(connection, "is to a request that the client did not send");
    }
    sw_completion_decode(completion, &flight->header, &reply);
    if (reply.status != SW_REPLY_OK) {
        return refused(connection, flight, &reply);
    }
    uint64_t bytes = sw_reply_layout(&reply, flight->header.operation).bytes;
    const char *wrong = check_ok(&reply, flight, bytes);
    if (wrong != NULL) {
        return contradiction(connection, wrong);
    }
    if (connection->client->last_write < reply.write_sequence) {
        connection->client->last_write = reply.write_sequence;
    }
    sw_client_flight_finish(connection, flight, SHERWOOD_OK, &reply);
    return SHERWOOD_OK;
}
