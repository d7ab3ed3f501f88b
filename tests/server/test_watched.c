/* SPDX-License-Identifier: MIT
 *
 * test_watched.c - watched keys: what marks whom, the limit, and marks beside threads that watch.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/batch/gate.h"
#include "server/batch/watched.h"
#include "table/batch.h"
#include "tests/support/ops.h"
#include "tests/support/threads.h"

enum { KEYS_MAX = 8, LOOPS = 4, TURNS = 4000, SHARED_KEYS = 3 };

static const struct sw_watched_widths wide = {8, 8, 0};

static bool is_marked_by(const struct sw_batch *batch, uint64_t key, bool is_shared)
{
    struct sw_watched *watched = sw_watched_create(KEYS_MAX);
    struct sw_watcher watcher = {0};
    cr_assert_eq(sw_watched_add(watched, &watcher, &key, 8, 1), 1);
    sw_watched_note(watched, batch, wide, is_shared, true);
    bool marked = sw_watcher_is_changed(&watcher);
    cr_assert_eq(sw_watched_forget(watched, &watcher), 1);
    cr_assert_not(sw_watcher_is_changed(&watcher), "it begins anew");
    sw_watched_destroy(watched);
    return marked;
}

/* One operation on key 5, whose value was 7. CAS expects the operand. */
static bool marks(enum sw_op op, bool was_present, uint64_t operand)
{
    uint64_t key = 5, previous = was_present ? 7 : 0, found = was_present;
    struct sw_batch batch = {.op = op,
                             .count = 1,
                             .keys = &key,
                             .values = &operand,
                             .expected = &operand,
                             .previous = &previous,
                             .found = &found};
    cr_assert_not(is_marked_by(&batch, 4, false), "another key");
    bool marked = is_marked_by(&batch, 5, false);
    batch.found = NULL;
    batch.previous = NULL;
    cr_assert(is_marked_by(&batch, 5, false) || op == SW_GET || op == SW_PEEK,
              "without found bits it may have been changed");
    return marked;
}

Test(watched, what_is_a_change)
{
    const uint64_t always =
        SW_OPS_INSERT & ~(SW_OPS_REFUSE | SW_OPS_ABSENT | SW_OPS_STRING | SW_OPS_FITTING);
    const uint64_t of_present = SW_OPS_PRESENT | SW_OPS_DELETE;
    for (uint32_t i = 0; i < OPS_COUNT(always); i++) {
        const enum sw_op op = (enum sw_op)ops_at(always, i);
        cr_expect(marks(op, true, 1) && marks(op, false, 1), "operation %u", op);
    }
    for (uint32_t i = 0; i < OPS_COUNT(of_present); i++) {
        const enum sw_op op = (enum sw_op)ops_at(of_present, i);
        cr_expect(marks(op, true, 1) && !marks(op, false, 1), "operation %u", op);
    }
    for (uint32_t i = 0; i < OPS_COUNT(SW_OPS_INTEGERS & ~SW_OPS_INSERT); i++) {
        const uint32_t op = ops_at(SW_OPS_INTEGERS & ~SW_OPS_INSERT, i);
        cr_expect_not(marks((enum sw_op)op, false, 1), "operation %u of an absent key", op);
    }
    cr_expect(marks(SW_SET_ABSENT, false, 1) && !marks(SW_SET_ABSENT, true, 1));
    cr_expect_not(marks(SW_GET, true, 0) || marks(SW_PEEK, true, 0));
    cr_expect(marks(SW_CAS, true, 7) && !marks(SW_CAS, true, 8) && !marks(SW_CAS, false, 0));
    cr_expect(marks(SW_INCREMENT, true, UINT64_MAX - 7) && marks(SW_DECREMENT, true, 7));
    cr_expect_not(marks(SW_INCREMENT, true, UINT64_MAX - 6) || marks(SW_DECREMENT, true, 8));
}

Test(watched, each_key_that_has_expired_in_a_batch)
{
    uint64_t key = 9, found = 0, expired_keys[] = {3, 4, 5};
    const struct sw_batch batch = {.op = SW_GET,
                                   .count = 1,
                                   .keys = &key,
                                   .found = &found,
                                   .expired_keys = (uint8_t *)expired_keys,
                                   .expired_keys_count = 3};
    for (unsigned i = 0; i < 3; i++) {
        cr_expect(is_marked_by(&batch, expired_keys[i], false), "key %lu",
                  (unsigned long)expired_keys[i]);
    }
    cr_expect_not(is_marked_by(&batch, 9, false), "read, and absent before");
}

