/* SPDX-License-Identifier: MIT
 *
 * refuse.h - refusing commands that this user, or this server, cannot run at any time. Obstacles
 * that pass are looked for by admit.h.
 */
#ifndef SHERWOOD_SERVER_RESP_REFUSE_H
#define SHERWOOD_SERVER_RESP_REFUSE_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/resp/command.h"

struct sw_conn;

/* Refuses an unknown command (NULL), a wrong number of arguments, a command that the user may not
 * run, and one that the engine does not support. Returns true if the command was refused; a
 * transaction that is open is then refused, too. To be called on the connection's loop. */
bool sw_refuse_wrong(struct sw_conn *conn, const struct sw_command *command,
                     const struct sw_resp_command *arguments);

#endif
