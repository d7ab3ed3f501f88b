/* SPDX-License-Identifier: MIT
 *
 * control_table.c - TABLE and SWAPDB: the places of the server and the tables in them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/refusals.h"
#include "server/resp/admin_call.h"
#include "server/resp/admit.h"
#include "server/resp/control.h"
#include "server/resp/control_table.h"
#include "server/resp/place.h"
#include "server/resp/resp.h"

static const struct sw_subcommand subcommands[] = {
    {"ALTER", -5, NULL, "name option value [option value ...]",
     "Change max-capacity, memory-max, memory-min or default-ttl of a table."},
    {"CREATE", -3, NULL, "name [NUMBER n] [LIKE other] [IF NOT EXISTS] [option value ...]",
     "Create an empty table, with options of the section [table]."},
    {"DROP", -3, NULL, "name [IF EXISTS]", "Remove a table with its keys."},
    {"INFO", 3, NULL, "name", "Return the properties and the options of a table."},
    {"LIST", 2, NULL, "", "Return the name, the number and the keys of each table."},
    {"RENAME", 4, NULL, "name new-name", "Give a table another name."},
    {"SAVE", 3, NULL, "name", "Write a snapshot of a table, and wait for it."},
    {"SWAP", -4, NULL, "name other [FORCE]",
     "Exchange the contents of two tables, for all clients at once. FORCE: also of different "
     "shapes."},
    {"TRUNCATE", 3, NULL, "name", "Remove every key of a table."},
    {NULL, 0, NULL, NULL, NULL}};

/* --- TRUNCATE and FLUSHALL -------------------------------------------------------------------- */

static void on_cleared(struct sw_flight *flight)
{
    sw_control_finish(SW_CONTAINER(flight, struct sw_control, flight));
}

/* The obstacles of FLUSHDB also stop TRUNCATE: a replica keeps the keys of its primary. */
static bool run_truncate(struct sw_control *control, const struct sw_resp_argument *name)
{
    const struct sw_tables_handle *handle = sw_control_tables(control);
    const struct sw_place *place = sw_tables_find(handle->view, name->text, name->size);
    if (place == NULL) {
        return sw_control_refuse(control, SW_NO_SUCH_TABLE);
    }
    if (!sw_admits(sw_resp_of(control->conn), sw_command_at(SW_COMMAND_FLUSHDB))) {
        const bool is_refused = control->conn->stall == SW_STALL_NONE;
        free(control);
        return is_refused;
    }
    const struct sw_cluster_view *cluster = control->conn->net->cluster.view;
    if (cluster != NULL && cluster->is_target) {
        return sw_control_refuse(control, "ERR " SW_NO_CLEAR);
    }
    control->resp = sw_tables_at(handle->view, place->number)->loops[handle->loop].resp;
    control->flight.batch = (struct sw_batch){.kind = SW_BATCH_CLEAR};
    control->flight.done = on_cleared;
    control->put = sw_control_put_ok;
    sw_control_begin(control);
    sw_control_submit(control);
    return true;
}

bool sw_control_next_table(struct sw_control *control)
{
    const struct sw_tables_view *view = sw_control_tables(control)->view;
    const struct sw_served *next = NULL;
    for (uint32_t i = 0; view != NULL && i < view->catalog.count; i++) {
        const struct sw_served *at = view->served[i];
        const bool is_next = at->id > control->last_table && (next == NULL || at->id < next->id);
        next = is_next ? at : next;
    }
    if (next != NULL) {
        control->last_table = next->id;
        control->resp = next->loops[sw_control_tables(control)->loop].resp;
    }
    return next != NULL;
}

/* --- the commands ----------------------------------------------------------------------------- */

static const struct sw_subcommand *find_subcommand(const struct sw_resp_argument *word)
{
    const struct sw_subcommand *row = subcommands;
    while (row->name != NULL && !sw_argument_is(word, row->name)) {
        row++;
    }
    return row->name == NULL ? NULL : row;
}

bool sw_control_run_table(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    const struct sw_subcommand *row = find_subcommand(&words[1]);
    char line[SW_CONTROL_ERROR_BYTES];
    if (sw_argument_is(&words[1], "HELP") && arguments->count == 2) {
        sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
        sw_subcommand_help(control->command, subcommands, &control->keys);
        return sw_control_reply_text(control);
    }
    if (row == NULL) {
        sw_subcommand_unknown(control->command, &words[1], line, sizeof(line));
        return sw_control_refuse(control, line);
    }
    if (!sw_subcommand_arity_fits(row, arguments->count)) {
        sw_subcommand_wrong_count(control->command, row, line, sizeof(line));
        return sw_control_refuse(control, line);
    }
    if (sw_control_tables(control)->view == NULL) {
        return sw_control_refuse(control, "ERR this server has one table");
    }
    const char *refusal = NULL;
    switch (row - subcommands) {
    case 3:
        return sw_control_table_info(control, &words[2]);
    case 4:
        return sw_control_table_list(control);
    case 6: /* a save is no change of the tables: CLIENT PAUSE lets it run */
        return sw_control_change(control, &words[1], 2);
    case 8:
        return run_truncate(control, &words[2]);
    default: /* CLIENT PAUSE holds back a change as it does SWAPDB and the frames of TABLE */
        if (sw_waits_for_pause(sw_resp_of(control->conn))) {
            free(control);
            return false;
        }
        refusal = sw_role_refuses_change(sw_resp_of(control->conn));
        return refusal != NULL ? sw_control_refuse(control, refusal)
                               : sw_control_change(control, &words[1], arguments->count - 1);
    }
}

bool sw_control_run_swapdb(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    int64_t one = 0, other = 0;
    if (control->conn->net->cluster.view != NULL) {
        return sw_control_refuse(control, "ERR SWAPDB is not allowed in cluster mode");
    }
    if (!sw_argument_integer(&words[1], &one)) {
        return sw_control_refuse(control, "ERR invalid first DB index");
    }
    if (!sw_argument_integer(&words[2], &other)) {
        return sw_control_refuse(control, "ERR invalid second DB index");
    }
    if (!sw_place_exists(control->conn, one) || !sw_place_exists(control->conn, other)) {
        return sw_control_refuse(control, "ERR DB index is out of range");
    }
    if (one == other) {
        control->put = sw_control_put_ok;
        sw_control_begin(control);
        sw_control_finish(control);
        return true;
    }
    const struct sw_resp_argument swap[] = {
        {(const uint8_t *)"SWAP", sizeof("SWAP") - 1}, words[1], words[2]};
    return sw_control_change(control, swap, 3);
}
