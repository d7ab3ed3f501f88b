/* SPDX-License-Identifier: MIT
 *
 * test_many_tables.c - tables of all engines and widths that share one device: their contents
 * beside an oracle, their memory and their threads. Also run under ThreadSanitizer.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "table/device.h"
#include "table/host/scratch.h"
#include "table/sequencer.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/oracle.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"
#include "tests/support/threads.h"
#include "tests/support/words.h"

TestSuite(many_tables, .timeout = 120);

#define TABLES 64U
#define SUBMITTERS 4U
#define KEYS 96U
#define OPS 512U
#define BATCHES 40U
/* Enough for the worker threads. */
#define LARGE_OPS (1U << 14)

static struct sw_table_config config_of(uint32_t number, struct sw_device *device)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.shared = device;
    config.engine = (enum sw_engine)(number % 3);
    config.slot_bits = number / 3 % 2 == 0 ? 64 : 128;
    config.capacity_slots = 1024U << number % 4;
    config.max_load = config.engine == SW_ENGINE_CUCKOO ? 0.5 : 0.85;
    config.batch_ops_max = number % 8 == 0 ? LARGE_OPS : OPS + number;
    config.stash_slots = 256;
    return config;
}

/* --- contents --------------------------------------------------------------------------------- */

struct tested_table {
    struct sw_table *table;
    struct sw_queue *queue;
    struct oracle *oracle;
    uint32_t key_bytes;
    uint32_t ops_max;
    uint64_t last; /* number of the last write */
};

struct submitter {
    struct tested_table *tables; /* those with a number that is `number` modulo SUBMITTERS */
    uint32_t count;
    uint32_t number;
    uint64_t writes;
    uint64_t errors; /* wrong answers: asserted by the main thread */
    struct sw_device *device;
    void *keys, *values, *previous;
    uint8_t *ops;
    uint64_t *found;
    struct oracle_operation *expected;
};

/* Runs a batch on one table and compares its answers. */
static void run_batch(struct submitter *me, struct tested_table *tested, struct random *random)
{
    static const uint8_t kinds[] = {SW_GET, SW_SET, SW_SET, SW_DELETE};
    const uint32_t bytes = tested->key_bytes;
    struct sw_counters counters = {0};
    const bool large = tested->ops_max == LARGE_OPS && random_below(random, 8) == 0;
    const uint32_t count = large ? LARGE_OPS : 1 + (uint32_t)random_below(random, OPS);
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .shared = random_below(random, 2) == 0, /* so it is gathered */
                             .count = count,
                             .ops = me->ops,
                             .keys = me->keys,
                             .values = me->values,
                             .previous = me->previous,
                             .found = me->found};
    bool writes = false;
    for (uint32_t i = 0; i < count; i++) {
        struct oracle_operation *operation = &me->expected[i];
        *operation = (struct oracle_operation){.op = kinds[random_below(random, large ? 3 : 4)],
                                               .key = random_below(random, KEYS),
                                               .operand = random_below(random, 1U << 30)};
        me->ops[i] = operation->op;
        set_word(me->keys, bytes, i, operation->key);
        set_word(me->values, bytes, i, operation->operand);
        writes |= operation->op != SW_GET;
        (void)oracle_apply(tested->oracle, operation, 1, &counters);
    }
    me->errors += sw_batch_run(tested->queue, &batch) != SW_OK;
    for (uint32_t i = 0; i < count; i++) {
        const struct oracle_operation *operation = &me->expected[i];
        const bool found = (me->found[i / 64] >> i % 64 & 1) != 0;
        me->errors += found != operation->found ||
                      (found && word_at(me->previous, bytes, i) != operation->previous);
    }
    me->errors += writes ? batch.write_sequence <= tested->last : batch.write_sequence != 0;
    tested->last = writes ? batch.write_sequence : tested->last;
    me->writes += writes;
}

