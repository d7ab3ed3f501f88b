/* SPDX-License-Identifier: MIT
 *
 * resp.c - parses the commands of a RESP connection; the functions of the protocol.
 */
#include "server/resp/resp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/limits.h"
#include "server/resp/command_checks.h"
#include "server/resp/iteration_share.h"
#include "server/resp/monitor.h"
#include "server/resp/output.h"
#include "server/resp/place_change.h"
#include "server/resp/resp_memory.h"
#include "server/resp/run.h"
#include "server/resp/transaction.h"
#include "server/resp/wrong_port.h"

/* Appends the last reply of a connection, an error, which is sent even after CLIENT REPLY OFF. */
static void last_error(struct sw_resp_conn *state, const char *line)
{
    state->session.reply_mode = SW_REPLY_ON;
    sw_resp_error(state->conn, NULL, "%s", line);
}

/* Sends the last reply of a connection that waits for no reply, an error, without a batch: the
 * other tables may use the memory of all batches. */
static void send_last_error(struct sw_resp_conn *state, const char *line)
{
    struct sw_text text;
    sw_text_init(&text, SW_SCRATCH_BYTES);
    sw_text_error(&text, line);
    sw_error_reply_count(state->conn->net->counters, line);
    sw_resp_send(state, text.data, text.size);
    sw_text_fini(&text);
}

/* Refuses bytes that are not a command: the bytes after them cannot be parsed either, so the
 * connection is closed after the error. */
static void refuse_bytes(struct sw_resp_conn *state, int error, uint8_t got, bool for_login)
{
    char text[64];
    char line[128];
    sw_resp_error_text(error, got, text, sizeof(text));
    const char *what = for_login && strncmp(text, "invalid ", 8) == 0 ? text + 8 : text;
    snprintf(line, sizeof(line), "ERR Protocol error: %s%s", for_login ? "unauthenticated " : "",
             what);
    SW_COUNT(state->conn->net->counters, resp_protocol_errors, 1);
    last_error(state, line);
    sw_conn_drain(state->conn, false);
}

/* Notes that `size` bytes of an incomplete command were parsed in vain; `again`: not for the first
 * time. The parser reads only the beginning and the end of a long argument, so that counts less.
 * Returns false if more was parsed in vain than SW_RESP_PASSES_MAX allows. */
static bool may_wait(struct sw_resp_conn *state, size_t size, const struct sw_resp_command *command,
                     bool again)
{
    struct sw_conn *conn = state->conn;
    size_t looked = (size_t)command->begun * SW_RESP_ARGUMENT_COST;
    size = looked > 0 && looked < size ? looked : size;
    (void)sw_iteration_add(&conn->net->iteration, command->begun / SW_COST_KEYS);
    conn->input.need = command->need;
    state->reparsed = again ? state->reparsed + size : size;
    return state->reparsed <= SW_RESP_PASSES_MAX * conn->net->config->resp_request_bytes_max;
}

/* Returns the bytes of the text replies that are not written yet. */
static size_t text_bytes(const struct sw_resp *resp)
{
    return resp->filling->text.size + resp->passing.replies.text.size +
           (resp->aside != NULL ? resp->aside->replies.text.size : 0);
}

/* Carries out a complete command, and counts what it cost. */
static bool run_counted(struct sw_resp_conn *state, const struct sw_resp_command *arguments)
{
    const struct sw_resp *resp = state->resp;
    const size_t before = text_bytes(resp);
    const struct sw_command *command =
        sw_command_find(arguments->arguments[0].text, arguments->arguments[0].size);
    const bool done = sw_resp_run(state, command, arguments);
    const size_t after = text_bytes(resp);
    sw_iteration_share_add(state, command, arguments, after > before ? after - before : 0);
    return done;
}

/* Carries out the command at the beginning of `bytes`. Returns the number of bytes consumed, or 0
 * if the command is incomplete or the connection has stalled; `again` is as in may_wait. */
