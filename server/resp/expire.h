/* SPDX-License-Identifier: MIT
 *
 * expire.h - the arguments that set expiry times. Error lines are those of redis.
 *
 * Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_RESP_EXPIRE_H
#define SHERWOOD_SERVER_RESP_EXPIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"
#include "server/resp/command.h"
#include "table/op.h"

struct sw_resp;

/* How a time is written: relative to now or since 1970, in seconds or milliseconds. */
enum sw_time_form { SW_TIME_NONE, SW_TIME_EX, SW_TIME_PX, SW_TIME_EXAT, SW_TIME_PXAT };

/* Returns the form of the argument of this option; NONE: the option sets no expiry time. */
enum sw_time_form sw_time_form_of(const struct sw_resp_argument *option);
/* Returns the form of the time argument of EXPIRE, SETEX and the like. */
enum sw_time_form sw_time_form_of_command(enum sw_command_id id);

/* Reads a time. A negative time is in the past. With `positive`, 0 and negative times are errors.
 * On failure returns false and writes an error line. */
bool sw_time_read(struct sw_resp *resp, const struct sw_command *command, enum sw_time_form form,
                  const struct sw_resp_argument *argument, bool positive, uint64_t *at, char *line,
                  size_t line_size);

/* The options of EXPIRE and the like, from argument 3 on. On failure returns false, likewise. */
bool sw_expire_options(const struct sw_resp_command *arguments, enum sw_op *op, char *line,
                       size_t line_size);

/* Returns true if some key may have an expiry time. Otherwise PERSIST and KEEPTTL add no operations
 * of their own, which the log and the replicas would not know. */
bool sw_expire_some(const struct sw_resp *resp);

/* Milliseconds since 1970 by the clock of the table. */
uint64_t sw_expire_now(const struct sw_resp *resp);

#endif
