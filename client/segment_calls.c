/* SPDX-License-Identifier: MIT
 *
 * segment_calls.c - reads of several tables: cuts the segments of a call into frames, or sends a
 * record for each segment through the ring.
 */
#include <assert.h>
#include <string.h>

#include "client/cluster.h"
#include "client/error.h"
#include "client/follow.h"
#include "client/request.h"
#include "client/segments.h"
#include "client/step.h"
#include "client/table.h"

static_assert(SHERWOOD_SEGMENTS_MAX == SW_FRAME_SEGMENTS_MAX &&
                  SHERWOOD_SEGMENTS_ROOM == SW_FRAME_HEAD_BYTES_MAX,
              "sherwood-tables.h repeats the limits of frame.h");

static const struct sherwood_server *server_of(const struct sherwood_segment *segment)
{
    return &segment->table->own.server;
}

/* Returns a frame of these segments, which are right. */
static struct sw_client_frame frame_of(enum sherwood_operation operation,
                                       const struct sherwood_segment *segments, uint32_t count,
                                       uint8_t *room)
{
    struct sw_request header = {.operation = (uint32_t)operation,
                                .key_bytes = server_of(segments)->key_bytes,
                                .declines_found = true,
                                .has_segments = true};
    for (uint32_t i = 0; i < count; i++) {
        header.count += segments[i].count;
        header.want_values |= segments[i].values != NULL;
        header.declines_found &= segments[i].found == NULL;
    }
    return (struct sw_client_frame){
        .header = header, .segments = segments, .segments_count = count, .long_head = room};
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Does the server know segments? Sends a request if the handle has opened no table. */
static int learn(struct sherwood *client)
{
    struct sw_client_table unused;
    if (client->segments_max == 0) {
        const int status = sw_client_table_greet(client, "get_segments", "0", &unused);
        if (status != SHERWOOD_OK) {
            return status;
        }
    }
    return client->segments_max > 0
               ? SHERWOOD_OK
               : sw_client_fail(client, SHERWOOD_E_REQUEST,
                                "get_segments: this server reads one table with a request: update "
                                "it, or call sherwood_get for each table");
}

/* Returns a sentence about the error in segment i; NULL: it is right. */
static const char *fault_of(const struct sherwood *client, const struct sherwood_segment *segments,
                            size_t i)
{
    const struct sherwood_segment *segment = &segments[i];
    if (segment->table == NULL || segment->table->root != client) {
        return "its table is no handle of this connection: open it with sherwood_table_open on "
               "the handle of the call";
    }
    if (segment->keys == NULL && segment->count > 0) {
        return "its keys are NULL: pass an array";
    }
    if (server_of(segment)->key_bytes != server_of(&segments[0])->key_bytes) {
        return "its keys have another width than those of segment 0: use a call for each width";
    }
    return NULL;
}

static int check(struct sherwood *client, enum sherwood_operation operation,
                 const struct sherwood_segment *segments, size_t count)
{
    int status = sw_client_one_node(client, "get_segments");
    if (status != SHERWOOD_OK || client->broken != 0) {
        return status != SHERWOOD_OK ? status : client->broken;
    }
    if (segments == NULL || count == 0) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "get_segments: there are no segments: pass at least one");
    }
    if (!sw_operation_is_known((uint32_t)operation) || sw_operation_writes((uint32_t)operation) ||
        !sw_operation_takes_device((uint32_t)operation)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "get_segments: operation %d is no read of values: use SHERWOOD_GET "
                              "or SHERWOOD_PEEK",
                              (int)operation);
    }
    for (size_t i = 0; i < count; i++) {
        const char *fault = fault_of(client, segments, i);
        if (fault != NULL) {
            return sw_client_fail(client, SHERWOOD_E_INVALID, "get_segments: segment %zu: %s", i,
                                  fault);
        }
    }
    return learn(client);
}

/* --- submitted requests ----------------------------------------------------------------------- */

/* Flags of a request with segments. */
#define SEGMENT_FLAGS ((uint32_t)(SHERWOOD_DISCARD | SHERWOOD_DELAY | SHERWOOD_CONSTANT))

/* Are the other fields of the request as they must be? */
static int check_request(struct sherwood *client, const struct sherwood_request *request,
                         const struct sherwood_segment *segments, uint32_t count)
{
    uint64_t keys = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (segments[i].count == 0) {
            return sw_client_fail(client, SHERWOOD_E_INVALID,
                                  "submit_segments: segment %u has no keys: leave it out", i);
        }
        keys += segments[i].count;
    }
    if (request->keys != NULL || request->values != NULL || request->previous != NULL ||
        request->found != NULL || request->pieces != NULL ||
        sw_client_request_cache(request) != NULL ||
        sw_client_request_details(client, request).times != 0 ||
        (request->flags & ~SEGMENT_FLAGS) != 0) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "submit_segments: the request has arrays, or other flags than "
                              "SHERWOOD_DISCARD, _DELAY and _CONSTANT: set the arrays of the "
                              "segments alone, and no other flag");
    }
    if (count > client->segments_max || keys > client->own.server.frame_ops_max) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "submit_segments: %u segments with %llu keys are too many: this "
                              "server takes %u with %u keys",
                              count, (unsigned long long)keys, client->segments_max,
                              client->own.server.frame_ops_max);
    }
    return SHERWOOD_OK;
}

