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

/* Is it a command that a text replies to? `command`: NULL: an unknown one. */
static inline bool is_text(const struct sw_command *command)
{
    return command != NULL && (command->kind == SW_KIND_SESSION || command->kind == SW_KIND_REPORT);
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
    if (resp->aside->replies.pendings > resp->asides) {
        resp->aside_number = resp->asides > 0 ? resp->aside_number : ++resp->first->passing_begun;
        resp->asides = resp->aside->replies.pendings;
        state->passing_number = resp->aside_number;
    }
    return done;
}

/* May the command pass the batches of its table, which is held for writes alone? It only reads, and
 * no request of the connection is in flight, except reads that pass. */
static bool may_pass_writes(const struct sw_resp_conn *state, const struct sw_command *command)
{
    return command != NULL && command->kind == SW_KIND_DATA &&
           command->effect == SW_COMMAND_EFFECT_READ && SW_OPS_HAS(SW_OPS_READ, command->op) &&
           state->transaction == NULL &&
           (state->conn->in_flight == 0 || sw_resp_reads_pass(state)) &&
           !sw_table_holds(state->resp->batches->table, true);
}

/* Carries out a read that passes. The batch has one operation, or the table would count it among
 * the writes. */
static bool run_passing(struct sw_resp_conn *state, const struct sw_command *command,
                        const struct sw_resp_command *arguments)
{
    struct sw_resp *resp = state->resp;
    struct sw_resp_passing *passing = &resp->passing;
    struct sw_replies *filling = resp->filling;
    const bool begins = passing->replies.pendings == 0;
    if (passing->is_in_flight || (!begins && passing->op != command->op)) {
        SW_COUNT(state->conn->net->counters, round_pauses, !state->conn->retried);
        sw_conn_stall(state->conn, SW_STALL_BATCH_FULL);
        return false;
    }
    passing->op = command->op;
    passing->number = begins ? ++resp->first->passing_begun : passing->number;
    resp->filling = &passing->replies;
    const uint32_t pendings = passing->replies.pendings;
    const bool done = run_in_order(state, command, arguments);
    resp->filling = filling;
    if (passing->replies.pendings > pendings) {
        state->passing_number = passing->number;
    }
    return done;
}

/* Carries out a command of a connection whose table is held, or whose reads pass. */
static __attribute__((noinline)) bool run_held(struct sw_resp_conn *state,
                                               const struct sw_command *command,
                                               const struct sw_resp_command *arguments)
{
    if (is_text(command) && sw_resp_may_pass(state)) {
        return run_aside(state, command, arguments);
    }
    if (may_pass_writes(state, command)) {
        return run_passing(state, command, arguments);
    }
    if (sw_resp_passes(state)) {
        sw_conn_stall(state->conn, SW_STALL_BARRIER);
        return false;
    }
    return !awaits_growth(state, command) && run_in_order(state, command, arguments);
}

/* Carries out a text command, or one on keys that may be the first of its batch. */
static __attribute__((noinline)) bool run_checked(struct sw_resp_conn *state,
                                                  const struct sw_command *command,
                                                  const struct sw_resp_command *arguments)
{
    struct sw_resp *resp = state->resp;
    if (sw_table_is_held(resp->batches->table) || sw_resp_passes(state)) {
        return run_held(state, command, arguments);
    }
    const bool done = run_in_order(state, command, arguments);
    resp->is_plain =
        resp->running == NULL && resp->filling->pendings > 0 && resp->passing.replies.pendings == 0;
    return done;
}

bool sw_resp_run(struct sw_resp_conn *state, const struct sw_command *command,
                 const struct sw_resp_command *arguments)
{
    return is_text(command) || !state->resp->is_plain ? run_checked(state, command, arguments)
                                                      : run_in_order(state, command, arguments);
}
