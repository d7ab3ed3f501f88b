/* SPDX-License-Identifier: MIT
 *
 * ring_copies.c - reserves memory of the arena for the inputs of a record, and copies them.
 */
#include "server/bulk/ring_copies.h"

#include <stdio.h>

#include "server/bulk/bulk.h"
#include "server/bulk/frame_memory.h"
#include "server/bulk/region_copies.h"
#include "server/bulk/request.h"
#include "server/bulk/shared_memory.h"

/* Must the server copy keys and operands, so that the client cannot change them? */
static bool needs_copies(const struct sw_bulk_frame *frame)
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

/* Does the log get what the table replies? Then it must not lie where the client can change it. */
static bool logs_results(const struct sw_bulk_frame *frame)
{
    return sw_request_logs_results(&frame->request) &&
           sw_batches_are_followed(frame->table->batches);
}

/* Returns whether the server itself can copy results to the regions of the client. */
static bool can_copy_results(const struct sw_bulk_frame *frame)
{
    const struct sw_region *values = frame->regions[SW_RING_VALUES];
    const struct sw_region *found = frame->regions[SW_RING_FOUND];
    return (values == NULL || values->mapping != NULL) && (found == NULL || found->mapping != NULL);
}

enum sw_reply_status sw_ring_check_copies(const struct sw_bulk_frame *frame, char *message,
                                          size_t message_bytes)
{
    if (!sw_operation_is_data(frame->request.operation) || !logs_results(frame) ||
        can_copy_results(frame)) {
        return SW_REPLY_OK;
    }
    snprintf(message, message_bytes,
             "%s cannot reply to device memory beside a log or replicas: use a region in host "
             "memory",
             sw_operation_name(frame->request.operation));
    return SW_REPLY_BAD_REQUEST;
}

static const enum sw_ring_array inputs[] = {SW_RING_KEYS, SW_RING_OPERANDS, SW_RING_SCORES};
#define INPUTS (sizeof(inputs) / sizeof(inputs[0]))

static uint64_t inputs_bytes(const struct sw_ring_extent *extents)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < INPUTS; i++) {
        bytes += sw_frame_align(extents[inputs[i]].bytes);
    }
    return bytes;
}

/* Reserves memory of the arena. If it has no room now, stalls the connection and returns false. */
static bool reserve(struct sw_bulk_frame *frame, uint64_t bytes)
{
    struct sw_conn *conn = frame->conn;
    if (!sw_conn_arena_is_reserved(conn) && sw_bulk_frame_reserve(frame, bytes)) {
        return true;
    }
    SW_COUNT(conn->net->counters, arena_pauses, !conn->retried);
    sw_conn_stall(conn, SW_STALL_ARENA);
    return false;
}

/* Ends the use of the regions by copies that are complete. */
static void on_copied(struct sw_bulk_frame *frame, int status)
{
    struct sw_conn *conn = frame->conn;
    frame->ring->copied = status;
    for (size_t i = 0; i < INPUTS; i++) {
        if (frame->regions[inputs[i]] != NULL) {
            sw_region_unuse(frame->regions[inputs[i]]);
        }
    }
    conn->net->retry |= conn->stall == SW_STALL_COPIES;
}

/* Begins to copy the inputs to the frame's memory. Returns the status of sw_bulk_copy. */
static int begin_copies(struct sw_bulk_frame *frame, const struct sw_ring_extent *extents)
{
    struct sw_memory_copy list[INPUTS];
    uint32_t count = 0;
    uint8_t *to = frame->memory;
    for (size_t i = 0; i < INPUTS; i++) {
        const enum sw_ring_array array = inputs[i];
        const struct sw_region *region = frame->regions[array];
        if (extents[array].bytes > 0) {
            const uint8_t *first = region->memory.address;
            const uint64_t offset = (uint64_t)((const uint8_t *)frame->arrays[array] - first);
            list[count++] = (struct sw_memory_copy){.memory = &region->memory,
                                                    .offset = offset,
                                                    .bytes = extents[array].bytes,
                                                    .io = to};
            to += sw_frame_align(extents[array].bytes);
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
    for (size_t i = 0; i < INPUTS; i++) {
        if (frame->regions[inputs[i]] != NULL) {
            sw_region_use(frame->regions[inputs[i]]);
        }
    }
    sw_conn_stall(frame->conn, SW_STALL_COPIES);
}

/* Moves the copies of this record to the frame, if they are of the same table and size. Otherwise
 * the server has changed, and the copies are made again. */
static bool take_copies(struct sw_bulk_frame *frame, uint64_t bytes)
{
    struct sw_bulk_frame *from = frame->ring->inputs;
    if (from == NULL || from->table != frame->table || from->table_id != frame->table_id ||
        from->memory_bytes != bytes) {
        sw_ring_drop_inputs(frame->ring);
        return false;
    }
    frame->memory = from->memory;
    frame->memory_bytes = from->memory_bytes;
    from->memory = NULL;
    return true;
}

/* Places the inputs in the frame's memory, and the results behind them if the log gets them. */
static void place_inputs(struct sw_bulk_frame *frame, const struct sw_ring_extent *extents,
                         bool logs)
{
    uint8_t *at = frame->memory;
    for (size_t i = 0; i < INPUTS; i++) {
        if (extents[inputs[i]].bytes > 0) {
            frame->arrays[inputs[i]] = at;
            at += sw_frame_align(extents[inputs[i]].bytes);
        }
    }
    frame->results = logs ? at : NULL;
}

int sw_ring_copy_inputs(struct sw_bulk_frame *frame, const struct sw_submission *record,
                        const struct sw_ring_extent *extents)
{
    const struct sw_bulk_shared *shared = frame->ring;
    if (!needs_copies(frame)) {
        return SW_OK;
    }
    /* a replica may connect at any time, so this is asked once */
    const bool logs = logs_results(frame);
    const uint64_t bytes =
        inputs_bytes(extents) + (logs ? sw_bulk_results_bytes(&frame->request) : 0);
    int status = SW_OK;
    if (take_copies(frame, bytes)) {
        status = shared->copied;
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
    place_inputs(frame, extents, logs);
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
