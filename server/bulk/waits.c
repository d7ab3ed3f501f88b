/* SPDX-License-Identifier: MIT
 *
 * waits.c - WAIT_DURABLE, WAIT and DIGEST.
 */
#include "server/bulk/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/bulk/admit.h"
#include "server/bulk/bulk.h"
#include "server/bulk/reply.h"
#include "server/bulk/table_frames.h"
#include "server/repl/digest.h"
#include "server/repl/repl.h"
#include "table/image.h"

static void refuse_wait(struct sw_bulk_frame *frame, enum sw_reply_status status,
                        const char *message)
{
    struct sw_reply reply = {.request_id = frame->request.request_id, .status = status};
    snprintf(reply.message, sizeof(reply.message), "%s", message);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static bool is_late(const struct sw_bulk_frame *frame)
{
    return frame->conn->state == SW_CONN_CLOSED ||
           sw_net_now_ms(frame->bulk->net) >= frame->deadline_ms;
}

/* --- WAIT_DURABLE ----------------------------------------------------------------------------- */

/* Are the numbers of the frame those of the log? */
static bool fits_log(const struct sw_bulk_frame *frame)
{
    return frame->request.incarnation == sw_wal_incarnation(frame->bulk->first->wal);
}

static bool is_durable(struct sw_bulk_frame *frame)
{
    const struct sw_wal *wal = frame->bulk->first->wal;
    return sw_wal_durable(wal) >= frame->request.sequence || sw_wal_is_hopeless(wal) ||
           is_late(frame) || !fits_log(frame);
}

/* Replies to WAIT_DURABLE. If the numbers of the client are of another log, also drains the
 * connection: the next HELLO reports the new log. */
static void answer_durable(struct sw_bulk_frame *frame)
{
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .durable_through = sw_wal_durable(frame->bulk->first->wal)};
    if (fits_log(frame)) {
        sw_bulk_reply(frame, &reply, NULL, 0);
        return;
    }
    sw_conn_drain(frame->conn, false);
    refuse_wait(
        frame, SW_REPLY_BAD_REQUEST,
        "the server was restarted, or replaced its data by those of a primary: earlier sequence "
        "numbers are invalid");
}

static void wait_durable(struct sw_bulk_frame *frame)
{
    struct sw_wal *wal = frame->bulk->first->wal;
    if (wal == NULL) {
        refuse_wait(frame, SW_REPLY_BAD_REQUEST,
                    "waiting for durability needs a log: start the server with --appendonly yes");
        return;
    }
    frame->deadline_ms = sw_net_now_ms(frame->bulk->net) + frame->request.timeout_ms;
    if (is_durable(frame)) {
        answer_durable(frame);
        return;
    }
    sw_list_push(&frame->bulk->waits, &frame->link);
    sw_wal_want_durable(wal, frame->request.sequence);
}

/* --- WAIT ------------------------------------------------------------------------------------- */

/* Returns how many replicas have the writes of the connection. */
static uint32_t reached_by(const struct sw_bulk_frame *frame)
{
    struct sw_repl *repl = frame->bulk->owner.repl;
    return repl == NULL ? 0
                        : sw_repl_reached(
                              repl, sw_last_write_of(&sw_bulk_of(frame->conn)->last_write, repl));
}

static bool is_replica(const struct sw_bulk_frame *frame)
{
    const struct sw_repl *repl = frame->bulk->owner.repl;
    return repl != NULL && sw_repl_is_replica(&repl->state);
}

static bool is_reached(struct sw_bulk_frame *frame)
{
    frame->reached = reached_by(frame);
    return frame->reached >= frame->request.count || is_replica(frame) ||
           frame->conn->state != SW_CONN_OPEN || is_late(frame);
}