int sherwood_submit_segments(struct sherwood *client, struct sherwood_request *request,
                             const struct sherwood_segment *segments, uint32_t count, void *room)
{
    client = sw_client_enter(client);
    if (client == NULL || request == NULL || room == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int status = sw_client_check_size(client, request);
    status = status == SHERWOOD_OK ? check(client, request->operation, segments, count) : status;
    status = status == SHERWOOD_OK ? check_request(client, request, segments, count) : status;
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct sw_client_frame frame = frame_of(request->operation, segments, count, room);
    frame.header.want_values |= (request->flags & SHERWOOD_DISCARD) != 0;
    frame.is_constant = (request->flags & SHERWOOD_CONSTANT) != 0;
    return sw_client_submit_frame(client, &frame, request);
}

/* --- blocking calls --------------------------------------------------------------------------- */

/* The most frames of a call in flight. Each takes 4 KiB of the stack. */
#define FRAMES_MAX 4
/* How often a call begins again because another table lies in a place. */
#define RENEWALS_MAX 100
/* The most records of a call in the ring. */
#define RECORDS_MAX SW_CLIENT_FLIGHTS_MAX

/* The next key of a call. */
struct place {
    size_t segment;
    uint32_t key;
};

/* A frame of a call. */
struct part {
    struct sherwood_segment segments[SHERWOOD_SEGMENTS_MAX];
    size_t first; /* number of the first segment in the call */
    uint32_t count;
    uint32_t keys;
    uint8_t room[SHERWOOD_SEGMENTS_ROOM];
};

/* A call, and its place: the keys before it are in frames. */
struct read {
    enum sherwood_operation operation;
    const struct sherwood_segment *segments;
    size_t count;
    struct place at;
    uint32_t renewals; /* how often another table lay in a place */
};

/* Returns `count` keys of a segment, from key `at` on, which is a multiple of 64. */
static struct sherwood_segment cut(const struct sherwood_segment *whole, uint32_t at,
                                   uint32_t count)
{
    const struct sherwood_server *server = server_of(whole);
    struct sherwood_segment segment = *whole;
    segment.keys = (const uint8_t *)whole->keys + (size_t)at * server->key_bytes;
    segment.values =
        whole->values == NULL ? NULL : (uint8_t *)whole->values + (size_t)at * server->value_bytes;
    segment.found = whole->found == NULL ? NULL : whole->found + at / 64;
    segment.count = count;
    return segment;
}

/* Moves the next keys of the call to `part`: at most `most` segments, and keys that fit a frame. */
static void take_part(const struct sherwood *client, struct read *read, uint32_t most,
                      struct part *part)
{
    const uint32_t keys_max = client->own.server.frame_ops_max;
    part->count = part->keys = 0;
    while (read->at.segment < read->count && part->count < most) {
        const struct sherwood_segment *whole = &read->segments[read->at.segment];
        const uint32_t left = whole->count - read->at.key, room = keys_max - part->keys;
        const uint32_t keys =
            left <= room ? left : room / SW_CLIENT_SPLIT_KEYS * (uint32_t)SW_CLIENT_SPLIT_KEYS;
        if (keys == 0 && left > 0) {
            return; /* the next frame has room */
        }
        if (keys > 0) {
            part->first = part->count == 0 ? read->at.segment : part->first;
            part->segments[part->count++] = cut(whole, read->at.key, keys);
            part->keys += keys;
        }
        read->at.key += keys;
        if (read->at.key == whole->count) {
            read->at = (struct place){.segment = read->at.segment + 1};
        }
    }
}

/* Returns the frame of one table that reads a segment. */
static struct sw_client_frame frame_of_one(enum sherwood_operation operation,
                                           const struct sherwood_segment *segment)
{
    struct sw_client_frame frame = frame_of(operation, segment, 1, NULL);
    frame.header.has_segments = false;
    frame.header.table = segment->table->own.number;
    frame.ring_table = &segment->table->own;
    frame.header.value_bytes = server_of(segment)->value_bytes;
    frame.single = (struct sherwood_piece){segment->keys, NULL, segment->values, segment->count};
    frame.second = segment->found;
    frame.segments = NULL;
    frame.segments_count = 0;
    return frame;
}

/* Can the ring carry all segments, a record for each? */
static bool fit_ring(struct sherwood *client, const struct read *read)
{
    bool fit = client->regions != NULL;
    for (size_t i = 0; i < read->count && fit; i++) {
        struct sw_client_frame frame = frame_of_one(read->operation, &read->segments[i]);
        fit = read->segments[i].count == 0 ||
              (sw_client_ring_place(client, &frame) == SHERWOOD_OK && frame.by_ring);
    }
    return fit;
}

/* Begins the sentence about an error with the number of the segment, which a frame of one table
 * does not know. */
static void name_segment(struct sherwood *client, uint64_t segment)
{
    char text[sizeof(client->error)];
    memcpy(text, client->error, sizeof(text));
    (void)sw_client_fail(client, SHERWOOD_OK, "segment %llu: %s", (unsigned long long)segment,
                         text);
}

/* Queues the next frames of the call. Returns a status. */
static int queue_frames(struct sherwood *client, struct read *read, struct part parts[FRAMES_MAX],
                        struct sw_client_call *call)
{
    int status = SHERWOOD_OK;
    for (uint32_t i = 0; i < FRAMES_MAX && status == SHERWOOD_OK; i++) {
        take_part(client, read, client->segments_max, &parts[i]);
        if (parts[i].count == 0) {
            break;
        }
        struct sw_client_frame frame =
            frame_of(read->operation, parts[i].segments, parts[i].count, parts[i].room);
        frame.gives_ids = true;
        status = sw_client_queue_for_call(client, NULL, &frame, call);
    }
    return status;
}

/* Queues the next records of the call: a frame of one table for each segment. A frame borrows only
 * the caller's arrays. Returns a status. */
static int queue_records(struct sherwood *client, struct read *read, struct part *part,
                         struct sw_client_call *call)
{
    int status = SHERWOOD_OK;
    for (uint32_t i = 0; i < RECORDS_MAX && status == SHERWOOD_OK; i++) {
        take_part(client, read, 1, part);
        if (part->count == 0) {
            break;
        }
        struct sw_client_frame frame = frame_of_one(read->operation, &part->segments[0]);
        frame.call_at = part->first;
        status = sw_client_queue_for_call(client, NULL, &frame, call);
    }
    return status;
}

/* Is segment i the first one of its table? */
static bool is_first(const struct read *read, size_t i)
{
    size_t first = 0;
    while (read->segments[first].table != read->segments[i].table) {
        first++;
    }
    return first == i;
}

/* Requests the facts of the call's tables again, because another table may lie in the place of one.
 * `stale`: only of tables whose facts are older than a refused record of the ring. Returns
 * SHERWOOD_OK if all have the shape of before. */
static int renew_tables(struct sherwood *client, const struct read *read, bool stale)
{
    struct sw_client_table *const table = client->table;
    int status = SHERWOOD_OK;
    for (size_t i = 0; i < read->count && status == SHERWOOD_OK; i++) {
        client->table = &read->segments[i].table->own;
        if ((!stale || client->table->changes != client->changes) && is_first(read, i)) {
            status = sw_client_table_renew(client, SHERWOOD_E_TABLE);
        }
    }
    client->table = table;
    return status;
}

/* Continues after refusals, as other reads do: with a new primary, or with the tables that lie in
 * the places now. A read that is sent twice does no harm. */
static int follow(struct sherwood *client, struct read *read, const struct sw_client_call *call,
                  int *follows)
{
    size_t unused = 0;
    const bool was_changed = call->status == SHERWOOD_E_TABLE && !call->has_failed;
    return was_changed && ++read->renewals <= RENEWALS_MAX
               ? renew_tables(client, read, false)
               : sw_client_follow_call(client, call, follows, &unused);
}

/* Sends the next frames of the call, and waits for their replies. `single`: each frame is of one
 * table, and goes through the ring. */
static int run_frames(struct sherwood *client, struct read *read, bool single, int *follows)
{
    struct part parts[FRAMES_MAX];
    const struct read before = *read;
    struct sw_client_call call = {.refused_from = SW_CLIENT_NOT_REFUSED};
    const int status = single ? queue_records(client, read, &parts[0], &call)
                              : queue_frames(client, read, parts, &call);
    const int ended = sw_client_finish_call(client, &call);
    if (ended == SHERWOOD_OK) {
        return status;
    }
    if (single && client->broken == 0) {
        name_segment(client, call.failed_at);
    }
    *read = before;
    call.done_to = 0;
    return status != SHERWOOD_OK ? ended : follow(client, read, &call, follows);
}

int sherwood_read_segments(struct sherwood *client, enum sherwood_operation operation,
                           const struct sherwood_segment *segments, size_t count)
{
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int status = check(client, operation, segments, count);
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct read read = {.operation = operation, .segments = segments, .count = count};
    if (client->regions != NULL) { /* records of the ring then have the ids of their tables */
        (void)renew_tables(client, &read, true);
    }
    const bool single = fit_ring(client, &read);
    int follows = 0;
    while (status == SHERWOOD_OK && read.at.segment < count) {
        status = run_frames(client, &read, single, &follows);
    }
    return status;
}

int sherwood_get_segments(struct sherwood *client, const struct sherwood_segment *segments,
                          size_t count)
{
    return sherwood_read_segments(client, SHERWOOD_GET, segments, count);
}
