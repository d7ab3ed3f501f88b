/* SPDX-License-Identifier: MIT
 *
 * permit.h - refusing what the user of a connection may not do, in the words of redis. Everything
 * is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_PERMIT_H
#define SHERWOOD_SERVER_RESP_PERMIT_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/net/conn_login.h"
#include "server/resp/command.h"

struct sw_resp_conn;

/* May everybody run the command, before a login and whatever the rules of the user are? So it is in
 * redis. */
bool sw_permit_needs_no_login(const struct sw_command *command);

/* Refuses a command, with an error as its reply: nobody has logged in, or the user may not run it.
 * Returns true if so. If the user was deleted, there is no reply, and the connection closes. To be
 * called only if sw_conn_is_free returns false: for most connections that is all that is asked. */
bool sw_permit_refuses(struct sw_resp_conn *state, const struct sw_command *command,
                       const struct sw_resp_command *arguments);

/* The same for a command that MULTI has queued and EXEC is about to carry out. */
bool sw_permit_refuses_queued(struct sw_resp_conn *state, const struct sw_command *command,
                              const struct sw_resp_command *arguments);

/* May the user of the connection still run a command that goes on, such as MONITOR? There is no
 * reply. */
bool sw_permit_still(struct sw_conn *conn, enum sw_command_id id);

/* Replies that the command names a key outside the user's ranges, and notes it. */
void sw_permit_refuse_key(struct sw_resp_conn *state, const struct sw_command *command,
                          const struct sw_resp_argument *key);

/* Adds an entry about this connection to ACL LOG. */
void sw_permit_log(struct sw_conn *conn, enum sw_acl_reason reason, const char *object,
                   const char *command, const char *user, size_t user_size);

#endif
