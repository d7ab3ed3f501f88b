/* SPDX-License-Identifier: MIT
 *
 * control_waits.c - SAVE and WAITAOF, which wait for the data directory, and DIGEST, which waits
 * for a thread that reads the table.
 */
#include <stdio.h>
#include <stdlib.h>

#include "proto/decimal.h"
#include "server/log/saver.h"
#include "server/net/conn.h"
#include "server/repl/repl.h"
#include "server/resp/admit.h"
#include "server/resp/control.h"
#include "server/resp/control_parts.h"
#include "server/resp/resp.h"
#include "table/image.h"

bool sw_control_refuse(struct sw_control *control, const char *error)
{
    sw_resp_error(control->conn, control->command, "%s", error);
    free(control);
    return true;
}

bool sw_control_is_gone(const struct sw_control *control)
{
    return control->conn->state == SW_CONN_CLOSED;
}

/* --- SAVE ------------------------------------------------------------------------------------- */

static bool is_saved(struct sw_control *control)
{
    char reason[SW_CONTROL_ERROR_BYTES - 8];
    enum sw_saved outcome =
        sw_saver_outcome(control->resp->owner.saver, control->save_number, reason, sizeof(reason));
    if (outcome == SW_SAVED_PENDING &&
        sw_saver_is_held(control->resp->owner.saver, reason, sizeof(reason))) {
        outcome = SW_SAVED_FAILED; /* it is written behind the data */
    }
    if (outcome == SW_SAVED_FAILED) {
        snprintf(control->error, sizeof(control->error), "ERR %s", reason);
    }
    return outcome != SW_SAVED_PENDING || sw_control_is_gone(control);
}

bool sw_control_run_save(struct sw_control *control, const struct sw_resp_command *arguments)
{
    struct sw_resp *resp = control->resp;
    char reason[SW_CONTROL_ERROR_BYTES - 8], line[SW_CONTROL_ERROR_BYTES];
    (void)arguments;
    control->says_ok = true;
    if (resp->owner.saver != NULL && sw_saver_is_held(resp->owner.saver, reason, sizeof(reason))) {
        snprintf(line, sizeof(line), "ERR %s", reason);
        return sw_control_refuse(control, line);
    }
    control->save_number = resp->owner.saver == NULL ? 0 : sw_saver_ask(resp->owner.saver);
    if (control->save_number == 0) {
        return sw_control_refuse(control, resp->owner.saver == NULL ? SW_NO_PERSISTENCE
                                                                    : SW_SAVE_IN_PROGRESS);
    }
    sw_control_wait_until(control, is_saved);
    return true;
}

/* --- WAITAOF ---------------------------------------------------------------------------------- */

/* Parses WAITAOF numlocal numreplicas timeout. Returns an error line of redis, or NULL. */
static const char *parse_waitaof(const struct sw_resp_command *arguments, const struct sw_wal *wal,
                                 bool is_replica, uint64_t *local, uint64_t *timeout_ms)
{
    const struct sw_resp_argument *words = arguments->arguments;
    uint64_t replicas;
    if (!sw_decimal_parse(words[1].text, words[1].size, 1, local)) {
        return "ERR value is out of range, value must between 0 and 1";
    }
    if (!sw_decimal_parse(words[2].text, words[2].size, INT64_MAX, &replicas)) {
        return "ERR value is out of range, must be positive";
    }
    if (!sw_decimal_parse(words[3].text, words[3].size, INT32_MAX, timeout_ms)) {
        return "ERR timeout is not an integer or out of range";
    }
    if (is_replica) {
        return "ERR WAITAOF cannot be used with replica instances. Please also note that writes "
               "to replicas are just local and are not propagated.";
    }
    if (*local > 0 && wal == NULL) {
        return "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
    }
    return NULL;
}

static bool serves_replica(const struct sw_control *control)
{
    const struct sw_repl *repl = control->resp->owner.repl;
    return repl != NULL && sw_repl_is_replica(&repl->state);
}

/* A write that was undone never becomes durable, so the wait ends. */
static bool is_durable(struct sw_control *control)
{
    const struct sw_batches *batches = control->resp->batches;
    const uint64_t durable = batches->wal == NULL ? 0 : sw_wal_durable(batches->wal);
    const uint64_t sequence = sw_last_write_of(&control->last, control->resp->owner.repl);
    control->is_durable = batches->wal != NULL && durable >= sequence;
    bool hopeless = batches->wal != NULL && sw_wal_is_hopeless(batches->wal);
    if (serves_replica(control)) {
        snprintf(control->error, sizeof(control->error),
                 "UNBLOCKED force unblock from blocking operation, instance state changed "
                 "(master -> replica?)");
        return true;
    }
    return control->is_durable || sequence == UINT64_MAX || hopeless ||
           sw_control_is_gone(control) ||
           (control->deadline_ms != 0 && sw_net_now_ms(control->resp->net) >= control->deadline_ms);
}

