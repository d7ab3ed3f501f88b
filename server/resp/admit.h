/* SPDX-License-Identifier: MIT
 *
 * admit.h - checks whether a command may run now: its obstacles (batch/obstacles.h), with the error
 * texts of redis. Everything is called on the connection's loop.
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

/* Returns true if the command may run now. Otherwise stalls the connection or rejects the command.
 */
bool sw_admits(struct sw_resp_conn *state, const struct sw_command *command);

/* Returns the error line of a change of the tables on a server that is no primary; NULL: it is one.
 */
const char *sw_role_refuses_change(struct sw_resp_conn *state);
/* Does CLIENT PAUSE hold back writes? Then stalls the connection. */
bool sw_waits_for_pause(struct sw_resp_conn *state);

/* Does the command read or change the table of its connection? */
bool sw_command_is_about_table(const struct sw_command *command);

/* Returns the error line if the server now rejects commands that read or write, as the arguments
 * select; NULL if it does not. Static storage. */
const char *sw_refusal_of_exec(struct sw_batches *batches, bool reads, bool writes);

#endif
