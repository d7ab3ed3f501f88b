/* SPDX-License-Identifier: MIT
 *
 * acl_catalog.h - the commands of command_map.h, and the subcommands of some of them, with their
 * categories, for the rules of users. The first call builds the data, which is constant afterwards.
 * Threads: any.
 */
#ifndef SHERWOOD_SERVER_RESP_ACL_CATALOG_H
#define SHERWOOD_SERVER_RESP_ACL_CATALOG_H

#include "proto/resp.h"
#include "server/resp/command.h"
#include "server/users/catalog.h"

/* Row i is command i of enum sw_command_id; behind these are the subcommands. */
const struct sw_commands *sw_acl_catalog(void);

/* The row of a complete command: that of its subcommand, if it has one that is known, else its own.
 * The row of a command with subcommands has the strictest categories and needs all keys. So a
 * subcommand that this list lacks needs the rights of an administrator. */
uint32_t sw_acl_row(const struct sw_command *command, const struct sw_resp_command *arguments);

#endif
