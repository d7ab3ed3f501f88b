/* SPDX-License-Identifier: MIT
 *
 * watching.c - what a connection watches.
 */
#include "server/resp/watching.h"

#include "server/batch/watched.h"
#include "server/net/conn.h"
#include "server/repl/repl.h"
#include "server/resp/admin_call.h"
#include "server/resp/expire.h"
#include "server/resp/resp.h"

static struct sw_watched *watched_of(struct sw_conn *conn)
{
    return sw_resp_of(conn)->resp->batches->submitter.watched;
}

static void count_keys(struct sw_conn *conn, int64_t more)
{
    struct sw_loop_counters *counters = conn->net->counters;
    SW_GAUGE(counters, watched_keys, counters->watched_keys + (uint64_t)more);
}

static uint64_t view_number(struct sw_conn *conn)
{
    return conn->net->seat.view == NULL ? 0 : conn->net->seat.view->number;
}

static uint64_t fence(struct sw_conn *conn)
{
    struct sw_repl *repl = sw_resp_of(conn)->resp->owner.repl;
    return repl == NULL ? 0 : sw_repl_fence(&repl->state);
}

static bool is_replica(struct sw_conn *conn)
{
    struct sw_repl *repl = sw_resp_of(conn)->resp->owner.repl;
    return repl != NULL && sw_repl_is_replica(&repl->state);
}

/* Has the time of a watched key come? */
static bool has_expired(struct sw_conn *conn, const struct sw_watch_state *watch)
{
    const struct sw_resp *resp = sw_resp_of(conn)->resp;
    return resp->batches->shape.expires && sw_watching_is_on(conn) &&
           watch->until <= sw_expire_now(resp);
}

bool sw_watching_is_on(struct sw_conn *conn)
{
    return sw_watcher_has_keys(&sw_resp_of(conn)->watch.watcher);
}

bool sw_watching_add(struct sw_conn *conn, const void *keys, uint32_t count)
{
    struct sw_watch_state *watch = &sw_resp_of(conn)->watch;
    if (!sw_watching_is_on(conn)) {
        watch->view_number = view_number(conn);
        watch->fence = fence(conn);
    }
    int64_t added = sw_watched_add(watched_of(conn), &watch->watcher, keys,
                                   sw_resp_of(conn)->resp->batches->shape.key_bytes, count);
    SW_COUNT(conn->net->counters, watch_refusals, added < 0);
    count_keys(conn, added < 0 ? 0 : added);
    return added >= 0;
}

void sw_watching_until(struct sw_conn *conn, uint64_t at)
{
    struct sw_watch_state *watch = &sw_resp_of(conn)->watch;
    if (!sw_watching_is_on(conn)) {
        watch->until = at;
    }
    watch->until = at < watch->until ? at : watch->until;
}

bool sw_watching_is_changed(struct sw_conn *conn)
{
    const struct sw_watch_state *watch = &sw_resp_of(conn)->watch;
    return sw_watcher_is_changed(&watch->watcher) || has_expired(conn, watch) ||
           watch->view_number != view_number(conn) || watch->fence != fence(conn) ||
           is_replica(conn);
}

void sw_watching_forget(struct sw_conn *conn)
{
    if (sw_watching_is_on(conn)) {
        count_keys(conn,
                   -(int64_t)sw_watched_forget(watched_of(conn), &sw_resp_of(conn)->watch.watcher));
    }
}

void sw_call_unwatch(struct sw_call *call)
{
    if (!sw_resp_of(call->session->conn)->in_exec) { /* there EXEC does it, after it has looked */
        sw_watching_forget(call->session->conn);
    }
    sw_call_ok(call);
}
