/* SPDX-License-Identifier: MIT
 *
 * flight.c - frames in flight: the ring of slots, and what happens when one is answered.
 */
#include <assert.h>

#include "client/internal.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays cross the wire as they are");

bool sw_client_flight_free(const struct sherwood *client)
{
    return client->in_flight < client->flights_max;
}

static struct sw_client_flight *take_slot(struct sherwood *client)
{
    for (uint32_t i = 0; i < SW_CLIENT_FLIGHTS_MAX; ++i) {
        uint64_t id = ++client->sequence;
        struct sw_client_flight *flight = &client->flights[id % SW_CLIENT_FLIGHTS_MAX];
        /* Id 0 means free, and is what a server uses when it knows no id. */
        if (id != 0 && flight->id == 0) {
            *flight = (struct sw_client_flight){.id = id};
            return flight;
        }
    }
    return NULL;
}

static size_t padding(size_t bytes)
{
    return (size_t)sw_frame_align(bytes) - bytes;
}

struct sw_client_flight *sw_client_flight_queue(struct sherwood *client,
                                                const struct sw_request *header, const void *keys,
                                                const void *operands)
{
    if (!sw_client_flight_free(client)) {
        return NULL;
    }
    struct sw_client_flight *flight = take_slot(client);
    if (flight == NULL) {
        return NULL;
    }
    flight->header = *header;
    flight->header.request_id = flight->id;
    uint64_t body_bytes = keys == NULL ? 0 : sw_request_layout(&flight->header).bytes;
    int head_bytes =
        sw_request_encode(&flight->header, body_bytes, flight->head, sizeof flight->head);
    if (head_bytes <= 0) {
        flight->id = 0;
        return NULL;
    }
    size_t keys_bytes = keys == NULL ? 0 : (size_t)header->count * header->key_bytes;
    size_t operands_bytes = operands == NULL ? 0 : (size_t)header->count * header->value_bytes;
    /* Sending only reads; the shared struct has no const for the receiving side's sake. */
    flight->parts[0] = (struct sw_client_part){flight->head, (size_t)head_bytes};
    flight->parts[1] = (struct sw_client_part){(uint8_t *)(uintptr_t)keys, keys_bytes};
    flight->parts[2] = (struct sw_client_part){NULL, padding(keys_bytes)};
    flight->parts[3] = (struct sw_client_part){(uint8_t *)(uintptr_t)operands, operands_bytes};
    flight->parts[4] = (struct sw_client_part){NULL, padding(operands_bytes)};
    uint32_t last = (client->queue_first + client->queue_count) % SW_CLIENT_FLIGHTS_MAX;
    client->queue[last] = (uint32_t)(flight - client->flights);
    client->queue_count++;
    client->in_flight++;
    return flight;
}

struct sw_client_flight *sw_client_flight_find(struct sherwood *client, uint64_t id)
{
    struct sw_client_flight *flight = &client->flights[id % SW_CLIENT_FLIGHTS_MAX];
    return id != 0 && flight->id == id ? flight : NULL;
}

void sw_client_flight_finish(struct sherwood *client, struct sw_client_flight *flight, int status,
                             const struct sw_reply *reply)
{
    struct sherwood_request *request = flight->request;
    struct sw_client_call *call = flight->call;
    flight->id = 0;
    flight->request = NULL;
    flight->call = NULL;
    client->in_flight--;
    if (call != NULL) {
        call->flights--;
        if (call->status == SHERWOOD_OK) {
            call->status = status;
        }
        if (call->reply != NULL && reply != NULL) {
            *call->reply = *reply;
        }
    }
    if (request != NULL) {
        request->status = status;
        request->hits = reply == NULL ? 0 : reply->hits;
        request->_state = SW_REQUEST_DONE;
        request->_next = NULL;
        if (client->done_last == NULL) {
            client->done_first = request;
        } else {
            client->done_last->_next = request;
        }
        client->done_last = request;
    }
}