/* Creates and drops a table with larger batches than all before. */
static void come_and_go(struct submitter *me, uint32_t round)
{
    struct sw_table_config config = config_of(round, me->device);
    struct sw_table *table = NULL;
    config.batch_ops_max = LARGE_OPS + (round + 1) * 4096;
    me->errors += sw_table_create(&config, &table, NULL, 0) != SW_OK;
    sw_table_destroy(table);
}

static void *submit(void *argument)
{
    struct submitter *me = argument;
    struct random random = random_of(me->number);
    struct io_memory io = {.table = me->tables[me->number].table};
    const uint32_t batches = BATCHES / tested_share() + 1;
    me->keys = io_array(&io, LARGE_OPS * sizeof(uint64_t));
    me->values = io_array(&io, LARGE_OPS * sizeof(uint64_t));
    me->previous = io_array(&io, LARGE_OPS * sizeof(uint64_t));
    me->ops = io_array(&io, LARGE_OPS);
    me->found = io_array(&io, LARGE_OPS / 8);
    me->expected = calloc(LARGE_OPS, sizeof(*me->expected));
    for (uint32_t b = 0; b < batches && me->errors == 0; b++) {
        for (uint32_t t = me->number; t < me->count; t += SUBMITTERS) {
            run_batch(me, &me->tables[t], &random);
        }
        if (me->number == 0 && b % 8 == 0) {
            come_and_go(me, b / 8);
        }
    }
    free(me->expected);
    io_free(&io);
    return NULL;
}

static void open_tables(struct tested_table *tables, uint32_t count, struct sw_device *device,
                        struct sw_sequencer *sequencer)
{
    for (uint32_t t = 0; t < count; t++) {
        struct sw_table_config config = config_of(t, device);
        config.sequencer = sequencer;
        tables[t] = (struct tested_table){.table = must_create(&config),
                                          .oracle = oracle_create(config.slot_bits / 2, UINT64_MAX),
                                          .key_bytes = config.slot_bits / 16,
                                          .ops_max = config.batch_ops_max};
        tables[t].queue = must_queue(tables[t].table);
    }
}

static void close_tables(struct tested_table *tables, uint32_t count)
{
    for (uint32_t t = 0; t < count; t++) {
        must_check(tables[t].table);
        cr_assert_eq(table_stats(tables[t].table).occupied, oracle_count(tables[t].oracle));
        oracle_destroy(tables[t].oracle);
        sw_queue_destroy(tables[t].queue);
        sw_table_destroy(tables[t].table);
    }
}

/* No write of one table changes another one, and all numbers of one sequencer are taken. */
Test(many_tables, mixed_tables_equal_their_oracles)
{
    const uint32_t count =
        TABLES / tested_share() < SUBMITTERS ? SUBMITTERS : TABLES / tested_share();
    struct tested_table tables[TABLES];
    struct submitter submitters[SUBMITTERS];
    struct sw_sequencer sequencer = {0};
    struct sw_device *device;
    uint64_t writes = 0;
    cr_assert_eq(sw_device_create(2, &device), SW_OK);
    open_tables(tables, count, device, &sequencer);
    for (uint32_t s = 0; s < SUBMITTERS; s++) {
        submitters[s] =
            (struct submitter){.tables = tables, .count = count, .number = s, .device = device};
    }
    threads_run(SUBMITTERS, submit, submitters, sizeof(submitters[0]));
    for (uint32_t s = 0; s < SUBMITTERS; s++) {
        writes += submitters[s].writes;
        cr_assert_eq(submitters[s].errors, 0, "thread %u saw %llu wrong answers", s,
                     (unsigned long long)submitters[s].errors);
    }
    cr_assert_eq(sw_sequencer_last(&sequencer), writes);
    close_tables(tables, count);
    sw_device_destroy(device);
}

/* --- what a table costs ----------------------------------------------------------------------- */

/* Returns a number of /proc/self/status. */
static uint64_t status_of(const char *name)
{
    char line[256];
    uint64_t number = 0;
    FILE *file = fopen("/proc/self/status", "re");
    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            number = strtoull(line + strlen(name), NULL, 10);
        }
    }
    fclose(file);
    return number;
}

