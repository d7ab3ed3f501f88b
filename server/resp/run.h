/* SPDX-License-Identifier: MIT
 *
 * run.h - carries out one command, or replies with an error. Checks whether the command is known
 * (command_checks.h), the user may run it (permit.h), and it may run now (admit.h).
 */
#ifndef SHERWOOD_SERVER_RESP_RUN_H
#define SHERWOOD_SERVER_RESP_RUN_H

#include "server/resp/resp.h"

/* Carries out a command, or replies with an error; `command` is NULL if the server does not know
 * its name. Returns false, with nothing done and the connection stalled, if it has to wait. To be
 * called on the connection's loop. */
bool sw_resp_run(struct sw_resp_conn *state, const struct sw_command *command,
                 const struct sw_resp_command *arguments);

/* May a text reply of the connection pass the batches of its table (struct sw_aside)? */
bool sw_resp_may_pass(const struct sw_resp_conn *state);

#endif
