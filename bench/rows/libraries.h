/* SPDX-License-Identifier: MIT
 *
 * libraries.h - the tables that this build of the study has: the interface is the cache study's, so
 * HierarchicalKV is the same adapter (bench/peers/hkv.cu).
 */
#ifndef SHERWOOD_BENCH_ROWS_LIBRARIES_H
#define SHERWOOD_BENCH_ROWS_LIBRARIES_H

#include "bench/cache/library.h"

/* Ends with NULL. Static storage. */
extern const struct sw_cachebench_library *const sw_rowbench_libraries[];

extern const struct sw_cachebench_library sw_rowbench_sherwood;

/* Writes fail above a load of 1 - 1/64. No load of the study is near it. */
#define SW_ROWBENCH_MAX_LOAD 0.984375

#endif
