/* SPDX-License-Identifier: MIT
 *
 * test_pause.c - CLIENT PAUSE as loops see it: which pause holds, and when nothing is on its way.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/net/pause.h"

#define HANDLES 3

struct world {
    struct sw_pause pause;
    struct sw_pause_handle handles[HANDLES];
    uv_loop_t uv;
    uv_async_t wake[HANDLES];
    int woken[HANDLES];
};

static void on_wake(uv_async_t *wake)
{
    (*(int *)wake->data)++;
}

static void open_world(struct world *world)
{
    memset(world, 0, sizeof(*world));
    sw_pause_init(&world->pause);
    uv_loop_init(&world->uv);
    for (int i = 0; i < HANDLES; i++) {
        uv_async_init(&world->uv, &world->wake[i], on_wake);
        world->wake[i].data = &world->woken[i];
        sw_pause_join(&world->pause, &world->handles[i], &world->wake[i]);
    }
}

static void close_world(struct world *world)
{
    for (int i = 0; i < HANDLES; i++) {
        sw_pause_leave(&world->handles[i]);
        uv_close((uv_handle_t *)&world->wake[i], NULL);
    }
    uv_run(&world->uv, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&world->uv), 0);
    sw_pause_fini(&world->pause);
}

/* What a loop sees at that moment. */
static enum sw_pause_mode seen(struct world *world, uint64_t now_ms)
{
    (void)sw_pause_poll(&world->handles[0], now_ms);
    return world->handles[0].mode;
}

Test(pause, ends_by_itself_and_at_once)
{
    struct world world;
    open_world(&world);
    cr_assert_not(sw_pause_poll(&world.handles[0], 100));
    sw_pause_begin(&world.pause, 50, SW_PAUSE_WRITES, 100);
    cr_assert(sw_pause_poll(&world.handles[0], 100));
    cr_assert_not(sw_pause_poll(&world.handles[0], 149));
    cr_assert_eq(seen(&world, 149), SW_PAUSE_WRITES);
    cr_assert(sw_pause_poll(&world.handles[0], 150));
    cr_assert_eq(seen(&world, 150), SW_PAUSE_NONE);
    sw_pause_begin(&world.pause, 0, SW_PAUSE_ALL, 150);
    cr_assert_eq(seen(&world, 150), SW_PAUSE_NONE);
    sw_pause_begin(&world.pause, UINT64_MAX, SW_PAUSE_ALL, 150);
    cr_assert_eq(seen(&world, UINT64_MAX / 8), SW_PAUSE_ALL);
    sw_pause_end(&world.pause);
    cr_assert_eq(seen(&world, 151), SW_PAUSE_NONE);
    close_world(&world);
}

Test(pause, a_second_one_is_never_shorter_nor_milder)
{
    static const struct {
        uint64_t ms;
        enum sw_pause_mode mode;
        uint64_t until;
        enum sw_pause_mode is;
    } rows[] = {{50, SW_PAUSE_WRITES, 150, SW_PAUSE_WRITES},
                {20, SW_PAUSE_WRITES, 150, SW_PAUSE_WRITES},
                {10, SW_PAUSE_ALL, 150, SW_PAUSE_ALL},
                {90, SW_PAUSE_WRITES, 190, SW_PAUSE_ALL}};
    struct world world;
    open_world(&world);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sw_pause_begin(&world.pause, rows[i].ms, rows[i].mode, 100);
        cr_assert_eq(seen(&world, rows[i].until - 1), rows[i].is, "row %zu", i);
        (void)seen(&world, 100);
    }
    cr_assert_eq(seen(&world, 190), SW_PAUSE_NONE);
    /* one that is over counts for nothing */
    sw_pause_begin(&world.pause, 5, SW_PAUSE_WRITES, 200);
    cr_assert_eq(seen(&world, 204), SW_PAUSE_WRITES);
    cr_assert_eq(seen(&world, 205), SW_PAUSE_NONE);
    close_world(&world);
}

Test(pause, is_quiet_when_every_loop_has_said_so)
{
    struct world world;
    open_world(&world);
    uint64_t version = sw_pause_begin(&world.pause, 1000, SW_PAUSE_WRITES, 100);
    uv_run(&world.uv, UV_RUN_NOWAIT);
    for (int i = 0; i < HANDLES; i++) {
        cr_assert_gt(world.woken[i], 0);
        cr_assert_not(sw_pause_is_quiet(&world.pause, version));
        if (i == HANDLES - 1) { /* it ends instead */
            sw_pause_leave(&world.handles[i]);
        } else {
            cr_assert(sw_pause_poll(&world.handles[i], 100));
            cr_assert_not(sw_pause_is_settled(&world.handles[i]));
            sw_pause_settle(&world.handles[i]);
        }
    }
    cr_assert(sw_pause_is_quiet(&world.pause, version));
    cr_assert_not(sw_pause_is_quiet(&world.pause, version + 1));
    sw_pause_end(&world.pause);
    (void)sw_pause_poll(&world.handles[0], 100);
    sw_pause_settle(&world.handles[0]);
    cr_assert_not(sw_pause_is_quiet(&world.pause, version + 1));
    close_world(&world);
}
