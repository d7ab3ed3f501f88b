/* SPDX-License-Identifier: MIT
 *
 * run.c - checks a command, and calls the function of its kind.
 */
#include "server/resp/run.h"

#include "server/observe/log.h"
#include "server/resp/admit.h"
#include "server/resp/command_checks.h"
#include "server/resp/control.h"
#include "server/resp/iteration_share.h"
#include "server/resp/monitor.h"
#include "server/resp/permit.h"
#include "server/resp/resp_memory.h"
#include "server/resp/slow.h"
#include "server/resp/transaction.h"
#include "server/resp/wrong_port.h"

/* Replaces a failed text reply by an error. It was longer than the text of a batch may be, or there
 * was no memory for it. If there is no memory for the error either, the connection is closed,
 * because its client would wait for ever. */
static void refuse_long_reply(struct sw_resp_conn *state, const struct sw_command *command,
                              size_t first)
{
    struct sw_text *text = &state->resp->filling->text;
    text->failed = false;
    text->size = first;
    sw_resp_error(state->conn, command,
                  "ERR the reply to '%s' would be longer than the limit: request less",
                  command->name);
    if (text->failed) {
        text->failed = false;
        text->size = first;
        sw_log_limited(SW_LOG_NO_MEMORY, SW_LOG_ERROR,
                       "no memory for a reply to '%s': the connection was closed", command->name);
        sw_conn_abort(state->conn);
    }
}

/* Functions that carry out the commands of one kind, which are neither refused nor queued. They
 * return false, with nothing done and the connection stalled, if the command has to wait. */
typedef bool carry_out(struct sw_resp_conn *state, const struct sw_command *command,
                       const struct sw_resp_command *arguments);

static bool run_data(struct sw_resp_conn *state, const struct sw_command *command,
                     const struct sw_resp_command *arguments)
{
    return sw_rmw_takes(command, arguments)
               ? sw_rmw_run(state->conn, command, arguments)
               : state->resp->run_data(state->conn, command, arguments, SW_DATA_RUN);
}

static bool run_rmw(struct sw_resp_conn *state, const struct sw_command *command,
                    const struct sw_resp_command *arguments)
{
    return sw_rmw_run(state->conn, command, arguments);
}

static bool run_control(struct sw_resp_conn *state, const struct sw_command *command,
                        const struct sw_resp_command *arguments)
{
    if (state->conn->in_flight > 0) {
        sw_conn_stall(state->conn, SW_STALL_BARRIER);
        return false;
    }
    return sw_control_run(state->conn, command, arguments);
}

static bool run_transaction(struct sw_resp_conn *state, const struct sw_command *command,
                            const struct sw_resp_command *arguments)
{
    (void)arguments;
    return sw_transaction_run(state, command);
}

/* The number of the loop's view. After SELECT that of the connection differs. */
static uint64_t conn_view(const struct sw_resp_conn *state)
{
    return state->conn->net->tables.number;
}

/* Makes the text reply of a command. */
static void make_text(struct sw_resp_conn *state, const struct sw_command *command,
                      const struct sw_resp_command *arguments)
{
    struct sw_resp *resp = state->resp;
    struct sw_session *session = &state->session;
    struct sw_text *text = &resp->filling->text;
    size_t first = text->size;
    if (command->in_multi == SW_MULTI_AT_ONCE) { /* RESET and QUIT end a transaction */
        sw_transaction_drop(state);
    }
    uint64_t began_ns = sw_slow_begin(resp);
    sw_admin_run(&resp->admin, command, arguments, session, text);
    sw_slow_admin(state->conn, arguments, began_ns);
    if (text->failed) {
        refuse_long_reply(state, command, first);
        return;
    }
    if (session->handed_over) {
        text->size = first;
        sw_conn_abort(state->conn);
        return;
    }
    sw_replies_add_text(resp->filling, state->conn, command, first);
    if (state->view_number != conn_view(state) && state->conn->stall == SW_STALL_NONE) {
        sw_conn_stall(state->conn, SW_STALL_BARRIER); /* the next command is about another table */
    }
    if (session->shutdown_asked) {
        resp->owner.stop(resp->owner.server, !session->shutdown_unsaved,
                         sw_conn_keep_socket(state->conn));
    }
}

/* Some commands of these kinds, with some arguments, wait as those of kind CONTROL do. */
static bool run_text(struct sw_resp_conn *state, const struct sw_command *command,
                     const struct sw_resp_command *arguments)
{
    struct sw_conn *conn = state->conn;
    const bool waits = sw_control_takes(conn, command, arguments);
    if ((waits && conn->in_flight > 0) ||
        (command->kind == SW_KIND_REPORT && conn->data_in_flight > 0)) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return false;
    }
    if (state->resp->text.spent_in == conn->net->iteration.number) {
        sw_iteration_share_yield(conn);
        return false;
    }
    if (waits) {
        return sw_control_run(conn, command, arguments);
    }
    make_text(state, command, arguments);
    return true;
}

static bool queue(struct sw_resp_conn *state, const struct sw_command *command,
                  const struct sw_resp_command *arguments)
{
    return sw_transaction_queue(state, command, arguments);
}

