/* SPDX-License-Identifier: MIT
 *
 * test_read_launches.c - which batches of reads share a launch, and when it begins.
 *
 * A submit that defers its batch calls nothing of the runtime. So the number of calls tells which
 * submit or poll launches.
 *
 *   test_read_launches
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/emulator/failing.h"
#include "tests/emulator/many_tables.h"

#define READS 4
#define READS_MAX 32    /* most batches of a launch */
#define SMALL 64U       /* keys of a batch that is always deferred */
#define LARGER 32832U   /* keys of a batch that is deferred behind another one */
#define FULL (1U << 18) /* most keys of a launch of several batches */
#define ARRAY (2 * FULL)
#define STORED 1000U /* keys of the table: 1 to STORED */
#define DRAWN 2000U  /* reads request the keys from 1 to DRAWN, again and again */

/* Calls of cudaSetDevice. */
static unsigned chosen;
int __wrap_cudaSetDevice(int device);
int __real_cudaSetDevice(int device);

int __wrap_cudaSetDevice(int device)
{
    chosen++;
    return __real_cudaSetDevice(device);
}

struct fixture {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
    uint32_t *keys, *values; /* [ARRAY] */
    uint64_t *found;         /* [ARRAY / 64] */
    struct sw_batch reads[READS];
};

static void open_fixture(struct fixture *f)
{
    f->table = create(64, ARRAY, NULL);
    expect(sw_queue_create(f->table, &f->queue) == SW_OK, "a queue");
    f->io = (struct io_memory){.table = f->table};
    f->keys = io_array(&f->io, ARRAY * sizeof(*f->keys));
    f->values = io_array(&f->io, ARRAY * sizeof(*f->values));
    f->found = io_array(&f->io, ARRAY / 8);
    for (uint32_t i = 0; i < ARRAY; i++) {
        f->keys[i] = i % DRAWN + 1;
        f->values[i] = 2 * f->keys[i];
    }
    struct sw_batch set = {.op = SW_SET, .count = STORED, .keys = f->keys, .values = f->values};
    expect(sw_batch_run(f->queue, &set) == SW_OK, "the keys are stored");
}

static void close_fixture(struct fixture *f)
{
    io_free(&f->io);
    sw_queue_destroy(f->queue);
    sw_table_destroy(f->table);
}

/* Submits read number r. Returns whether the submit called the runtime. */
static bool submit(struct fixture *f, int r, uint32_t count)
{
    f->reads[r] =
        (struct sw_batch){.op = SW_GET, .count = count, .keys = f->keys, .found = f->found};
    emu_fail_call(0);
    expect(sw_batch_submit(f->queue, &f->reads[r]) == SW_OK, "a read is submitted");
    return emu_calls() > 0;
}

/* Polls read number r to its end, which finds `stored` keys. Returns whether it called the runtime.
 */
static bool poll(struct fixture *f, int r, uint32_t stored)
{
    const uint32_t count = f->reads[r].count;
    const uint32_t rest = count % DRAWN < stored ? count % DRAWN : stored;
    emu_fail_call(0);
    while (sw_batch_poll(f->queue, &f->reads[r]) == SW_PENDING) {
    }
    expect(f->reads[r].status == SW_OK, "a read succeeds");
    expect(f->reads[r].counters.by_class[SW_CLASS_GET].hits == count / DRAWN * stored + rest,
           "a read finds the keys that are stored");
    return emu_calls() > 0;
}

/* The first read behind another one allocates records, which later ones find. */
static void allocate_records(struct fixture *f)
{
    (void)submit(f, 0, LARGER);
    (void)submit(f, 1, LARGER);
    (void)poll(f, 0, STORED);
    (void)poll(f, 1, STORED);
}

static void larger_batches_share(struct fixture *f)
{
    expect(submit(f, 0, LARGER), "a lone batch is launched by its submit");
    expect(!submit(f, 1, LARGER) && !submit(f, 2, LARGER), "larger batches are deferred behind it");
    expect(!poll(f, 0, STORED), "a poll of the launched batch launches nothing");
    expect(poll(f, 1, STORED), "a poll of a deferred batch launches it");
    expect(!poll(f, 2, STORED), "and the other one with it");
    expect(submit(f, 0, LARGER), "the next batch is alone again");
    poll(f, 0, STORED);
    printf("ok larger batches share a launch behind another batch\n");
}

