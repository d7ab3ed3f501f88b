/* SPDX-License-Identifier: MIT
 *
 * control.h - RESP commands that are a table batch of their own: FLUSHALL, RESIZE, SCAN, RANDOMKEY;
 * SAVE, which waits for a snapshot; and other commands that wait.
 */
#ifndef SHERWOOD_SERVER_RESP_CONTROL_H
#define SHERWOOD_SERVER_RESP_CONTROL_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/resp/command.h"

struct sw_conn;

/* Starts the command on a connection that has no request in flight. The connection is stalled until
 * the reply is made. Returns false, with nothing done and the connection stalled, if there is no
 * arena memory now. To be called on the connection's loop. */
bool sw_control_run(struct sw_conn *conn, const struct sw_command *command,
                    const struct sw_resp_command *arguments);

/* Returns true if a command of another kind must run like these: DBSIZE, if the table may hold keys
 * of other nodes of the cluster, and CLIENT PAUSE, which waits for all loops. */
bool sw_control_takes(struct sw_conn *conn, const struct sw_command *command,
                      const struct sw_resp_command *arguments);

struct sw_resp;

/* Replies to the commands CLUSTER SETTOPOLOGY that all loops follow, SAVE whose snapshots are done,
 * and WAITAOF whose writes are durable or whose time is over. Returns true if there were any. */
bool sw_control_poll_waits(struct sw_resp *resp);

/* Processes entries that SCAN, KEYS and others have read, while the phase has time. Returns true if
 * there were any. */
bool sw_control_poll_passes(struct sw_resp *resp);

/* Errors of SAVE and BGSAVE. */
#define SW_NO_PERSISTENCE \
    "ERR there is no persistence: the table lives in memory; start with --data-dir to save it"
#define SW_SAVE_IN_PROGRESS "ERR Background save already in progress"

#endif
