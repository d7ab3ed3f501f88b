/* SPDX-License-Identifier: MIT
 *
 * value_bytes.h - values of bytes. Like integers, they are pure functions of key and seed. Pure;
 * any thread.
 */
#ifndef SHERWOOD_LOAD_VALUE_BYTES_H
#define SHERWOOD_LOAD_VALUE_BYTES_H

#include "bench/load/workload.h"

/* Writes an element (workload->value_bytes) with the value for `seed`, which is made of key and
 * run. */
void sw_load_bytes_put(const struct sw_load_workload *workload, uint64_t seed, void *element);
/* Returns whether all bytes of the element are that value. */
bool sw_load_bytes_are(const struct sw_load_workload *workload, uint64_t seed, const void *element);
/* Returns the first bytes of an element's value as a number, for messages; 0 if it is empty. */
uint64_t sw_load_bytes_shown(const struct sw_load_workload *workload, const void *element);

#endif