static void larger_batches_join_small_ones(struct fixture *f)
{
    expect(!submit(f, 0, SMALL), "a small batch is deferred");
    expect(!submit(f, 1, LARGER), "a larger one is deferred behind it");
    expect(poll(f, 0, STORED), "a poll launches them");
    expect(!poll(f, 1, STORED), "both at once");
    printf("ok larger batches share a launch with small ones\n");
}

/* The device would be idle until the poll of the batch before them. */
static void long_and_device_batches_start(struct fixture *f)
{
    expect(submit(f, 0, LARGER), "a lone batch is launched by its submit");
    expect(submit(f, 1, FULL + 64), "and a batch larger than a launch of several");
    f->reads[2] = (struct sw_batch){.op = SW_GET,
                                    .shared = true,
                                    .on_device = true,
                                    .count = LARGER,
                                    .keys = f->keys,
                                    .found = f->found};
    emu_fail_call(0);
    expect(sw_batch_submit(f->queue, &f->reads[2]) == SW_OK && emu_calls() > 0,
           "and a batch in device memory");
    expect(!poll(f, 0, STORED) && !poll(f, 1, STORED) && !poll(f, 2, STORED), "all are launched");
    printf("ok batches for which a delay does not pay are not deferred\n");
}

static void launches_are_limited(struct fixture *f)
{
    expect(submit(f, 0, LARGER), "a lone batch is launched by its submit");
    expect(!submit(f, 1, FULL - LARGER), "a batch that fits a launch is deferred");
    expect(submit(f, 2, LARGER + 64), "the next one does not fit, so the first is launched");
    expect(submit(f, 3, FULL), "a full one does not fit either");
    expect(!poll(f, 0, STORED) && !poll(f, 1, STORED) && !poll(f, 2, STORED), "all are launched");
    expect(poll(f, 3, STORED), "but the last one, which nothing followed");
    printf("ok a launch of several batches has a limit of keys\n");
}

/* A write of the same stream takes effect behind the reads that were submitted before it. */
static void writes_stay_behind(struct fixture *f)
{
    struct sw_batch erase = {.op = SW_DELETE, .count = STORED / 2, .keys = f->keys};
    expect(submit(f, 0, LARGER) && !submit(f, 1, LARGER), "one batch is launched, one deferred");
    expect(sw_batch_run(f->queue, &erase) == SW_OK, "keys are deleted");
    poll(f, 0, STORED);
    poll(f, 1, STORED);
    expect(submit(f, 2, SMALL) == false, "a read behind the delete");
    emu_fail_call(0);
    while (sw_batch_poll(f->queue, &f->reads[2]) == SW_PENDING) {
    }
    expect(f->reads[2].counters.by_class[SW_CLASS_GET].hits == 0, "finds no deleted key");
    printf("ok a write takes effect behind deferred reads\n");
}

/* The submit of the last read that a launch has room for loses the device. Its caller may free the
 * batch at once, before a write looks at the deferred reads. */
