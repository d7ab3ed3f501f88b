/* SPDX-License-Identifier: MIT
 *
 * rmw.c - reads, decides and writes while the gate is closed.
 */
#include "server/resp/rmw.h"

#include <assert.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/batch/blob.h"
#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/batch_results.h"
#include "server/resp/resp.h"
#include "server/resp/resp_memory.h"
#include "server/resp/watching.h"
#include "table/expiring.h"

/* Size of the longest error line of this file. */
#define ERROR_BYTES 256

bool sw_rmw_is_busy(const struct sw_resp *resp)
{
    return resp->rmw.conn != NULL;
}

static uint64_t view_number(const struct sw_resp *resp)
{
    return resp->net->cluster.view == NULL ? 0 : resp->net->cluster.view->number;
}

bool sw_rmw_is_of_older_view(const struct sw_resp *resp)
{
    return sw_rmw_is_busy(resp) && resp->rmw.view_number != view_number(resp);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Opens the gates and sends the reply. May free the connection. */
static void finish(struct sw_rmw *rmw)
{
    sw_gates_open(&rmw->gates);
    sw_resp_of(rmw->conn)->control_in_flight = false;
    rmw->conn = NULL;
    sw_replies_finish(&rmw->replies);
}

static void on_written(struct sw_resp_batch *batch)
{
    struct sw_replies *replies = SW_CONTAINER(batch, struct sw_replies, batch);
    finish(&replies->resp->rmw);
}

/* --- deciding --------------------------------------------------------------------------------- */

/* The one pending reply. */
static struct sw_pending *pending_of(struct sw_rmw *rmw)
{
    return &rmw->replies.pending[0];
}

static bool is_found(const struct sw_rmw *rmw, uint32_t i)
{
    return sw_result_found(&rmw->replies.batch, i);
}

/* Gives the second key the value of the first key. The second key keeps its own text. */
static void give_value(struct sw_rmw *rmw)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    const struct sw_table_shape *shape = &batch->batches->shape;
    memcpy((uint8_t *)batch->values + shape->value_bytes, batch->previous,
           shape->value_bytes - shape->key_text_bytes);
}

/* The SET at `i` gives its key the time that the read found at the first key. SW_EXPIRE_KEEP would
 * not do: the key may expire between the read and the write. If the first key never expires, the
 * key of the SET does not either, even with --default-ttl. If the first key is absent, the SET sets
 * no time. */
static void give_time(struct sw_rmw *rmw, uint32_t i)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    const uint64_t at = batch->shows_times ? batch->expires_out[0] : 0;
    const bool never = batch->batches->shape.default_ttl_ms > 0 && is_found(rmw, 0) && at == 0;
    batch->gives_times = at != 0 || never;
    if (batch->gives_times) {
        memset(batch->expires, 0, batch->operations * sizeof(*batch->expires));
        batch->expires[i] = at;
    }
}

/* Is the first key's value equal to the operand of the second read? */
static bool is_equal(const struct sw_rmw *rmw)
{
    const struct sw_resp_batch *batch = &rmw->replies.batch;
    const struct sw_table_shape *shape = &batch->batches->shape;
    uint32_t size = shape->value_bytes, wanted = size;
    const uint8_t *value = batch->previous;
    const uint8_t *old = (const uint8_t *)batch->values + size;
    if (shape->value_format != SW_VALUE_INTEGER) {
        value = sw_blob_at(shape, batch->previous, 0, &size);
        old = sw_blob_at(shape, batch->values, 1, &wanted);
    }
    return size == wanted && memcmp(value, old, size) == 0;
}

/* The functions below read the results, and replace the reads of the batch by the operations to be
 * carried out next. They return the number of these operations; 0: the command writes nothing. */

static uint32_t decide_msetnx(struct sw_rmw *rmw)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    for (uint32_t i = 0; i < batch->operations; i++) {
        if (is_found(rmw, i)) {
            pending_of(rmw)->kind = SW_REPLY_KIND_ZERO;
            return 0;
        }
    }
    memset(batch->ops, SW_SET, batch->operations);
    return batch->operations;
}

/* Two key strings with the same hash are different keys, even if both keys are absent. */
static bool are_one_key(const struct sw_rmw *rmw)
{
    const struct sw_table_shape *shape = &rmw->replies.resp->batches->shape;
    const void *keys = rmw->replies.batch.keys;
    const uint8_t *text =
        (const uint8_t *)rmw->replies.batch.values + shape->value_bytes - shape->key_text_bytes;
    return sw_integer_at(keys, shape->key_bytes, 0) == sw_integer_at(keys, shape->key_bytes, 1) &&
           memcmp(text, text + shape->value_bytes, shape->key_text_bytes) == 0;
}

