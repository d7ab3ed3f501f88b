/* SPDX-License-Identifier: MIT
 *
 * redirect.c - the slots of keys.
 */
#include "server/resp/redirect.h"

#include <stdio.h>
#include <string.h>

#include "server/batch/shape.h"
#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/resp.h"

#define NOT_YET "CLUSTERDOWN The cluster is down: this node is becoming a primary"
#define CROSS_SLOT "CROSSSLOT Keys in request don't hash to the same slot"

static bool write_redirect_line(struct sw_resp_conn *state, const char *text,
                                char line[SW_CLUSTER_LINE_BYTES])
{
    struct sw_loop_counters *counters = state->conn->net->counters;
    snprintf(line, SW_CLUSTER_LINE_BYTES, "%s", text);
    SW_COUNT(counters, cluster_moved, line[0] == 'M' || line[0] == 'A');
    SW_COUNT(counters, cluster_cross_slot, strncmp(line, "CR", 2) == 0);
    SW_COUNT(counters, cluster_down, strncmp(line, "CL", 2) == 0);
    return true;
}

static bool refuse_slot(struct sw_resp_conn *state, unsigned slot, char line[SW_CLUSTER_LINE_BYTES])
{
    char text[SW_CLUSTER_LINE_BYTES];
    sw_cluster_refusal(state->conn->net->cluster.view, slot, text);
    return write_redirect_line(state, text, line);
}

/* Are all keys in canonical form? 42 and 042 are one key, but clients compute two slots from the
 * two texts. So only the text without leading zeros is accepted. */
static bool is_canonical(const struct sw_command *command, const struct sw_resp_argument *arguments,
                         uint32_t count)
{
    count = command->last_key == command->first_key ? 1 : count; /* SET IFEQ reads its key twice */
    for (uint32_t i = 0; i < count; i++) {
        const struct sw_resp_argument *key =
            &arguments[(uint32_t)command->first_key + i * (uint32_t)command->key_step];
        if (key->size > 1 && key->text[0] == '0') {
            return false;
        }
    }
    return true;
}

/* Returns the obstacles of `heeded` that exist now. */
static unsigned met(const struct sw_resp_conn *state, unsigned heeded)
{
    return sw_obstacles_met(state->resp->batches, heeded);
}

/* Does the node serve keys of the slot to this connection? A replica serves reads once the
 * connection has sent READONLY and the replica has its primary's data. */
static bool serves(const struct sw_resp_conn *state, unsigned slot, bool writes)
{
    const struct sw_cluster_view *view = state->conn->net->cluster.view;
    return sw_cluster_owns(view, slot) ||
           (view->owner[slot] == view->reads && !writes && state->session.reads_replicas &&
            met(state, SW_OBSTACLE_REPLICA | SW_OBSTACLE_LACKS_DATA | SW_OBSTACLE_DOWN) ==
                SW_OBSTACLE_REPLICA);
}

/* Is the node still a replica, although its topology makes it a primary? It first applies the
 * writes that its primary has sent. */
static bool is_not_primary_yet(const struct sw_resp_conn *state)
{
    return state->conn->net->cluster.view->shard != SW_CLUSTER_NO_SHARD &&
           met(state, SW_OBSTACLE_REPLICA) != 0;
}

bool sw_redirect_refuses(struct sw_resp_conn *state, const struct sw_command *command,
                         const struct sw_resp_argument *arguments, const void *keys, uint32_t bytes,
                         uint32_t count, struct sw_slots *slots, char line[SW_CLUSTER_LINE_BYTES])
{
    const struct sw_cluster_view *view = state->conn->net->cluster.view;
    const bool writes = sw_command_is_numbered(command);
    int foreign = -1;
    *slots = (struct sw_slots){.first = -1};
    if (view->choices.raw_bytes == 0 && !is_canonical(command, arguments, count)) {
        return write_redirect_line(
            state,
            "ERR key is not in canonical form, which cluster mode needs: write the "
            "integer without sign and leading zeros",
            line);
    }
    for (uint32_t i = 0; i < count; i++) {
        int slot = (int)sw_cluster_slot(view, sw_integer_at(keys, bytes, i));
        if (foreign < 0 && !serves(state, (unsigned)slot, writes)) {
            foreign = slot;
        }
        slots->is_several |= i > 0 && slot != slots->first;
        slots->first = i == 0 ? slot : slots->first;
    }
    bool is_gap = foreign >= 0 && view->owner[slots->first] == SW_TOPOLOGY_NOBODY;
    if (slots->is_several && !view->choices.any_slots && !is_gap) {
        return write_redirect_line(state, CROSS_SLOT, line);
    }
    if (foreign >= 0) {
        return refuse_slot(state, (unsigned)(is_gap ? slots->first : foreign), line);
    }
    if (is_not_primary_yet(state)) {
        return write_redirect_line(state, NOT_YET, line);
    }
    state->frozen_since_ms = 0;
    return met(state, SW_OBSTACLE_LOADING) != 0 &&
           write_redirect_line(
               state, "CLUSTERDOWN The cluster is down: this node is loading its data", line);
}

bool sw_redirect_waits(struct sw_resp_conn *state)
{
    const uint64_t now_ms = sw_net_now_ms(state->conn->net);
    if (state->frozen_since_ms == 0) {
        state->frozen_since_ms = now_ms;
    }
    bool may = !state->frozen_refused && now_ms - state->frozen_since_ms < SW_FROZEN_MS;
    if (may) {
        sw_conn_stall(state->conn, SW_STALL_FROZEN);
    } else {
        state->frozen_since_ms = 0;
        state->frozen_refused = true;
    }
    return may;
}

bool sw_redirect_refuses_exec(struct sw_resp_conn *state, const struct sw_slots *slots,
                              uint64_t number, char line[SW_CLUSTER_LINE_BYTES])
{
    const struct sw_cluster_view *view = state->conn->net->cluster.view;
    if (slots->first < 0) {
        return false;
    }
    if (slots->is_several && !view->choices.any_slots) {
        return write_redirect_line(state, CROSS_SLOT, line);
    }
    if (slots->is_several && view->number != number) {
        return write_redirect_line(
            state, "EXECABORT Transaction discarded because the topology has changed.", line);
    }
    if (is_not_primary_yet(state)) {
        return write_redirect_line(state, NOT_YET, line);
    }
    return !serves(state, (unsigned)slots->first, false) &&
           refuse_slot(state, (unsigned)slots->first, line);
}
