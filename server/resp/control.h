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

/* Starts the command; nothing of the connection is in flight. Its input is stalled until the answer
 * has been sent. Returns false, with nothing done, if it has to wait for memory. */
bool sw_control_run(struct sw_conn *conn, const struct sw_command *command,
                    const struct sw_resp_command *arguments);

#endif