Test(watched, groups_and_kinds)
{
    uint64_t keys[] = {1, 2, 3, 4}, values[4] = {0}, found[1] = {0};
    const uint32_t ends[] = {1, 3, 4};
    uint8_t refused[] = {0, 1, 0};
    struct sw_batch batch = {.op = SW_SET,
                             .count = 4,
                             .keys = keys,
                             .values = values,
                             .found = found,
                             .group_count = 3,
                             .group_ends = ends,
                             .group_refused = refused,
                             .status = SW_E_FULL};
    cr_expect(is_marked_by(&batch, 1, false) && is_marked_by(&batch, 4, false));
    cr_expect_not(is_marked_by(&batch, 2, false) || is_marked_by(&batch, 3, false), "refused");
    cr_expect(is_marked_by(&batch, 99, true), "a client may have changed the keys");
    batch.group_count = 0;
    cr_expect_not(is_marked_by(&batch, 1, false) || is_marked_by(&batch, 99, true), "all refused");
    batch.status = SW_E_DEVICE;
    cr_expect(is_marked_by(&batch, 99, false), "nobody knows");
    cr_expect(is_marked_by(&(struct sw_batch){.kind = SW_BATCH_CLEAR}, 99, false));
    cr_expect_not(is_marked_by(&(struct sw_batch){.kind = SW_BATCH_RESIZE}, 99, false));
}

Test(watched, widths_of_32_bits)
{
    uint32_t keys[] = {5, 6}, operands[] = {1, 1}, previous[] = {UINT32_MAX, UINT32_MAX - 1};
    uint64_t found = 3;
    struct sw_batch batch = {.op = SW_INCREMENT,
                             .count = 2,
                             .keys = keys,
                             .values = operands,
                             .previous = previous,
                             .found = &found};
    struct sw_watched *watched = sw_watched_create(KEYS_MAX);
    struct sw_watcher watchers[2] = {0};
    cr_assert_eq(sw_watched_add(watched, &watchers[0], &keys[0], 4, 1), 1);
    cr_assert_eq(sw_watched_add(watched, &watchers[1], &keys[1], 4, 1), 1);
    sw_watched_note(watched, &batch, (struct sw_watched_widths){4, 4, 0}, false, true);
    cr_expect_not(sw_watcher_is_changed(&watchers[0]), "it overflowed");
    cr_expect(sw_watcher_is_changed(&watchers[1]));
    sw_watched_forget(watched, &watchers[0]);
    sw_watched_forget(watched, &watchers[1]);
    sw_watched_destroy(watched);
}

/* Strings of at most 4 bytes. */
static bool marks_string(enum sw_op op, bool was_present, const char *before, const char *operand)
{
    const uint64_t key = 5;
    uint64_t found = was_present;
    char rows[2][9] = {"\0\0\0\0", "\0\0\0\0"};
    const char *texts[] = {before, operand};
    for (int i = 0; i < 2; i++) {
        rows[i][0] = (char)strlen(texts[i]);
        strcpy(rows[i] + 4, texts[i]);
    }
    struct sw_batch batch = {.op = op,
                             .count = 1,
                             .keys = &key,
                             .values = rows[1],
                             .previous = rows[0],
                             .found = &found};
    struct sw_watched *watched = sw_watched_create(KEYS_MAX);
    struct sw_watcher watcher = {0};
    cr_assert_eq(sw_watched_add(watched, &watcher, &key, 8, 1), 1);
    sw_watched_note(watched, &batch, (struct sw_watched_widths){8, 8, 4}, false, true);
    const bool marked = sw_watcher_is_changed(&watcher);
    sw_watched_forget(watched, &watcher);
    sw_watched_destroy(watched);
    return marked;
}

Test(watched, strings)
{
    cr_expect(marks_string(SW_INCRBY, true, "7", "1"));
    cr_expect_not(marks_string(SW_INCRBY, true, "abc", "1"), "no integer");
    cr_expect_not(marks_string(SW_INCRBY, true, "9999", "1"), "too long");
    cr_expect(marks_string(SW_INCRBY, false, "", "1"));
    cr_expect(marks_string(SW_INCRBYFLOAT, true, "1.5", ".5"));
    cr_expect_not(marks_string(SW_INCRBYFLOAT, true, "1.5", "inf"));
    cr_expect(marks_string(SW_APPEND, true, "ab", "cd"));
    cr_expect_not(marks_string(SW_APPEND, true, "abc", "de"), "too long");
}

