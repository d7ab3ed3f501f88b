/* SPDX-License-Identifier: MIT
 *
 * libraries.c - the tables that this build of the study has: peers.mk defines SW_PEER_HKV if
 * HierarchicalKV was given.
 */
#include "bench/rows/libraries.h"

const struct sw_cachebench_library *const sw_rowbench_libraries[] = {
    &sw_cachebench_sherwood_rows,
#ifdef SW_PEER_HKV
    &sw_cachebench_hkv,
#endif
    NULL,
};
