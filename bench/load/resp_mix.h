/* SPDX-License-Identifier: MIT
 *
 * resp_mix.h - the commands of a partition's unit by RESP, and what their replies say. No I/O, no
 * allocation.
 */
#ifndef SHERWOOD_LOAD_RESP_MIX_H
#define SHERWOOD_LOAD_RESP_MIX_H

#include "bench/load/resp_reply.h"
#include "bench/load/worker.h"

/* Writes the head of a SET, and behind its value the time that --ttl gives to keys: nothing without
 * it. Returns the end. */
char *sw_load_resp_put_set(const struct sw_load_options *options, char *out);
char *sw_load_resp_put_time(const struct sw_load_options *options, char *out);
/* Writes the commands of the unit, which has a partition; at most 48 bytes and three bulk integers
 * (proto/resp.h) a key. Returns the end. */
char *sw_load_resp_mix_format(const struct sw_load_worker *worker, const struct sw_load_unit *unit,
                              char *out);
/* Accounts for the reply to command i of the unit and checks it against the partition's model.
 * False if it is no reply to that command. */
bool sw_load_resp_mix_use(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                          uint32_t i, const struct sw_load_reply *reply);

#endif
