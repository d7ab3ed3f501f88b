/* SPDX-License-Identifier: MIT
 *
 * test_sequencer.c - tables that share a sequencer: each write has a number of its own, and the
 * numbers of one table ascend in the order of its writes.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/sequencer.h"
#include "tests/support/must.h"
#include "tests/support/threads.h"

#define TABLES 3
#define WRITES 2000
#define ALL ((uint64_t)TABLES * WRITES)

TestSuite(sequencer, .timeout = 60);

struct writer {
    struct sw_table *table;
    uint8_t *taken; /* [ALL + 1] atomic: how often each number was given */
};

static struct sw_table *create(enum sw_engine engine, struct sw_sequencer *sequencer)
{
    struct sw_table_config config = cpu_config(1024, 64);
    config.engine = engine;
    config.max_load = engine == SW_ENGINE_CUCKOO ? 0.4 : 0.8;
    config.sequencer = sequencer;
    return must_create(&config);
}

/* Runs one SET and returns its number. */
static uint64_t write_one(struct sw_queue *queue, uint64_t key)
{
    uint64_t value = key + 1;
    uint8_t refused = 0;
    uint32_t end = 1;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = 1,
                             .keys = &key,
                             .values = &value,
                             .group_count = 1,
                             .group_ends = &end,
                             .group_refused = &refused};
    cr_assert_eq(sw_batch_run(queue, &batch), SW_OK);
    return batch.write_sequence;
}

static void *run_writer(void *argument)
{
    const struct writer *writer = argument;
    struct sw_queue *queue = NULL;
    uint64_t last = 0;
    cr_assert_eq(sw_queue_create(writer->table, &queue), SW_OK);
    for (uint64_t i = 0; i < WRITES; i++) {
        const uint64_t number = write_one(queue, i % 64);
        cr_assert_gt(number, last, "the numbers of a table ascend");
        cr_assert_leq(number, ALL);
        cr_assert_eq(sw_table_last_sequence(writer->table), number);
        __atomic_fetch_add(&writer->taken[number], 1, __ATOMIC_RELAXED);
        last = number;
    }
    sw_queue_destroy(queue);
    return NULL;
}

/* Three tables of three engines, each with a thread that writes: the numbers are 1 to ALL. */
Test(sequencer, numbers_each_write_once)
{
    static const enum sw_engine engines[TABLES] = {SW_ENGINE_ROBIN_HOOD, SW_ENGINE_CUCKOO,
                                                   SW_ENGINE_CACHE};
    struct sw_sequencer sequencer = {0};
    struct writer writers[TABLES];
    uint8_t *taken = calloc(ALL + 1, 1);
    for (int t = 0; t < TABLES; t++) {
        writers[t] = (struct writer){create(engines[t], &sequencer), taken};
    }
    threads_run(TABLES, run_writer, writers, sizeof(writers[0]));
    for (int t = 0; t < TABLES; t++) {
        sw_table_destroy(writers[t].table);
    }
    for (uint64_t number = 1; number <= ALL; number++) {
        cr_assert_eq(taken[number], 1, "number %llu", (unsigned long long)number);
    }
    cr_assert_eq(sw_sequencer_last(&sequencer), ALL);
    free(taken);
}

/* A table without a sequencer in its configuration numbers its writes by itself. */
Test(sequencer, is_the_tables_own_by_default)
{
    struct sw_table *tables[2] = {create(SW_ENGINE_ROBIN_HOOD, NULL),
                                  create(SW_ENGINE_ROBIN_HOOD, NULL)};
    for (int t = 0; t < 2; t++) {
        struct sw_queue *queue = NULL;
        cr_assert_eq(sw_queue_create(tables[t], &queue), SW_OK);
        cr_assert_eq(write_one(queue, 1), 1);
        cr_assert_eq(write_one(queue, 2), 2);
        sw_queue_destroy(queue);
        sw_table_destroy(tables[t]);
    }
}

/* sw_table_set_sequence continues the numbers of every table of the sequencer. */
Test(sequencer, continues_behind_a_number_that_is_set)
{
    struct sw_sequencer sequencer = {0};
    struct sw_table *tables[2] = {create(SW_ENGINE_ROBIN_HOOD, &sequencer),
                                  create(SW_ENGINE_CUCKOO, &sequencer)};
    struct sw_queue *queues[2];
    sw_table_set_sequence(tables[0], 100);
    for (int t = 0; t < 2; t++) {
        cr_assert_eq(sw_queue_create(tables[t], &queues[t]), SW_OK);
    }
    cr_assert_eq(write_one(queues[1], 1), 101);
    cr_assert_eq(write_one(queues[0], 1), 102);
    cr_assert_eq(sw_table_last_sequence(tables[1]), 101);
    for (int t = 0; t < 2; t++) {
        sw_queue_destroy(queues[t]);
        sw_table_destroy(tables[t]);
    }
}
