/* SPDX-License-Identifier: MIT
 *
 * answer.h - how answers look: as redis-cli shows them to people, or plain for programs.
 */
#ifndef SHERWOOD_CLIENT_CLI_ANSWER_H
#define SHERWOOD_CLIENT_CLI_ANSWER_H

#include "client/cli/cli.h"

void sw_answer_status(struct sw_cli *cli, const char *text);
void sw_answer_integer(struct sw_cli *cli, uint64_t value);
/* A key or value; nil if not `present`. */
void sw_answer_number(struct sw_cli *cli, bool present, uint64_t value);
/* What stands before entry `i` (from 0) of a list of `count`, `indent` columns in. */
void sw_answer_place(struct sw_cli *cli, int indent, size_t i, size_t count);
/* Such an entry that is a number. */
void sw_answer_entry(struct sw_cli *cli, int indent, size_t i, size_t count, uint64_t value);
/* An empty list. */
void sw_answer_empty(struct sw_cli *cli);
/* Marks the command as failed. */
void sw_answer_error(struct sw_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
