/* SPDX-License-Identifier: MIT
 *
 * list.c - collects the adapters that were compiled: peers.mk defines a SW_PEER_ macro for each.
 */
#include "bench/peers/list.h"

const struct sw_timing_library *const sw_timing_peers[] = {
#ifdef SW_PEER_CUCO
    &sw_timing_cuco_linear,
    &sw_timing_cuco_double,
#endif
#ifdef SW_PEER_WARPCORE
    &sw_timing_warpcore,
#endif
#ifdef SW_PEER_BGHT
    &sw_timing_bght_b8,
    &sw_timing_bght_b16,
#endif
#ifdef SW_PEER_GPURHH
    &sw_timing_gpurhh,
#endif
    NULL,
};