static void answer_reached(struct sw_bulk_frame *frame)
{
    struct sw_loop_counters *counters = frame->bulk->net->counters;
    struct sw_reply reply = {.request_id = frame->request.request_id, .count = frame->reached};
    SW_COUNT(counters, replica_waits, 1);
    SW_COUNT(counters, replica_waits_short, frame->reached < frame->request.count);
    if (is_replica(frame)) { /* the server became one during the wait */
        reply.count = 0;
        reply.status = SW_REPLY_NOT_PRIMARY;
        sw_repl_primary(&frame->bulk->owner.repl->state, reply.message, sizeof(reply.message));
    }
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static void wait_for_replicas(struct sw_bulk_frame *frame)
{
    frame->deadline_ms = sw_net_now_ms(frame->bulk->net) + frame->request.timeout_ms;
    if (frame->bulk->owner.repl == NULL || is_reached(frame)) {
        answer_reached(frame);
    } else {
        sw_list_push(&frame->bulk->waits, &frame->link);
    }
}

/* --- DIGEST ----------------------------------------------------------------------------------- */

/* The work of a libuv thread; the frame owns it. */
struct sw_bulk_reading {
    uv_work_t work;
    struct sw_table *table;
    struct sw_digest digest;
    uint64_t closures; /* sw_repl_closures when it began */
    int outcome;
    bool is_done;
    char reason[SW_FRAME_TEXT_BYTES_MAX];
};

static void compute(uv_work_t *work)
{
    struct sw_bulk_reading *reading = work->data;
    reading->outcome =
        sw_digest_of(reading->table, &reading->digest, reading->reason, sizeof(reading->reason));
}

static void on_computed(uv_work_t *work, int status)
{
    struct sw_bulk_reading *reading = work->data;
    (void)status; /* nobody cancels it */
    reading->is_done = true;
}

static void answer_digest(struct sw_bulk_frame *frame)
{
    struct sw_bulk_reading *reading = frame->reading;
    const struct sw_digest *digest = &reading->digest;
    struct sw_reply reply = {
        .request_id = frame->request.request_id,
        .has_digest = reading->outcome == 0,
        .digest = {digest->sequence, digest->entries, {digest->sum[0], digest->sum[1]}}};
    if (reading->outcome != 0) {
        reply.status = SW_REPLY_SERVER_ERROR;
        snprintf(reply.message, sizeof(reply.message), "%s", reading->reason);
    }
    frame->reading = NULL;
    free(reading);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

/* Replies with a refusal if reads are refused now. */
static bool role_refuses(struct sw_bulk_frame *frame)
{
    struct sw_reply reply = {.request_id = frame->request.request_id};
    reply.status =
        sw_bulk_role_refuses(frame->bulk, &frame->request, reply.message, sizeof(reply.message));
    if (reply.status == SW_REPLY_OK) {
        return false;
    }
    free(frame->reading);
    frame->reading = NULL;
    sw_bulk_reply(frame, &reply, NULL, 0);
    return true;
}

static uint64_t closures_of(const struct sw_bulk_frame *frame)
{
    const struct sw_repl *repl = frame->bulk->owner.repl;
    return repl == NULL ? 0 : sw_repl_closures(&repl->state);
}

/* Lets a thread compute the digest, and owns the frame meanwhile. If reads are refused now, replies
 * so. */
static void compute_beside(struct sw_bulk_frame *frame)
{
    struct sw_bulk_reading *reading = frame->reading;
    reading->closures = closures_of(frame); /* before the check */
    if (role_refuses(frame)) {
        return;
    }
    reading->is_done = false;
    sw_list_push(&frame->bulk->waits, &frame->link);
    uv_queue_work(frame->bulk->net->uv, &reading->work, compute, on_computed);
}

/* The thread is done. If reads were closed meanwhile, the digest may be of a table that a snapshot
 * of the primary had filled in part: it is computed again. */
static void finish_reading(struct sw_bulk_frame *frame)
{
    if (frame->reading->closures != closures_of(frame) && frame->conn->state != SW_CONN_CLOSED) {
        compute_beside(frame);
    } else {
        answer_digest(frame);
    }
}

static void read_table(struct sw_bulk_frame *frame)
{
    struct sw_table *table = frame->table->batches->table;
    if (sw_image_bytes(table) == 0) {
        refuse_wait(frame, SW_REPLY_UNKNOWN_OPERATION,
                    "a table of this engine cannot be read at one instant on this backend");
        return;
    }
    struct sw_bulk_reading *reading = frame->reading = calloc(1, sizeof(*reading));
    if (reading == NULL) {
        refuse_wait(frame, SW_REPLY_OUT_OF_MEMORY,
                    "not enough memory to read the table: try again");
        return;
    }
    reading->table = table;
    reading->work.data = reading;
    compute_beside(frame);
}

/* --- all -------------------------------------------------------------------------------------- */

void sw_bulk_start_wait(struct sw_bulk_frame *frame)
{
    if (frame->request.operation == SW_OPERATION_WAIT_DURABLE) {
        wait_durable(frame);
    } else if (frame->request.operation == SW_OPERATION_WAIT) {
        wait_for_replicas(frame);
    } else {
        read_table(frame);
    }
}

/* Replies to the frame if its wait is over. A DIGEST waits for its thread even if the connection
 * has closed. */
static bool ends(struct sw_bulk_frame *frame)
{
    bool (*is_over)(struct sw_bulk_frame * frame) = NULL;
    void (*answer_wait)(struct sw_bulk_frame * frame) = finish_reading;
    if (frame->request.operation == SW_OPERATION_WAIT_DURABLE) {
        is_over = is_durable;
        answer_wait = answer_durable;
    } else if (frame->request.operation == SW_OPERATION_WAIT) {
        is_over = is_reached;
        answer_wait = answer_reached;
    } else if (frame->request.operation == SW_OPERATION_TABLE) {
        is_over = sw_bulk_is_changed;
        answer_wait = sw_bulk_answer_change;
    }
    if (is_over == NULL ? !frame->reading->is_done : !is_over(frame)) {
        return false;
    }
    sw_list_remove(&frame->link);
    answer_wait(frame);
    return true;
}

bool sw_bulk_poll_waits(struct sw_bulk *bulk)
{
    bool moved = false;
    if (sw_list_is_empty(&bulk->waits)) {
        return false;
    }
    /* set before the checks, so that later progress wakes the loop */
    __atomic_store_n(bulk->first->waits_for_log, 1, __ATOMIC_SEQ_CST);
    SW_LIST_EACH(&bulk->waits, link)
    {
        moved |= ends(sw_bulk_frame_at(link));
    }
    return moved;
}

bool sw_bulk_uses(const struct sw_bulk *bulk, const struct sw_batches *batches)
{
    bool uses = false;
    SW_LIST_EACH(&bulk->waits, link)
    {
        const struct sw_bulk_frame *frame = sw_bulk_frame_at(link);
        uses |= frame->reading != NULL && frame->reading->table == batches->table;
    }
    return uses;
}
