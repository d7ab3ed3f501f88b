/* SPDX-License-Identifier: MIT
 *
 * watching.c - the keys that a connection watches.
 */
#include "server/resp/watching.h"

#include "server/batch/watched.h"
#include "server/net/conn.h"
#include "server/repl/repl.h"
#include "server/resp/admin_call.h"
#include "server/resp/expire.h"
#include "server/resp/resp.h"

static struct sw_watched *watched_of(struct sw_resp_conn *state)
{
    return state->resp->batches->submitter.watched;
}

static void count_keys(struct sw_resp_conn *state, int64_t more)
{
    struct sw_loop_counters *counters = state->conn->net->counters;
    SW_GAUGE(counters, watched_keys, counters->watched_keys + (uint64_t)more);
}

static uint64_t view_number(struct sw_resp_conn *state)
{
    return state->conn->net->cluster.view == NULL ? 0 : state->conn->net->cluster.view->number;
}

static uint64_t fence(struct sw_resp_conn *state)
{
    struct sw_repl *repl = state->resp->owner.repl;
    return repl == NULL ? 0 : sw_repl_fence(&repl->state);
}

static bool is_replica(const struct sw_resp_conn *state)
{
    return sw_obstacles_met(state->resp->batches, SW_OBSTACLE_REPLICA) != 0;
}

/* Has a watched key expired? */
static bool has_expired(struct sw_resp_conn *state, const struct sw_watch_state *watch)
{
    const struct sw_resp *resp = state->resp;
    return resp->batches->shape.expires && sw_watching_is_on(state) &&
           watch->until <= sw_expire_now(resp);
}

bool sw_watching_is_on(struct sw_resp_conn *state)
{
    return sw_watcher_has_keys(&state->watch.watcher) || state->watch.is_lost;
}

int64_t sw_watching_add(struct sw_resp_conn *state, const void *keys, uint32_t count)
{
    struct sw_watch_state *watch = &state->watch;
    if (!sw_watching_is_on(state)) {
        watch->view_number = view_number(state);
        watch->fence = fence(state);
    }
    int64_t added = sw_watched_add(watched_of(state), &watch->watcher, keys,
                                   state->resp->batches->shape.key_bytes, count);
    SW_COUNT(state->conn->net->counters, watch_refusals, added == SW_WATCHED_FULL);
    count_keys(state, added < 0 ? 0 : added);
    return added;
}

void sw_watching_until(struct sw_resp_conn *state, uint64_t at)
{
    struct sw_watch_state *watch = &state->watch;
    if (!sw_watching_is_on(state)) {
        watch->until = at;
    }
    watch->until = at < watch->until ? at : watch->until;
}

bool sw_watching_is_changed(struct sw_resp_conn *state)
{
    const struct sw_watch_state *watch = &state->watch;
    return watch->is_lost || sw_watcher_is_changed(&watch->watcher) || has_expired(state, watch) ||
           watch->view_number != view_number(state) || watch->fence != fence(state) ||
           is_replica(state);
}

void sw_watching_forget(struct sw_resp_conn *state)
{
    state->watch.is_lost = false;
    if (sw_watcher_has_keys(&state->watch.watcher)) {
        count_keys(state, -(int64_t)sw_watched_forget(watched_of(state), &state->watch.watcher));
    }
}

void sw_call_unwatch(struct sw_call *call)
{
    if (!sw_resp_of(call->session->conn)->in_exec) { /* EXEC itself does it, after its check */
        sw_watching_forget(sw_resp_of(call->session->conn));
    }
    sw_call_ok(call);
}