static size_t feed_one(struct sw_resp_conn *state, const uint8_t *bytes, size_t size, bool again)
{
    struct sw_conn *conn = state->conn;
    struct sw_resp *resp = state->resp;
    struct sw_resp_command command = {
        .arguments = resp->arguments,
        .unquoted = resp->unquoted,
    };
    if (sw_iteration_share_text_is_spent(state)) {
        sw_iteration_share_yield(conn);
        return 0;
    }
    const struct sw_resp_limits *limits =
        conn->lacks_login ? &resp->limits_before_login : &resp->limits;
    int64_t consumed = sw_resp_parse(bytes, size, limits, &command);
    if (consumed == 0) {
        if (may_wait(state, size, &command, again)) {
            return 0;
        }
        consumed = SW_RESP_E_REQUEST_SIZE;
    }
    if (consumed < 0 && sw_resp_passes(state)) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return 0;
    }
    if (consumed < 0) {
        if (!sw_resp_has_room(conn, 0)) {
            return 0;
        }
        bool for_login =
            conn->lacks_login && sw_resp_parse(bytes, size, &resp->limits, &command) >= 0;
        refuse_bytes(state, (int)consumed, command.got, for_login);
        return size;
    }
    if (command.count > 0 && !run_counted(state, &command)) {
        return 0;
    }
    state->reparsed = 0;
    return (size_t)consumed;
}

static size_t feed_commands(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    struct sw_resp_conn *state = sw_resp_of(conn);
    struct sw_session *session = &state->session;
    size_t at = 0;
    if (state->control_in_flight) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return 0;
    }
    if (!sw_place_is_followed(state)) {
        return 0;
    }
    if (conn->retried && !sw_resp_may_pass(state) &&
        !sw_resp_has_room(conn, state->operations_wanted)) {
        return 0; /* without parsing the command again */
    }
    state->operations_wanted = 0;
    state->waits_for_growth = false;
    if (sw_begins_tls(bytes, size) && !sw_resp_passes(state)) {
        sw_close_wrong(conn, "TLS");
        return size;
    }
    /* If the connection is stalled after a command, a control command is in flight. */
    while (at < size && conn->stall == SW_STALL_NONE) {
        size_t consumed = feed_one(state, bytes + at, size - at, at == 0);
        if (consumed == 0) {
            break;
        }
        at += consumed;
        if (session->close_after_reply) {
            sw_conn_drain(conn, false);
        }
        if (conn->state > SW_CONN_DRAINING || session->close_after_reply) {
            return size;
        }
        if (at < size && conn->stall == SW_STALL_NONE &&
            sw_iteration_must_yield(&conn->net->iteration, &conn->share)) {
            sw_iteration_share_yield(conn);
        }
    }
    state->frozen_refused &= conn->stall != SW_STALL_NONE;
    return at;
}

/* --- the protocol ----------------------------------------------------------------------------- */

static bool claims(uint8_t first)
{
    (void)first; /* an inline command may begin with any byte */
    return true;
}

static void open_conn(struct sw_conn *conn, void *loop_state)
{
    struct sw_resp_conn *state = sw_resp_of(conn);
    state->resp = loop_state;
    state->resp->conns++;
    state->conn = conn;
    sw_session_init(&state->session, conn);
    sw_resp_output_init(state);
}

static void close_conn(struct sw_conn *conn)
{
    struct sw_resp_conn *state = sw_resp_of(conn);
    sw_transaction_drop(state);
    sw_monitor_end(state);
    sw_resp_output_fini(state);
    state->resp->conns--;
}