#define SMALL_TABLES 1000U
#define BAR_BYTES (128ULL << 20)

/* A thousand tables of 1,024 slots, for batches of 2^20 operations, reserve at most 128 MiB, and
 * have the threads of two. */
Test(many_tables, small_tables_are_small)
{
    static struct sw_table *tables[SMALL_TABLES];
    struct sw_device *device;
    uint64_t bytes = 0, mapped = 0, threads = 0;
    if (tested_backend() != SW_BACKEND_CPU) {
        return;
    }
    cr_assert_eq(sw_device_create(3, &device), SW_OK);
    for (uint32_t t = 0; t < SMALL_TABLES; t++) {
        struct sw_table_config config =
            config_of(3 * (t % 2), device); /* robin_hood, both widths */
        config.engine = t % 8 == 7 ? SW_ENGINE_CACHE : SW_ENGINE_ROBIN_HOOD;
        config.capacity_slots = 1024;
        config.batch_ops_max = 1U << 20;
        config.stash_slots = 1U << 16;
        tables[t] = must_create(&config);
        bytes += table_info(tables[t]).bytes_reserved;
        if (t == 1) {
            threads = status_of("Threads:");
            mapped = status_of("VmSize:");
        }
    }
    cr_assert_leq(bytes + sw_device_bytes(device), BAR_BYTES);
    cr_assert_leq((status_of("VmSize:") - mapped) << 10, BAR_BYTES);
    cr_assert_leq(status_of("Threads:"), threads);
    for (uint32_t t = 0; t < SMALL_TABLES; t++) {
        sw_table_destroy(tables[t]);
    }
    sw_device_destroy(device);
}

/* Returns an array of keys of the width: 1, 2, 3, .. */
static void *few_keys(struct io_memory *io, uint32_t key_bytes, uint32_t count)
{
    void *keys = io_array(io, count * sizeof(uint64_t));
    for (uint32_t k = 0; k < count; k++) {
        set_word(keys, key_bytes, k, k + 1);
    }
    return keys;
}

/* On both backends a further table of 1,024 slots reserves at most a thousandth of 128 MiB, also
 * once it was written. The first tables have the memory of writes of both widths. */
Test(many_tables, further_tables_are_small)
{
    enum { MANY = 6, FIRST = 3, FEW = 4 };
    struct sw_table *tables[MANY];
    struct io_memory io = {0};
    struct sw_device *device;
    uint64_t bytes = 0, shared = 0;
    cr_assert_eq(sw_device_create(3, &device), SW_OK);
    for (uint32_t t = 0; t < MANY; t++) {
        struct sw_table_config config = config_of(3 * t, device); /* robin_hood, both widths */
        config.capacity_slots = 1024;
        config.batch_ops_max = 1U << 16;
        config.stash_slots = 1U << 16;
        tables[t] = must_create(&config);
        io.table = tables[0];
        struct sw_queue *queue = must_queue(tables[t]);
        void *keys = few_keys(&io, config.slot_bits / 16, FEW);
        struct sw_batch set = {
            .op = SW_SET, .shared = true, .count = FEW, .keys = keys, .values = keys};
        cr_assert_eq(sw_batch_run(queue, &set), SW_OK);
        sw_queue_destroy(queue);
        shared = t < FIRST ? sw_device_bytes(device) : shared;
        bytes += t < FIRST ? 0 : table_info(tables[t]).bytes_reserved;
    }
    bytes += sw_device_bytes(device) - shared;
    cr_assert_leq(bytes, (MANY - FIRST) * BAR_BYTES / SMALL_TABLES);
    io_free(&io);
    for (uint32_t t = 0; t < MANY; t++) {
        sw_table_destroy(tables[t]);
    }
    sw_device_destroy(device);
}

