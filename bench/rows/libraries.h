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

#endif
