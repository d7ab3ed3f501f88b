/* SPDX-License-Identifier: MIT
 *
 * libraries.c - the caches that this build of the study has: peers.mk defines SW_PEER_HKV if
 * HierarchicalKV was given.
 */
#include "bench/cache/library.h"

const struct sw_cachebench_library *const sw_cachebench_libraries[] = {
    &sw_cachebench_sherwood_memory,
    &sw_cachebench_sherwood_throughput,
    &sw_cachebench_sherwood_memory_host,
    &sw_cachebench_sherwood_throughput_host,
#ifdef SW_PEER_HKV
    &sw_cachebench_hkv,
    &sw_cachebench_hkv_host,
    &sw_cachebench_hkv_memory,
    &sw_cachebench_hkv_memory_gpu,
#endif
    NULL,
};

_Static_assert(sizeof(sw_cachebench_libraries) / sizeof(sw_cachebench_libraries[0]) <=
                   SW_CACHEBENCH_LIBRARIES_MAX,
               "options have room for each library and NULL");
