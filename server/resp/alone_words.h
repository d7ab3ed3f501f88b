/* SPDX-License-Identifier: MIT
 *
 * alone_words.h - the read-modify-write commands (alone.h) SETRANGE and INCRBYFLOAT, which compute
 * a value from the value before.
 */
#ifndef SHERWOOD_SERVER_RESP_ALONE_WORDS_H
#define SHERWOOD_SERVER_RESP_ALONE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/resp/alone.h"

/* Returns true for SETRANGE and INCRBYFLOAT. */
bool sw_word_is(const struct sw_command *command);

/* Checks that the table supports the command, and the arguments that are not operands. Returns an
 * error line, or NULL. */
const char *sw_word_error(const struct sw_resp *resp, const struct sw_command *command,
                          const struct sw_resp_command *arguments);

/* Stores the arguments other than key and operand. The caller has checked the command. */
void sw_word_begin(struct sw_alone *alone, const struct sw_command *command,
                   const struct sw_resp_command *arguments);

/* Computes the reply from the values read, and replaces the read operations by the writes. Returns
 * the number of writes. */
uint32_t sw_word_decide(struct sw_alone *alone);

#endif
