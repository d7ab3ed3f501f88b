/* SPDX-License-Identifier: MIT
 *
 * segments.c - checks and starts the reads of a frame by segments, and replies to them.
 */
#include "server/bulk/segments.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/batch/refusals.h"
#include "server/bulk/bulk.h"
#include "server/bulk/cluster.h"
#include "server/bulk/frame_memory.h"
#include "server/bulk/frame_table.h"
#include "server/bulk/permit.h"
#include "server/bulk/reply.h"
#include "server/bulk/validate.h"
#include "server/limits.h"

static_assert(sizeof(struct sw_bulk_segments) <= SW_FRAME_SEGMENT_BYTES &&
                  sizeof(struct sw_bulk_segment) <= SW_FRAME_SEGMENT_BYTES,
              "the protocol says how much memory a segment counts as");

/* --- checks ----------------------------------------------------------------------------------- */

uint64_t sw_bulk_segments_bytes(const struct sw_request *request,
                                const struct sw_frame_segments *segments)
{
    uint64_t bytes = (segments->count + UINT64_C(1)) * SW_FRAME_SEGMENT_BYTES;
    for (uint32_t i = 0; i < segments->count; i++) {
        const struct sw_request one = sw_frame_segment(request, segments, i);
        bytes += sw_bulk_reply_layout(&one).bytes;
    }
    return bytes;
}

/* Returns what is wrong with the request as a whole; NULL: nothing. */
static const char *fault_of(const struct sw_bulk *bulk, const struct sw_request *request,
                            const struct sw_frame_segments *segments)
{
    const bool reads =
        sw_operation_takes_device(request->operation) && !sw_operation_writes(request->operation);
    if (segments->count == 0) {
        return "cannot read the segments: send 1 to 64, and for each the number of a table, a "
               "count and value_bytes";
    }
    if (sw_bulk_view(bulk) != NULL) {
        return "a server in cluster mode has one table: send a request without segments";
    }
    if (!reads) {
        return "only GET and PEEK have segments: send a request for each table";
    }
    if (request->table != 0 || request->table_id != 0 || request->value_bytes != 0) {
        return "a request with segments has table, table_id and value_bytes in its segments: "
               "leave out the fields of the request";
    }
    if (request->want_scores || request->has_scores || request->want_not_admitted ||
        request->want_evicted != 0) {
        return "the reply to a request with segments has values and found bits alone: send a "
               "request for each table";
    }
    return NULL;
}

/* Checks the sums over all segments. Each segment has been admitted, so no sum overflows. */
static bool sums_fit(const struct sw_bulk *bulk, const struct sw_bulk_candidate *whole,
                     const struct sw_frame_segments *segments, char *message, size_t message_bytes)
{
    const struct sw_request *request = whole->request;
    uint64_t count = 0, bytes = 0;
    for (uint32_t i = 0; i < segments->count; i++) {
        const struct sw_request one = sw_frame_segment(request, segments, i);
        count += one.count;
        bytes += sw_request_layout(&one).bytes;
    }
    if (count != request->count) {
        snprintf(message, message_bytes,
                 "the counts of the segments add up to %llu, and count is %u: send their sum",
                 (unsigned long long)count, request->count);
        return false;
    }
    if (count > bulk->net->config->frame_ops_max || bytes != whole->body_bytes) {
        snprintf(
            message, message_bytes, "%s",
            sw_frame_error_text(bytes != whole->body_bytes ? SW_FRAME_E_LAYOUT : SW_FRAME_E_COUNT));
        return false;
    }
    return sw_bulk_bodies_fit(&bulk->first->shape, whole->body_bytes + whole->reply_bytes, message,
                              message_bytes);
}

/* Does the refusal concern the one segment, and not the server or the user? */
static bool is_of_segment(enum sw_reply_status status)
{
    return status == SW_REPLY_BAD_REQUEST || status == SW_REPLY_UNKNOWN_OPERATION ||
           status == SW_REPLY_NO_PERMISSION || status == SW_REPLY_NO_TABLE ||
           status == SW_REPLY_TABLE_CHANGED;
}

