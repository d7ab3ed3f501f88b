/* SPDX-License-Identifier: MIT
 *
 * control.h - RESP commands that are a table batch of their own: FLUSHALL, RESIZE, SCAN, RANDOMKEY.
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

#endif
