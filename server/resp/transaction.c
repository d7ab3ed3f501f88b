/* SPDX-License-Identifier: MIT
 *
 * transaction.c - MULTI, EXEC and DISCARD.
 */
#include "server/resp/transaction.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/refusals.h"
#include "server/limits.h"
#include "server/net/input.h"
#include "server/observe/log.h"
#include "server/resp/admit.h"
#include "server/resp/monitor.h"
#include "server/resp/permit.h"
#include "server/resp/place.h"
#include "server/resp/resp.h"
#include "server/resp/resp_memory.h"
#include "server/resp/watching.h"

/* Size of the longest reply to a command of kind SESSION, without the arguments that it repeats. */
#define SESSION_REPLY_BYTES 512

/* The head of a queued command. Behind it are the sizes of its arguments, 4 bytes each, and then
 * their bytes. */
struct queued {
    uint32_t id;    /* enum sw_command_id */
    uint32_t count; /* number of arguments, with the command's name */
};

struct sw_transaction {
    struct sw_input queue; /* the queued commands, one behind the other */
    bool is_spoiled;       /* a command was refused: nothing is queued any more */
    bool writes;           /* a queued command changes keys */
    struct sw_slots slots; /* of its keys, in cluster mode */
    uint64_t view_number;  /* the topology that admitted its first keys */
    uint32_t commands;
    uint64_t operations; /* upper bound of the operations of the queued commands */
    uint64_t text_bytes; /* upper bound of the bytes of their text replies */
};

/* --- MULTI and DISCARD ------------------------------------------------------------------------ */

static bool run_multi(struct sw_resp_conn *state, const struct sw_command *command)
{
    struct sw_conn *conn = state->conn;
    if (state->transaction != NULL) {
        sw_resp_error(conn, command, "ERR MULTI calls can not be nested");
        return true;
    }
    state->transaction = calloc(1, sizeof(*state->transaction));
    if (state->transaction == NULL) {
        sw_resp_error(conn, command, "ERR out of memory");
        return true;
    }
    state->transaction->slots.first = -1;
    conn->queued_commands = 0;
    sw_resp_line(conn, command, "+OK\r\n");
    return true;
}

static bool run_discard(struct sw_resp_conn *state, const struct sw_command *command)
{
    if (state->transaction == NULL) {
        sw_resp_error(state->conn, command, "ERR DISCARD without MULTI");
        return true;
    }
    sw_transaction_drop(state);
    sw_resp_line(state->conn, command, "+OK\r\n");
    return true;
}

static void free_queue(struct sw_input *queue, struct sw_input_budget *budget)
{
    __atomic_fetch_sub(&budget->bytes_kept, queue->capacity, __ATOMIC_RELAXED);
    sw_input_free(queue, budget);
}

static void drop_queue(struct sw_resp_conn *state)
{
    if (state->transaction != NULL) {
        free_queue(&state->transaction->queue, state->conn->net->budget);
        free(state->transaction);
        state->transaction = NULL;
        state->conn->queued_commands = -1;
    }
}

bool sw_transaction_writes(const struct sw_resp_conn *state)
{
    const struct sw_transaction *transaction = state->transaction;
    return transaction != NULL && transaction->writes && !transaction->is_spoiled;
}

void sw_transaction_drop(struct sw_resp_conn *state)
{
    drop_queue(state);
    sw_watching_forget(state);
}

void sw_transaction_spoil(struct sw_resp_conn *state)
{
    struct sw_transaction *transaction = state->transaction;
    if (transaction != NULL) {
        transaction->is_spoiled = true;
        free_queue(&transaction->queue, state->conn->net->budget);
    }
}

/* --- queueing --------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct sw_resp_command *arguments)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < arguments->count; i++) {
        bytes += arguments->arguments[i].size;
    }
    return bytes;
}

/* Adds the needs of a command to those of the transaction. Returns an error line if an empty batch
 * could not hold the transaction. */
