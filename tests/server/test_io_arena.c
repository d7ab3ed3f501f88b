/* SPDX-License-Identifier: MIT
 *
 * test_io_arena.c - the loops' I/O memory: no two allocations overlap, everything comes back.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/io_arena.h"
#include "tests/support/must.h"
#include "tests/support/random.h"

static struct sw_table *table;

static void setup(void)
{
    const struct sw_table_config config = cpu_config(1024, 1024);
    table = must_create(&config);
}

static void teardown(void)
{
    sw_table_destroy(table);
}

TestSuite(io_arena, .init = setup, .fini = teardown);

Test(io_arena, refuses_what_cannot_fit)
{
    struct sw_io_arena arena;
    cr_assert_eq(sw_io_arena_init(&arena, table, 4 * SW_IO_PAGE), 0);
    cr_assert_null(sw_io_arena_alloc(&arena, 4 * SW_IO_PAGE + 1));
    void *all = sw_io_arena_alloc(&arena, 4 * SW_IO_PAGE);
    cr_assert_not_null(all);
    cr_assert_null(sw_io_arena_alloc(&arena, 1));
    sw_io_arena_free(&arena, all, 4 * SW_IO_PAGE);
    cr_assert_eq(arena.pages_used, 0);
    sw_io_arena_fini(&arena);
}

Test(io_arena, no_memory_is_an_error)
{
    struct sw_io_arena arena;
    cr_assert_eq(sw_io_arena_init(&arena, table, SW_IO_PAGE - 1), -1);
}

/* Each page of a live allocation carries its owner's number; an overlap would overwrite one. */
Test(io_arena, random_allocations_never_overlap)
{
    enum { PAGES = 256, LIVE = 64, STEPS = 20000 };
    struct {
        uint8_t *memory;
        size_t bytes;
        uint8_t tag;
    } live[LIVE] = {0};
    struct sw_io_arena arena;
    struct random random = random_of(0);
    cr_assert_eq(sw_io_arena_init(&arena, table, PAGES * SW_IO_PAGE), 0);
    for (int step = 0; step < STEPS; step++) {
        size_t i = (size_t)random_below(&random, LIVE);
        if (live[i].memory != NULL) {
            for (size_t at = 0; at < live[i].bytes; at += 512) {
                cr_assert_eq(live[i].memory[at], live[i].tag, "step %d", step);
            }
            sw_io_arena_free(&arena, live[i].memory, live[i].bytes);
            live[i].memory = NULL;
            continue;
        }
        live[i].bytes = 1 + (size_t)random_below(&random, (uint64_t)12 * SW_IO_PAGE);
        live[i].memory = sw_io_arena_alloc(&arena, live[i].bytes);
        live[i].tag = (uint8_t)step;
        if (live[i].memory != NULL) {
            cr_assert_eq((uintptr_t)live[i].memory % 64, 0);
            memset(live[i].memory, live[i].tag, live[i].bytes);
        }
    }
    for (size_t i = 0; i < LIVE; i++) {
        if (live[i].memory != NULL) {
            sw_io_arena_free(&arena, live[i].memory, live[i].bytes);
        }
    }
    cr_assert_eq(arena.pages_used, 0);
    cr_assert_eq(arena.free_count, 1, "free extents were not joined: %zu", arena.free_count);
    cr_assert_eq(arena.free_extents[0].pages, (size_t)PAGES);
    sw_io_arena_fini(&arena);
}
