/* SPDX-License-Identifier: MIT
 *
 * ring_frames.c - takes the records of rings, and completes them.
 *
 * Invariant: the keys, operands and scores of a batch do not change, or only the table reads them,
 * and loads each of them once (sw_batch_loads_once). All others are copied to the arena before the
 * server checks them (ring_copies.h).
 */
#include "server/bulk/ring_frames.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/bulk/admit.h"
#include "server/bulk/bulk.h"
#include "server/bulk/frame_memory.h"
#include "server/bulk/output.h"
#include "server/bulk/region_copies.h"
#include "server/bulk/reply.h"
#include "server/bulk/request.h"
#include "server/bulk/ring_copies.h"
#include "server/bulk/shared_memory.h"
#include "server/limits.h"

static const char *const array_names[] = {
    [SW_RING_KEYS] = "keys",
    [SW_RING_OPERANDS] = "operands",
    [SW_RING_SCORES] = "scores",
    [SW_RING_VALUES] = "values",
    [SW_RING_FOUND] = "found bits",
    [SW_RING_NOT_ADMITTED] = "bits of what was not admitted",
    [SW_RING_SCORES_OUT] = "scores of the reply",
    [SW_RING_EVICTED_KEYS] = "evicted keys",
    [SW_RING_EVICTED_VALUES] = "evicted values",
    [SW_RING_EVICTED_SCORES] = "scores of what was evicted",
    [SW_RING_TIMES] = "expiry times",
};

/* --- where the arrays lie --------------------------------------------------------------------- */

/* Does the loop's thread write the answers itself? */
static bool host_answers(uint32_t operation)
{
    return operation == SW_OPERATION_SCAN || operation == SW_OPERATION_STATS;
}