static bool refuse_resp_conn(struct sw_conn *conn, enum sw_refusal why)
{
    static const char *const lines[] = {
        [SW_REFUSAL_TIMED_OUT] = "ERR Protocol error: the request did not arrive in time",
        [SW_REFUSAL_TOO_MANY_CONNECTIONS] = "ERR max number of clients reached",
        [SW_REFUSAL_INPUT_MEMORY] =
            ("ERR the memory for incomplete requests is used up (input-bytes-max)"),
        [SW_REFUSAL_PROTECTED] =
            ("DENIED Sherwood is running in protected mode because protected mode is enabled and "
             "no password is set for the default user. In this mode connections are only accepted "
             "from the loopback interface and by Unix sockets. If you want to connect from "
             "external computers you may adopt one of the following solutions: 1) Give the user "
             "default a password: write it to a file and start the server with "
             "'--requirepass-file FILE', or write an ACL file and use '--acl-file FILE'. 2) Just "
             "disable protected mode by 'protected-mode = no' in the configuration file, or by "
             "'--protected-mode no', and MAKE SURE the server is not publicly accessible from "
             "the internet if you do so. NOTE: You only need to do one of the above things in "
             "order for the server to start accepting connections from the outside."),
        [SW_REFUSAL_BEFORE_LOGIN] = ("ERR max number of clients that have not logged in reached "
                                     "(connections-before-login-max)"),
        [SW_REFUSAL_LOGIN_TIMED_OUT] = ("NOAUTH Authentication required within login-timeout-ms"),
    };
    struct sw_resp_conn *state = sw_resp_of(conn);
    if (state->control_in_flight) { /* its reply is not part of a batch */
        state->last_error = lines[why];
        return true;
    }
    if (conn->in_flight == 0) {
        send_last_error(state, lines[why]);
        return true;
    }
    struct sw_replies *filling = state->resp->filling;
    if (sw_resp_passes(state) || (filling->memory == NULL && !sw_resp_lend(conn, filling)) ||
        !sw_replies_has_room(filling, 0)) {
        return false;
    }
    last_error(state, lines[why]);
    return true;
}

/* This protocol has nothing to discard: an incomplete command is in the connection's input only,
 * and unsent replies are freed with the state. */
static void drop_nothing(struct sw_conn *conn)
{
    (void)conn;
}

static bool must_wait(const struct sw_conn *conn)
{
    return sw_resp_must_wait(sw_resp_of_const(conn));
}

static void check(const struct sw_conn *conn)
{
    const struct sw_resp_conn *state = sw_resp_of_const(conn);
    assert(state->resp != NULL && state->resp->net == conn->net);
    assert(!state->control_in_flight || conn->in_flight > 0);
    assert(conn->unsent_bytes == 0 || conn->transport.writing || conn->state == SW_CONN_CLOSED);
    assert((conn->held_bytes > 0) == sw_list_is_linked(&state->output.gated));
    assert(!conn->receives_body);
}

const struct sw_protocol sw_resp_protocol = {
    .name = "RESP",
    .state_bytes = sizeof(struct sw_resp_conn),
    .claims = claims,
    .open = open_conn,
    .feed = feed_commands,
    .must_wait = must_wait,
    .refuse = refuse_resp_conn,
    .written = sw_resp_written,
    .drop_input = drop_nothing,
    .drop_output = drop_nothing,
    .close = close_conn,
    .check = check,
};

/* --- the loop's side -------------------------------------------------------------------------- */

static int init_buffers(struct sw_resp *resp)
{
    const struct sw_config *config = resp->net->config;
    resp->limits = (struct sw_resp_limits){
        .arguments_max = config->resp_arguments_max,
        .argument_bytes_max = (uint32_t)config->resp_request_bytes_max,
        .inline_bytes_max = SW_RESP_INLINE_BYTES_MAX,
        .request_bytes_max = (uint32_t)config->resp_request_bytes_max,
    };
    resp->limits_before_login = (struct sw_resp_limits){
        .arguments_max = SW_LOGIN_ARGUMENTS_MAX,
        .argument_bytes_max = SW_LOGIN_REQUEST_BYTES_MAX,
        .inline_bytes_max = SW_LOGIN_REQUEST_BYTES_MAX,
        .request_bytes_max = SW_LOGIN_REQUEST_BYTES_MAX,
    };
    if (resp->first != resp) {
        resp->heeded = resp->first->heeded;
        resp->scratch = resp->first->scratch;
        resp->unquoted = resp->first->unquoted;
        resp->arguments = resp->first->arguments;
        return 0;
    }
    resp->heeded = malloc(sizeof(*resp->heeded));
    resp->scratch = malloc(SW_SCRATCH_BYTES);
    resp->unquoted = malloc(SW_RESP_INLINE_BYTES_MAX);
    resp->arguments = calloc(config->resp_arguments_max, sizeof(*resp->arguments));
    if (resp->heeded == NULL || resp->scratch == NULL || resp->unquoted == NULL ||
        resp->arguments == NULL) {
        return -1;
    }
    sw_heeded_init(resp->heeded);
    return 0;
}

