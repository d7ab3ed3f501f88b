/* SPDX-License-Identifier: MIT
 *
 * turn.c - dividing the time and the bytes of an iteration among connections.
 */
#include "server/net/turn.h"

#include <uv.h>

void sw_turn_init(struct sw_turn *turn)
{
    *turn = (struct sw_turn){.number = 1,
                             .bytes = SW_TURN_BYTES_ALONE,
                             .clock_ns = uv_hrtime,
                             .phase = 1,
                             .passes = {{.number = 1}, {.number = 2}},
                             .pass_count = 2};
}

void sw_turn_end(struct sw_turn *turn, bool shared)
{
    uint64_t bytes = SW_TURN_BYTES / (turn->sharers > 0 ? turn->sharers : 1);
    bytes = bytes < SW_TURN_BYTES_MIN ? SW_TURN_BYTES_MIN : bytes;
    bytes = bytes > SW_TURN_BYTES_MAX ? SW_TURN_BYTES_MAX : bytes;
    turn->bytes = shared ? bytes : SW_TURN_BYTES_ALONE;
    turn->sharers = 0;
    turn->number++;
    for (int i = 0; i < 2; i++) {
        struct sw_turn_pass *pass = &turn->passes[i];
        pass->is_behind = pass->left_out;
        pass->number = pass->left_out ? pass->number : ++turn->pass_count;
        pass->left_out = false;
    }
    turn->lights_first = turn->passes[0].is_behind && !turn->lights_first;
    turn->refused_before = turn->refused;
    turn->refused = 0;
}

void sw_turn_look(struct sw_turn *turn)
{
    turn->cost = 0;
    turn->now_ns = turn->clock_ns();
    if (turn->until_ns == 0) {
        turn->until_ns = turn->now_ns + SW_TURN_NS;
    }
    turn->is_spent = turn->now_ns >= turn->until_ns;
}

void sw_turn_enter(struct sw_turn *turn, struct sw_turn_share *share)
{
    sw_turn_start(turn);
    if (share->phase != turn->phase) {
        const uint64_t ns = SW_TURN_NS / sw_turn_sharers(turn);
        share->phase = turn->phase;
        share->until_ns = turn->now_ns + (ns > SW_TURN_NS_MIN ? ns : SW_TURN_NS_MIN);
    }
}

/* sw_turn_may_read, without counting who is refused. */
static bool may_read(struct sw_turn *turn, struct sw_turn_share *share)
{
    const bool is_heavy = turn->now_ns < share->heavy_until_ns;
    struct sw_turn_pass *pass = &turn->passes[is_heavy];
    if (turn->is_spent || (is_heavy && turn->lights_first)) {
        pass->left_out |= share->pass != pass->number;
        return false;
    }
    if (share->phase == turn->phase) { /* it goes on */
        return !sw_turn_must_yield(turn, share) && share->bytes < turn->bytes;
    }
    if (pass->is_behind && share->pass == pass->number) {
        return false; /* others have not been read in this pass */
    }
    share->pass = pass->number;
    sw_turn_enter(turn, share);
    return share->bytes < turn->bytes;
}

bool sw_turn_may_read(struct sw_turn *turn, struct sw_turn_share *share, bool is_sharer)
{
    if (share->number != turn->number) {
        share->number = turn->number;
        share->bytes = 0;
        turn->sharers += is_sharer;
    }
    if (may_read(turn, share)) {
        return true;
    }
    turn->refused += share->refused != turn->number;
    share->refused = turn->number;
    return false;
}
