/* SPDX-License-Identifier: MIT
 *
 * control_repl.c - WAIT, which waits for replicas, and REPLICAOF, which waits for a change of role.
 */
#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/net/conn.h"
#include "server/repl/repl.h"
#include "server/resp/admin_call.h"
#include "server/resp/control_parts.h"
#include "server/resp/place.h"
#include "server/resp/resp.h"

/* --- WAIT ------------------------------------------------------------------------------------- */

static bool has_reached(struct sw_control *control)
{
    struct sw_repl *repl = control->resp->owner.repl;
    control->reached = sw_repl_reached(repl, control->sequence);
    return control->reached >= control->wanted || control->conn->state != SW_CONN_OPEN ||
           sw_repl_is_replica(&repl->state) ||
           (control->deadline_ms != 0 && sw_net_now_ms(control->resp->net) >= control->deadline_ms);
}

bool sw_control_run_wait(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    struct sw_repl *repl = control->resp->owner.repl;
    int64_t wanted = 0, timeout_ms = 0;
    if (repl != NULL && sw_repl_is_replica(&repl->state)) {
        return sw_control_refuse(control,
                                 "ERR WAIT cannot be used with replica instances. Please also note "
                                 "that writes to replicas are just local and are not propagated.");
    }
    if (!sw_argument_integer(&words[1], &wanted)) {
        return sw_control_refuse(control, "ERR value is not an integer or out of range");
    }
    if (!sw_argument_integer(&words[2], &timeout_ms) || timeout_ms > INT32_MAX) {
        return sw_control_refuse(control, "ERR timeout is not an integer or out of range");
    }
    if (timeout_ms < 0) {
        return sw_control_refuse(control, "ERR timeout is negative");
    }
    control->wanted = wanted < 0 ? 0 : wanted > INT32_MAX ? INT32_MAX : (unsigned)wanted;
    control->sequence = sw_last_write_of(&sw_resp_of(control->conn)->last_write, repl);
    control->deadline_ms =
        timeout_ms == 0 ? 0 : sw_net_now_ms(control->resp->net) + (uint64_t)timeout_ms;
    if (repl == NULL || has_reached(control)) {
        sw_control_begin(control);
        sw_control_finish(control);
    } else {
        sw_control_wait_unblocked(control, has_reached);
    }
    return true;
}

/* --- REPLICAOF -------------------------------------------------------------------------------- */

static bool is_promoted(struct sw_control *control)
{
    char reason[SW_CONTROL_ERROR_BYTES - 8];
    int outcome = sw_replica_outcome(control->resp->owner.repl->replica, control->save_number,
                                     reason, sizeof(reason));
    if (outcome < 0) {
        snprintf(control->error, sizeof(control->error), "ERR %s", reason);
    }
    return outcome != 0;
}

static bool promote(struct sw_control *control)
{
    struct sw_repl *repl = control->resp->owner.repl;
    if (!sw_repl_is_replica(&repl->state)) {
        sw_control_begin(control);
        sw_control_finish(control);
        return true;
    }
    control->save_number = sw_replica_promote(repl->replica, 0);
    sw_control_wait_until(control, is_promoted);
    return true;
}

/* --- REPLICAOF host port: by a thread of libuv, since the data directory gets the role first ---
 */

static void follow(uv_work_t *work)
{
    struct sw_control *control = work->data;
    char reason[SW_REPL_REASON_BYTES] = "";
    if (sw_repl_follow(control->resp->owner.repl, control->keys.data, reason) != 0) {
        snprintf(control->error, sizeof(control->error), "ERR %s", reason);
    }
}

static void on_followed(uv_work_t *work, int status)
{
    ((struct sw_control *)work->data)->is_computed = status == 0;
}

/* The thread uses the command until then, even if the connection has closed. */
static bool is_followed(struct sw_control *control)
{
    return control->is_computed;
}

bool sw_control_run_replicaof(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *host = &arguments->arguments[1];
    const struct sw_resp_argument *port = &arguments->arguments[2];
    const struct sw_repl *repl = control->resp->owner.repl;
    char error[SW_CONTROL_ERROR_BYTES];
    uint64_t number = 0;
    control->says_ok = true;
    if (control->conn->net->cluster.view != NULL) {
        return sw_control_refuse(control, "ERR REPLICAOF not allowed in cluster mode.");
    }
    if (repl == NULL || sw_repl_why_not(repl) != NULL) {
        snprintf(error, sizeof(error), "ERR %s",
                 repl == NULL ? "this server has no replication" : sw_repl_why_not(repl));
        return sw_control_refuse(control, error);
    }
    if (sw_argument_is(host, "NO") && sw_argument_is(port, "ONE")) {
        return promote(control);
    }
    if (!sw_decimal_parse(port->text, port->size, UINT16_MAX, &number)) {
        return sw_control_refuse(control, "ERR Invalid master port");
    }
    if (host->size >= SW_REPL_ADDRESS_BYTES || memchr(host->text, '\0', host->size) != NULL) {
        return sw_control_refuse(control, "ERR the host name is too long or has a zero byte");
    }
    sw_text_init(&control->keys, SW_ROLE_PRIMARY_BYTES);
    sw_text_append(&control->keys, host->text, host->size);
    if (number != 0) {
        sw_text_printf(&control->keys, " %u", (unsigned)number);
    }
    sw_text_append(&control->keys, "", 1);
    if (control->keys.failed) {
        sw_text_fini(&control->keys);
        return sw_control_refuse(control, "ERR not enough memory: try again");
    }
    control->work.data = control;
    sw_control_wait_until(control, is_followed);
    uv_queue_work(control->resp->net->uv, &control->work, follow, on_followed);
    return true;
}