/* Makes two operations: `first` on the first key, and a SET that gives the second key its value and
 * its time. */
static uint32_t set_second(struct sw_rmw *rmw, enum sw_op first)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    batch->ops[0] = (uint8_t)first;
    batch->ops[1] = SW_SET;
    give_value(rmw);
    give_time(rmw, 1);
    return 2;
}

/* RENAME and RENAMENX. The first key leaves before the second comes, so that a full table has room.
 */
static uint32_t decide_rename(struct sw_rmw *rmw)
{
    if (!is_found(rmw, 0)) {
        pending_of(rmw)->kind = SW_REPLY_KIND_NO_KEY;
        return 0;
    }
    if (rmw->command->id == SW_COMMAND_RENAMENX && is_found(rmw, 1)) {
        pending_of(rmw)->kind = SW_REPLY_KIND_ZERO;
        return 0;
    }
    return are_one_key(rmw) ? 0 : set_second(rmw, SW_DELETE);
}

/* The GET changes nothing. It keeps the first key in the batch, whose keys the slow log shows. */
static uint32_t decide_copy(struct sw_rmw *rmw)
{
    const bool has_second = rmw->source == NULL ? is_found(rmw, 1) : rmw->has_second;
    if (rmw->source == NULL && are_one_key(rmw)) {
        pending_of(rmw)->kind = SW_REPLY_KIND_SAME_KEY;
        return 0;
    }
    if (!is_found(rmw, 0) || (has_second && !rmw->replaces)) {
        pending_of(rmw)->kind = SW_REPLY_KIND_ZERO;
        return 0;
    }
    return set_second(rmw, SW_GET);
}

/* SET key value IFEQ old. The operand of the second read is `old`. With GET the reply is the value
 * before, which both batches have. */
static uint32_t decide_set(struct sw_rmw *rmw)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    bool equal = is_found(rmw, 0) && is_equal(rmw);
    batch->ops[0] = SW_SET;
    if (batch->gives_times && batch->expires[0] == SW_EXPIRE_KEEP) {
        give_time(rmw, 0);
    }
    if (!equal && pending_of(rmw)->kind == SW_REPLY_KIND_OK) {
        pending_of(rmw)->kind = SW_REPLY_KIND_NULL;
    }
    return equal;
}

/* DELEX and DELIFEQ. Without a condition there is one read. */
static uint32_t decide_delex(struct sw_rmw *rmw)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    const bool has_condition = batch->operations > 1;
    const bool deletes = is_found(rmw, 0) && (!has_condition || is_equal(rmw) != rmw->unless_equal);
    pending_of(rmw)->kind = deletes ? SW_REPLY_KIND_ONE : SW_REPLY_KIND_ZERO;
    batch->ops[0] = SW_DELETE;
    return deletes;
}

static uint32_t decide(struct sw_rmw *rmw)
{
    if (rmw->replies.batch.flight->batch.status != SW_OK) {
        return 0; /* the reply says so */
    }
    switch (rmw->command->id) {
    case SW_COMMAND_MSETNX:
        return decide_msetnx(rmw);
    case SW_COMMAND_COPY:
        return decide_copy(rmw);
    case SW_COMMAND_SET:
        return decide_set(rmw);
    case SW_COMMAND_DELEX:
    case SW_COMMAND_DELIFEQ:
        return decide_delex(rmw);
    case SW_COMMAND_INCREX:
        give_time(rmw, 0);
        return sw_counter_decide(rmw);
    default:
        return decide_rename(rmw);
    }
}

static void decide_and_write(struct sw_rmw *rmw)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    const uint32_t operations = decide(rmw);
    if (operations == 0) {
        finish(rmw);
        return;
    }
    batch->done = on_written;
    sw_resp_batch_rewrite(batch, operations);
    sw_resp_batch_submit(batch);
}

static void on_looked(struct sw_resp_batch *batch)
{
    struct sw_replies *replies = SW_CONTAINER(batch, struct sw_replies, batch);
    decide_and_write(&replies->resp->rmw);
}

/* --- COPY to another table -------------------------------------------------------------------- */

/* Lets the batch run on the table of `resp`, which has the shape of its own. */
static void aim(struct sw_resp_batch *batch, const struct sw_resp *resp)
{
    batch->batches = resp->batches;
    batch->flights = &resp->batches->rmw_flights;
}

static void on_source(struct sw_resp_batch *batch)
{
    struct sw_replies *replies = SW_CONTAINER(batch, struct sw_replies, batch);
    struct sw_rmw *rmw = &replies->resp->rmw;
    aim(batch, replies->resp);
    if (batch->shows_times && batch->expires_out[0] != 0) { /* a key of this table will expire */
        sw_table_will_expire(batch->batches->table);
    }
    decide_and_write(rmw);
}