int sw_resp_init(struct sw_resp *resp, struct sw_net *net, struct sw_batches *batches,
                 const struct sw_resp_owner *owner, uint64_t seed, struct sw_resp *first)
{
    const struct sw_table_shape *shape = &batches->shape;
    memset(resp, 0, sizeof(*resp));
    resp->net = net;
    resp->batches = batches;
    resp->first = first != NULL ? first : resp;
    resp->owner = *owner;
    resp->random_state = seed;
    resp->filling = &resp->replies[0];
    sw_replies_init(&resp->replies[0], resp);
    sw_replies_init(&resp->replies[1], resp);
    sw_replies_init(&resp->rmw.replies, resp);
    sw_replies_init(&resp->passing.replies, resp);
    resp->passing.replies.batch.stream = 1; /* writes that wait do not keep it */
    resp->rmw.replies.batch.flights = &batches->rmw_flights;
    sw_list_init(&resp->waits);
    sw_list_init(&resp->idle_waits);
    sw_list_init(&resp->passes);
    sw_list_init(&resp->gated);
    sw_list_init(&resp->monitors);
    resp->run_data =
        shape->value_format == SW_VALUE_INTEGER ? sw_data_run_integers : sw_data_run_blobs;
    resp->keys = (struct sw_key_string){(enum sw_resp_keys)batches->config->resp_keys,
                                        shape->key_bytes, batches->config->resp_key_text_bytes,
                                        sw_config_in_cluster(net->config)};
    sw_commands_unsupported(shape->operations, shape->batch_kinds, &resp->unsupported);
    sw_commands_find_unsupported(&resp->unsupported, &resp->keys, &resp->unable);
    resp->admin = (struct sw_admin){.config = net->config,
                                    .snapshot = owner->snapshot,
                                    .server = owner->server,
                                    .saver = owner->saver,
                                    .repl = owner->repl,
                                    .mover = owner->mover,
                                    .ha = owner->ha,
                                    .live = owner->live,
                                    .table = batches->table,
                                    .timings = owner->timings,
                                    .users = net->users,
                                    .clients = net->clients,
                                    .cluster = &net->cluster,
                                    .unsupported = &resp->unsupported,
                                    .engine = shape->engine_name,
                                    .keys = resp->keys};
    resp->memory = first == NULL ? sw_resp_memory_create(resp) : first->memory;
    if (resp->memory == NULL) {
        return -1;
    }
    return init_buffers(resp);
}

void sw_resp_fini(struct sw_resp *resp)
{
    sw_resp_give_back(resp);
    sw_aside_destroy(resp->aside);
    if (resp->first == resp) {
        sw_resp_memory_destroy(resp->memory);
        free(resp->heeded);
        free(resp->scratch);
        free(resp->unquoted);
        free(resp->arguments);
    }
    memset(resp, 0, sizeof(*resp));
}

bool sw_resp_submit(struct sw_resp *resp)
{
    const bool writes = resp->asides > 0;
    const bool passes = resp->passing.replies.pendings > 0 && !resp->passing.is_in_flight;
    if (writes) {
        resp->asides = 0;
        sw_aside_finish(resp->aside);
    }
    if (passes) {
        resp->passing.is_in_flight = true;
        sw_replies_send(&resp->passing.replies);
    }
    if (resp->running != NULL || resp->filling->pendings == 0) {
        return writes || passes;
    }
    sw_replies_submit(resp->filling);
    return true;
}

void sw_resp_check(const struct sw_resp *resp)
{
    assert(resp->running == NULL || resp->running != resp->filling);
    assert(resp->running == NULL || resp->running->pendings > 0);
    assert(resp->filling->batch.groups <= resp->filling->pendings);
    assert(!resp->passing.is_in_flight || resp->passing.replies.pendings > 0);
    assert(!resp->is_plain || resp->passing.replies.pendings == 0);
    sw_resp_memory_check(resp->memory);
    (void)resp;
}
