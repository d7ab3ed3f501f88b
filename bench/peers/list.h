/* SPDX-License-Identifier: MIT
 *
 * list.h - the peers' hash tables that this build of the timing study was given.
 */
#ifndef SHERWOOD_BENCH_PEERS_LIST_H
#define SHERWOOD_BENCH_PEERS_LIST_H

#include "bench/timing/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each adapter defines the constants of its library. peers.mk links only the libraries that it was
 * given, so only the list may name the constants. */
extern const struct sw_timing_library sw_timing_cuco_linear;
extern const struct sw_timing_library sw_timing_cuco_double;
extern const struct sw_timing_library sw_timing_warpcore;
extern const struct sw_timing_library sw_timing_bght_b8;
extern const struct sw_timing_library sw_timing_bght_b16;
extern const struct sw_timing_library sw_timing_gpurhh;

/* Ends with NULL, and is only that in a build without peers. Static storage. */
extern const struct sw_timing_library *const sw_timing_peers[];

#ifdef __cplusplus
}
#endif

#endif