/* Both keys were read in the table of the second key. Reads the first key in its own table. */
static void on_second(struct sw_resp_batch *batch)
{
    struct sw_replies *replies = SW_CONTAINER(batch, struct sw_replies, batch);
    struct sw_rmw *rmw = &replies->resp->rmw;
    if (batch->flight->batch.status != SW_OK) {
        finish(rmw); /* the reply says so */
        return;
    }
    rmw->has_second = is_found(rmw, 1);
    aim(batch, rmw->source);
    batch->done = on_source;
    sw_resp_batch_rewrite(batch, 1);
    sw_resp_batch_submit(batch);
}

/* --- WATCH and EXEC --------------------------------------------------------------------------- */

/* Adds the keys in the batch to the watched keys. The gate is closed, and no write is inside. */
static void watch(struct sw_rmw *rmw)
{
    const struct sw_resp_batch *batch = &rmw->replies.batch;
    const int64_t added = sw_watching_add(sw_resp_of(rmw->conn), batch->keys, batch->operations);
    if (added == SW_WATCHED_FULL) {
        pending_of(rmw)->kind = SW_REPLY_KIND_TOO_MANY;
    } else if (added == SW_WATCHED_NO_MEMORY) {
        sw_text_error(sw_rmw_reply(rmw),
                      "OOM no memory for watched keys: free memory, then try again");
    }
    pending_of(rmw)->group = SW_NO_GROUP;
    sw_resp_batch_reset(&rmw->replies.batch);
    finish(rmw);
}

/* If the table has expiry, WATCH first reads the expiry times of its keys: a key that expires
 * counts as changed. */
static void on_watched(struct sw_resp_batch *batch)
{
    struct sw_replies *replies = SW_CONTAINER(batch, struct sw_replies, batch);
    struct sw_rmw *rmw = &replies->resp->rmw;
    uint64_t first = UINT64_MAX;
    if (batch->flight->batch.status != SW_OK) {
        finish(rmw); /* the reply says so */
        return;
    }
    for (uint32_t i = 0; batch->shows_times && i < batch->operations; i++) {
        first = batch->expires_out[i] - 1 < first - 1 ? batch->expires_out[i] : first;
    }
    sw_watching_until(sw_resp_of(rmw->conn), first);
    watch(rmw);
}

/* Carries out the operations that EXEC has put into the batch, unless a watched key was changed. */
static void execute(struct sw_rmw *rmw)
{
    struct sw_replies *replies = &rmw->replies;
    if (sw_watching_is_changed(sw_resp_of(rmw->conn))) {
        SW_COUNT(rmw->conn->net->counters, watch_aborts, 1);
        pending_of(rmw)->kind = SW_REPLY_KIND_NULL_ARRAY;
        pending_of(rmw)->group = SW_NO_GROUP; /* of the batch before, which may have failed */
        replies->is_aborted = true;
        sw_resp_batch_reset(&replies->batch);
    }
    sw_watching_forget(sw_resp_of(rmw->conn));
    if (replies->batch.operations == 0) {
        finish(rmw);
        return;
    }
    replies->submitted_ns = uv_hrtime();
    replies->batch.done = on_written;
    sw_resp_batch_submit(&replies->batch);
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Adds the reads to the batch of read-modify-write commands of the table that is written. */
static void add_looks(struct sw_conn *conn, const struct sw_command *command,
                      const struct sw_resp_command *arguments, struct sw_resp *resp)
{
    struct sw_resp_conn *state = sw_resp_of(conn);
    struct sw_resp *selected = state->resp;
    struct sw_replies *filling = resp->filling;
    resp->filling = &resp->rmw.replies;
    state->resp = resp;
    bool done = resp->run_data(conn, command, arguments, SW_DATA_RUN);
    state->resp = selected;
    resp->filling = filling;
    resp->rmw.replies.batch.shows_values = true; /* deciding may need the values before */
    resp->rmw.replies.batch.shows_times = resp->batches->shape.expires;
    assert(done && resp->rmw.replies.pendings == 1);
    (void)done;
}

bool sw_rmw_is_free_for(struct sw_conn *conn)
{
    if (conn->in_flight > 0) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return false;
    }
    if (sw_resp_of(conn)->resp->rmw.conn != NULL) {
        /* another connection runs one; its end retries stalled connections */
        sw_conn_stall(conn, SW_STALL_BATCH_FULL);
        return false;
    }
    return true;
}

static uint32_t table_of(const struct sw_resp *resp)
{
    return resp->batches->rmw_flights.widths.table;
}

/* Begins the wait for the gates: of `resp`, whose table is written, and of `source`; NULL: none.
 * All loops close them in the order of the tables' ids. */
