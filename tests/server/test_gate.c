/* SPDX-License-Identifier: MIT
 *
 * test_gate.c - the gate of writes: who is inside while it is closed, and that nobody starves.
 */
#include <criterion/criterion.h>

#include "server/batch/gate.h"
#include "tests/support/threads.h"

#define LOOPS 4
#define TURNS 20000

struct world {
    struct sw_gate *gate;
    struct sw_gate_side sides[LOOPS];
    uint64_t inside;   /* atomic: writes inside, counted by the test */
    uint64_t balances; /* atomic: what writes change, back and forth */
    uint64_t alone;    /* atomic: how often the gate was held and empty */
};

struct loop {
    struct world *world;
    uint32_t number;
};

static void open_world(struct world *world)
{
    *world = (struct world){.gate = sw_gate_create(0)};
    cr_assert_not_null(world->gate);
    for (int i = 0; i < LOOPS; i++) {
        sw_gate_side_init(&world->sides[i], world->gate);
    }
}

static void close_world(struct world *world)
{
    for (int i = 0; i < LOOPS; i++) {
        sw_gate_side_fini(&world->sides[i]);
    }
    sw_gate_destroy(world->gate);
}

Test(gate, closes_behind_those_inside)
{
    struct world world;
    open_world(&world);
    struct sw_gate_side *a = &world.sides[0], *b = &world.sides[1];
    cr_expect(sw_gate_enter(a));
    cr_expect(sw_gate_enter(a));
    cr_expect(sw_gate_close(b));
    cr_expect_not(sw_gate_close(a), "somebody holds it");
    cr_expect_not(sw_gate_is_empty(b));
    cr_expect_not(sw_gate_enter(a), "it is closed");
    cr_expect_not(sw_gate_enter(b), "also for the holder's other writes");
    sw_gate_leave(a);
    cr_expect_not(sw_gate_is_empty(b));
    sw_gate_leave(a);
    cr_expect(sw_gate_is_empty(b));
    sw_gate_open(b);
    cr_expect_not(sw_gate_close(b), "two writes were kept out");
    cr_expect(sw_gate_enter(a));
    cr_expect_not(sw_gate_close(b), "one still is");
    cr_expect(sw_gate_enter(b));
    cr_expect(sw_gate_close(b));
    sw_gate_leave(a);
    sw_gate_leave(b);
    cr_expect(sw_gate_is_empty(b));
    sw_gate_open(b);
    close_world(&world);
}

static void write_once(struct world *world, struct sw_gate_side *side)
{
    while (!sw_gate_enter(side)) {
        sched_yield();
    }
    __atomic_fetch_add(&world->inside, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&world->balances, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&world->balances, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&world->inside, 1, __ATOMIC_RELAXED);
    sw_gate_leave(side);
}

static void be_alone(struct world *world, struct sw_gate_side *side)
{
    while (!sw_gate_close(side)) {
        sched_yield();
    }
    while (!sw_gate_is_empty(side)) {
        sched_yield();
    }
    cr_assert_eq(__atomic_load_n(&world->inside, __ATOMIC_RELAXED), 0);
    cr_assert_eq(__atomic_load_n(&world->balances, __ATOMIC_RELAXED), 0);
    __atomic_fetch_add(&world->alone, 1, __ATOMIC_RELAXED);
    sw_gate_open(side);
}

/* A loop: one write or one time alone after the other, as its side would have them. */
static void *run_loop(void *argument)
{
    const struct loop *loop = argument;
    struct sw_gate_side *side = &loop->world->sides[loop->number];
    for (uint32_t i = 0; i < TURNS; i++) {
        if ((i + loop->number) % 16 == 0) {
            be_alone(loop->world, side);
        } else {
            write_once(loop->world, side);
        }
    }
    return NULL;
}

Test(gate, nobody_is_inside_beside_who_is_alone)
{
    static struct world world;
    struct loop loops[LOOPS];
    open_world(&world);
    for (uint32_t i = 0; i < LOOPS; i++) {
        loops[i] = (struct loop){&world, i};
    }
    threads_run(LOOPS, run_loop, loops, sizeof(loops[0]));
    cr_assert_eq(world.alone, LOOPS * TURNS / 16);
    close_world(&world);
}
