/* SPDX-License-Identifier: MIT
 *
 * control_table.h - the parts of TABLE: what control_table*.c and control_change.c share.
 * Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_RESP_CONTROL_TABLE_H
#define SHERWOOD_SERVER_RESP_CONTROL_TABLE_H

#include "server/net/conn.h"
#include "server/resp/control_parts.h"
#include "server/tables/change_run.h"
#include "server/tables/tables.h"

/* The places that the loop of the connection sees. */
static inline const struct sw_tables_handle *sw_control_tables(const struct sw_control *control)
{
    return &control->conn->net->tables;
}

/* Carries out the change that these words describe (tables/change_words.h). Returns what
 * run_<command> of control.c does. */
bool sw_control_change(struct sw_control *control, const struct sw_resp_argument *words,
                       uint32_t count);
/* Makes the reply OK. */
void sw_control_put_ok(const struct sw_control *control, struct sw_text *text);
/* Replies with the text in control->keys. */
bool sw_control_reply_text(struct sw_control *control);

/* The subcommands. `name`: of the table. They return what run_<command> of control.c does. */
bool sw_control_table_list(struct sw_control *control);
bool sw_control_table_info(struct sw_control *control, const struct sw_resp_argument *name);

#endif
