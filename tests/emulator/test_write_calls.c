/* SPDX-License-Identifier: MIT
 *
 * test_write_calls.c - how many calls of the runtime a write needs, alone and beside other tables.
 *
 *   test_write_calls
 */
#include <stdio.h>

#include "tests/emulator/failing.h"
#include "tests/emulator/many_tables.h"

/* Allocations of device memory. */
static unsigned allocations;
int __wrap_cudaMalloc(void **memory, size_t bytes);
int __real_cudaMalloc(void **memory, size_t bytes);

int __wrap_cudaMalloc(void **memory, size_t bytes)
{
    allocations++;
    return __real_cudaMalloc(memory, bytes);
}

/* The first write to one of two tables makes a lane. If its memory is lacking, the write runs
 * alone, and so do those of the next second. */
static void lanes_lack_memory(struct many *m)
{
    for (uint64_t call = 1; call <= 8; call++) {
        create_many(m, 2);
        struct sw_batch set = {.op = SW_SET, .count = 1, .keys = m->keys, .values = m->keys};
        emu_fail_call(call);
        const int status = sw_batch_run(m->queues[0], &set);
        expect(emu_has_failed(), "a call fails");
        expect(status == SW_OK || emu_is_lost(), "a lack of memory loses no table");
        allocations = 0;
        if (status == SW_OK) {
            expect(sw_batch_run(m->queues[1], &set) == SW_OK && allocations == 0,
                   "the next write does not try to allocate again");
        }
        emu_fail_call(0);
        close_many(m);
    }
    printf("ok a write needs no lane\n");
}

/* Returns the calls of a write to table t. `alone`: the key expires, so the launch runs alone. */
static uint64_t calls_of_write(struct many *m, uint32_t t, bool alone)
{
    struct sw_batch set = {.op = SW_SET, .count = 1, .keys = m->keys, .values = m->keys};
    set.clock_ms = alone ? 1000 : 0;
    set.expire_at = alone ? 2000 : 0;
    emu_fail_call(0);
    expect(sw_batch_run(m->queues[t], &set) == SW_OK, "a key is stored");
    return emu_calls();
}

/* A poll says that a read has read the table, so the next write has nothing to wait for. */
static void polled_reads_cost_no_calls(struct many *m)
{
    open_many(m, 1);
    struct sw_batch get = {.op = SW_GET, .count = 1, .keys = m->keys, .found = m->found};
    const uint64_t calls = calls_of_write(m, 0, false);
    expect(sw_batch_run(m->queues[0], &get) == SW_OK, "the key is read");
    expect(calls_of_write(m, 0, false) == calls, "a polled read costs a write no calls");
    expect(sw_batch_submit(m->queues[0], &get) == SW_OK, "a read is deferred");
    expect(calls_of_write(m, 0, false) > calls + 2, "the write launches the read and waits for it");
    while (sw_batch_poll(m->queues[0], &get) == SW_PENDING) {
    }
    close_many(m);
    printf("ok a write waits for no read that was polled\n");
}

/* Operations of several kinds need kernels that remove, that insert, and one that reports. */
static void few_new_keys_need_few_calls(struct many *m)
{
    static const uint8_t ops[2] = {SW_SET, SW_DELETE};
    open_many(m, 1);
    const uint64_t calls = calls_of_write(m, 0, false);
    struct sw_batch both = {
        .op = SW_SET, .ops = ops, .count = 2, .keys = m->keys, .values = m->keys};
    emu_fail_call(0);
    expect(sw_batch_run(m->queues[0], &both) == SW_OK, "a key is stored, and one deleted");
    expect(calls + 5 <= emu_calls(), "a SET needs no launches to insert and to report");
    close_many(m);
    printf("ok a write of one kind ends with its third launch\n");
}

/* Two tables that share a lane: in this mode each launch ends before the next one begins. */
static void lanes_wait_for_launches_alone(struct many *m)
{
    open_many(m, 2);
    (void)calls_of_write(m, 1, false);
    const uint64_t calls = calls_of_write(m, 1, false);
    (void)calls_of_write(m, 0, true);
    expect(calls_of_write(m, 1, false) == calls + 1, "a lane waits for a launch alone");
    expect(calls_of_write(m, 1, false) == calls, "but once");
    close_many(m);
    printf("ok a lane waits once for a launch alone\n");
}

/* The second table makes a lane: a daemon's self-test is such a table. The next write waits for
 * what ran on the lane. */
static void lanes_cost_no_calls(struct many *m)
{
    open_many(m, 1);
    const uint64_t calls = calls_of_write(m, 0, false);
    close_many(m);
    open_many(m, 2);
    m->count = 1;
    sw_queue_destroy(m->queues[1]);
    sw_table_destroy(m->tables[1]);
    (void)calls_of_write(m, 0, false);
    expect(calls_of_write(m, 0, false) == calls,
           "the number of calls is that of a table which was always alone");
    close_many(m);
    printf("ok a lane costs a table that is alone no calls\n");
}

int main(void)
{
    static struct many m;
    lanes_lack_memory(&m);
    lanes_cost_no_calls(&m);
    lanes_wait_for_launches_alone(&m);
    polled_reads_cost_no_calls(&m);
    few_new_keys_need_few_calls(&m);
    printf("5 passed, 0 failed\n");
    return 0;
}