static const char *count_needs(const struct sw_conn *conn, struct sw_transaction *transaction,
                               const struct sw_command *command,
                               const struct sw_resp_command *arguments, uint64_t bytes)
{
    const struct sw_replies *replies = sw_resp_of_const(conn)->resp->filling;
    bool is_data = command->kind == SW_KIND_DATA;
    transaction->commands++;
    transaction->writes |= sw_command_writes(command);
    transaction->operations += is_data ? arguments->count : 0;
    transaction->text_bytes += is_data ? 0 : bytes + SESSION_REPLY_BYTES;
    if (transaction->commands >= replies->pending_max ||
        transaction->operations > replies->batch.operations_max) {
        return "ERR the transaction has more commands or arguments than round-ops-max: split it, "
               "or raise the limit";
    }
    if (transaction->text_bytes > SW_RESP_BATCH_TEXT_BYTES_MAX / 2) {
        return "ERR the replies of the transaction would be longer than the limit: split it";
    }
    return NULL;
}

static uint8_t *append_bytes(uint8_t *at, const void *bytes, size_t size)
{
    if (size > 0) {
        memcpy(at, bytes, size);
    }
    return at + size;
}

/* A transaction may stay open for as long as its client likes, so transactions may keep only half
 * of the memory, and the last sixteenth is left to requests that are arriving. Requests that are
 * arriving do not count as kept: clients with large ones cannot keep others from MULTI, because
 * sw_input_grow leaves an eighth to small inputs. */
static bool is_scarce(const struct sw_input_budget *budget, uint64_t bytes)
{
    uint64_t kept = __atomic_load_n(&budget->bytes_kept, __ATOMIC_RELAXED);
    uint64_t most = __atomic_load_n(&budget->bytes_max, __ATOMIC_RELAXED);
    return kept + bytes > most / 2 || sw_input_budget_used(budget) + bytes > most - most / 16;
}

/* Makes room for `bytes` more bytes in the queue. Returns false if there is no memory for them. */
static bool grow_queue(struct sw_input *queue, struct sw_input_budget *budget, uint64_t bytes)
{
    size_t before = queue->capacity;
    if (before - queue->end >= bytes) {
        return true;
    }
    if (is_scarce(budget, bytes) || sw_input_grow(queue, budget, bytes) != SW_INPUT_OK) {
        return false;
    }
    __atomic_fetch_add(&budget->bytes_kept, queue->capacity - before, __ATOMIC_RELAXED);
    return true;
}