/* A thread may leave the completed writes of many tables unpolled while it writes other tables. */
Test(many_tables, completed_writes_wait_for_their_poll)
{
    enum { MANY = 20 };
    struct sw_table *tables[MANY];
    struct sw_queue *queues[MANY];
    struct sw_batch sets[MANY];
    struct io_memory io = {0};
    struct sw_device *device;
    cr_assert_eq(sw_device_create(2, &device), SW_OK);
    for (uint32_t t = 0; t < MANY; t++) {
        const struct sw_table_config config = config_of(3 * (t % 2), device);
        tables[t] = must_create(&config);
        queues[t] = must_queue(tables[t]);
        io.table = tables[0];
        void *keys = few_keys(&io, config.slot_bits / 16, MANY + 1);
        void *found = io_array(&io, MANY);
        sets[t] = (struct sw_batch){.op = SW_SET,
                                    .shared = true, /* so it is gathered */
                                    .count = t + 1,
                                    .keys = keys,
                                    .values = keys,
                                    .found = found};
        cr_assert_eq(sw_batch_submit(queues[t], &sets[t]), SW_OK);
    }
    struct sw_batch get = {.op = SW_GET, .count = MANY + 1, .keys = sets[MANY - 1].keys};
    cr_assert_eq(sw_batch_run(queues[MANY - 1], &get), SW_OK);
    cr_assert_eq(get.counters.by_class[SW_CLASS_GET].hits, MANY);
    for (uint32_t t = 0; t < MANY; t++) {
        while (sw_batch_poll(queues[t], &sets[t]) == SW_PENDING) {
        }
        cr_assert_eq(sets[t].status, SW_OK);
        cr_assert_eq(sets[t].counters.by_class[SW_CLASS_UPSERT].operations, t + 1);
        cr_assert_eq(sets[t].counters.inserted, t + 1);
        sw_queue_destroy(queues[t]);
    }
    io_free(&io);
    for (uint32_t t = 0; t < MANY; t++) {
        sw_table_destroy(tables[t]);
    }
    sw_device_destroy(device);
}

/* On both backends, with integers and with rows. */
Test(many_tables, more_tables_have_no_more_threads)
{
    struct sw_table *tables[6];
    struct sw_device *device;
    uint64_t threads = 0;
    cr_assert_eq(sw_device_create(3, &device), SW_OK);
    for (uint32_t t = 0; t < 6; t++) {
        struct sw_table_config config = config_of(3 * t, device);
        config.value_bytes = t % 2 == 0 ? 0 : 16;
        tables[t] = must_create(&config);
        threads = t == 1 ? status_of("Threads:") : threads;
    }
    cr_assert_eq(status_of("Threads:"), threads);
    for (uint32_t t = 0; t < 6; t++) {
        sw_table_destroy(tables[t]);
    }
    sw_device_destroy(device);
}

/* --- scratch ---------------------------------------------------------------------------------- */

/* On CUDA the memory of writes has at most 90 bytes an operation with 64-bit slots, and 134 with
 * 128-bit slots: write scratch and a launch buffer (table/robin_hood/cuda/README.md). */
Test(many_tables, memory_of_writes_is_small)
{
    static const uint64_t bars[] = {90, 134};
    const uint32_t counts[] = {1U << 14, 1U << 16};
    for (uint32_t width = 0; width < 2 && tested_backend() == SW_BACKEND_CUDA; width++) {
        uint64_t bytes[2];
        for (uint32_t c = 0; c < 2; c++) {
            struct sw_device *device;
            cr_assert_eq(sw_device_create(1, &device), SW_OK);
            struct sw_table_config config = config_of(3 * width, device); /* robin_hood */
            config.batch_ops_max = counts[c];
            struct sw_table *table = must_create(&config);
            bytes[c] = table_info(table).bytes_reserved + sw_device_bytes(device);
            sw_table_destroy(table);
            sw_device_destroy(device);
        }
        cr_assert_leq(bytes[1] - bytes[0], bars[width] * (counts[1] - counts[0]), "%lu",
                      bytes[1] - bytes[0]);
    }
}

