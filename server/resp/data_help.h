/* SPDX-License-Identifier: MIT
 *
 * data_help.h - HELP of commands on keys that have subcommands. Called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_DATA_HELP_H
#define SHERWOOD_SERVER_RESP_DATA_HELP_H

#include "server/resp/data.h"

struct sw_subcommand;

/* The subcommands of MEMORY, or of OBJECT: static storage. */
const struct sw_subcommand *sw_data_subcommands(const struct sw_command *command);

/* Replies with the help of the subcommands, or refuses it inside a transaction. */
void sw_data_help(struct sw_conn *conn, const struct sw_command *command,
                  const struct sw_subcommand *list, enum sw_data_purpose purpose);

/* Returns the error for the words behind the key of MEMORY USAGE, or NULL. Valid words have no
 * effect. */
const char *sw_data_wrong_samples(const struct sw_resp_command *arguments);

#endif
