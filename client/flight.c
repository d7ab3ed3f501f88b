/* SPDX-License-Identifier: MIT
 *
 * flight.c - frames in flight: the ring of slots, and what happens when a reply is complete.
 */
#include "client/flight.h"

#include <assert.h>

#include "client/handle.h"
#include "client/segments.h"

static_assert(SW_CLIENT_ARRAYS_MAX >= 3 * SHERWOOD_PIECES_MAX + 10,
              "frames without segments have fewer arrays");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays cross the wire as they are");

static struct sw_client_flight *take_slot(struct sw_client_connection *connection)
{
    for (uint32_t i = 0; i < SW_CLIENT_FLIGHTS_MAX; i++) {
        uint64_t id = ++connection->client->sequence;
        struct sw_client_flight *flight = &connection->flights[id % SW_CLIENT_FLIGHTS_MAX];
        /* Id 0 marks a free slot. A server uses it in replies to frames whose id it does not know.
         */
        if (id != 0 && flight->id == 0) {
            *flight = (struct sw_client_flight){.id = id};
            return flight;
        }
    }
    return NULL;
}

struct sw_client_flight *sw_client_flight_take(struct sw_client_connection *connection,
                                               const struct sw_client_frame *frame)
{
    struct sherwood *client = connection->client;
    struct sw_client_flight *flight =
        sw_client_connection_is_free(connection) ? take_slot(connection) : NULL;
    assert(frame->done != NULL);
    if (flight == NULL) {
        return NULL;
    }
    flight->header = frame->header;
    flight->header.request_id = flight->id;
    flight->first = frame->first;
    flight->second = frame->second;
    flight->scores = frame->scores;
    flight->single = frame->single;
    flight->pieces = frame->pieces != NULL ? frame->pieces : &flight->single;
    flight->pieces_count = frame->pieces != NULL ? frame->pieces_count : frame->single.keys != NULL;
    flight->segments = frame->segments;
    flight->segments_count = frame->segments_count;
    flight->is_constant = frame->is_constant;
    flight->times_ms = frame->times_ms;
    flight->cache = frame->cache;
    flight->cache_at = frame->cache_at;
    flight->cache_keys = frame->cache_keys;
    flight->done = frame->done;
    flight->owner = frame->owner;
    flight->call_at = frame->call_at;
    connection->moved = connection->in_flight == 0 ? client->clock : connection->moved;
    connection->in_flight++;
    client->in_flight++;
    return flight;
}

void sw_client_flight_put_back(struct sw_client_connection *connection,
                               struct sw_client_flight *flight)
{
    assert(flight->id != 0 && !flight->sent);
    assert(connection->in_flight > 0 && connection->client->in_flight >= connection->in_flight);
    flight->id = 0;
    connection->in_flight--;
    connection->client->in_flight--;
}

/* --- arrays ----------------------------------------------------------------------------------- */

struct list {
    struct sw_client_array *arrays;
    uint32_t count;
};

static void list_array(struct list *list, const void *at, uint64_t bytes, bool is_out)
{
    if (at != NULL && bytes > 0) {
        assert(list->count < SW_CLIENT_ARRAYS_MAX);
        list->arrays[list->count++] = (struct sw_client_array){at, bytes, is_out};
    }
}

static void list_cache(struct list *list, const struct sw_client_flight *flight)
{
    const struct sherwood_cache *cache = flight->cache;
    const struct sw_request *request = &flight->header;
    const uint64_t at = flight->cache_at, most = flight->cache_keys;
    const uint64_t words = request->count * sizeof(uint64_t);
    if (cache->scores != NULL) {
        list_array(list, cache->scores + at, words, false);
    }
    if (cache->scores_out != NULL) {
        list_array(list, cache->scores_out + at, words, true);
    }
    if (cache->not_admitted != NULL) {
        list_array(list, cache->not_admitted + at / 64, sw_found_bytes(request->count), true);
    }
    list_array(list, cache->evicted_keys, most * request->key_bytes, true);
    list_array(list, cache->evicted_values, most * request->value_bytes, true);
    list_array(list, cache->evicted_scores, most * sizeof(uint64_t), true);
}

/* Lists the arrays that receive the body of a reply without keys. */
static void list_body(struct list *list, const struct sw_client_flight *flight)
{
    const struct sw_request *request = &flight->header;
    const bool is_scan = request->operation == SW_OPERATION_SCAN;
    const uint64_t each = is_scan                                       ? request->key_bytes
                          : request->operation == SW_OPERATION_TOPOLOGY ? 1
                                                                        : sizeof(struct sw_figure);
    list_array(list, flight->first, request->count * each, true);
    list_array(list, flight->second, request->count * (uint64_t)request->value_bytes, true);
    list_array(list, flight->scores, request->count * sizeof(uint64_t), true);
}

