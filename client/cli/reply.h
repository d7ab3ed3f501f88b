/* SPDX-License-Identifier: MIT
 *
 * reply.h - prints replies: as redis-cli shows them to people, or plain for programs. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_REPLY_H
#define SHERWOOD_CLIENT_CLI_REPLY_H

#include "client/cli/cli.h"

void sw_cli_reply_status(struct sw_cli *cli, const char *text);
void sw_cli_reply_integer(struct sw_cli *cli, uint64_t value);
void sw_cli_reply_signed(struct sw_cli *cli, int64_t value);
/* Prints a key or value; nil if not `present`. */
void sw_cli_reply_number(struct sw_cli *cli, bool present, uint64_t value);
/* Prints the number before entry `i` (from 0) of a list of `count`, indented by `indent` columns.
 */
void sw_cli_reply_place(struct sw_cli *cli, int indent, size_t i, size_t count);
/* Prints such an entry, which is a number. */
void sw_cli_reply_entry(struct sw_cli *cli, int indent, size_t i, size_t count, uint64_t value);
/* Prints an empty list. */
void sw_cli_reply_empty(struct sw_cli *cli);
/* Prints an error and marks the command as failed. */
void sw_cli_reply_error(struct sw_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
