/* SPDX-License-Identifier: MIT
 *
 * loops.c - functions that act on all loops of a server, one after the other.
 */
#include "server/limits.h"
#include "server/loop.h"

bool sw_loops_are_quiet(struct sw_loop *loops, uint32_t count, uint64_t fence)
{
    bool quiet = true;
    for (uint32_t i = 0; i < count; i++) {
        if (__atomic_load_n(&loops[i].quiet, __ATOMIC_ACQUIRE) < fence) {
            sw_loop_wake(&loops[i]);
            quiet = false;
        }
    }
    return quiet;
}

void sw_loops_choose(struct sw_config *config)
{
    if (config->loops == 0) {
        config->loops = sw_config_loops(config);
        config->derived |= SW_DERIVED_LOOPS;
    }
}

/* What sw_loop_is_alive looks for in the tables. */
struct submits {
    uint32_t loop; /* the number of the loop */
    bool any;
};

static void look_for_submit(void *context, const struct sw_place *place,
                            const struct sw_served *served)
{
    struct submits *submits = context;
    (void)place;
    submits->any |= served != NULL && sw_seat_is_submitting(served->loops[submits->loop].seat);
}

bool sw_loop_is_alive(struct sw_loop *loop)
{
    const uint64_t iterations = __atomic_load_n(&loop->iterations, __ATOMIC_RELAXED);
    struct submits submits = {loop->index, sw_seat_is_submitting(&loop->first)};
    if (loop->owner.tables != NULL && *loop->owner.tables != NULL) {
        sw_tables_each(*loop->owner.tables, look_for_submit, &submits);
    }
    const bool alive = iterations != loop->iterations_seen || submits.any;
    loop->iterations_seen = iterations;
    return alive;
}

bool sw_loops_are_alive(struct sw_loop *loops, uint32_t count)
{
    bool alive = true;
    for (uint32_t i = 0; i < count; i++) {
        alive &= sw_loop_is_alive(&loops[i]);
    }
    return alive;
}

void sw_loops_stop(struct sw_loop *loops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sw_loop_stop(&loops[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        sw_loop_join(&loops[i]);
    }
}

void sw_loops_wake(struct sw_loop *loops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sw_loop_wake(&loops[i]);
    }
}

void sw_loops_log_moved(struct sw_loop *loops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sw_loop_log_moved(&loops[i]);
    }
}
