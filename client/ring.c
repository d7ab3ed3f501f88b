/* SPDX-License-Identifier: MIT
 *
 * ring.c - requests through a ring.
 */
#include "client/ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "client/error.h"
#include "client/handle.h"
#include "client/memory.h"
#include "client/reply.h"
#include "client/sherwood-tables.h"

/* A wait spins if the average wait was at most twice the limit. Otherwise one wait in SPIN_TRIALS
 * spins, to notice a change. */
#define SPIN_TRIALS 64
/* Polls of the ring between two reads of the clock. */
#define SPIN_PAUSES 64

uint32_t sw_client_ring_entries(uint32_t entries_max)
{
    uint32_t entries = SW_RING_ENTRIES_MIN;
    while (entries < SW_CLIENT_FLIGHTS_MAX && entries * 2 <= entries_max) {
        entries *= 2;
    }
    return entries;
}

void sw_client_ring_open(struct sw_client_connection *connection, uint8_t *memory, uint32_t entries)
{
    assert(connection->ring.memory == NULL && connection->ring.in_flight == 0);
    assert(entries > 0 && (entries & (entries - 1)) == 0);
    connection->ring = (struct sw_client_ring){.memory = memory, .entries = entries};
}

void sw_client_ring_close(struct sw_client_ring *ring)
{
    if (ring->memory != NULL) {
        munmap(ring->memory, sw_ring_bytes(ring->entries));
        ring->memory = NULL;
    }
}

/* --- submitting ------------------------------------------------------------------------------- */

/* Lists the arrays of a frame, by enum sw_ring_array. */
static void arrays_of(const struct sw_client_frame *frame, const void **arrays)
{
    const struct sherwood_piece *piece = frame->pieces != NULL ? frame->pieces : &frame->single;
    const struct sherwood_cache *cache = frame->cache;
    if (frame->header.operation == SW_OPERATION_SCAN) {
        arrays[SW_RING_KEYS] = frame->first;
        arrays[SW_RING_VALUES] = frame->second;
        arrays[SW_RING_SCORES_OUT] = frame->scores;
        return;
    }
    arrays[SW_RING_KEYS] = piece->keys;
    arrays[SW_RING_OPERANDS] = piece->values;
    arrays[SW_RING_VALUES] = piece->previous;
    arrays[SW_RING_FOUND] = frame->second;
    arrays[SW_RING_TIMES] = frame->times_ms;
    if (cache != NULL) {
        uint64_t at = frame->cache_at;
        arrays[SW_RING_SCORES] = cache->scores == NULL ? NULL : cache->scores + at;
        arrays[SW_RING_NOT_ADMITTED] =
            cache->not_admitted == NULL ? NULL : cache->not_admitted + at / 64;
        arrays[SW_RING_SCORES_OUT] = cache->scores_out == NULL ? NULL : cache->scores_out + at;
        arrays[SW_RING_EVICTED_KEYS] = cache->evicted_keys;
        arrays[SW_RING_EVICTED_VALUES] = cache->evicted_values;
        arrays[SW_RING_EVICTED_SCORES] = cache->evicted_scores;
    }
}

/* Returns whether any array of the frame is in memory of a device. */
static bool has_device(const struct sherwood *client, const struct sw_client_frame *frame)
{
    const void *arrays[SW_RING_ARRAYS] = {0};
    bool any = sw_client_region_is_device(client, frame->times_ms);
    for (uint32_t i = 0; frame->pieces != NULL && i < frame->pieces_count; i++) {
        any |= sw_client_region_is_device(client, frame->pieces[i].keys) ||
               sw_client_region_is_device(client, frame->pieces[i].values) ||
               sw_client_region_is_device(client, frame->pieces[i].previous);
    }
    for (uint32_t i = 0; i < frame->segments_count; i++) {
        any |= sw_client_region_is_device(client, frame->segments[i].keys) ||
               sw_client_region_is_device(client, frame->segments[i].values) ||
               sw_client_region_is_device(client, frame->segments[i].found);
    }
    arrays_of(frame, arrays);
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        any |= sw_client_region_is_device(client, arrays[i]);
    }
    return any;
}

