/* SPDX-License-Identifier: MIT
 *
 * rmw_commands.h - the read-modify-write command (rmw.h) INCRBYFLOAT of rows, which computes a
 * value from the value before.
 */
#ifndef SHERWOOD_SERVER_RESP_RMW_COMMANDS_H
#define SHERWOOD_SERVER_RESP_RMW_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/resp/rmw.h"

/* Returns true for INCRBYFLOAT. */
bool sw_rmw_command_is(const struct sw_command *command);

/* Checks that the table supports the command, and the arguments that are not operands. Returns an
 * error line, or NULL. */
const char *sw_rmw_command_error(const struct sw_resp *resp,
                                 const struct sw_resp_command *arguments);

/* Stores the arguments other than key and operand. The caller has checked the command. */
void sw_rmw_command_begin(struct sw_rmw *rmw, const struct sw_command *command,
                          const struct sw_resp_command *arguments);

/* Computes the reply from the values read, and replaces the read operations by the writes. Returns
 * the number of writes. */
uint32_t sw_rmw_command_decide(struct sw_rmw *rmw);

#endif
