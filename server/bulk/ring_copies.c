/* SPDX-License-Identifier: MIT
 *
 * ring_copies.c - reserves memory of the arena for the arrays of a record, and copies the inputs
 * into it.
 */
#include "server/bulk/ring_copies.h"

#include "server/bulk/bulk.h"
#include "server/bulk/frame_memory.h"
#include "server/bulk/region_copies.h"
#include "server/bulk/request.h"
#include "server/bulk/set_keepttl.h"
#include "server/bulk/shared_memory.h"

/* --- what is copied --------------------------------------------------------------------------- */

bool sw_ring_copies_all(const struct sw_bulk_table *table, const struct sw_request *request)
{
    const struct sw_batches *batches = table->batches;
    return sw_operation_is_data(request->operation) &&
           (!sw_operation_takes_device(request->operation) || request->has_times ||
            request->scale_bits != 0 || request->operand_type != 0 ||
            sw_bulk_is_set_keepttl(&batches->shape, request) ||
            (sw_request_logs_results(request) && sw_batches_are_followed(batches)));
}

/* Must the server copy keys and operands, so that the client cannot change them? */
static bool copies_inputs(const struct sw_bulk_frame *frame)
{
    const struct sw_batches *batches = frame->table->batches;
    uint32_t operation = frame->request.operation;
    if (!sw_operation_is_data(operation)) {
        return false;
    }
    const struct sw_batch batch = sw_bulk_batch_of(frame);
    return frame->conn->login.ranges != NULL || !sw_batch_loads_once(batches->table, &batch) ||
           (sw_batches_are_followed(batches) && sw_operation_writes(operation)) ||
           (batches->shape.value_format == SW_VALUE_STRING && sw_operation_has_operands(operation));
}

/* An input, and its offset in the body of the request. */
struct part {
    enum sw_ring_array array;
    uint64_t offset;
};
#define INPUTS 4

static void find_inputs(const struct sw_request *request, struct part parts[INPUTS])
{
    const struct sw_body_layout body = sw_request_layout(request);
    parts[0] = (struct part){SW_RING_KEYS, body.first};
    parts[1] = (struct part){SW_RING_OPERANDS, body.second};
    parts[2] = (struct part){SW_RING_SCORES, body.scores};
    parts[3] = (struct part){SW_RING_TIMES, body.times};
}

/* --- the copies ------------------------------------------------------------------------------- */

/* Reserves memory of the arena. If it has no room now, or the record must leave it to others,
 * stalls the connection and returns false. */
static bool reserve(struct sw_bulk_frame *frame, uint64_t bytes)
{
    struct sw_conn *conn = frame->conn;
    const bool reads = !sw_operation_writes(frame->request.operation);
    const bool leaves = sw_batches_must_leave(frame->table->batches, reads, bytes);
    if (!leaves && !sw_conn_arena_is_reserved(conn) && sw_bulk_frame_reserve(frame, bytes)) {
        return true;
    }
    SW_COUNT(conn->net->counters, arena_pauses, !conn->retried);
    sw_conn_stall(conn, leaves ? SW_STALL_HELD : SW_STALL_ARENA);
    return false;
}

/* Ends the use of the regions by copies that are complete. */
static void on_copied(struct sw_bulk_frame *frame, int status)
{
    struct sw_conn *conn = frame->conn;
    frame->ring->copied = status;
    sw_bulk_end_use(frame);
    conn->net->retry |= conn->stall == SW_STALL_COPIES;
}

/* Begins to copy the inputs to the frame's memory. Returns the status of sw_bulk_copy. */
static int begin_copies(struct sw_bulk_frame *frame, const struct sw_ring_extent *extents)
{
    struct sw_memory_copy list[INPUTS];
    struct part parts[INPUTS];
    uint32_t count = 0;
    find_inputs(&frame->request, parts);
    for (int i = 0; i < INPUTS; i++) {
        const enum sw_ring_array array = parts[i].array;
        if (extents[array].bytes > 0) {
            list[count++] = (struct sw_memory_copy){.memory = &frame->regions[array]->memory,
                                                    .offset = frame->offsets[array],
                                                    .bytes = extents[array].bytes,
                                                    .io = frame->memory + parts[i].offset};
        }
    }
    SW_COUNT(frame->bulk->net->counters, ring_copies, 1);
    return sw_bulk_copy(frame, list, count, on_copied);
}

/* The device copies: keeps the record and the frame, and stalls the connection. */
static void wait_for_copies(struct sw_bulk_frame *frame, const struct sw_submission *record)
{
    struct sw_bulk_shared *shared = frame->ring;
    shared->record = *record;
    shared->inputs = frame;
    shared->copied = SW_PENDING;
    sw_bulk_begin_use(frame);
    sw_conn_stall(frame->conn, SW_STALL_COPIES);
}

/* Moves the copies of this record to the frame, if they are of the same table and size. Otherwise
 * the server has changed, and the copies are made again. */
static bool take_copies(struct sw_bulk_frame *frame, uint64_t bytes)
{
    struct sw_bulk_frame *from = frame->ring->inputs;
    if (from == NULL || from->table != frame->table || from->table_id != frame->table_id ||
        from->memory_bytes != bytes || from->is_copied != frame->is_copied) {
        sw_ring_drop_inputs(frame->ring);
        return false;
    }
    frame->memory = from->memory;
    frame->memory_bytes = from->memory_bytes;
    from->memory = NULL;
    return true;
}

/* Places the inputs in the frame's memory, and the body of the reply behind them. */
static void place_copies(struct sw_bulk_frame *frame, uint64_t body_bytes)
{
    struct part parts[INPUTS];
    find_inputs(&frame->request, parts);
    for (int i = 0; i < INPUTS; i++) {
        if (frame->arrays[parts[i].array] != NULL) {
            frame->arrays[parts[i].array] = frame->memory + parts[i].offset;
        }
    }
    if (frame->is_copied) {
        frame->reply_layout = sw_bulk_reply_layout(&frame->request);
        frame->reply = frame->memory + body_bytes;
    }
}

int sw_ring_copy_inputs(struct sw_bulk_frame *frame, const struct sw_submission *record,
                        const struct sw_ring_extent *extents)
{
    if (!frame->is_copied && !copies_inputs(frame)) {
        return SW_OK;
    }
    const uint64_t body = sw_request_layout(&frame->request).bytes;
    const uint64_t bytes =
        body + (frame->is_copied ? sw_bulk_reply_bytes(frame->table, &frame->request) : 0);
    int status = SW_OK;
    if (take_copies(frame, bytes)) {
        status = frame->ring->copied;
    } else if (!reserve(frame, bytes)) {
        sw_bulk_frame_put(frame);
        return SW_PENDING;
    } else {
        status = begin_copies(frame, extents);
        if (status == SW_PENDING) {
            wait_for_copies(frame, record);
            return SW_PENDING;
        }
    }
    place_copies(frame, body);
    return status;
}

bool sw_ring_is_copying(const struct sw_bulk_shared *shared)
{
    return shared->inputs != NULL && shared->copied == SW_PENDING;
}

void sw_ring_drop_inputs(struct sw_bulk_shared *shared)
{
    if (shared->inputs != NULL) {
        sw_bulk_frame_put(shared->inputs);
        shared->inputs = NULL;
    }
}
