/* SPDX-License-Identifier: MIT
 *
 * iteration.c - dividing the time and the bytes of an iteration among connections.
 */
#include "server/net/iteration.h"

#include <uv.h>

void sw_iteration_init(struct sw_iteration *iteration)
{
    *iteration = (struct sw_iteration){.number = 1,
                                       .bytes = SW_ITERATION_BYTES_ALONE,
                                       .clock_ns = uv_hrtime,
                                       .phase = 1,
                                       .passes = {{.number = 1}, {.number = 2}},
                                       .pass_count = 2};
}

void sw_iteration_end(struct sw_iteration *iteration, bool shared)
{
    iteration->bytes = shared ? SW_ITERATION_BYTES_SHARED : SW_ITERATION_BYTES_ALONE;
    iteration->number++;
    for (int i = 0; i < 2; i++) {
        struct sw_iteration_pass *pass = &iteration->passes[i];
        pass->is_behind = pass->left_out;
        pass->number = pass->left_out ? pass->number : ++iteration->pass_count;
        pass->left_out = false;
    }
    iteration->lights_first =
        iteration->left_yielded || (iteration->passes[0].is_behind && !iteration->lights_first);
    iteration->was_long_before = iteration->was_long;
    iteration->was_long = iteration->left_yielded = false;
    iteration->refused_before = iteration->refused;
    iteration->refused = 0;
}

void sw_iteration_read_clock(struct sw_iteration *iteration)
{
    iteration->cost = 0;
    iteration->now_ns = iteration->clock_ns();
    if (iteration->until_ns == 0) {
        iteration->until_ns = iteration->now_ns + SW_ITERATION_NS;
    }
    iteration->is_spent = iteration->now_ns >= iteration->until_ns;
    iteration->was_long |= iteration->now_ns >= iteration->until_ns + SW_ITERATION_NS;
}

bool sw_iteration_leaves_yielded(struct sw_iteration *iteration)
{
    iteration->left_yielded = iteration->was_long && !iteration->lights_first;
    return iteration->left_yielded;
}

void sw_iteration_enter(struct sw_iteration *iteration, struct sw_iteration_share *share)
{
    sw_iteration_start(iteration);
    if (share->phase != iteration->phase) {
        const uint64_t ns = SW_ITERATION_NS / sw_iteration_sharers(iteration);
        share->phase = iteration->phase;
        share->until_ns = iteration->now_ns + (ns > SW_ITERATION_NS_MIN ? ns : SW_ITERATION_NS_MIN);
    }
}

/* As sw_iteration_may_read, but does not count refused connections. */
static bool may_read(struct sw_iteration *iteration, struct sw_iteration_share *share)
{
    const bool is_heavy = iteration->now_ns < share->heavy_until_ns;
    struct sw_iteration_pass *pass = &iteration->passes[is_heavy];
    if (iteration->is_spent || (is_heavy && iteration->lights_first)) {
        pass->left_out |= share->pass != pass->number;
        return false;
    }
    if (share->phase == iteration->phase) { /* it was read in this phase before */
        return !sw_iteration_must_yield(iteration, share) && share->bytes < iteration->bytes;
    }
    if (pass->is_behind && share->pass == pass->number) {
        return false; /* others have not been read in this pass */
    }
    share->pass = pass->number;
    sw_iteration_enter(iteration, share);
    return share->bytes < iteration->bytes;
}

bool sw_iteration_may_read(struct sw_iteration *iteration, struct sw_iteration_share *share)
{
    if (share->number != iteration->number) {
        share->number = iteration->number;
        share->bytes = 0;
    }
    if (may_read(iteration, share)) {
        return true;
    }
    iteration->refused += share->refused != iteration->number;
    share->refused = iteration->number;
    return false;
}