uint32_t sw_client_flight_arrays(const struct sw_client_flight *flight,
                                 struct sw_client_array arrays[SW_CLIENT_ARRAYS_MAX])
{
    const struct sw_request *request = &flight->header;
    struct list list = {.arrays = arrays};
    if (!sw_operation_is_data(request->operation)) {
        list_body(&list, flight);
        return list.count;
    }
    for (uint32_t i = 0; i < flight->segments_count; i++) {
        const struct sherwood_segment *segment = &flight->segments[i];
        list_array(&list, segment->keys, sw_client_segment_key_bytes(segment), false);
        list_array(&list, segment->values, sw_client_segment_value_bytes(segment), true);
        list_array(&list, segment->found, sw_found_bytes(segment->count), true);
    }
    for (uint32_t i = 0; i < flight->pieces_count; i++) {
        const struct sherwood_piece *piece = &flight->pieces[i];
        const uint64_t count = piece->count;
        list_array(&list, piece->keys, count * request->key_bytes, false);
        list_array(&list, piece->values, count * sw_request_operand_bytes(request), false);
        list_array(&list, piece->previous, count * sw_request_answer_bytes(request), true);
    }
    list_array(&list, flight->second, sw_request_found_bytes(request), true);
    list_array(&list, flight->times_ms, request->count * sizeof(uint64_t), false);
    if (flight->cache != NULL) {
        list_cache(&list, flight);
    }
    return list.count;
}

/* --- the end of a flight ---------------------------------------------------------------------- */

struct sw_client_flight *sw_client_flight_find(struct sw_client_connection *connection, uint64_t id)
{
    struct sw_client_flight *flight = &connection->flights[id % SW_CLIENT_FLIGHTS_MAX];
    return id != 0 && flight->id == id ? flight : NULL;
}

/* Adds the counts of a reply to those of the call or request. */
static void count_cache(struct sherwood_cache *cache, const struct sw_reply *reply)
{
    if (cache != NULL && reply != NULL) {
        cache->evicted_count += reply->evicted_count;
        cache->not_admitted_count += reply->not_admitted;
    }
}

void sw_client_request_begin(struct sherwood_request *request, uint64_t id)
{
    request->_id = id;
    request->_state = SW_CLIENT_REQUEST_FLYING;
    request->_next = NULL;
    request->status = SHERWOOD_OK;
    request->hits = 0;
    request->overflows = 0;
}

void sw_client_request_finish(struct sherwood *client, struct sherwood_request *request, int status,
                              uint64_t hits, uint64_t overflows)
{
    assert(request->_state == SW_CLIENT_REQUEST_FLYING);
    request->status = status;
    request->hits = hits;
    request->overflows = overflows;
    request->_state = SW_CLIENT_REQUEST_DONE;
    request->_next = NULL;
    if (client->done_last == NULL) {
        client->done_first = request;
    } else {
        client->done_last->_next = request;
    }
    client->done_last = request;
}

/* Records for a table give its id once its facts are read again. */
static void note_change(struct sherwood *client, const struct sw_client_flight *flight,
                        const struct sw_reply *reply)
{
    client->changes += flight->by_ring && reply != NULL && reply->status == SW_REPLY_TABLE_CHANGED;
}

void sw_client_call_done(struct sherwood *client, const struct sw_client_flight *flight, int status,
                         const struct sw_reply *reply)
{
    struct sw_client_call *call = flight->owner;
    const uint64_t from = flight->call_at, to = from + flight->header.count;
    assert(call->flights > 0);
    call->flights--;
    if (call->status == SHERWOOD_OK) {
        call->status = status;
        call->failed_at = from;
    }
    note_change(client, flight, reply);
    if (status == SHERWOOD_OK) {
        call->done_to = to > call->done_to ? to : call->done_to;
    } else if (reply != NULL &&
               (reply->status == SW_REPLY_NOT_PRIMARY || reply->status == SW_REPLY_TABLE_CHANGED)) {
        call->refused_from = from < call->refused_from ? from : call->refused_from;
    } else {
        call->has_failed = true;
    }
    call->overflows += reply == NULL ? 0 : reply->overflows;
    call->least = reply != NULL && reply->count < call->least ? reply->count : call->least;
    if (call->reply != NULL && reply != NULL) {
        *call->reply = *reply;
    }
}

void sw_client_request_done(struct sherwood *client, const struct sw_client_flight *flight,
                            int status, const struct sw_reply *reply)
{
    note_change(client, flight, reply);
    sw_client_request_finish(client, flight->owner, status, reply == NULL ? 0 : reply->hits,
                             reply == NULL ? 0 : reply->overflows);
}

void sw_client_flight_finish(struct sw_client_connection *connection,
                             struct sw_client_flight *flight, int status,
                             const struct sw_reply *reply)
{
    assert(flight->id != 0 && connection->in_flight > 0);
    assert(connection->client->in_flight >= connection->in_flight);
    assert(connection->direct >= flight->is_direct &&
           connection->ring.in_flight >= flight->by_ring);
    count_cache(flight->cache, reply);
    flight->id = 0;
    connection->in_flight--;
    connection->direct -= flight->is_direct;
    connection->ring.in_flight -= flight->by_ring;
    connection->client->in_flight--;
    if (reply != NULL && reply->map_epoch > connection->map_epoch) {
        connection->map_epoch = reply->map_epoch;
    }
    flight->done(connection->client, flight, status, reply);
}