enum sw_reply_status sw_bulk_admit_segments(struct sw_conn *conn,
                                            const struct sw_bulk_candidate *whole,
                                            const struct sw_frame_segments *segments, char *message,
                                            size_t message_bytes, bool *closes)
{
    const struct sw_bulk *bulk = sw_bulk_of(conn)->bulk;
    const char *fault = fault_of(bulk, whole->request, segments);
    if (fault != NULL) {
        enum sw_reply_status status = SW_REPLY_NO_AUTH;
        if (conn->lacks_login &&
            !sw_bulk_permits(conn, whole->request, whole->header, whole->header_bytes, &status,
                             message, message_bytes, closes)) {
            return status;
        }
        snprintf(message, message_bytes, "%s", fault);
        return SW_REPLY_BAD_REQUEST;
    }
    for (uint32_t i = 0; i < segments->count; i++) {
        char text[SW_FRAME_TEXT_BYTES_MAX] = "";
        const struct sw_request one = sw_frame_segment(whole->request, segments, i);
        const struct sw_bulk_target target = sw_bulk_find_table(bulk, &one);
        const struct sw_bulk_candidate candidate = {.request = &one,
                                                    .target = &target,
                                                    .body_bytes = sw_request_layout(&one).bytes,
                                                    .reply_bytes =
                                                        sw_bulk_reply_layout(&one).bytes};
        const enum sw_reply_status status =
            sw_bulk_admit(conn, &candidate, text, sizeof(text), closes);
        if (is_of_segment(status)) {
            snprintf(message, message_bytes, "segment %u: %s", i, text);
        } else if (status != SW_REPLY_OK) {
            snprintf(message, message_bytes, "%s", text);
        }
        if (status != SW_REPLY_OK) {
            return status;
        }
    }
    return sums_fit(bulk, whole, segments, message, message_bytes) ? SW_REPLY_OK
                                                                   : SW_REPLY_BAD_REQUEST;
}

/* --- placing ---------------------------------------------------------------------------------- */

void sw_bulk_place_segments(struct sw_bulk_frame *frame, const struct sw_frame_segments *segments)
{
    const uint64_t own = (segments->count + UINT64_C(1)) * SW_FRAME_SEGMENT_BYTES;
    const uint64_t bytes = frame->memory_bytes - frame->body_bytes - own;
    struct sw_bulk_segments *all = (void *)(frame->reply + bytes);
    const uint8_t *keys = frame->memory;
    uint8_t *answers = frame->reply;
    *all = (struct sw_bulk_segments){.count = segments->count, .status = SW_REPLY_OK};
    for (uint32_t i = 0; i < segments->count; i++) {
        struct sw_bulk_segment *segment = &all->list[i];
        const struct sw_request one = sw_frame_segment(&frame->request, segments, i);
        const struct sw_body_layout reply = sw_bulk_reply_layout(&one);
        const struct sw_bulk_target target = sw_bulk_find_table(frame->bulk, &one);
        segment->frame = frame;
        segment->request = one;
        segment->table = target.table;
        segment->table_id = target.id;
        segment->keys = keys;
        segment->values = one.want_values ? answers + reply.first : NULL;
        segment->found = one.declines_found ? NULL : (uint64_t *)(void *)(answers + reply.second);
        sw_bulk_clear_padding(answers, reply);
        keys += sw_request_layout(&one).bytes;
        answers += reply.bytes;
    }
    assert(answers == (uint8_t *)all);
    frame->segments = all;
    frame->table = NULL; /* each segment has its own */
    frame->reply_layout = (struct sw_body_layout){.bytes = bytes};
}

/* --- the reply -------------------------------------------------------------------------------- */

