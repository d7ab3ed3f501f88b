/* SPDX-License-Identifier: MIT
 *
 * permit.h - rejects commands that the user of a connection may not run, with the errors of redis.
 * Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_PERMIT_H
#define SHERWOOD_SERVER_RESP_PERMIT_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/net/conn_login.h"
#include "server/resp/command.h"

struct sw_resp_conn;

/* Returns true if every client may run the command, even before a login and without rules that
 * allow it, as in redis. */
bool sw_permit_needs_no_login(const struct sw_command *command);

/* Rejects a command with an error reply if the connection has not logged in, or the user may not
 * run the command. Returns true if it did. If the user was deleted, there is no reply, and the
 * connection closes. Call it only if sw_conn_is_free returns false; most connections are free. */
bool sw_permit_refuses(struct sw_resp_conn *state, const struct sw_command *command,
                       const struct sw_resp_command *arguments);

/* The same for a command that MULTI has queued and EXEC is about to carry out. */
bool sw_permit_refuses_queued(struct sw_resp_conn *state, const struct sw_command *command,
                              const struct sw_resp_command *arguments);

/* Finds a table that the command reads, changes or names, and that the user may not use. Writes its
 * name. Returns false if there is none. `row` is the command's row of the catalog. The arguments
 * are those of the connection's command, or of one that ACL DRYRUN tests. (permit_tables.c) */
bool sw_permit_lacks_table(const struct sw_conn *conn, const struct sw_user *user,
                           const struct sw_command *command, uint32_t row,
                           const struct sw_resp_command *arguments, char name[SW_USER_TABLE_BYTES]);

/* Returns true if the user of the connection may still run a command that continues, such as
 * MONITOR. Sends no reply. */
bool sw_permit_still(struct sw_conn *conn, enum sw_command_id id);

/* Replies that the command names a key outside the user's ranges, and notes it. */
void sw_permit_refuse_key(struct sw_resp_conn *state, const struct sw_command *command,
                          const struct sw_resp_argument *key);

/* Adds an entry about this connection to ACL LOG. */
void sw_permit_log(struct sw_conn *conn, enum sw_acl_reason reason, const char *object,
                   const char *command, const char *user, size_t user_size);

#endif
