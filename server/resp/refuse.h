/* SPDX-License-Identifier: MIT
 *
 * refuse.h - refusing commands that cannot run, before they do.
 */
#ifndef SHERWOOD_SERVER_RESP_REFUSE_H
#define SHERWOOD_SERVER_RESP_REFUSE_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/resp/command.h"

struct sw_conn;

/* Does CLIENT PAUSE, where it is on, hold the command back? In its stricter mode all are but what
 * is about the connection and the server: CLIENT, CONFIG, INFO, SHUTDOWN and their like. */
bool sw_is_held_back(const struct sw_conn *conn, const struct sw_command *command);

/* Refuses an unknown command (NULL), a wrong number of arguments, a command that the engine does
 * not support, and one that has to wait for better times: the server is loading, or cannot save.
 * Returns true if the command was refused; a transaction that is open is then refused, too. To be
 * called on the connection's loop. */
bool sw_refuse_wrong(struct sw_conn *conn, const struct sw_command *command,
                     const struct sw_resp_command *arguments);

struct sw_resp_owner;

/* An error line, of static storage, if reads, or writes, are refused now; NULL if not. The former
 * is about replicas alone: while a server loads, nothing is queued. */
const char *sw_refusal_of_reads(const struct sw_resp_owner *owner);
const char *sw_refusal_of_writes(const struct sw_resp_owner *owner);

#endif