/* Returns whether the table uses arrays in regions where they lie, as each server with a ring does.
 */
static bool is_plain(const struct sw_request *header)
{
    return header->scale_bits == 0 && header->operand_type == 0 && header->times == 0 &&
           (!sw_operation_is_data(header->operation) ||
            sw_operation_takes_device(header->operation));
}

/* Finds the places of the arrays. Other requests than plain ones go by the socket, unless an array
 * lies in memory of a device. */
static bool place(const struct sherwood *client, struct sw_client_frame *frame)
{
    const struct sw_client_connection *connection = client->connections[0];
    struct sw_ring_extent extents[SW_RING_ARRAYS];
    const void *arrays[SW_RING_ARRAYS] = {0};
    const struct sw_client_table *table = frame->ring_table;
    if (connection->ring.memory == NULL || connection->broken != 0 || frame->is_split ||
        frame->segments != NULL || frame->pieces_count > 1 ||
        frame->header.operation == SW_OPERATION_STATS) {
        return false;
    }
    /* a frame has the widths that the server compares */
    if (table != NULL && table->changes != client->changes && !has_device(client, frame)) {
        return false;
    }
    if (!is_plain(&frame->header) && !(client->sharing.details && has_device(client, frame))) {
        return false;
    }
    arrays_of(frame, arrays);
    sw_submission_encode(&frame->header, &frame->submission);
    if (frame->submission.table_id == 0 && table != NULL) {
        frame->submission.table_id = table->ring_id;
    }
    sw_submission_extents(&frame->header, extents);
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        uint64_t at;
        if (extents[i].bytes > 0) {
            if (!sw_client_region_find(client, arrays[i], extents[i], &at)) {
                return false;
            }
            sw_submission_set_place(&frame->submission, i, at);
        }
    }
    return true;
}

int sw_client_ring_place(struct sherwood *client, struct sw_client_frame *frame)
{
    const struct sw_client_connection *connection = client->connections[0];
    frame->by_ring = place(client, frame);
    const bool in_bytes = frame->header.found_bytes;
    const bool can = !in_bytes || (frame->by_ring && client->sharing.found_bytes &&
                                   !sw_operation_writes(frame->header.operation) &&
                                   sw_operation_takes_device(frame->header.operation));
    if (can && (frame->by_ring || client->regions == NULL || !has_device(client, frame))) {
        return SHERWOOD_OK;
    }
    return connection->broken != 0 ? connection->broken
           : in_bytes
               ? sw_client_fail(client, SHERWOOD_E_INVALID,
                                "only GET and PEEK with all arrays in regions can store found "
                                "bytes, and only a server that reports this: ask for found bits")
               : sw_client_fail(client, SHERWOOD_E_INVALID,
                                "%s with these arrays needs the socket, which cannot carry device "
                                "memory: copy them to the host%s",
                                sw_operation_name(frame->header.operation),
                                is_plain(&frame->header) || client->sharing.details
                                    ? ""
                                    : ", or update the server");
}

/* Sends a doorbell. If the socket is full, the bytes in it wake the server. */
static void send_bell(struct sw_client_connection *connection)
{
    const struct sw_request bell = {.operation = SW_OPERATION_BELL};
    uint8_t head[SW_CLIENT_HEAD_BYTES_MAX];
    int bytes = sw_request_encode(&bell, 0, head, sizeof(head));
    struct iovec part = {head, (size_t)bytes};
    if (connection->queue_count > 0 || connection->send_errno != 0) {
        return; /* the frame that is being sent wakes the server */
    }
    connection->client->traffic.ring_bells++;
    int64_t sent = connection->transport->calls->write(connection->transport, &part, 1, false);
    if (sent != bytes && !(sent < 0 && (errno == EAGAIN || errno == EINTR))) {
        /* the next receive finds the end of the connection */
        connection->send_errno = sent < 0 ? errno : EPIPE;
    }
}

/* Sends a doorbell if the server sleeps. Sequentially consistent on both sides: the client stores
 * its word before it loads the sleep word, and the server stores the sleep word before it loads the
 * client's. So at least one of them sees the store of the other, and no submission waits unseen. */
