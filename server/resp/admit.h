/* SPDX-License-Identifier: MIT
 *
 * admit.h - whether a command may run now: its obstacles (batch/obstacles.h), in the words of
 * redis. Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_ADMIT_H
#define SHERWOOD_SERVER_RESP_ADMIT_H

#include <stdbool.h>

#include "server/resp/command.h"

struct sw_batches;
struct sw_resp_conn;

/* The obstacles that each command heeds. */
struct sw_heeded {
    unsigned by[SW_COMMAND_COUNT];
};
void sw_heeded_init(struct sw_heeded *heeded);

/* May the command run now? If not, the connection has stalled, or the command was refused. */
bool sw_admits(struct sw_resp_conn *state, const struct sw_command *command);

/* An error line, of static storage, if commands that read, or write, are refused now; NULL if they
 * are not. */
const char *sw_refusal_of_exec(struct sw_batches *batches, bool reads, bool writes);

#endif
