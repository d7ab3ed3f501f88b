/* SPDX-License-Identifier: MIT
 *
 * last_write.c - a sequence, and the fence of replication under which it was given.
 */
#include "server/resp/last_write.h"

#include "server/repl/repl.h"
#include "server/resp/resp.h"

void sw_resp_wrote(struct sw_conn *conn, uint64_t sequence)
{
    struct sw_resp_conn *state = sw_resp_of(conn);
    const struct sw_repl *repl = state->resp->owner.repl;
    state->last_write = sequence > 0 ? sequence : state->last_write;
    if (repl != NULL && sequence > 0) {
        state->written_by =
            sw_repl_is_replica(&repl->state) ? UINT64_MAX : sw_repl_fence(&repl->state);
    }
}

uint64_t sw_resp_last_write(struct sw_conn *conn)
{
    const struct sw_resp_conn *state = sw_resp_of(conn);
    const struct sw_repl *repl = state->resp->owner.repl;
    bool undone =
        repl != NULL && state->last_write > 0 && state->written_by != sw_repl_fence(&repl->state);
    return undone ? UINT64_MAX : state->last_write;
}
