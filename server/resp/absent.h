/* SPDX-License-Identifier: MIT
 *
 * absent.h - why a command of redis 7 is not there. Constant, any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_ABSENT_H
#define SHERWOOD_SERVER_RESP_ABSENT_H

#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"

/* The reason why this server has no such command, as words without an end: "keys do not expire in
 * this server". The name may be in any case. NULL: redis has no such command either, or this server
 * has it. Static storage. */
const char *sw_absent_reason(const uint8_t *name, size_t size);
/* The same of a subcommand of a command that is there. */
const char *sw_absent_subcommand_reason(const char *command, const struct sw_resp_argument *word);

#endif