/* Finds the arrays of a record in the regions. Returns false with a sentence in `message`. */
static bool place(struct sw_bulk_frame *frame, const struct sw_submission *submission,
                  const struct sw_ring_extent *extents, char *message, size_t message_bytes)
{
    const struct sw_bulk_shared *shared = frame->ring;
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        if (extents[i].bytes == 0) {
            continue;
        }
        const uint64_t at = sw_submission_place(submission, i);
        uint32_t index = sw_ring_place_region(at);
        uint64_t offset = sw_ring_place_offset(at);
        struct sw_region *region = index < shared->regions_max ? shared->regions[index] : NULL;
        frame->arrays[i] = sw_region_at(region, offset, extents[i].bytes, extents[i].align);
        if (frame->arrays[i] == NULL) {
            snprintf(message, message_bytes,
                     "the %s, %llu bytes at offset %llu, must lie in region %u and be aligned to "
                     "%u bytes",
                     array_names[i], (unsigned long long)extents[i].bytes,
                     (unsigned long long)offset, index, extents[i].align);
            return false;
        }
        if (region->mapping == NULL && host_answers(frame->request.operation)) {
            snprintf(message, message_bytes,
                     "%s cannot write its reply to device memory: use a region in host memory",
                     sw_operation_name(frame->request.operation));
            return false;
        }
        frame->regions[i] = region;
        frame->offsets[i] = offset;
    }
    return true;
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Replies with a refusal to a record that was taken; no region is used. */
static void refuse_ring_frame(struct sw_bulk_frame *frame, enum sw_reply_status status,
                              const char *message)
{
    struct sw_reply reply = {.request_id = frame->request.request_id, .status = status};
    memset(frame->regions, 0, sizeof(frame->regions));
    frame->request = (struct sw_request){.request_id = reply.request_id};
    snprintf(reply.message, sizeof(reply.message), "%s", message);
    sw_conn_accept(frame->conn, false);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

/* Finds the table of a record. A record has no widths, so those of the table are taken for the
 * client's: a place that got another shape needs the table's id. */
static struct sw_bulk_target find_table(struct sw_conn *conn,
                                        const struct sw_submission *submission)
{
    const struct sw_request request = {.table = submission->table,
                                       .table_id = submission->table_id};
    struct sw_bulk_target target = sw_bulk_find_table(sw_bulk_of(conn)->bulk, &request);
    if (submission->table_id == 0 && sw_bulk_is_reshaped(conn, &target)) {
        target = (struct sw_bulk_target){.status = SW_REPLY_TABLE_CHANGED};
    }
    return target;
}

/* Decodes a record. Returns NULL or what is wrong. Without its table the widths are those of
 * another one: then nothing is wrong with its arrays, and the table is refused. */
static const char *decode(const struct sw_bulk *bulk, const struct sw_bulk_target *target,
                          const struct sw_submission *submission, struct sw_request *request)
{
    const struct sw_bulk_table *table = target->table != NULL ? target->table : bulk->table;
    const struct sw_table_shape *shape = &table->batches->shape;
    const char *wrong =
        sw_submission_decode(submission, shape->key_bytes, shape->value_bytes, request);
    return target->table == NULL && sw_operation_of_table(request->operation) ? NULL : wrong;
}

/* Begins a record. Returns false, with the record not taken, if the connection has to wait. */
static bool begin_ring_frame(struct sw_bulk_shared *shared, const struct sw_submission *submission)
{
    struct sw_conn *conn = shared->conn;
    struct sw_bulk *bulk = sw_bulk_of(conn)->bulk;
    char message[SW_FRAME_TEXT_BYTES_MAX];
    struct sw_ring_extent extents[SW_RING_ARRAYS];
    struct sw_request request;
    bool closes = false;
    if (sw_ring_is_copying(shared)) { /* another stall has ended */
        sw_conn_stall(conn, SW_STALL_COPIES);
        return false;
    }
    const struct sw_bulk_target target = find_table(conn, submission);
    const char *wrong = decode(bulk, &target, submission, &request);
    if (wrong == NULL && sw_bulk_must_wait(conn, &request)) {
        return false;
    }
    struct sw_bulk_frame *frame = sw_bulk_frame_take(bulk, conn);
    if (frame == NULL) {
        sw_conn_abort(conn);
        return false;
    }
    frame->ring = shared;
    frame->request = request;
    frame->table = target.table;
    frame->table_id = target.id;
    frame->view = bulk->net->tables.number;
    frame->is_copied = target.table != NULL && sw_ring_copies_all(target.table, &request);
    sw_submission_extents(&request, extents);
    enum sw_reply_status status = SW_REPLY_BAD_REQUEST;
    if (wrong != NULL) {
        snprintf(message, sizeof(message), "%s", wrong);
    } else {
        const uint64_t reply_bytes =
            frame->is_copied ? sw_bulk_reply_bytes(target.table, &request) : 0;
        const struct sw_bulk_candidate candidate = {.request = &request,
                                                    .target = &target,
                                                    .body_bytes = sw_request_layout(&request).bytes,
                                                    .reply_bytes = reply_bytes};
        status = sw_bulk_admit(conn, &candidate, message, sizeof(message), &closes);
    }
    if (status == SW_REPLY_OK && !place(frame, submission, extents, message, sizeof(message))) {
        status = SW_REPLY_BAD_REQUEST;
    }
    const int copied =
        status == SW_REPLY_OK ? sw_ring_copy_inputs(frame, submission, extents) : SW_OK;
    if (copied == SW_PENDING) {
        return false;
    }
    sw_ring_drop_inputs(shared);
    sw_ring_take(&shared->ring);
    SW_COUNT(bulk->net->counters, ring_requests, 1);
    if (copied != SW_OK) {
        status = SW_REPLY_SERVER_ERROR;
        snprintf(message, sizeof(message), "%s", sw_status_text(copied));
    }
    if (status != SW_REPLY_OK) {
        refuse_ring_frame(frame, status, message);
    } else {
        sw_bulk_begin_use(frame);
        sw_bulk_start(frame);
    }
    if (closes) {
        sw_conn_drain(conn, false);
    }
    return true;
}

/* Ends a connection whose ring has impossible counters. */
static void refuse_ring(struct sw_conn *conn)
{
    SW_COUNT(conn->net->counters, ring_errors, 1);
    if (sw_bulk_refuse(conn, 0, SW_REPLY_BAD_REQUEST,
                       "the counters of the ring claim more records than the ring has entries")) {
        sw_conn_drain(conn, false);
    } else {
        sw_conn_abort(conn);
    }
}

/* Begins the records of one ring, up to its share of an iteration. Returns true if there were any.
 */
static bool take_ring_frames(struct sw_bulk_shared *shared)
{
    struct sw_conn *conn = shared->conn;
    uint64_t keys = 0;
    uint32_t records = 0;
    int found = 0;
    sw_iteration_enter(&conn->net->iteration, &conn->share);
    while (conn->state == SW_CONN_OPEN && conn->stall == SW_STALL_NONE &&
           records < SW_RING_ITERATION_RECORDS && keys < SW_RING_ITERATION_KEYS &&
           !sw_iteration_must_yield(&conn->net->iteration, &conn->share)) {
        struct sw_submission submission = shared->record;
        found = shared->inputs != NULL ? 1 : sw_ring_peek(&shared->ring, &submission);
        if (found <= 0 || !begin_ring_frame(shared, &submission)) {
            break;
        }
        keys += submission.count;
        records++;
        (void)sw_iteration_add(&conn->net->iteration, SW_COST_FRAME);
    }
    if (records > 0) {
        conn->times.input_at = sw_net_now_ms(conn->net);
    }
    if (found < 0) {
        refuse_ring(conn);
    }
    return records > 0;
}

/* The next iteration begins with the first ring that this one does not reach. */
bool sw_bulk_take_rings(struct sw_bulk *bulk)
{
    const struct sw_list *last = bulk->rings.previous;
    const struct sw_list *link = NULL;
    bool took = false;
    while (!sw_list_is_empty(&bulk->rings) && link != last && !bulk->net->iteration.is_spent) {
        struct sw_list *first = sw_list_pop(&bulk->rings);
        sw_list_push(&bulk->rings, first);
        took |= take_ring_frames(SW_CONTAINER(first, struct sw_bulk_shared, link));
        link = first;
    }
    return took;
}

void sw_bulk_resumed(struct sw_conn *conn)
{
    struct sw_bulk_shared *shared = sw_bulk_of(conn)->shared;
    if (shared != NULL && shared->ring.memory != NULL) {
        (void)take_ring_frames(shared);
    }
}

/* --- completing ------------------------------------------------------------------------------- */

/* Wakes a client that sleeps on its socket, unless an unsent reply is about to wake it. */
static void send_bell(struct sw_conn *conn)
{
    if (conn->unsent_replies > 0 || conn->state >= SW_CONN_LINGERING) {
        return;
    }
    SW_COUNT(conn->net->counters, ring_wakes, 1);
    sw_bulk_send_bell(conn);
}

void sw_bulk_publish_rings(struct sw_bulk *bulk)
{
    SW_LIST_EACH(&bulk->rings, link)
    {
        struct sw_bulk_shared *shared = SW_CONTAINER(link, struct sw_bulk_shared, link);
        if (sw_ring_publish(&shared->ring)) {
            send_bell(shared->conn);
        }
    }
}

/* --- sleeping --------------------------------------------------------------------------------- */

bool sw_bulk_rings_may_sleep(struct sw_bulk *bulk)
{
    SW_LIST_EACH(&bulk->rings, link)
    {
        sw_ring_set_asleep(&SW_CONTAINER(link, struct sw_bulk_shared, link)->ring, true);
    }
    SW_LIST_EACH(&bulk->rings, link)
    {
        const struct sw_bulk_shared *shared = SW_CONTAINER(link, struct sw_bulk_shared, link);
        const struct sw_conn *conn = shared->conn;
        if (conn->state == SW_CONN_OPEN && conn->stall == SW_STALL_NONE &&
            sw_ring_check(&shared->ring) != 0) {
            return false;
        }
    }
    return true;
}

void sw_bulk_rings_are_awake(struct sw_bulk *bulk)
{
    SW_LIST_EACH(&bulk->rings, link)
    {
        sw_ring_set_asleep(&SW_CONTAINER(link, struct sw_bulk_shared, link)->ring, false);
    }
}
