/* SPDX-License-Identifier: MIT
 *
 * run.h - carrying out one command, or replying why not: is it known (command_checks.h), may the
 * user run it (permit.h), may it run now (admit.h)?
 */
#ifndef SHERWOOD_SERVER_RESP_RUN_H
#define SHERWOOD_SERVER_RESP_RUN_H

#include "server/resp/resp.h"

/* Carries out a command, or replies with an error; `command` is NULL if the server does not know
 * its name. Returns false, with nothing done and the connection stalled, if it has to wait. To be
 * called on the connection's loop. */
bool sw_resp_run(struct sw_resp_conn *state, const struct sw_command *command,
                 const struct sw_resp_command *arguments);

#endif
