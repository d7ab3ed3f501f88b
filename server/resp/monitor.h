/* SPDX-License-Identifier: MIT
 *
 * monitor.h - MONITOR: sends a connection the commands of all connections, in the format of redis.
 *
 * Lines go between replies, so a monitor may send commands of its own. Frames are not shown.
 * Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_MONITOR_H
#define SHERWOOD_SERVER_RESP_MONITOR_H

#include <stdbool.h>

#include "server/observe/timings.h"
#include "server/resp/resp.h"

/* Shows a command that is being carried out, unless it is an administrator's; see
 * sw_monitor_show_if_any. */
void sw_monitor_show(const struct sw_resp_conn *state, const struct sw_command *command,
                     const struct sw_resp_command *arguments);

/* The same, if there is a monitor. Otherwise it costs one load and a branch. */
static inline void sw_monitor_show_if_any(struct sw_resp_conn *state,
                                          const struct sw_command *command,
                                          const struct sw_resp_command *arguments)
{
    const struct sw_timings *timings = state->resp->owner.timings;
    if (timings != NULL && sw_monitors_are_there(&timings->monitors)) {
        sw_monitor_show(state, command, arguments);
    }
}

/* Sends the pending lines to the monitors of this loop. Returns true if it sent any. */
bool sw_monitor_send(struct sw_resp *resp);
/* Ends MONITOR on the connection. Does nothing if it is not a monitor. */
void sw_monitor_end(struct sw_resp_conn *state);

#endif
