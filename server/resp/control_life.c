/* SPDX-License-Identifier: MIT
 *
 * control_life.c - the beginning and the reply of every command of kind CONTROL.
 */
#include <stdlib.h>

#include "server/batch/refusals.h"
#include "server/config/live.h"
#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/control_parts.h"
#include "server/resp/output.h"
#include "server/resp/resp.h"
#include "server/resp/slow.h"

static const char *error_of(const struct sw_control *control)
{
    const struct sw_batch *batch = &control->flight.batch;
    if (control->error[0] != '\0') {
        return control->error;
    }
    switch (batch->status) {
    case SW_OK:
        return NULL;
    case SW_E_NOMEM:
        return batch->kind == SW_BATCH_RESIZE
                   ? sw_batches_resize_failed(control->resp->batches, true)
               : batch->kind == SW_BATCH_SCAN ? "ERR not enough memory for a scan"
                                              : "OOM " SW_NO_QUEUE;
    case SW_E_INVALID: /* cannot happen: the arguments have been checked */
        return "ERR the table refused the command";
    default:
        return SW_TABLE_FAILED_LINE;
    }
}

struct sw_control *sw_control_create(struct sw_conn *conn, const struct sw_command *command,
                                     uint32_t pattern_bytes)
{
    struct sw_control *control = calloc(1, sizeof(*control) + pattern_bytes);
    if (control == NULL) {
        sw_resp_error(conn, command, "ERR out of memory");
        return NULL;
    }
    control->conn = conn;
    control->resp = sw_resp_of(conn)->resp;
    control->command = command;
    control->pattern = (uint8_t *)(control + 1);
    sw_list_init(&control->waits);
    return control;
}

void sw_control_begin(struct sw_control *control)
{
    struct sw_conn *conn = control->conn;
    control->started_ns = uv_hrtime();
    sw_resp_of(conn)->control_in_flight = true;
    sw_conn_accept(conn, true);
    sw_conn_stall(conn, SW_STALL_BARRIER);
}

void sw_control_wait_until(struct sw_control *control, bool (*is_over)(struct sw_control *control))
{
    const bool reads = control->command->id == SW_COMMAND_DIGEST;
    control->is_over = is_over;
    if (!reads) { /* the thread of a DIGEST reads the field */
        control->resp = control->resp->first;
    }
    sw_resp_of(control->conn)->uses_no_table = !reads;
    sw_control_begin(control);
    sw_batches_activate(control->resp->batches);
    sw_list_push(reads ? &control->resp->waits : &control->resp->idle_waits, &control->waits);
}

void sw_control_submit(struct sw_control *control)
{
    sw_batches_start(control->resp->batches, &control->flight, (uint32_t)control->conn->peer.id);
}

/* Replaces a reply that is too long, or for which there is no memory, by an error. If there is no
 * memory for the error either, the text stays failed. */
static void refuse_long_reply(struct sw_control *control, struct sw_text *text)
{
    sw_text_reset(text);
    sw_text_printf(text, "-ERR the reply to '%s' would be longer than the limit: request less\r\n",
                   control->command->name);
    sw_error_reply_count(control->conn->net->counters, "ERR");
}

void sw_control_finish(struct sw_control *control)
{
    struct sw_conn *conn = control->conn;
    struct sw_resp_conn *state = sw_resp_of(conn);
    struct sw_batches *batches = control->resp->batches;
    struct sw_loop_counters *counters = conn->net->counters;
    struct sw_text text;
    sw_text_init(&text, SW_LIVE(conn->net->config->output_bytes_max) + SW_SCRATCH_BYTES);
    if (state->session.reply_mode == SW_REPLY_ON) {
        const char *error = error_of(control);
        if (error != NULL) {
            sw_text_error(&text, error);
        } else {
            control->put(control, &text);
        }
        if (text.failed) {
            refuse_long_reply(control, &text);
        }
    } else if (state->session.reply_mode == SW_REPLY_SKIP_NEXT) {
        state->session.reply_mode = SW_REPLY_ON;
    }
    if (state->last_error != NULL) {
        sw_text_error(&text, state->last_error);
        sw_error_reply_count(counters, state->last_error);
    }
    SW_COUNT(counters, commands_processed, 1);
    if (control->command->id == SW_COMMAND_WAIT) {
        SW_COUNT(counters, replica_waits, 1);
        SW_COUNT(counters, replica_waits_short, control->reached < control->wanted);
    }
    if (error_of(control) != NULL) {
        sw_error_reply_count(counters, error_of(control));
    }
    uint64_t took_ns = uv_hrtime() - control->started_ns;
    SW_COUNT(counters, commands[control->command->id], 1);
    SW_COUNT(counters, command_ns[control->command->id], took_ns);
    sw_slow_control(conn, control->command, took_ns / 1000);
    sw_last_write_note(&state->last_write, control->resp->owner.repl,
                       control->flight.batch.write_sequence);
    if (text.failed || control->flight.is_unknown) { /* a crash may undo the shown write */
        sw_conn_abort(conn);
    } else {
        sw_resp_send(state, text.data, text.size);
    }
    sw_text_fini(&text);
    sw_text_fini(&control->keys);
    if (control->memory != NULL) {
        sw_io_arena_free(batches->io, control->memory, control->memory_bytes);
        conn->net->retry = true;
    }
    free(control);
    state->control_in_flight = false;
    state->uses_no_table = false;
    sw_conn_request_done(conn, true);
}