bool sw_control_run_waitaof(struct sw_control *control, const struct sw_resp_command *arguments)
{
    struct sw_wal *wal = control->resp->batches->wal;
    uint64_t local = 0, timeout_ms = 0;
    const char *error = parse_waitaof(arguments, wal, serves_replica(control), &local, &timeout_ms);
    if (error != NULL) {
        return sw_control_refuse(control, error);
    }
    control->last = sw_resp_of(control->conn)->last_write;
    control->deadline_ms = timeout_ms == 0 ? 0 : sw_net_now_ms(control->resp->net) + timeout_ms;
    if (is_durable(control) || local == 0) {
        sw_control_begin(control);
        sw_control_finish(control);
    } else {
        sw_control_wait_unblocked(control, is_durable);
        sw_wal_want_durable(wal, control->last.sequence);
    }
    return true;
}

/* --- DIGEST ----------------------------------------------------------------------------------- */

/* On a thread of libuv. */
static void compute(uv_work_t *work)
{
    struct sw_control *control = work->data;
    char reason[SW_CONTROL_ERROR_BYTES - 8];
    if (sw_digest_of(control->resp->batches->table, &control->digest, reason, sizeof(reason)) !=
        0) {
        snprintf(control->error, sizeof(control->error), "ERR %s", reason);
    }
}

static void on_computed(uv_work_t *work, int status)
{
    ((struct sw_control *)work->data)->is_computed = status == 0;
}

/* Lets a thread compute the digest, unless reads are refused now. */
static bool compute_beside(struct sw_control *control)
{
    const struct sw_repl *repl = control->resp->owner.repl;
    control->closures = repl == NULL ? 0 : sw_repl_closures(&repl->state); /* before the check */
    const char *refusal = sw_refusal_of_exec(control->resp->batches, true, false);
    if (refusal != NULL) {
        snprintf(control->error, sizeof(control->error), "%s", refusal);
        return false;
    }
    control->is_computed = false;
    control->error[0] = '\0';
    uv_queue_work(control->resp->net->uv, &control->work, compute, on_computed);
    return true;
}

/* The thread uses the command until then, even if the connection has closed. If reads were closed
 * meanwhile, the digest may be of a table that a snapshot of the primary had filled in part: it is
 * computed again. */
static bool is_computed(struct sw_control *control)
{
    const struct sw_repl *repl = control->resp->owner.repl;
    const bool is_torn =
        control->is_computed && repl != NULL && sw_repl_closures(&repl->state) != control->closures;
    if (!is_torn || sw_control_is_gone(control)) {
        return control->is_computed;
    }
    return !compute_beside(control);
}

bool sw_control_run_digest(struct sw_control *control, const struct sw_resp_command *arguments)
{
    (void)arguments;
    if (sw_image_bytes(control->resp->batches->table) == 0) {
        return sw_control_refuse(control,
                                 "ERR a table of this engine cannot be read at one instant on this "
                                 "backend");
    }
    control->work.data = control;
    if (!compute_beside(control)) {
        return sw_control_refuse(control, control->error);
    }
    sw_control_wait_until(control, is_computed);
    return true;
}

/* --- all ------------------------------------------------------------------------------------- */

void sw_control_wait_unblocked(struct sw_control *control,
                               bool (*is_over)(struct sw_control *control))
{
    struct sw_loop_counters *counters = control->conn->net->counters;
    sw_control_wait_until(control, is_over);
    SW_GAUGE(counters, blocked_clients, counters->blocked_clients + 1);
    __atomic_store_n(&control->conn->shown.waits, SW_CLIENTS_WAITS, __ATOMIC_RELEASE);
}

/* Is the wait over, by itself or by CLIENT UNBLOCK? The first CLIENT UNBLOCK decides. */
static bool ends(struct sw_control *control)
{
    uint8_t *waits = &control->conn->shown.waits;
    if (!control->is_over(control) &&
        __atomic_load_n(waits, __ATOMIC_ACQUIRE) <= SW_CLIENTS_WAITS) {
        return false;
    }
    const uint8_t was = __atomic_exchange_n(waits, SW_CLIENTS_WAITS_NOT, __ATOMIC_ACQ_REL);
    if (was != SW_CLIENTS_WAITS_NOT) {
        struct sw_loop_counters *counters = control->conn->net->counters;
        SW_GAUGE(counters, blocked_clients, counters->blocked_clients - 1);
    }
    if (was == SW_CLIENTS_UNBLOCKED) {
        snprintf(control->error, sizeof(control->error),
                 "UNBLOCKED client unblocked via CLIENT UNBLOCK");
    }
    return true;
}

/* Replies to the commands of the list whose waits are over. Returns true if there was one. */
static bool poll_list(struct sw_list *waits)
{
    bool moved = false;
    SW_LIST_EACH(waits, link)
    {
        struct sw_control *control = SW_CONTAINER(link, struct sw_control, waits);
        if (ends(control)) {
            sw_list_remove(&control->waits);
            sw_control_finish(control);
            moved = true;
        }
    }
    return moved;
}

bool sw_control_poll_waits(struct sw_resp *resp)
{
    if (!sw_list_is_empty(&resp->waits) || !sw_list_is_empty(&resp->idle_waits)) {
        /* set before the checks, so that later progress wakes the loop */
        __atomic_store_n(resp->batches->waits_for_log, 1, __ATOMIC_SEQ_CST);
    }
    const bool moved = poll_list(&resp->waits);
    return poll_list(&resp->idle_waits) || moved;
}
