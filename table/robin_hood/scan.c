/* SPDX-License-Identifier: MIT
 *
 * scan.c - answers a scan batch from raw windows of the table, for both widths.
 */
#include "table/robin_hood/robin_hood_backend.h"

#define SW_WIDTH_BODY "table/robin_hood/scan.inl"
#include "table/each_format.inl"

bool sw_scan_collect(uint32_t format, const struct sw_scan_shape *shape,
                     const struct sw_state *state, const struct sw_scan_window *main,
                     const struct sw_scan_window *stash, struct sw_batch *batch)
{
    return SW_BY_FORMAT(format, sw_collect, shape, state, main, stash, batch);
}
