/* SPDX-License-Identifier: MIT
 *
 * command_checks.h - refusing commands that this server cannot run at any time. permit.h refuses
 * what the user may not run, and admit.h what cannot run now.
 */
#ifndef SHERWOOD_SERVER_RESP_COMMAND_CHECKS_H
#define SHERWOOD_SERVER_RESP_COMMAND_CHECKS_H

#include "proto/resp.h"
#include "server/resp/command.h"
#include "server/resp/key_string.h"

struct sw_resp_conn;

/* Refuses an unknown command (NULL), or one with a wrong number of arguments; EXEC then also
 * refuses an open transaction. To be called on the connection's loop. */
void sw_command_reject_wrong(struct sw_resp_conn *state, const struct sw_command *command,
                             const struct sw_resp_command *arguments);

/* Computes the commands that the engine, or this kind of keys, cannot carry out. */
void sw_commands_find_unsupported(const struct sw_command_set *unsupported,
                                  const struct sw_key_string *keys, struct sw_command_set *unable);
/* Refuses one of them. To be called on the connection's loop. */
void sw_command_reject_unsupported(struct sw_resp_conn *state, const struct sw_command *command);

#endif
