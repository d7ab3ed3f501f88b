/* SPDX-License-Identifier: MIT
 *
 * scan.c - answers a scan batch from raw windows of the table, for both widths.
 */
#include "table/robin_hood/robin_hood_backend.h"

#define RH_BODY "table/robin_hood/scan.inl"
#include "table/robin_hood/each_width.inl"

bool sw_scan_collect(uint32_t slot_bits, const struct sw_scan_shape *shape,
                     const struct sw_state *state, const struct sw_scan_window *main,
                     const struct sw_scan_window *stash, struct sw_batch *batch)
{
    return slot_bits == 64 ? sw_collect_s64(shape, state, main, stash, batch)
                           : sw_collect_s128(shape, state, main, stash, batch);
}
