/* SPDX-License-Identifier: MIT
 *
 * write_ceiling.h - what memory alone takes for an insert_or_assign.
 */
#ifndef SHERWOOD_BENCH_CACHE_WRITE_CEILING_H
#define SHERWOOD_BENCH_CACHE_WRITE_CEILING_H

#include "bench/cache/place.h"

/* The accesses of 2^20 keys, 60 % of them present, to a half full cache of `slots` slots with
 * values of 64 floats and one bucket a key, in the order of buckets. On false one line on stderr
 * says why. */
bool sw_cachebench_write_ceiling(uint64_t slots, struct sw_cachebench_ceiling *ceiling);

#endif
