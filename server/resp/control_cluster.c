/* SPDX-License-Identifier: MIT
 *
 * control_cluster.c - CLUSTER COUNTKEYSINSLOT and GETKEYSINSLOT, which pass over the table, as
 * DBSIZE does if the table may hold keys of other nodes; CLUSTER SETTOPOLOGY, whose reply waits
 * until all loops follow the new topology; and the other subcommands that wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/cluster/replicas.h"
#include "server/limits.h"
#include "server/move/move.h"
#include "server/net/conn.h"
#include "server/registry/registry.h"
#include "server/resp/admin_call.h"
#include "server/resp/admin_cluster.h"
#include "server/resp/control.h"
#include "server/resp/control_parts.h"
#include "server/resp/output.h"
#include "server/resp/resp.h"

/* Entries of a batch. */
#define PASS_COUNT (16U << 10)

static const struct sw_cluster_view *view_of(const struct sw_control *control)
{
    return control->conn->net->cluster.view;
}

/* Frees a command that is refused. Returns true: it is done. */
static bool refuse_cluster_command(struct sw_control *control, const char *error)
{
    sw_resp_error(control->conn, control->command, "%s", error);
    free(control);
    return true;
}

static void put_cluster_reply(const struct sw_control *control, struct sw_text *text)
{
    const bool lists = control->keys_wanted > 0 || control->is_list;
    if (control->is_text) {
        sw_text_append(text, control->keys.data, control->keys.size);
    } else if (control->is_taken) {
        sw_text_simple(text, "OK");
    } else if (lists) {
        sw_text_array(text, control->keys_count);
        if (control->keys.size > 0) {
            sw_text_append(text, control->keys.data, control->keys.size);
        }
    } else {
        sw_text_unsigned(text,
                         control->counts_foreign ? control->keys_foreign : control->keys_counted);
    }
    text->failed |= control->keys.failed;
}

/* --- passes over the table -----------------------------------------------------------------------
 */

/* Counts a key, or adds it to the reply. Returns false if the reply needs no more keys. */
static bool take_key(struct sw_control *control, uint32_t i)
{
    const struct sw_cluster_view *view = view_of(control);
    const unsigned slot = sw_cluster_slot(view, sw_control_key_at(control, i));
    if (control->slot < 0) {
        control->keys_foreign += !sw_cluster_holds(view, slot);
        control->keys_counted += sw_cluster_holds(view, slot);
    } else if ((int)slot == control->slot) {
        control->keys_counted++;
        if (control->keys_wanted > control->keys_count) {
            sw_control_put_key(control, i);
        }
    }
    return control->keys_wanted == 0 || control->keys_wanted > control->keys_count;
}

/* Continues after the keys of a batch: with the next batch, or with the reply. */
static void go_on(struct sw_control *control)
{
    const struct sw_batch *batch = &control->flight.batch;
    if (batch->scan.cursor != 0 &&
        (control->keys_wanted == 0 || control->keys_wanted > control->keys_count)) {
        sw_control_submit(control);
        return;
    }
    if (control->slot < 0 && control->keys_foreign == 0) {
        sw_cluster_found_none_foreign(&control->conn->net->cluster, control->view_number);
    }
    sw_control_finish(control);
}

static void on_scanned(struct sw_flight *flight)
{
    struct sw_control *control = SW_CONTAINER(flight, struct sw_control, flight);
    if (flight->batch.status == SW_OK) {
        sw_control_visit(control, flight->batch.scan.got, take_key, go_on);
    } else {
        sw_control_finish(control);
    }
}

/* Starts a pass over the table; `slot` is negative for all slots of this node. */
static bool scan(struct sw_control *control, int slot, uint64_t wanted)
{
    if (control->resp->unsupported.has[SW_COMMAND_SCAN]) {
        return refuse_cluster_command(
            control, "ERR the engine cannot count keys of a slot, because it has no SCAN");
    }
    control->put = put_cluster_reply;
    control->slot = slot;
    control->keys_wanted = wanted;
    /* If all loops have followed this view, no loop writes keys that are foreign by it. */
    control->view_number = view_of(control)->number;
    if (!sw_cluster_is_settled(control->conn->net->cluster.cluster, control->view_number)) {
        control->view_number = 0;
    }
    sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
    if (!sw_control_prepare_scan(control, 0, PASS_COUNT)) {
        return false;
    }
    control->flight.done = on_scanned;
    sw_control_begin(control);
    sw_control_submit(control);
    return true;
}

bool sw_control_must_count(struct sw_conn *conn)
{
    return sw_cluster_may_have_foreign(&conn->net->cluster) &&
           !sw_resp_of(conn)->resp->unsupported.has[SW_COMMAND_SCAN];
}

bool sw_control_count_keys(struct sw_control *control)
{
    return scan(control, -1, 0);
}

static bool run_count(struct sw_control *control, const struct sw_resp_argument *words)
{
    int64_t slot;
    if (!sw_argument_integer(&words[2], &slot)) {
        return refuse_cluster_command(control, "ERR value is not an integer or out of range");
    }
    if (slot < 0 || slot >= (int64_t)SW_SLOTS) {
        return refuse_cluster_command(control, "ERR Invalid slot");
    }
    return scan(control, (int)slot, 0);
}

