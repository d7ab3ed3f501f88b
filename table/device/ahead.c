/* SPDX-License-Identifier: MIT
 *
 * ahead.c - the decisions of a pool of device memory: map ahead, wait, or release.
 */
#include "table/device/ahead.h"

#include <string.h>

void sw_ahead_freed(struct sw_ahead_plan *plan, uint64_t now_ns)
{
    plan->quiet_ns = now_ns + SW_AHEAD_QUIET_NS;
    plan->released = false;
}

bool sw_ahead_expect(struct sw_ahead_plan *plan, uint64_t bytes, uint64_t now_ns)
{
    if (bytes < SW_AHEAD_LEAST_BYTES) {
        return false;
    }
    const bool wakes = plan->quiet_ns == 0 || bytes != plan->tried;
    plan->expected = bytes;
    plan->quiet_ns = now_ns + SW_AHEAD_QUIET_NS;
    return wakes;
}

enum sw_ahead_step sw_ahead_next(struct sw_ahead_plan *plan, const struct sw_ahead_memory *memory,
                                 uint64_t now_ns)
{
    const uint64_t share = memory->total / SW_AHEAD_SHARE;
    if (plan->quiet_ns == 0) {
        return SW_AHEAD_WAIT;
    }
    if (now_ns >= plan->quiet_ns) {
        memset(plan, 0, sizeof(*plan));
        return SW_AHEAD_RELEASE;
    }
    const bool is_new = plan->expected != plan->tried;
    plan->tried = plan->expected;
    if (memory->free < share) {
        const bool releases = memory->unused > 0 && !plan->released;
        plan->released |= releases;
        return releases ? SW_AHEAD_RELEASE : SW_AHEAD_WAIT;
    }
    /* `expected` above `unused` only */
    return is_new && plan->expected > memory->unused &&
                   plan->expected - memory->unused <= memory->free - share
               ? SW_AHEAD_MAP
               : SW_AHEAD_WAIT;
}

bool sw_ahead_is_full_soon(struct sw_ahead_pace *pace, uint64_t added, uint64_t room,
                           uint64_t now_ns)
{
    const uint64_t elapsed = now_ns - pace->since_ns;
    const int64_t more = (int64_t)(added - pace->added);
    const bool begun = pace->since_ns != 0;
    if (begun && elapsed < SW_AHEAD_PACE_NS) {
        return false;
    }
    pace->since_ns = now_ns;
    pace->added = added;
    return begun && more > 0 &&
           (double)more * (double)SW_AHEAD_HORIZON_NS >= (double)room * (double)elapsed;
}
