/* SPDX-License-Identifier: MIT
 *
 * refuse.h - refusing commands that this server cannot run at any time. permit.h refuses what the
 * user may not run, and admit.h what cannot run now.
 */
#ifndef SHERWOOD_SERVER_RESP_REFUSE_H
#define SHERWOOD_SERVER_RESP_REFUSE_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/resp/command.h"

struct sw_resp_conn;

/* Refuses an unknown command (NULL) and a wrong number of arguments. Returns true if the command
 * was refused; EXEC then also refuses an open transaction. To be called on the connection's loop.
 */
bool sw_refuse_wrong(struct sw_resp_conn *state, const struct sw_command *command,
                     const struct sw_resp_command *arguments);

/* Refuses a command that the engine, or this kind of keys, cannot carry out. Returns true if so. */
bool sw_refuse_unable(struct sw_resp_conn *state, const struct sw_command *command);

#endif
