/* SPDX-License-Identifier: MIT
 *
 * rmw_counter.h - the read-modify-write command (rmw.h) INCREX, which adds to an integer within
 * bounds, and may set when the key expires. Syntax, replies and the effect of a
 * bound are those of redis 8.8, without BYFLOAT.
 *
 * Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_RESP_RMW_COUNTER_H
#define SHERWOOD_SERVER_RESP_RMW_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"

struct sw_rmw;
struct sw_command;
struct sw_resp;

/* The arguments of INCREX. */
struct sw_counter {
    int64_t amount, low, high; /* the result is from low to high */
    bool saturates;            /* a result beyond a bound becomes that bound */
    bool gives_time;           /* the key expires at `at`; 0: never */
    bool keeps_time;           /* a key that expires keeps its time */
    uint64_t at;
};

/* Reads INCREX key [BYINT n] [LBOUND n] [UBOUND n] [SATURATE] [EX n | PX n | EXAT n | PXAT n |
 * PERSIST] [ENX]. On failure returns false, with an error line. */
bool sw_counter_read(struct sw_resp *resp, const struct sw_command *command,
                     const struct sw_resp_command *arguments, struct sw_counter *counter,
                     char *line, size_t line_size);

/* Computes the reply from the values read, and replaces the read operations by the writes. Returns
 * the number of writes. */
uint32_t sw_counter_decide(struct sw_rmw *rmw);

/* Reads what INCR, DECR, INCRBY or DECRBY adds, which is negative for DECR and DECRBY. Returns an
 * error line without its end, or NULL. */
const char *sw_counter_amount(const struct sw_command *command,
                              const struct sw_resp_command *arguments, int64_t *amount);

#endif