/* Appends the command to the queue. Returns an error line if there is no room for it. */
static const char *queue_command(const struct sw_conn *conn, struct sw_transaction *transaction,
                                 const struct sw_command *command,
                                 const struct sw_resp_command *arguments)
{
    struct sw_input *queue = &transaction->queue;
    struct queued head = {(uint32_t)command->id, arguments->count};
    uint64_t texts = bytes_of(arguments);
    uint64_t bytes = sizeof(head) + (uint64_t)arguments->count * sizeof(uint32_t) + texts;
    const char *error = count_needs(conn, transaction, command, arguments, texts);
    if (error != NULL) {
        return error;
    }
    if (queue->end + bytes > conn->net->config->resp_request_bytes_max) {
        return "ERR the transaction is larger than resp-request-bytes-max: split it, or raise the "
               "limit";
    }
    if (!grow_queue(queue, conn->net->budget, bytes)) {
        return "ERR the memory for requests is used up (input-bytes-max)";
    }
    uint8_t *at = append_bytes(queue->bytes + queue->end, &head, sizeof(head));
    for (uint32_t i = 0; i < arguments->count; i++) {
        at = append_bytes(at, &arguments->arguments[i].size, sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < arguments->count; i++) {
        at = append_bytes(at, arguments->arguments[i].text, arguments->arguments[i].size);
    }
    queue->end += bytes;
    assert(at == queue->bytes + queue->end);
    return NULL;
}

/* Adds the slots of the command that its connection checked last. */
static void count_slots(struct sw_resp_conn *state, struct sw_transaction *transaction)
{
    const struct sw_cluster_view *view = state->conn->net->cluster.view;
    const struct sw_slots *slots = &state->slots;
    if (view == NULL) {
        return;
    }
    if (transaction->slots.first < 0) {
        transaction->slots = *slots;
        transaction->view_number = view->number;
    }
    transaction->slots.is_several |= slots->is_several || slots->first != transaction->slots.first;
}

bool sw_transaction_queue(struct sw_resp_conn *state, const struct sw_command *command,
                          const struct sw_resp_command *arguments)
{
    struct sw_conn *conn = state->conn;
    struct sw_resp *resp = state->resp;
    struct sw_transaction *transaction = state->transaction;
    uint32_t pendings = resp->filling->pendings;
    const char *error = NULL;
    if (command->in_multi == SW_MULTI_REFUSED || sw_rmw_takes(command, arguments)) {
        error = SW_NOT_IN_MULTI;
    } else if (command->id == SW_COMMAND_SELECT &&
               sw_place_is_left(state, &arguments->arguments[1])) {
        error = sw_place_refusal(state); /* later commands would be for the wrong table */
    } else if (command->kind == SW_KIND_DATA &&
               !resp->run_data(conn, command, arguments, SW_DATA_CHECK)) {
        return false;
    } else if (resp->filling->pendings > pendings) { /* the check has replied with an error */
        sw_transaction_spoil(state);
        return true;
    } else if (!transaction->is_spoiled) {
        error = queue_command(conn, transaction, command, arguments);
        if (command->kind == SW_KIND_DATA) {
            count_slots(state, transaction);
        }
    }
    if (error != NULL) {
        sw_resp_error(conn, command, "%s", error);
        sw_transaction_spoil(state);
    } else {
        conn->queued_commands = transaction->commands;
        sw_replies_add_queued(resp->filling, conn, command);
    }
    return true;
}

/* --- EXEC ------------------------------------------------------------------------------------- */

/* Removes the next command from the queue; its arguments point into the queue. */
static const struct sw_command *next_queued(struct sw_input *queue, struct sw_resp_command *command)
{
    struct queued head;
    memcpy(&head, queue->bytes + queue->start, sizeof(head));
    const uint8_t *sizes = queue->bytes + queue->start + sizeof(head);
    const uint8_t *texts = sizes + (size_t)head.count * sizeof(uint32_t);
    for (uint32_t i = 0; i < head.count; i++) {
        struct sw_resp_argument *argument = &command->arguments[i];
        memcpy(&argument->size, sizes + (size_t)i * sizeof(uint32_t), sizeof(uint32_t));
        argument->text = texts;
        texts += argument->size;
    }
    command->count = head.count;
    queue->start = (size_t)(texts - queue->bytes);
    assert(queue->start <= queue->end);
    return sw_command_at((enum sw_command_id)head.id);
}

/* Carries out the queued commands: adds their operations to the batch, and their replies behind
 * that of EXEC. The batch has room. */
static void replay_queue(struct sw_resp_conn *state, struct sw_input *queue)
{
    struct sw_resp *resp = state->resp;
    struct sw_replies *replies = resp->filling;
    struct sw_resp_command arguments = {.arguments = resp->arguments};
    const struct sw_resp_argument exec = resp->arguments[0];
    while (queue->start < queue->end) {
        const struct sw_command *command = next_queued(queue, &arguments);
        if (sw_permit_refuses_queued(state, command, &arguments)) {
            continue; /* as in redis, the other commands are carried out */
        }
        sw_monitor_show_if_any(state, command, &arguments);
        if (command->kind == SW_KIND_DATA) {
            bool done = resp->run_data(state->conn, command, &arguments, SW_DATA_RUN);
            assert(done);
            (void)done;
        } else {
            size_t first = replies->text.size;
            sw_admin_run(&resp->admin, command, &arguments, &state->session, &replies->text);
            sw_replies_add_text(replies, state->conn, command, first);
        }
    }
    resp->arguments[0] = exec;
}

/* Has the batch room for the whole transaction? An empty batch always has. */
static bool has_room(const struct sw_replies *replies, const struct sw_transaction *transaction)
{
    return transaction->commands < replies->pending_max - replies->pendings &&
           sw_resp_batch_has_room(&replies->batch, (uint32_t)transaction->operations) &&
           replies->text.size + transaction->text_bytes <= SW_RESP_BATCH_TEXT_BYTES_MAX / 2;
}

/* Refuses a transaction whose reads or writes the server refuses now. */
static bool refuse_now(struct sw_resp_conn *state, const struct sw_command *command)
{
    const char *line = sw_refusal_of_exec(state->resp->batches, state->transaction->operations > 0,
                                          state->transaction->writes);
    if (line != NULL) {
        sw_transaction_drop(state);
        sw_resp_error(state->conn, command, "EXECABORT Transaction discarded because of: %s", line);
    }
    return line != NULL;
}

/* Refuses a transaction whose keys are not, or no longer, in one slot of this node. */
static bool refuse_slots(struct sw_resp_conn *state, const struct sw_command *command)
{
    const struct sw_transaction *transaction = state->transaction;
    char line[SW_CLUSTER_LINE_BYTES];
    if (state->conn->net->cluster.view == NULL ||
        !sw_redirect_refuses_exec(state, &transaction->slots, transaction->view_number, line)) {
        return false;
    }
    sw_transaction_drop(state);
    sw_resp_error(state->conn, command, "%s", line);
    return true;
}

/* Adds EXEC and the queued commands to the batch. */
static void replay(struct sw_resp_conn *state, const struct sw_command *command)
{
    struct sw_replies *replies = state->resp->filling;
    struct sw_transaction *transaction = state->transaction;
    /* The array of EXEC and its elements are sent together, or not at all (CLIENT REPLY). */
    uint8_t mode = state->session.reply_mode;
    struct sw_replies_mark mark =
        sw_replies_add_array(replies, state->conn, command, transaction->commands);
    state->session.reply_mode = SW_REPLY_ON;
    state->in_exec = true;
    replay_queue(state, &transaction->queue);
    state->in_exec = false;
    sw_replies_join(replies, mark, mode != SW_REPLY_ON);
    state->session.reply_mode = mode == SW_REPLY_OFF ? SW_REPLY_OFF : SW_REPLY_ON;
    drop_queue(state);
    if (replies->text.failed) {
        replies->text.failed = false;
        sw_log_limited(SW_LOG_NO_MEMORY, SW_LOG_ERROR,
                       "no memory for the replies of a transaction: the connection was closed");
        sw_conn_abort(state->conn);
    }
}

/* The EXEC of a connection that watches keys, in the batch of read-modify-write commands. */
static void replay_alone(struct sw_resp_conn *state, const struct sw_command *command)
{
    struct sw_resp *resp = state->resp;
    struct sw_replies *filling = resp->filling;
    resp->filling = &resp->rmw.replies;
    replay(state, command);
    resp->filling = filling;
    sw_rmw_start(state->conn, command);
}

static bool run_exec(struct sw_resp_conn *state, const struct sw_command *command)
{
    struct sw_conn *conn = state->conn;
    struct sw_transaction *transaction = state->transaction;
    const bool watches = sw_watching_is_on(state);
    if (transaction == NULL) {
        sw_resp_error(conn, command, "ERR EXEC without MULTI");
        return true;
    }
    if (transaction->is_spoiled) {
        sw_transaction_drop(state);
        sw_resp_error(conn, command, "EXECABORT Transaction discarded because of previous errors.");
        return true;
    }
    if (transaction->writes && sw_obstacles_met(state->resp->batches, SW_OBSTACLE_LOG_FULL) != 0) {
        sw_conn_stall(conn, SW_STALL_LOG);
        return false;
    }
    if (watches && !sw_rmw_is_free_for(conn)) {
        return false;
    }
    if (refuse_slots(state, command) || refuse_now(state, command)) {
        return true;
    }
    if (watches) {
        if (!sw_resp_has_memory(conn, &state->resp->rmw.replies)) {
            return false;
        }
        replay_alone(state, command);
        return true;
    }
    if (!has_room(state->resp->filling, transaction)) {
        SW_COUNT(conn->net->counters, round_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_BATCH_FULL);
        return false;
    }
    replay(state, command);
    return true;
}

/* The functions of the rows of kind TRANSACTION. */
#define SW_RUN_TRANSACTION(function) run_##function
#define SW_RUN_TABLE(...) NULL
#define SW_RUN_SAVER(...) NULL
#define SW_RUN_REPORT(...) NULL
#define SW_RUN_SESSION(...) NULL
#define SW_RUN_RMW(...) NULL
#define SW_RUN_ONE_KEY(...) NULL
#define SW_RUN_EACH_KEY(...) NULL
#define SW_RUN_KEY_FUNCTION(...) NULL
#define SW_RUN(id, name, arity, keys, group, effect, speed, in_multi, how, summary) SW_RUN_##how,
static bool (*const runs[SW_COMMAND_COUNT])(struct sw_resp_conn *state,
                                            const struct sw_command *command) = {
    SW_COMMAND_MAP(SW_RUN)};

bool sw_transaction_run(struct sw_resp_conn *state, const struct sw_command *command)
{
    return runs[command->id](state, command);
}
