/* SPDX-License-Identifier: MIT
 *
 * alone_words.h - commands of alone.h that compute a value from the one before: SETRANGE and
 * INCRBYFLOAT.
 */
#ifndef SHERWOOD_SERVER_RESP_ALONE_WORDS_H
#define SHERWOOD_SERVER_RESP_ALONE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/resp/alone.h"

/* Is it one of them? */
bool sw_word_is(const struct sw_command *command);

/* Can the table carry it out, and are the arguments right that are no operands? Returns an error
 * line, or NULL. */
const char *sw_word_error(const struct sw_resp *resp, const struct sw_command *command,
                          const struct sw_resp_command *arguments);

/* Keeps what the command needs beside its key and its operand. It was found to be right. */
void sw_word_begin(struct sw_alone *alone, const struct sw_command *command,
                   const struct sw_resp_command *arguments);

/* Looks at what was found, makes the reply, and puts what is to be written in the place of the
 * look. Returns how many operations that is. */
uint32_t sw_word_decide(struct sw_alone *alone);

#endif
