/* SPDX-License-Identifier: MIT
 *
 * unsupported_commands.h - the reasons for which this server lacks commands of redis 7. The data is
 * constant, and the functions may be called from any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_UNSUPPORTED_COMMANDS_H
#define SHERWOOD_SERVER_RESP_UNSUPPORTED_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"

/* The reason why this server lacks the command, as a sentence without a full stop: "keys do not
 * expire in this server". The name may be in any case. Returns NULL if redis has no such command
 * either, or if this server has it. The text is constant. */
const char *sw_unsupported_command_reason(const uint8_t *name, size_t size);
/* Does the list have subcommands of this command, whose name is in any case? */
bool sw_unsupported_has_subcommands(const uint8_t *name, size_t size);
/* The same as sw_unsupported_command_reason, for a subcommand of a command that this server has. */
const char *sw_unsupported_subcommand_reason(const char *command,
                                             const struct sw_resp_argument *word);

#endif
