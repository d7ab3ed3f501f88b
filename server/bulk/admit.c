/* SPDX-License-Identifier: MIT
 *
 * admit.c - the order of the checks of a request, and its obstacles.
 */
#include "server/bulk/admit.h"

#include <stdio.h>

#include "server/batch/refusals.h"
#include "server/bulk/bulk.h"
#include "server/bulk/validate.h"
#include "server/config/live.h"
#include "server/repl/repl.h"

/* Does the operation change what a replica or a log has? The capacity is not part of that. */
static bool writes(uint32_t operation)
{
    return sw_operation_writes(operation) && operation != SW_OPERATION_RESIZE;
}

/* Does a replica refuse the operation? `serves`: the topology names this node the primary of slots.
 * Clients would then take its reads for a primary's. */
static bool needs_primary(uint32_t operation, bool serves)
{
    return writes(operation) || operation == SW_OPERATION_RESIZE ||
           operation == SW_OPERATION_WAIT || (serves && sw_operation_is_data(operation));
}

/* The obstacles that the request heeds. A save has those of the command TABLE SAVE: none. */
static unsigned heeded_by(const struct sw_bulk *bulk, const struct sw_request *request)
{
    const struct sw_cluster_view *view = bulk->net->cluster.view;
    const bool serves = view != NULL && view->shard != SW_CLUSTER_NO_SHARD;
    const uint32_t operation = request->operation;
    unsigned heeded = 0;
    if (request->saves_table) {
        return 0;
    }
    if (sw_operation_needs_table(operation)) {
        heeded |= SW_OBSTACLE_LOADING | SW_OBSTACLE_DOWN | SW_OBSTACLE_LACKS_DATA;
        heeded |= writes(operation) ? (unsigned)SW_OBSTACLE_UNSAVED : 0;
        heeded |= needs_primary(operation, serves) ? (unsigned)SW_OBSTACLE_REPLICA : 0;
    }
    if (operation == SW_OPERATION_PING || operation == SW_OPERATION_TABLES) {
        heeded |= SW_OBSTACLE_LOADING; /* as by RESP: PING shows whether the server serves */
    }
    if (operation == SW_OPERATION_TABLE) {
        heeded |= SW_OBSTACLE_DOWN | SW_OBSTACLE_REPLICA;
    }
    if (sw_operation_writes(operation)) {
        heeded |= SW_OBSTACLE_WRITES_PAUSED | SW_OBSTACLES_OF_LOG;
    }
    if (sw_operation_is_data(operation) || operation == SW_OPERATION_SCAN ||
        operation == SW_OPERATION_COUNT_SCORES) {
        heeded |= SW_OBSTACLE_ALL_PAUSED;
    }
    return heeded;
}

/* The obstacles of `of` that the request heeds and that exist now. */
static unsigned met(const struct sw_bulk *bulk, const struct sw_request *request, unsigned of)
{
    return sw_obstacles_met(bulk->first, heeded_by(bulk, request) & of);
}

/* The status of the first obstacle that refuses, with its sentence in `message`; SW_REPLY_OK: none
 * of them does. */
static enum sw_reply_status refusal_of(const struct sw_bulk *bulk, unsigned met, char *message,
                                       size_t message_bytes)
{
    static const struct {
        enum sw_obstacle obstacle;
        enum sw_reply_status status;
        const char *text;
    } refusals[] = {
        {SW_OBSTACLE_LOADING, SW_REPLY_LOADING, "the server is loading a snapshot: try again"},
        {SW_OBSTACLE_UNSAVED, SW_REPLY_NOT_DURABLE,
         "the last snapshot could not be written, and stop-writes-on-bgsave-error is yes: "
         "see the server's log"},
        {SW_OBSTACLE_DOWN, SW_REPLY_NOT_PRIMARY, ""}, /* the primary is not known */
        {SW_OBSTACLE_REPLICA, SW_REPLY_NOT_PRIMARY, ""},
        {SW_OBSTACLE_LACKS_DATA, SW_REPLY_LOADING,
         "the replica is loading its primary's table: try again"},
        {SW_OBSTACLE_LOG_BROKEN, SW_REPLY_NOT_DURABLE, SW_NOT_DURABLE},
    };
    for (size_t i = 0; met != 0 && i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        if ((met & refusals[i].obstacle) == 0) {
            continue;
        }
        snprintf(message, message_bytes, "%s", refusals[i].text);
        if (refusals[i].obstacle == SW_OBSTACLE_REPLICA) {
            sw_repl_primary(&bulk->owner.repl->state, message, message_bytes);
        }
        return refusals[i].status;
    }
    return SW_REPLY_OK;
}

