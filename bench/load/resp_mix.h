/* SPDX-License-Identifier: MIT
 *
 * resp_mix.h - formats the commands of a partition's unit, and checks their replies. No I/O, no
 * allocation.
 */
#ifndef SHERWOOD_LOAD_RESP_MIX_H
#define SHERWOOD_LOAD_RESP_MIX_H

#include "bench/load/resp_reply.h"
#include "bench/load/worker.h"

/* sw_load_resp_put_set writes the head of a SET. The next function writes the expiry time of --ttl
 * after its value, or nothing without --ttl. Both return the end. */
char *sw_load_resp_put_set(const struct sw_load_options *options, char *out);
char *sw_load_resp_put_time(const struct sw_load_options *options, char *out);
/* Writes the commands of the unit, which has a partition: at most 48 bytes and three bulk integers
 * (proto/resp.h) for each key. Returns the end. */
char *sw_load_resp_mix_format(const struct sw_load_worker *worker, const struct sw_load_unit *unit,
                              char *out);
/* Accounts for the reply to command i of the unit, and checks it against the model. Returns false
 * if it is not a reply to that command. */
bool sw_load_resp_mix_use(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                          uint32_t i, const struct sw_load_reply *reply);

#endif