Test(many_tables, scratch_has_room_for_the_largest_need)
{
    struct sw_scratch_set set;
    sw_scratch_init(&set);
    cr_assert_eq(sw_scratch_reserve(&set, 5000), SW_OK);
    cr_assert_eq(sw_scratch_bytes(&set), 5000);
    cr_assert_eq(sw_scratch_reserve(&set, 4000), SW_OK);
    cr_assert_eq(sw_scratch_reserve(&set, UINT64_MAX / 2), SW_E_NOMEM);
    cr_assert_eq(sw_scratch_bytes(&set), 5000);
    struct sw_scratch_area *one = sw_scratch_borrow(&set, NULL, 4000);
    struct sw_scratch_area *other = sw_scratch_borrow(&set, one, 5000);
    cr_assert_neq(one, other);
    cr_assert_eq(sw_scratch_bytes(&set), 10000);
    memset(one->memory, 1, 5000);
    memset(other->memory, 2, 5000);
    sw_scratch_return(&set, other);
    cr_assert_eq(sw_scratch_borrow(&set, other, 5000), other);
    sw_scratch_return(&set, other);
    sw_scratch_return(&set, one);
    cr_assert_eq(sw_scratch_reserve(&set, 9000), SW_OK);
    one = sw_scratch_borrow(&set, NULL, 9000);
    cr_assert_eq(one->bytes, 9000);
    sw_scratch_return(&set, one);
    sw_scratch_fini(&set);
}

/* A borrower that does not wait gets every area, and then none. */
Test(many_tables, scratch_is_tried)
{
    struct sw_scratch_set set;
    struct sw_scratch_area *areas[SW_SCRATCH_TRIED_MAX];
    sw_scratch_init(&set);
    cr_assert_null(sw_scratch_try_borrow(&set, 0, UINT64_MAX / 2), "no memory");
    for (uint32_t i = 0; i < SW_SCRATCH_TRIED_MAX; i++) {
        areas[i] = sw_scratch_try_borrow(&set, 7, 4096 + i);
        cr_assert_not_null(areas[i]);
        cr_assert_geq(areas[i]->bytes, 4096 + i);
        memset(areas[i]->memory, 1, 4096 + i);
    }
    cr_assert_eq(areas[0], &set.areas[7]);
    cr_assert_null(sw_scratch_try_borrow(&set, 7, 1));
    sw_scratch_return(&set, areas[5]);
    cr_assert_eq(sw_scratch_try_borrow(&set, 7, 9000), areas[5]);
    cr_assert_eq(areas[5]->bytes, 9000);
    for (uint32_t i = 0; i < SW_SCRATCH_TRIED_MAX; i++) {
        sw_scratch_return(&set, areas[i]);
    }
    sw_scratch_fini(&set);
}

struct borrower {
    struct sw_scratch_set *set;
    uint8_t number;
    uint64_t errors;
};

static void *borrow_often(void *argument)
{
    struct borrower *me = argument;
    struct sw_scratch_area *area = NULL;
    for (uint32_t i = 0; i < 2000; i++) {
        area = sw_scratch_borrow(me->set, i % 7 == 0 ? NULL : area, 64);
        uint8_t *bytes = area->memory;
        memset(bytes, me->number, 64);
        me->errors += bytes[0] != me->number || bytes[63] != me->number;
        sw_scratch_return(me->set, area);
    }
    return NULL;
}

/* More threads than areas: some wait, and none forever. */
Test(many_tables, a_borrower_waits_for_an_area)
{
    enum { THREADS = SW_SCRATCH_AREAS_MAX + 4 };
    struct sw_scratch_set set;
    struct borrower borrowers[THREADS];
    pthread_t threads[THREADS];
    sw_scratch_init(&set);
    cr_assert_eq(sw_scratch_reserve(&set, 64), SW_OK);
    for (uint32_t t = 0; t < THREADS; t++) {
        borrowers[t] = (struct borrower){.set = &set, .number = (uint8_t)t};
        cr_assert_eq(pthread_create(&threads[t], NULL, borrow_often, &borrowers[t]), 0);
    }
    cr_assert_eq(sw_scratch_reserve(&set, 4096), SW_OK);
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        cr_assert_eq(borrowers[t].errors, 0);
    }
    sw_scratch_fini(&set);
}
