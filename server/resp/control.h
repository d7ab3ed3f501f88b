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

/* What a RESIZE is refused with, here and for frames. */
#define SW_RESIZE_RANGE                                                                           \
    "cannot resize to %llu slots: at least 1 and at most %llu slots (the larger of capacity and " \
    "max-capacity)"
#define SW_RESIZE_FAILED                                                                         \
    "there is no memory for the old and the new table at once, or too many keys would meet the " \
    "probe cap: nothing was changed"

/* Starts the command; nothing of the connection is in flight. Its input is stalled until the answer
 * has been sent. Returns false, with nothing done, if it has to wait for memory. */
bool sw_control_run(struct sw_conn *conn, const struct sw_command *command,
                    const struct sw_resp_command *arguments);

#endif