static void wake_server(struct sw_client_connection *connection)
{
    uint32_t *sleeps = sw_ring_word(connection->ring.memory, SW_RING_SERVER_SLEEPS);
    if (__atomic_load_n(sleeps, __ATOMIC_SEQ_CST) != 0 &&
        __atomic_exchange_n(sleeps, 0, __ATOMIC_SEQ_CST) != 0) {
        send_bell(connection);
    }
}

void sw_client_ring_submit(struct sw_client_connection *connection, struct sw_client_flight *flight,
                           const struct sw_submission *submission)
{
    struct sw_client_ring *ring = &connection->ring;
    assert(ring->memory != NULL && ring->in_flight < ring->entries);
    assert(connection->broken == 0 && flight->id != 0);
    struct sw_submission *slot = sw_ring_submission(ring->memory, ring->entries, ring->submitted);
    *slot = *submission;
    slot->id = flight->id;
    flight->by_ring = true;
    flight->sent = true;
    ring->in_flight++;
    ring->submitted++;
    connection->client->traffic.ring_requests++;
    /* publishes the record: a server that loads this number also reads the record */
    __atomic_store_n(sw_ring_word(ring->memory, SW_RING_SUBMITTED), ring->submitted,
                     __ATOMIC_SEQ_CST);
    wake_server(connection);
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Returns the server's count of completions. The load makes their records and answers visible. */
static uint32_t completed(const struct sw_client_ring *ring)
{
    return __atomic_load_n(sw_ring_word(ring->memory, SW_RING_COMPLETED), __ATOMIC_SEQ_CST);
}

uint32_t sw_client_ring_receive(struct sw_client_connection *connection)
{
    struct sw_client_ring *ring = &connection->ring;
    uint32_t count = 0;
    if (ring->memory == NULL || connection->broken != 0) {
        return 0;
    }
    uint32_t there = completed(ring) - ring->seen;
    bool was_full = there == ring->entries;
    if (there > ring->entries) {
        sw_client_break(connection, SHERWOOD_E_PROTOCOL,
                        "%s: the counters of the ring are damaged: connect again",
                        connection->address);
        return there;
    }
    for (; count < there && connection->broken == 0; count++) {
        struct sw_completion *completion =
            sw_ring_completion(ring->memory, ring->entries, ring->seen++);
        (void)sw_client_completion(connection, completion);
    }
    if (count > 0) {
        connection->moved = connection->client->clock;
        __atomic_store_n(sw_ring_word(ring->memory, SW_RING_SEEN), ring->seen, __ATOMIC_SEQ_CST);
    }
    if (was_full && connection->broken == 0) {
        wake_server(connection);
    }
    return count;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

bool sw_client_ring_spin(struct sw_client_connection *connection)
{
    struct sw_client_ring *ring = &connection->ring;
    const uint64_t limit = (uint64_t)connection->client->spin_us * 1000;
    assert(ring->memory != NULL && ring->in_flight > 0);
    if (limit == 0 || (ring->waited_ns > 2 * limit && ++ring->waits % SPIN_TRIALS != 0)) {
        return false;
    }
    uint64_t begin = now_ns(), waited = 0;
    bool there = false;
    while (!there && waited < limit) {
        for (int i = 0; i < SPIN_PAUSES && !there; i++) {
            there = completed(ring) != ring->seen;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        waited = now_ns() - begin;
    }
    /* a wait without a completion in time counts as 4 * limit */
    ring->waited_ns += ((there ? waited : 4 * limit) + 7) / 8 - ring->waited_ns / 8;
    return there;
}

/* The store comes before the load, as the server's store of COMPLETED comes before its load of the
 * sleep word: either this load sees the completion, or the server sends a doorbell. */
bool sw_client_ring_sleep(struct sw_client_connection *connection, bool sleeps)
{
    const struct sw_client_ring *ring = &connection->ring;
    __atomic_store_n(sw_ring_word(ring->memory, SW_RING_CLIENT_SLEEPS), sleeps, __ATOMIC_SEQ_CST);
    return !sleeps || completed(ring) == ring->seen;
}