static void start(struct sw_resp *resp, struct sw_resp *source, struct sw_conn *conn,
                  const struct sw_command *command)
{
    struct sw_rmw *rmw = &resp->rmw;
    const bool is_second = source != NULL && table_of(source) < table_of(resp);
    rmw->gates = (struct sw_gates){.count = source == NULL ? 1 : 2};
    rmw->gates.sides[is_second] = &resp->batches->gate;
    rmw->gates.sides[!is_second] = source == NULL ? NULL : &source->batches->gate;
    rmw->source = source;
    rmw->conn = conn;
    rmw->command = command;
    rmw->view_number = view_number(resp);
    rmw->state = SW_RMW_WAITS;
    rmw->replies.submitted_ns = 0;
    sw_resp_of(conn)->control_in_flight = true;
    if (conn->state <= SW_CONN_DRAINING) { /* EXEC may have closed it, for lack of memory */
        sw_conn_stall(conn, SW_STALL_BARRIER);
    }
}

void sw_rmw_start(struct sw_conn *conn, const struct sw_command *command)
{
    start(sw_resp_of(conn)->resp, NULL, conn, command);
}

bool sw_rmw_run(struct sw_conn *conn, const struct sw_command *command,
                const struct sw_resp_command *arguments)
{
    struct sw_resp *resp = sw_resp_of(conn)->resp;
    if (sw_resp_of(conn)->transaction != NULL) { /* only WATCH comes here in a transaction */
        sw_resp_error(conn, command, "ERR WATCH inside MULTI is not allowed");
        return true;
    }
    if (!sw_rmw_is_free_for(conn)) {
        return false;
    }
    uint32_t pendings = resp->filling->pendings;
    if (!resp->run_data(conn, command, arguments, SW_DATA_CHECK)) {
        return false;
    }
    if (resp->filling->pendings > pendings) { /* the check has replied with an error */
        return true;
    }
    struct sw_counter counter = {0};
    char line[ERROR_BYTES];
    if (command->id == SW_COMMAND_INCREX &&
        !sw_counter_read(resp, command, arguments, &counter, line, sizeof(line))) {
        sw_resp_error(conn, command, "%s", line);
        return true;
    }
    struct sw_resp *written =
        command->id == SW_COMMAND_COPY ? sw_rmw_copy_target(conn, arguments) : resp;
    if (written->rmw.conn != NULL) {
        sw_conn_stall(conn, SW_STALL_BATCH_FULL); /* as sw_rmw_is_free_for */
        return false;
    }
    if (!sw_resp_has_memory(conn, &written->rmw.replies)) { /* may take that of an empty batch */
        return false;
    }
    add_looks(conn, command, arguments, written);
    written->rmw.replaces = sw_rmw_copy_replaces(arguments);
    written->rmw.unless_equal = command->id == SW_COMMAND_DELEX && arguments->count > 3 &&
                                sw_argument_is(&arguments->arguments[2], "IFNE");
    written->rmw.counter = counter;
    if (counter.at != 0) { /* from now on a key may have an expiry time */
        sw_table_will_expire(resp->batches->table);
    }
    start(written, written == resp ? NULL : resp, conn, command);
    return true;
}

bool sw_rmw_is_held(const struct sw_resp *resp)
{
    const struct sw_resp *source = resp->rmw.source;
    return sw_table_is_held(resp->batches->table) ||
           (source != NULL && sw_table_is_held(source->batches->table));
}

bool sw_rmw_poll(struct sw_resp *resp)
{
    struct sw_rmw *rmw = &resp->rmw;
    if (rmw->conn == NULL || rmw->state == SW_RMW_RUNS) {
        return false;
    }
    if (rmw->source != NULL && sw_rmw_is_held(resp)) {
        sw_gates_open(&rmw->gates); /* writes to the other table go on */
        return false;
    }
    if (!sw_gates_close(&rmw->gates)) {
        return false;
    }
    if (rmw->command->id == SW_COMMAND_EXEC) {
        rmw->state = SW_RMW_RUNS;
        execute(rmw);
        return true;
    }
    if (sw_rmw_is_of_older_view(resp)) {
        pending_of(rmw)->kind = SW_REPLY_KIND_TRY_AGAIN;
        pending_of(rmw)->group = SW_NO_GROUP;
        finish(rmw);
        return true;
    }
    rmw->state = SW_RMW_RUNS;
    const bool watches = rmw->command->id == SW_COMMAND_WATCH;
    if (watches && !resp->batches->shape.expires) {
        watch(rmw);
        return true;
    }
    rmw->replies.submitted_ns = uv_hrtime();
    rmw->replies.batch.done = watches ? on_watched : rmw->source != NULL ? on_second : on_looked;
    sw_resp_batch_submit(&rmw->replies.batch);
    return true;
}