static void failed_reads_are_forgotten(void)
{
    struct fixture f;
    struct sw_batch reads[READS_MAX - 1], set;
    struct sw_batch *last =
        mmap(NULL, sizeof(*last), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(last != MAP_FAILED, "a batch");
    open_fixture(&f);
    *last = (struct sw_batch){.op = SW_GET, .count = SMALL, .keys = f.keys, .found = f.found};
    set = (struct sw_batch){.op = SW_SET, .count = SMALL, .keys = f.keys, .values = f.values};
    set.stream = 1; /* the deferred reads have another one, so all are looked at */
    for (uint32_t r = 0; r < READS_MAX - 1; r++) {
        reads[r] = *last;
        expect(sw_batch_submit(f.queue, &reads[r]) == SW_OK, "a read is deferred");
    }
    emu_fail_call(1);
    expect(sw_batch_submit(f.queue, last) == SW_E_DEVICE && emu_is_lost(), "the last one fails");
    munmap(last, sizeof(*last));
    emu_fail_call(0);
    expect(sw_batch_run(f.queue, &set) == SW_E_DEVICE, "a write fails");
    for (uint32_t r = 0; r < READS_MAX - 1; r++) {
        while (sw_batch_poll(f.queue, &reads[r]) == SW_PENDING) {
        }
        expect(reads[r].status == SW_E_DEVICE, "the deferred reads fail");
    }
    close_fixture(&f);
    printf("ok a read whose submit fails is forgotten\n");
}

/* --- reads of several tables ------------------------------------------------------------------ */

static void submit_many(struct many *m, uint32_t count)
{
    for (uint32_t t = 0; t < m->count; t++) {
        m->reads[t] = (struct sw_batch){.op = SW_GET,
                                        .count = count,
                                        .keys = m->keys,
                                        .found = m->found + (uint64_t)t * SEGMENT / 64};
        emu_fail_call(0);
        expect(sw_batch_submit(m->queues[t], &m->reads[t]) == SW_OK, "a read is submitted");
        expect(emu_calls() == 0, "a small read is deferred");
    }
}

/* Submits a read of `count` keys to each table, then polls them. Returns how many polls called the
 * runtime: each of them launched. */
static uint32_t read_many(struct many *m, uint32_t count)
{
    uint32_t launches = 0;
    submit_many(m, count);
    for (uint32_t t = 0; t < m->count; t++) {
        emu_fail_call(0);
        while (sw_batch_poll(m->queues[t], &m->reads[t]) == SW_PENDING) {
        }
        launches += emu_calls() > 0;
        expect(m->reads[t].status == SW_OK, "a read succeeds");
        expect(m->reads[t].counters.by_class[SW_CLASS_GET].hits == t + 1,
               "with its own table's keys");
    }
    return launches;
}

static void tables_share(struct many *m)
{
    expect(read_many(m, SEGMENT) == 2, "64 reads of 4,096 keys are one launch");
    expect(read_many(m, TABLES) == 2, "and 64 smaller ones");
    printf("ok reads of several tables share a launch\n");
}

/* Each table has two channels, which have 64 streams at most. */
static void tables_share_streams(struct many *m)
{
    expect(emu_streams() == m->streams + 1,
           "only the thread of the last queue made another stream");
    printf("ok more tables make no more streams\n");
}

/* Each call of a launch that two tables share fails once. Returns whether there is such a call. */
static bool fails_at(struct many *m, uint64_t call)
{
    const size_t allocated = emu_allocated();
    open_many(m, 2);
    submit_many(m, SMALL);
    emu_fail_call(call);
    for (uint32_t t = 0; t < 2; t++) {
        while (sw_batch_poll(m->queues[t], &m->reads[t]) == SW_PENDING) {
        }
    }
    const bool failed = emu_has_failed();
    for (uint32_t t = 0; t < 2; t++) {
        expect(m->reads[t].status == SW_OK || (failed && m->reads[t].status == SW_E_DEVICE),
               "a read ends, also if the device is lost");
    }
    emu_fail_call(0);
    close_many(m);
    expect(emu_allocated() == allocated, "all memory is freed");
    return failed;
}

static void failures_end_reads(struct many *m)
{
    uint64_t calls = 0;
    while (fails_at(m, calls + 1)) {
        calls++;
    }
    expect(calls > 2, "a shared launch has some calls");
    printf("ok reads end if one of the %llu calls of a shared launch fails\n",
           (unsigned long long)calls);
}

int main(void)
{
    struct fixture f;
    static struct many m;
    open_fixture(&f);
    allocate_records(&f);
    chosen = 0;
    larger_batches_share(&f);
    larger_batches_join_small_ones(&f);
    long_and_device_batches_start(&f);
    launches_are_limited(&f);
    writes_stay_behind(&f);
    expect(chosen == 0, "the device that a thread has is not chosen again");
    printf("ok the device is not chosen for each launch\n");
    close_fixture(&f);
    open_many(&m, TABLES);
    tables_share(&m);
    tables_share_streams(&m);
    close_many(&m);
    failed_reads_are_forgotten();
    failures_end_reads(&m);
    printf("10 passed, 0 failed\n");
    return 0;
}
