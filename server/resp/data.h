/* SPDX-License-Identifier: MIT
 *
 * data.h - RESP commands on keys: turns their arguments into operations of the loop's RESP batch.
 * Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_DATA_H
#define SHERWOOD_SERVER_RESP_DATA_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/resp/command.h"

struct sw_conn;

/* Whether a command is to be carried out, or only to be refused if it is wrong. */
#define SW_NOT_IN_MULTI "ERR Command not allowed inside a transaction"
enum sw_data_purpose { SW_DATA_RUN, SW_DATA_CHECK };

/* Appends the command's operations and its pending reply; SW_DATA_CHECK appends neither. If an
 * argument is wrong, the reply is an error, and no operation is added. Returns false, with the
 * connection stalled, if the batch has no room. The engine must support the command. */
typedef bool sw_data_run(struct sw_conn *conn, const struct sw_command *command,
                         const struct sw_resp_command *arguments, enum sw_data_purpose purpose);

/* The function for tables of integers, and the one for tables of byte strings. */
sw_data_run sw_data_run_integers;
sw_data_run sw_data_run_blobs;

#endif
