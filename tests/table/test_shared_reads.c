/* SPDX-License-Identifier: MIT
 *
 * test_shared_reads.c - reads of several tables by one thread, which may share a launch on CUDA,
 * beside writes, growth and drops of these tables. Also run under ThreadSanitizer.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <unistd.h>

#include "table/device.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"
#include "tests/support/threads.h"
#include "tests/support/words.h"

TestSuite(shared_reads, .timeout = 120);

#define READ_TABLES 8U
#define READERS 2U
#define WRITERS 2U
#define THREADS (READERS + WRITERS)
#define VERSION_KEYS 64U /* keys of a batch of writes */
#define OTHERS_MAX 4096U /* other keys of a table, which has room for more */
#define READ_KEYS 2048U  /* keys of a batch of reads: each of those several times */
#define ROUNDS 32U
/* A writer waits for the readers after this number of batches a round, or after its share of them
 * (tested.h). Under a checker a launch takes so long that the writers would delay the reads for
 * minutes. */
#define WRITES_A_ROUND 64U
#define WRITES_A_ROUND_MIN 8U

/* A table whose keys 0 to VERSION_KEYS - 1 all have one value, the number of the last batch of
 * SETs. A batch of reads thus finds one value, of a batch that was not done before the read began,
 * and had begun when the read was done. */
struct versioned {
    struct sw_table *table;
    struct sw_queue *queue; /* of the writer */
    uint32_t key_bytes;
    _Atomic uint64_t begun, done;
    uint64_t others; /* other keys of the table: a batch inserts, another one deletes them */
};

struct versions {
    struct versioned tables[READ_TABLES + READERS]; /* then one that each reader makes and drops */
    struct sw_device *device;
    _Atomic uint32_t readers; /* that still read */
    _Atomic uint32_t rounds;  /* that readers have ended */
};

struct version_thread {
    struct versions *all;
    uint32_t number; /* 0 to READERS - 1 read, the others write */
    uint64_t errors;
};

/* One half of the tables has 64-bit slots, the other 128-bit slots. One half has integers, the
 * other rows of the keys' size. So the tables of a half may share launches. All grow. */
static void open_versioned(struct versioned *one, uint32_t number, struct sw_device *device)
{
    struct sw_table_config config;
    const bool other_half = number % READ_TABLES >= READ_TABLES / 2;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.shared = device;
    config.slot_bits = other_half ? 64 : 128;
    config.capacity_slots = 256;
    config.max_capacity_slots = 1U << 14;
    config.max_load = 0.85;
    config.batch_ops_max = READ_KEYS;
    config.stash_slots = 256;
    config.value_bytes = other_half == (random_seed() % 2 == 0) ? config.slot_bits / 16 : 0;
    if (config.backend == SW_BACKEND_CUDA && number % 2 != 0) {
        config.tuning.hints = SW_CHOICE_ALWAYS;
    }
    *one = (struct versioned){.table = must_create(&config), .key_bytes = config.slot_bits / 16};
    one->queue = must_queue(one->table);
}

static void close_versioned(struct versioned *one)
{
    sw_queue_destroy(one->queue);
    sw_table_destroy(one->table);
}

/* Runs a batch on the keys first, first + 1, .. with one operand. Returns whether it succeeded. */
static bool write_keys(struct versioned *one, struct io_memory *io, enum sw_op op, uint64_t first,
                       uint32_t count, uint64_t value)
{
    void *keys = io->arrays[0].memory;
    void *values = io->arrays[1].memory;
    for (uint32_t i = 0; i < count; i++) {
        set_word(keys, one->key_bytes, i, first + i);
        set_word(values, one->key_bytes, i, value);
    }
    struct sw_batch batch = {.op = op, .count = count, .keys = keys, .values = values};
    return sw_batch_run(one->queue, &batch) == SW_OK;
}

/* Writes the next version, and now and then adds or removes other keys. */
static void write_version(struct version_thread *me, struct versioned *one, struct io_memory *io,
                          struct random *random)
{
    const uint64_t version = one->begun + 1;
    one->begun = version;
    me->errors += !write_keys(one, io, SW_SET, 0, VERSION_KEYS, version);
    one->done = version;
    if (random_below(random, 4) == 0) {
        const bool adds =
            one->others == 0 || (one->others < OTHERS_MAX && random_below(random, 3) > 0);
        one->others -= adds ? 0 : VERSION_KEYS;
        me->errors += !write_keys(one, io, adds ? SW_SET : SW_DELETE, VERSION_KEYS + one->others,
                                  VERSION_KEYS, 7);
        one->others += adds ? VERSION_KEYS : 0;
    }
}

static void *write_versions(struct version_thread *me)
{
    struct random random = random_of(100 + me->number);
    struct io_memory io = {.table = me->all->tables[0].table};
    const uint32_t share = WRITES_A_ROUND / tested_share();
    const uint32_t writes_a_round = share > WRITES_A_ROUND_MIN ? share : WRITES_A_ROUND_MIN;
    (void)io_array(&io, READ_KEYS * sizeof(uint64_t));
    (void)io_array(&io, READ_KEYS * sizeof(uint64_t));
    for (uint32_t writes = 0; me->all->readers > 0 && me->errors == 0; writes++) {
        while (writes > (me->all->rounds + 1) * writes_a_round && me->all->readers > 0) {
            usleep(100);
        }
        const uint32_t table =
            WRITERS * (uint32_t)random_below(&random, READ_TABLES / WRITERS) + me->number % WRITERS;
        write_version(me, &me->all->tables[table], &io, &random);
    }
    io_free(&io);
    return NULL;
}

/* A read of one table in flight. */
struct version_read {
    struct sw_queue *queue;
    struct sw_batch batch;
    uint64_t least; /* version that was done before */
};