static carry_out *const runs[] = {
    [SW_KIND_DATA] = run_data,       [SW_KIND_RMW] = run_rmw,
    [SW_KIND_CONTROL] = run_control, [SW_KIND_REPORT] = run_text,
    [SW_KIND_SESSION] = run_text,    [SW_KIND_TRANSACTION] = run_transaction,
};

/* Refuses a command on a table if none lies in the connection's place. */
static bool lacks_place(struct sw_resp_conn *state, const struct sw_command *command)
{
    if (!state->lacks_place || !sw_command_is_about_table(command)) {
        return false;
    }
    sw_resp_error(state->conn, command, "ERR the table %u was dropped: SELECT another one",
                  state->place);
    return true;
}

enum outcome {
    WAITS,   /* nothing was done, and the connection has stalled */
    REFUSED, /* the command has a reply, or closes the connection */
    QUEUED,  /* it has a reply, and EXEC will carry it out */
    RAN
};

/* Carries out a command if its user may run it, the server supports it, and no obstacle exists now.
 */
static enum outcome run_command(struct sw_resp_conn *state, const struct sw_command *command,
                                const struct sw_resp_command *arguments)
{
    struct sw_conn *conn = state->conn;
    bool may = sw_conn_is_free(conn) || !sw_permit_refuses(state, command, arguments);
    if (may && state->resp->unable.has[command->id]) {
        sw_command_reject_unsupported(state, command);
        may = false;
    } else if (may) {
        conn->last_request = sw_clients_command(command->id);
        may = !lacks_place(state, command) && sw_admits(state, command);
    }
    if (!may && conn->stall != SW_STALL_NONE) {
        return WAITS;
    }
    if (!may) {
        sw_transaction_spoil(state);
        return REFUSED;
    }
    const bool queues = state->transaction != NULL && command->in_multi != SW_MULTI_AT_ONCE;
    carry_out *const carries_out = queues ? queue : runs[command->kind];
    if (!carries_out(state, command, arguments)) {
        return WAITS;
    }
    return queues ? QUEUED : RAN;
}

bool sw_resp_may_pass(const struct sw_resp_conn *state)
{
    const struct sw_resp *resp = state->resp;
    return state->conn->in_flight == 0 && state->transaction == NULL &&
           sw_table_is_held(resp->batches->table);
}

static bool run_in_order(struct sw_resp_conn *state, const struct sw_command *command,
                         const struct sw_resp_command *arguments)
{
    struct sw_conn *conn = state->conn;
    if (!sw_resp_has_room(conn, 0)) {
        return false;
    }
    if (command == NULL && sw_begins_http(&arguments->arguments[0])) {
        sw_close_wrong(conn, "HTTP");
        return true;
    }
    if (command == NULL || !sw_command_arity_fits(command, arguments->count)) {
        sw_command_reject_wrong(state, command, arguments);
        return true;
    }
    const enum outcome outcome = run_command(state, command, arguments);
    if (outcome == RAN) {
        sw_monitor_show_if_any(state, command, arguments);
    }
    return outcome != WAITS;
}

/* Stalls the connection if its command would begin a batch that only waits for growth. A control
 * command has a batch of its own, or none. Returns true if so. */
static bool awaits_growth(struct sw_resp_conn *state, const struct sw_command *command)
{
    struct sw_conn *conn = state->conn;
    if ((command != NULL && command->kind == SW_KIND_CONTROL) || !sw_resp_only_waits(state->resp)) {
        return false;
    }
    SW_COUNT(conn->net->counters, round_pauses, !conn->retried);
    state->waits_for_growth = true;
    sw_conn_stall(conn, SW_STALL_BATCH_FULL);
    return true;
}

/* Carries out a command whose reply passes the batches. */
static bool run_aside(struct sw_resp_conn *state, const struct sw_command *command,
                      const struct sw_resp_command *arguments)
{
    struct sw_resp *resp = state->resp;
    struct sw_replies *filling = resp->filling;
    resp->aside = resp->aside != NULL ? resp->aside : sw_aside_create(resp);
    if (resp->aside == NULL) { /* there is no memory */
        return run_in_order(state, command, arguments);
    }
    resp->filling = &resp->aside->replies;
    const bool done = run_in_order(state, command, arguments);
    resp->filling = filling;
    resp->asides = resp->aside->replies.pendings;
    return done;
}

/* Carries out a text command, or any command beside a batch in flight. */
static __attribute__((noinline)) bool run_beside(struct sw_resp_conn *state,
                                                 const struct sw_command *command,
                                                 const struct sw_resp_command *arguments,
                                                 bool is_text)
{
    if (is_text && sw_resp_may_pass(state)) {
        return run_aside(state, command, arguments);
    }
    return !awaits_growth(state, command) && run_in_order(state, command, arguments);
}

bool sw_resp_run(struct sw_resp_conn *state, const struct sw_command *command,
                 const struct sw_resp_command *arguments)
{
    const bool is_text =
        command != NULL && (command->kind == SW_KIND_SESSION || command->kind == SW_KIND_REPORT);
    return is_text || state->resp->running != NULL ? run_beside(state, command, arguments, is_text)
                                                   : run_in_order(state, command, arguments);
}