enum sw_reply_status sw_bulk_role_refuses(const struct sw_bulk *bulk,
                                          const struct sw_request *request, char *message,
                                          size_t message_bytes)
{
    return refusal_of(
        bulk, met(bulk, request, SW_OBSTACLE_DOWN | SW_OBSTACLE_REPLICA | SW_OBSTACLE_LACKS_DATA),
        message, message_bytes);
}

/* A connection that has not logged in is refused instead. */
bool sw_bulk_is_held_back(struct sw_conn *conn, const struct sw_request *request)
{
    const struct sw_bulk *bulk = sw_bulk_of(conn)->bulk;
    return bulk->first->obstacles.paused != 0 && !conn->lacks_login &&
           met(bulk, request, SW_OBSTACLES_OF_PAUSE) != 0;
}

static bool tells_of_earlier(uint32_t operation)
{
    return operation == SW_OPERATION_STATS || operation == SW_OPERATION_WAIT ||
           operation == SW_OPERATION_DIGEST;
}

/* A request waits while the connection has frames-in-flight-max requests in flight. Unsent replies
 * also count, because their frames take memory. STATS, WAIT and DIGEST wait for the earlier
 * requests of their connection, whose effects they report. A write waits while the log has no room
 * for it. CLIENT PAUSE makes the requests wait that it holds back. */
bool sw_bulk_must_wait(struct sw_conn *conn, const struct sw_request *request)
{
    uint64_t without_reply = (uint64_t)conn->in_flight + conn->unsent_replies;
    if (without_reply >= SW_LIVE(conn->net->config->frames_in_flight_max)) {
        SW_COUNT(conn->net->counters, frames_in_flight_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_IN_FLIGHT);
        return true;
    }
    if (sw_bulk_is_held_back(conn, request)) {
        SW_COUNT(conn->net->counters, client_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_PAUSED);
        return true;
    }
    if (met(sw_bulk_of(conn)->bulk, request, SW_OBSTACLE_LOG_FULL) != 0) {
        sw_conn_stall(conn, SW_STALL_LOG);
        return true;
    }
    if (conn->in_flight > 0 && tells_of_earlier(request->operation)) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return true;
    }
    return false;
}

enum sw_reply_status sw_bulk_admit(struct sw_conn *conn, const struct sw_bulk_candidate *candidate,
                                   char *message, size_t message_bytes, bool *closes)
{
    const struct sw_bulk *bulk = sw_bulk_of(conn)->bulk;
    const struct sw_request *request = candidate->request;
    const struct sw_bulk_target *target = candidate->target;
    enum sw_reply_status status = SW_REPLY_OK;
    *closes = false;
    if (!sw_bulk_permits(conn, request, candidate->header, candidate->header_bytes, &status,
                         message, message_bytes, closes)) {
        return status;
    }
    if (target->table == NULL) {
        sw_bulk_explain_table(request, target->status, message, message_bytes);
        return target->status;
    }
    status = sw_bulk_validate(bulk, target->table, request, candidate->body_bytes,
                              candidate->reply_bytes, message, message_bytes);
    if (status == SW_REPLY_BAD_REQUEST && sw_bulk_is_reshaped(conn, target) &&
        sw_bulk_has_other_widths(&target->table->batches->shape, request)) {
        sw_bulk_explain_table(request, SW_REPLY_TABLE_CHANGED, message, message_bytes);
        return SW_REPLY_TABLE_CHANGED;
    }
    return status != SW_REPLY_OK
               ? status
               : refusal_of(
                     bulk,
                     met(bulk, request, ~(SW_OBSTACLES_OF_PAUSE | (unsigned)SW_OBSTACLE_LOG_FULL)),
                     message, message_bytes);
}