static bool run_count_foreign(struct sw_control *control)
{
    control->counts_foreign = true;
    return scan(control, -1, 0);
}

static bool run_get(struct sw_control *control, const struct sw_resp_argument *words)
{
    int64_t slot, most;
    if (!sw_argument_integer(&words[2], &slot) || !sw_argument_integer(&words[3], &most)) {
        return refuse_cluster_command(control, "ERR value is not an integer or out of range");
    }
    if (slot < 0 || slot >= (int64_t)SW_SLOTS || most < 0) {
        return refuse_cluster_command(control, "ERR Invalid slot or number of keys");
    }
    if (most > sw_control_scan_count_max(control->conn->net->config)) {
        return refuse_cluster_command(
            control, "ERR the reply may be longer than output-bytes-max: use a smaller count");
    }
    if (most == 0) {
        sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
        sw_control_begin(control);
        sw_control_finish(control);
        return true;
    }
    return scan(control, (int)slot, (uint64_t)most);
}

/* --- SETTOPOLOGY ---------------------------------------------------------------------------------
 */

static bool is_settled(struct sw_control *control)
{
    return sw_cluster_is_settled(control->conn->net->cluster.cluster, control->view_number);
}

/* Has etcd stored the topology, and do all loops of this node follow it? Also returns true, with an
 * error, if etcd refused it. */
static bool is_written(struct sw_control *control)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    struct sw_registry *registry = control->resp->owner.registry;
    if (control->view_number == 0) {
        switch (
            sw_registry_outcome(registry, control->queued_number, &control->view_number, error)) {
        case SW_REGISTRY_UNDER_WAY:
            return false;
        case SW_REGISTRY_REFUSED:
            snprintf(control->error, sizeof(control->error), "ERR %.390s", error);
            return true;
        case SW_REGISTRY_WRITTEN:
            break;
        }
    }
    return is_settled(control);
}

static bool submit_topology(struct sw_control *control, const struct sw_resp_argument *text,
                            const uint64_t *only_if)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    control->queued_number = sw_registry_submit(
        control->resp->owner.registry, (const char *)text->text, text->size, only_if, error);
    if (control->queued_number == 0) {
        sw_resp_error(control->conn, control->command, "ERR %s", error);
        free(control);
        return true;
    }
    control->is_taken = true;
    sw_control_wait_until(control, is_written);
    return true;
}

static bool run_settopology(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    const struct sw_resp_argument *text = &words[arguments->count - 1];
    uint64_t only_if = 0;
    bool has_epoch = arguments->count == 5;
    char error[SW_CLUSTER_ERROR_BYTES];
    if (arguments->count != 3 && (!has_epoch || !sw_argument_is(&words[2], "IFEPOCH"))) {
        return refuse_cluster_command(control, "ERR syntax error");
    }
    if (has_epoch && !sw_decimal_parse(words[3].text, words[3].size, INT64_MAX, &only_if)) {
        return refuse_cluster_command(control, "ERR value is not an integer or out of range");
    }
    if (control->resp->owner.registry != NULL) {
        return submit_topology(control, text, has_epoch ? &only_if : NULL);
    }
    control->view_number =
        sw_cluster_take(control->conn->net->cluster.cluster, (const char *)text->text, text->size,
                        has_epoch ? &only_if : NULL, error);
    if (control->view_number == 0) {
        sw_resp_error(control->conn, control->command, "ERR %s", error);
        free(control);
        return true;
    }
    control->is_taken = true;
    sw_control_wait_until(control, is_settled);
    return true;
}

/* --- the rest ------------------------------------------------------------------------------------
 */

static bool run_text(struct sw_control *control, const struct sw_resp_command *arguments)
{
    struct sw_conn *conn = control->conn;
    sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
    struct sw_call call = {.admin = &control->resp->admin,
                           .command = control->command,
                           .count = arguments->count,
                           .arguments = arguments->arguments,
                           .session = &sw_resp_of(conn)->session,
                           .reply = &control->keys};
    sw_cluster_call(&call);
    if (control->keys.size > 0 && control->keys.data[0] == '-') {
        sw_error_reply_count(conn->net->counters, control->keys.data);
    }
    control->is_text = true;
    sw_control_begin(control);
    sw_control_finish(control);
    return true;
}

/* --- MOVE ----------------------------------------------------------------------------------------
 */

static bool read_id(const struct sw_resp_argument *word, char id[SW_TOPOLOGY_ID + 1])
{
    snprintf(id, SW_TOPOLOGY_ID + 1, "%.*s", (int)word->size, (const char *)word->text);
    return word->size == SW_TOPOLOGY_ID && sw_topology_is_id(id);
}

/* Replies with the text of `control`. */
static bool reply_text(struct sw_control *control)
{
    control->is_text = true;
    sw_control_begin(control);
    sw_control_finish(control);
    return true;
}