static uint64_t errors_of(const struct version_read *read, const struct versioned *one)
{
    const uint64_t most = one->begun;
    const uint64_t first = word_at(read->batch.previous, one->key_bytes, 0);
    uint64_t errors = read->batch.status != SW_OK || first < read->least || first > most;
    for (uint32_t i = 0; i < READ_KEYS; i++) {
        errors += word_at(read->batch.previous, one->key_bytes, i) != first ||
                  (read->batch.found[i / 64] >> i % 64 & 1) == 0;
    }
    return errors;
}

/* Submits a read of each table, then polls them in another order. */
static void read_versions_once(struct version_thread *me, struct version_read *reads,
                               const uint32_t *tables, uint32_t count, struct random *random)
{
    bool done[READ_TABLES + 1] = {false};
    for (uint32_t r = 0; r < count; r++) {
        reads[r].least = me->all->tables[tables[r]].done;
        me->errors += sw_batch_submit(reads[r].queue, &reads[r].batch) != SW_OK;
    }
    for (uint32_t left = count; left > 0 && me->errors == 0;) {
        const uint32_t r = (uint32_t)random_below(random, count);
        if (!done[r] && sw_batch_poll(reads[r].queue, &reads[r].batch) != SW_PENDING) {
            me->errors += errors_of(&reads[r], &me->all->tables[tables[r]]);
            done[r] = true;
            left--;
        }
    }
}

static void set_keys(void *keys, uint32_t bytes)
{
    for (uint32_t i = 0; i < READ_KEYS; i++) {
        set_word(keys, bytes, i, i % VERSION_KEYS);
    }
}

static void prepare_read(struct version_thread *me, struct version_read *read,
                         const struct versioned *one, struct io_memory *io)
{
    void *keys = io_array(io, READ_KEYS * sizeof(uint64_t));
    set_keys(keys, one->key_bytes);
    me->errors += sw_queue_create_for(one->table, 1 + me->number, &read->queue) != SW_OK;
    read->batch = (struct sw_batch){.op = SW_GET,
                                    .count = READ_KEYS,
                                    .keys = keys,
                                    .previous = io_array(io, READ_KEYS * sizeof(uint64_t)),
                                    .found = io_array(io, READ_KEYS / 8)};
}

/* A round with a table that the reader makes, fills, reads beside the others, and drops. */
static void read_a_passing_table(struct version_thread *me, struct version_read *reads,
                                 uint32_t *tables, struct io_memory *io, struct random *random)
{
    const uint32_t number = tables[READ_TABLES];
    struct versioned *one = &me->all->tables[number];
    struct io_memory own = {.table = io->table};
    open_versioned(one, number, me->all->device);
    prepare_read(me, &reads[READ_TABLES], one, &own);
    write_version(me, one, &own, random);
    set_keys(own.arrays[0].memory, one->key_bytes); /* the write has changed the array */
    read_versions_once(me, reads, tables, READ_TABLES + 1, random);
    io_free(&own);
    sw_queue_destroy(reads[READ_TABLES].queue);
    close_versioned(one);
}

static void *read_versions(struct version_thread *me)
{
    struct random random = random_of(200 + me->number);
    struct io_memory io = {.table = me->all->tables[0].table};
    struct version_read reads[READ_TABLES + 1];
    uint32_t tables[READ_TABLES + 1];
    const uint32_t rounds = ROUNDS / tested_share() + 2;
    for (uint32_t t = 0; t < READ_TABLES; t++) {
        tables[t] = t;
        prepare_read(me, &reads[t], &me->all->tables[t], &io);
    }
    tables[READ_TABLES] = READ_TABLES + me->number;
    for (uint32_t round = 0; round < rounds && me->errors == 0; round++) {
        if (round % 16 == 1) {
            read_a_passing_table(me, reads, tables, &io, &random);
        } else {
            read_versions_once(me, reads, tables, READ_TABLES, &random);
        }
        me->all->rounds++;
    }
    me->all->readers--;
    for (uint32_t t = 0; t < READ_TABLES; t++) {
        sw_queue_destroy(reads[t].queue);
    }
    io_free(&io);
    return NULL;
}

static void *run_version_thread(void *argument)
{
    struct version_thread *me = argument;
    return me->number < READERS ? read_versions(me) : write_versions(me);
}

/* Reads of several tables by one thread are in one order with the writes, growth and drops of each
 * table, also if they share a launch. */
Test(shared_reads, see_whole_writes)
{
    static struct versions all;
    struct version_thread threads[THREADS];
    all.readers = READERS;
    cr_assert_eq(sw_device_create(1, &all.device), SW_OK);
    for (uint32_t t = 0; t < READ_TABLES; t++) {
        struct io_memory io;
        open_versioned(&all.tables[t], t, all.device);
        io = (struct io_memory){.table = all.tables[t].table};
        (void)io_array(&io, READ_KEYS * sizeof(uint64_t));
        (void)io_array(&io, READ_KEYS * sizeof(uint64_t));
        cr_assert(write_keys(&all.tables[t], &io, SW_SET, 0, VERSION_KEYS, 0));
        io_free(&io);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        threads[t] = (struct version_thread){.all = &all, .number = t};
    }
    threads_run(THREADS, run_version_thread, threads, sizeof(threads[0]));
    for (uint32_t t = 0; t < THREADS; t++) {
        cr_assert_eq(threads[t].errors, 0, "thread %u", t);
    }
    for (uint32_t t = 0; t < READ_TABLES; t++) {
        must_check(all.tables[t].table);
        close_versioned(&all.tables[t]);
    }
    sw_device_destroy(all.device);
}