Test(watched, limit_is_whole)
{
    struct sw_watched *watched = sw_watched_create(KEYS_MAX);
    struct sw_watcher one = {0}, other = {0};
    const uint64_t keys[] = {1, 2, 2, 1, 3, 4, 5, 6, 7, 8, 9};
    cr_expect_eq(sw_watched_add(watched, &one, keys, 8, 4), 2, "each once");
    cr_expect_eq(sw_watched_add(watched, &one, keys, 8, 4), 0);
    cr_expect_eq(sw_watched_add(watched, &other, keys, 8, 11), -1, "one too many");
    cr_expect_not(sw_watcher_has_keys(&other));
    cr_expect_eq(sw_watched_add(watched, &other, keys, 8, 8), 6);
    cr_expect_eq(sw_watched_add(watched, &one, keys, 8, 5), -1);
    uint64_t value = 0;
    struct sw_batch batch = {.op = SW_SET, .count = 1, .keys = &keys[1], .values = &value};
    sw_watched_note(watched, &batch, wide, false, true);
    cr_expect(sw_watcher_is_changed(&one) && sw_watcher_is_changed(&other), "both watched it");
    cr_expect_eq(sw_watched_forget(watched, &one), 2);
    cr_expect_eq(sw_watched_forget(watched, &other), 6);
    cr_expect_eq(sw_watched_add(watched, &one, keys + 3, 8, 8), 8, "there is room again");
    cr_expect_eq(sw_watched_forget(watched, &one), 8);
    sw_watched_destroy(watched);
}

/* --- threads ---------------------------------------------------------------------------------- */

struct world {
    struct sw_gate *gate;
    struct sw_watched *watched;
    struct sw_gate_side sides[LOOPS];
    uint64_t values[SHARED_KEYS]; /* atomic */
    uint64_t kept, aborted;       /* atomic: how transactions ended */
};

struct loop {
    struct world *world;
    uint32_t number;
};

static void close_gate(struct sw_gate_side *side)
{
    while (!sw_gate_close(side)) {
        sched_yield();
    }
    while (!sw_gate_is_empty(side)) {
        sched_yield();
    }
}

static void write_key(struct world *world, struct sw_gate_side *side, uint64_t key)
{
    uint64_t operand = 1;
    struct sw_batch batch = {.op = SW_SUM, .count = 1, .keys = &key, .values = &operand};
    while (!sw_gate_enter(side)) {
        sched_yield();
    }
    __atomic_fetch_add(&world->values[key], 1, __ATOMIC_RELAXED);
    sw_watched_note(world->watched, &batch, wide, false, true);
    sw_gate_leave(side);
}

/* Watches a key, and checks later that the watcher is marked if and only if a write changed the
 * key. */
static void watch_key(struct world *world, struct sw_gate_side *side, uint64_t key)
{
    struct sw_watcher watcher = {0};
    close_gate(side);
    cr_assert_eq(sw_watched_add(world->watched, &watcher, &key, 8, 1), 1);
    uint64_t before = __atomic_load_n(&world->values[key], __ATOMIC_RELAXED);
    sw_gate_open(side);
    sched_yield();
    close_gate(side);
    bool changed = __atomic_load_n(&world->values[key], __ATOMIC_RELAXED) != before;
    cr_assert_eq(sw_watcher_is_changed(&watcher), changed);
    sw_gate_open(side);
    cr_assert_eq(sw_watched_forget(world->watched, &watcher), 1);
    __atomic_fetch_add(changed ? &world->aborted : &world->kept, 1, __ATOMIC_RELAXED);
}

static void *run_loop(void *argument)
{
    const struct loop *loop = argument;
    struct sw_gate_side *side = &loop->world->sides[loop->number];
    for (uint32_t i = 0; i < TURNS; i++) {
        uint64_t key = (i + loop->number) % SHARED_KEYS;
        if ((i + loop->number) % 8 == 0) {
            watch_key(loop->world, side, key);
        } else {
            write_key(loop->world, side, key);
        }
    }
    return NULL;
}

Test(watched, a_mark_says_whether_somebody_wrote)
{
    static struct world world;
    struct loop loops[LOOPS];
    world = (struct world){.gate = sw_gate_create(LOOPS)};
    world.watched = sw_gate_watched(world.gate);
    for (uint32_t i = 0; i < LOOPS; i++) {
        sw_gate_side_init(&world.sides[i], world.gate);
    }
    for (uint32_t i = 0; i < LOOPS; i++) {
        loops[i] = (struct loop){&world, i};
    }
    threads_run(LOOPS, run_loop, loops, sizeof(loops[0]));
    cr_assert_eq(world.kept + world.aborted, LOOPS * TURNS / 8);
    for (int i = 0; i < LOOPS; i++) {
        sw_gate_side_fini(&world.sides[i]);
    }
    sw_gate_destroy(world.gate);
}
