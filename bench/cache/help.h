/* SPDX-License-Identifier: MIT
 *
 * help.h - what the cache study prints instead of measuring.
 */
#ifndef SHERWOOD_BENCH_CACHE_HELP_H
#define SHERWOOD_BENCH_CACHE_HELP_H

#include "bench/cache/options.h"

void sw_cachebench_print_help(void);
void sw_cachebench_print_libraries(void);

#endif
