/* SPDX-License-Identifier: MIT
 *
 * test_growth_memory.c - the memory that a table maps before it grows, and releases afterwards.
 *
 * The pool's thread maps memory within the second in which the table expects to grow. A busy
 * machine may stop that thread for a second, so the test tries again with another table.
 *
 *   test_growth_memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "table/table.h"
#include "tests/emulator/expect.h"
#include "tests/emulator/failing.h"
#include "tests/support/io_memory.h"

#define SLOTS (1U << 18) /* of 8 bytes: growth allocates 4 MiB */
#define MAX_LOAD 0.01
#define KEYS 4096U
#define ATTEMPTS 20
#define ATTEMPT_S 3 /* longer than the time for which mapped memory waits for growth */
#define WAIT_S 60

struct fixture {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
    uint32_t *keys; /* [KEYS] 1, 2, 3, .. */
};

static void open_fixture(struct fixture *f)
{
    struct sw_table_config config;
    char reason[256] = "";
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.slot_bits = 64;
    config.capacity_slots = SLOTS;
    config.max_capacity_slots = 2 * SLOTS;
    config.max_load = MAX_LOAD;
    config.batch_ops_max = KEYS;
    expect(sw_table_create(&config, &f->table, reason, sizeof(reason)) == SW_OK, reason);
    expect(sw_queue_create(f->table, &f->queue) == SW_OK, "a queue");
    f->io = (struct io_memory){.table = f->table};
    f->keys = io_array(&f->io, KEYS * sizeof(*f->keys));
    for (uint32_t i = 0; i < KEYS; i++) {
        f->keys[i] = i + 1;
    }
}

static void close_fixture(struct fixture *f)
{
    io_free(&f->io);
    sw_queue_destroy(f->queue);
    sw_table_destroy(f->table);
}

/* Carries out an operation on the keys from number `first` to number `end` - 1. */
static void run(struct fixture *f, enum sw_op op, uint32_t first, uint32_t end)
{
    struct sw_batch batch = {.op = op,
                             .count = end - first,
                             .keys = f->keys + first,
                             .values = op == SW_SET ? f->keys + first : NULL};
    expect(sw_batch_run(f->queue, &batch) == SW_OK, "a write succeeds");
}

static struct sw_table_info info_of(const struct fixture *f)
{
    struct sw_table_info info;
    sw_table_info(f->table, &info);
    return info;
}

/* Replaces a value now and then until the table has unused memory, or has none. Returns whether it
 * did within `seconds`. */
static bool wait_for(struct fixture *f, bool has_unused, int seconds)
{
    const time_t end = time(NULL) + seconds;
    while ((info_of(f).bytes_unused > 0) != has_unused) {
        if (time(NULL) > end) {
            return false;
        }
        run(f, SW_SET, 0, 1);
        usleep(1000);
    }
    return true;
}

/* Fills the table up to one entry. Returns whether its pool then maps memory. */
static bool expects_growth(struct fixture *f, uint32_t most)
{
    run(f, SW_SET, 0, most / 2);
    run(f, SW_SET, 0, 1); /* the pace is taken from here on */
    run(f, SW_SET, most / 2, most - 1);
    return wait_for(f, true, ATTEMPT_S);
}

/* Returns whether growth used memory that the pool's thread had mapped. */
static bool grows_without_mapping(void)
{
    struct fixture f;
    struct sw_table_stats stats;
    open_fixture(&f);
    const uint32_t most = (uint32_t)info_of(&f).occupied_max;
    bool done = expects_growth(&f, most);
    if (done) {
        const size_t before = emu_mapped_by_thread();
        const uint64_t reserved = info_of(&f).bytes_reserved;
        run(&f, SW_SET, most - 1, most + 1);
        sw_table_stats(f.table, &stats);
        expect(stats.grown == 1 && stats.occupied == most + 1, "the table grows");
        expect(info_of(&f).bytes_reserved > reserved, "its arrays are larger");
        done = emu_mapped_by_thread() == before;
    }
    close_fixture(&f);
    return done;
}

static void growth_uses_mapped_memory(void)
{
    bool done = false;
    for (int a = 0; a < ATTEMPTS && !done; a++) {
        done = grows_without_mapping();
    }
    expect(done, "growth maps no memory itself");
    printf("ok growth finds its memory mapped\n");
}

/* A table that only replaces values maps nothing, even if all its batches could fill it. */
static void steady_tables_map_nothing(void)
{
    struct fixture f;
    open_fixture(&f);
    const uint32_t most = (uint32_t)info_of(&f).occupied_max;
    run(&f, SW_SET, 0, most / 2);
    for (uint32_t writes = 0; writes < 100; writes++) {
        run(&f, SW_SET, 0, most / 4);
    }
    expect(info_of(&f).bytes_unused == 0, "no memory is mapped ahead");
    close_fixture(&f);
    printf("ok a table that does not grow maps no memory\n");
}

/* Replaced arrays count as unused memory until they are released. */
static void replaced_arrays_are_released(void)
{
    struct fixture f;
    bool counted = false;
    open_fixture(&f);
    for (int a = 0; a < ATTEMPTS && !counted; a++) {
        struct sw_batch resize = {.kind = SW_BATCH_RESIZE, .capacity = SLOTS >> (a % 2)};
        expect(sw_batch_run(f.queue, &resize) == SW_OK, "a resize");
        counted = wait_for(&f, true, ATTEMPT_S);
    }
    expect(counted, "the old arrays are counted");
    expect(wait_for(&f, false, WAIT_S), "and released after a quiet second");
    close_fixture(&f);
    printf("ok replaced arrays are counted and released\n");
}

int main(void)
{
    growth_uses_mapped_memory();
    steady_tables_map_nothing();
    replaced_arrays_are_released();
    printf("3 passed, 0 failed\n");
    return 0;
}
