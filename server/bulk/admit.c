/* SPDX-License-Identifier: MIT
 *
 * admit.c - the order of the checks of a request.
 */
#include "server/bulk/admit.h"

#include <stdio.h>

#include "server/batch/refusals.h"
#include "server/bulk/bulk.h"
#include "server/bulk/judge.h"
#include "server/config/live.h"

/* In the stricter mode all that touches the table is held back. Who has not logged in is refused.
 */
bool sw_bulk_is_held_back(const struct sw_conn *conn, uint32_t operation)
{
    if (conn->net->pause.mode == SW_PAUSE_NONE || conn->lacks_login) {
        return false;
    }
    return sw_operation_writes(operation) ||
           (conn->net->pause.mode == SW_PAUSE_ALL &&
            (sw_operation_is_data(operation) || operation == SW_OPERATION_SCAN ||
             operation == SW_OPERATION_COUNT_SCORES));
}

static bool tells_of_earlier(uint32_t operation)
{
    return operation == SW_OPERATION_STATS || operation == SW_OPERATION_WAIT ||
           operation == SW_OPERATION_DIGEST;
}

/* It must wait if the connection has frames-in-flight-max requests in flight; unsent replies count
 * too, because their frames take memory. STATS, WAIT and DIGEST
 * also wait for the earlier requests of their connection, which they tell of; so does one that runs
 * alone, and those behind it wait until it has written. A write waits while the log has no room for
 * it. */
bool sw_bulk_must_wait(struct sw_conn *conn, const struct sw_request *request)
{
    uint64_t without_reply = (uint64_t)conn->in_flight + conn->unsent_replies;
    if (without_reply >= SW_LIVE(conn->net->config->frames_in_flight_max)) {
        SW_COUNT(conn->net->counters, frames_in_flight_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_IN_FLIGHT);
        return true;
    }
    if (sw_bulk_is_held_back(conn, request->operation)) {
        SW_COUNT(conn->net->counters, client_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_PAUSED);
        return true;
    }
    if (sw_operation_writes(request->operation) &&
        sw_batches_door(sw_bulk_of(conn)->bulk->batches) == SW_DOOR_WAIT) {
        sw_conn_stall(conn, SW_STALL_LOG);
        return true;
    }
    if (conn->in_flight > 0 &&
        (tells_of_earlier(request->operation) || sw_operation_runs_alone(request->operation) ||
         sw_bulk_of(conn)->runs_alone)) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return true;
    }
    return false;
}

enum sw_reply_status sw_bulk_admit(struct sw_conn *conn, const struct sw_request *request,
                                   const uint8_t *header, size_t header_bytes, uint64_t body_bytes,
                                   uint64_t reply_bytes, char *message, size_t message_bytes,
                                   bool *closes)
{
    const struct sw_bulk *bulk = sw_bulk_of(conn)->bulk;
    enum sw_reply_status status = SW_REPLY_OK;
    *closes = false;
    if (!sw_bulk_permits(conn, request, header, header_bytes, &status, message, message_bytes,
                         closes)) {
        return status;
    }
    status = sw_bulk_judge(bulk, request, body_bytes, reply_bytes, message, message_bytes);
    if (status == SW_REPLY_OK && sw_operation_writes(request->operation) &&
        sw_batches_door(bulk->batches) == SW_DOOR_REFUSE) {
        snprintf(message, message_bytes, "%s", SW_NOT_DURABLE);
        return SW_REPLY_NOT_DURABLE;
    }
    return status;
}
