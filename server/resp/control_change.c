/* SPDX-License-Identifier: MIT
 *
 * control_change.c - a change of the places of the server, by a command.
 *
 * Meanwhile the command uses no table, so that its connection may drop the table that it has
 * selected.
 */
#include <stdio.h>

#include "server/resp/control.h"
#include "server/resp/control_table.h"
#include "server/resp/resp.h"
#include "server/tables/change_words.h"

void sw_control_put_ok(const struct sw_control *control, struct sw_text *text)
{
    (void)control;
    sw_text_simple(text, "OK");
}

/* The thread uses the run until then, even if the connection has closed. */
static bool is_changed(struct sw_control *control)
{
    if (!sw_change_run_poll(control->run)) {
        return false;
    }
    snprintf(control->error, sizeof(control->error), "%.*s", (int)sizeof(control->error) - 1,
             control->run->error);
    control->flight.batch.write_sequence = control->run->change.sequence; /* for WAIT */
    sw_change_run_free(control->run);
    control->run = NULL;
    return true;
}

bool sw_control_change(struct sw_control *control, const struct sw_resp_argument *words,
                       uint32_t count)
{
    const struct sw_tables_handle *tables = sw_control_tables(control);
    char error[SW_TABLES_ERROR_BYTES] = "ERR out of memory";
    struct sw_change_run *run = sw_change_run_create(tables->tables);
    if (run == NULL ||
        sw_change_read(tables->view, words, count, &run->change, error, sizeof(error)) != 0) {
        sw_change_run_free(run);
        return sw_control_refuse(control, error);
    }
    control->run = run;
    control->put = sw_control_put_ok;
    sw_control_wait_until(control, is_changed);
    (void)sw_change_run_poll(run);
    return true;
}