static bool run_move_take(struct sw_control *control, const struct sw_resp_argument *words)
{
    char id[SW_TOPOLOGY_ID + 1], error[SW_CLUSTER_ERROR_BYTES];
    struct sw_slot_set slots = {{0}};
    if (!read_id(&words[3], id)) {
        return refuse_cluster_command(
            control, "ERR invalid node id: write its 40 hex digits (CLUSTER MYID)");
    }
    if (!sw_slot_set_parse(&slots, (const char *)words[4].text, words[4].size)) {
        return refuse_cluster_command(control, "ERR invalid slots: write ranges such as 0-99,200");
    }
    sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
    if (sw_mover_run_target(control->resp->owner.mover, id, &slots, error)) {
        sw_text_simple(&control->keys, "OK");
    } else {
        sw_text_printf(&control->keys, "-ERR %s\r\n", error);
    }
    return reply_text(control);
}

static bool run_move_outcome(struct sw_control *control, const struct sw_resp_argument *words)
{
    char id[SW_TOPOLOGY_ID + 1], *topology = NULL;
    struct sw_slot_set slots = {{0}};
    uint64_t attempt = 0;
    if (!read_id(&words[3], id) ||
        !sw_decimal_parse(words[4].text, words[4].size, INT64_MAX, &attempt) ||
        !sw_slot_set_parse(&slots, (const char *)words[5].text, words[5].size)) {
        return refuse_cluster_command(control, "ERR syntax error");
    }
    sw_text_init(&control->keys, SW_TOPOLOGY_BYTES_MAX + 64);
    switch (
        sw_cluster_outcome(control->conn->net->cluster.cluster, id, attempt, &slots, &topology)) {
    case SW_CLUSTER_UNDER_WAY:
        sw_text_simple(&control->keys, "UNDERWAY");
        break;
    case SW_CLUSTER_NEVER:
        sw_text_simple(&control->keys, "NEVER");
        break;
    case SW_CLUSTER_DECIDED:
        sw_text_bulk_string(&control->keys, topology);
        break;
    case SW_CLUSTER_UNKNOWN:
        sw_text_error(&control->keys, "ERR the outcome is not known yet");
        break;
    }
    free(topology);
    return reply_text(control);
}

/* Takes the migration state of the primary, unless this replica lacks writes up to the primary's
 * number. */
static bool run_move_follow(struct sw_control *control, const struct sw_resp_argument *words)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    struct sw_repl_status facts;
    uint64_t sequence = 0;
    if (!sw_decimal_parse(words[3].text, words[3].size, UINT64_MAX, &sequence)) {
        return refuse_cluster_command(control, "ERR syntax error");
    }
    sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
    sw_repl_status(control->resp->owner.repl, &facts);
    if (sequence > 0 &&
        (!facts.is_replica || facts.link != SW_LINK_CONNECTED || facts.position < sequence)) {
        sw_text_simple(&control->keys, "BEHIND");
    } else if (sw_cluster_take_state(control->conn->net->cluster.cluster,
                                     (const char *)words[4].text, words[4].size, error) != 0) {
        sw_text_simple(&control->keys, "OK");
    } else {
        sw_text_printf(&control->keys, "-ERR %s\r\n", error);
    }
    return reply_text(control);
}

static bool run_move(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    struct sw_mover *mover = control->resp->owner.mover;
    char text[1024];
    if (sw_argument_is(&words[2], "TAKE") && arguments->count == 5) {
        return run_move_take(control, words);
    }
    if (sw_argument_is(&words[2], "OUTCOME") && arguments->count == 6) {
        return run_move_outcome(control, words);
    }
    if (sw_argument_is(&words[2], "FOLLOW") && arguments->count == 5) {
        return run_move_follow(control, words);
    }
    sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
    if (sw_argument_is(&words[2], "STATUS") && arguments->count == 3) {
        sw_text_bulk(&control->keys, (const uint8_t *)text,
                     (uint32_t)sw_mover_status(mover, text, sizeof(text)));
    } else if (sw_argument_is(&words[2], "CANCEL") && arguments->count == 3) {
        if (sw_mover_cancel(mover, text)) {
            sw_text_simple(&control->keys, "OK");
        } else {
            sw_text_printf(&control->keys, "-ERR %s\r\n", text);
        }
    } else {
        sw_text_error(&control->keys, "ERR syntax error");
    }
    return reply_text(control);
}

bool sw_control_run_cluster(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    if (view_of(control) == NULL) {
        return refuse_cluster_command(control, SW_NO_CLUSTER);
    }
    control->put = put_cluster_reply;
    if (sw_argument_is(&words[1], "COUNTKEYSINSLOT") && arguments->count == 3) {
        return run_count(control, words);
    }
    if (sw_argument_is(&words[1], "COUNTFOREIGN") && arguments->count == 2) {
        return run_count_foreign(control);
    }
    if (sw_argument_is(&words[1], "MOVE") && arguments->count >= 3) {
        return run_move(control, arguments);
    }
    if (sw_argument_is(&words[1], "GETKEYSINSLOT") && arguments->count == 4) {
        control->is_list = true;
        return run_get(control, words);
    }
    if (sw_argument_is(&words[1], "SETTOPOLOGY") && arguments->count >= 3) {
        return run_settopology(control, arguments);
    }
    return run_text(control, arguments);
}