static void refuse(struct sw_bulk_frame *frame, enum sw_reply_status status, const char *message)
{
    struct sw_reply reply = {.request_id = frame->request.request_id, .status = status};
    snprintf(reply.message, sizeof(reply.message), "%s", message);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static void reply_to_all(struct sw_bulk_frame *frame)
{
    const struct sw_bulk_segments *all = frame->segments;
    struct sw_wal *wal = frame->bulk->first->wal;
    sw_bulk_note_time(frame);
    if (all->status != SW_REPLY_OK) {
        refuse(frame, all->status, all->text);
        return;
    }
    const struct sw_reply reply = {.request_id = frame->request.request_id,
                                   .count = frame->request.count,
                                   .key_bytes = frame->request.key_bytes,
                                   .has_values = frame->request.want_values,
                                   .lacks_found = frame->request.declines_found,
                                   .hits = all->hits,
                                   .durable_through = wal == NULL ? 0 : sw_wal_durable(wal)};
    const uv_buf_t body = uv_buf_init((char *)frame->reply, (unsigned)frame->reply_layout.bytes);
    sw_bulk_reply(frame, &reply, &body, body.len > 0);
}

/* The batch of a segment is done. The table of the segment may be freed by now. */
static void segment_done(struct sw_flight *flight)
{
    struct sw_bulk_segment *segment = SW_CONTAINER(flight, struct sw_bulk_segment, flight);
    struct sw_bulk_frame *frame = segment->frame;
    struct sw_bulk_segments *all = frame->segments;
    const bool failed = flight->is_unknown || flight->batch.status != SW_OK;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        all->hits += flight->batch.counters.by_class[c].hits;
    }
    if (failed && all->status == SW_REPLY_OK) {
        all->status = flight->is_unknown ? SW_REPLY_NOT_DURABLE : SW_REPLY_SERVER_ERROR;
        all->text = flight->is_unknown ? SW_READ_NOT_DURABLE : sw_status_text(flight->batch.status);
    }
    all->left--;
    if (all->left == 0) {
        reply_to_all(frame);
    }
}

/* --- starting --------------------------------------------------------------------------------- */

/* Finds the tables of all segments again, if the places have changed. Returns false after a reply
 * that refuses the frame. */
static bool enter_tables(struct sw_bulk_frame *frame)
{
    struct sw_bulk_segments *all = frame->segments;
    const uint64_t view = frame->bulk->net->tables.number;
    for (uint32_t i = 0; i < all->count && frame->view != view; i++) {
        struct sw_bulk_segment *segment = &all->list[i];
        const struct sw_bulk_target target =
            sw_bulk_find_again(frame, &segment->request, segment->table_id,
                               sw_request_layout(&segment->request).bytes);
        if (target.status != SW_REPLY_OK) {
            char text[SW_FRAME_TEXT_BYTES_MAX], message[SW_FRAME_TEXT_BYTES_MAX];
            sw_bulk_explain_table(&segment->request, target.status, text, sizeof(text));
            snprintf(message, sizeof(message), "segment %u: %.200s", i, text);
            refuse(frame, target.status, message);
            return false;
        }
        segment->table = target.table;
        segment->table_id = target.id;
    }
    frame->view = view;
    return true;
}

/* Are all keys in the user's ranges? If not, refuses the frame likewise. */
static bool check_keys(struct sw_bulk_frame *frame)
{
    const struct sw_bulk_segments *all = frame->segments;
    for (uint32_t i = 0; i < all->count && frame->conn->login.ranges != NULL; i++) {
        const struct sw_bulk_segment *segment = &all->list[i];
        if (!sw_bulk_permits_keys(frame->conn, &segment->request, segment->keys)) {
            refuse(frame, SW_REPLY_NO_PERMISSION, SW_KEY_OUTSIDE_RANGES);
            return false;
        }
    }
    return true;
}

void sw_bulk_start_segments(struct sw_bulk_frame *frame)
{
    struct sw_bulk_segments *all = frame->segments;
    char message[SW_FRAME_TEXT_BYTES_MAX];
    if (!enter_tables(frame)) {
        return;
    }
    const enum sw_reply_status status =
        sw_bulk_role_refuses(frame->bulk, &frame->request, message, sizeof(message));
    if (status != SW_REPLY_OK) { /* the role changed while the body arrived */
        refuse(frame, status, message);
        return;
    }
    if (!check_keys(frame)) {
        return;
    }
    SW_COUNT(frame->bulk->net->counters, frame_segments, all->count);
    (void)sw_iteration_add(&frame->bulk->net->iteration, all->count * SW_COST_FRAME);
    all->left = all->count;
    for (uint32_t i = 0; i < all->count; i++) {
        struct sw_bulk_segment *segment = &all->list[i];
        segment->flight =
            (struct sw_flight){.done = segment_done,
                               .batch = {.kind = SW_BATCH_OPERATIONS,
                                         .op = sw_operation_op(segment->request.operation),
                                         .count = segment->request.count,
                                         .keys = segment->keys,
                                         .previous = segment->values,
                                         .found = segment->found}};
        sw_batches_start(segment->table->batches, &segment->flight, (uint32_t)frame->conn->peer.id);
    }
    frame->flight.started_us = all->list[0].flight.started_us;
}
