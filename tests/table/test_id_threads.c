/* SPDX-License-Identifier: MIT
 *
 * test_id_threads.c - threads that assign the same keys in one table of ids.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"

TestSuite(id_threads, .timeout = 120);

enum { THREADS = 4, THREAD_KEYS = 200, THREAD_BATCHES = 300, THREAD_OPS = 16 };

struct assigner {
    pthread_t thread;
    struct sw_table *table;
    uint64_t number;
    uint64_t id_of[THREAD_KEYS]; /* of key k + 1; UINT64_MAX: none yet */
    uint64_t fresh;              /* ids that were new to this thread's batches */
};

/* Assigns random keys. No thread deletes keys, so a key keeps its id. */
static void *assign_keys(void *context)
{
    struct assigner *mine = context;
    struct random random = random_of(100 + mine->number);
    struct sw_queue *queue = must_queue(mine->table);
    struct io_memory io = {.table = mine->table};
    uint64_t *keys = io_array(&io, THREAD_OPS * sizeof(*keys));
    uint64_t *ids = io_array(&io, THREAD_OPS * sizeof(*ids));
    uint64_t *found = io_array(&io, sizeof(*found));
    memset(mine->id_of, 0xFF, sizeof(mine->id_of));
    for (int round = 0; round < THREAD_BATCHES; round++) {
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_FIND_OR_INSERT,
                                 .count = THREAD_OPS,
                                 .keys = keys,
                                 .previous = ids,
                                 .found = found};
        for (uint32_t i = 0; i < THREAD_OPS; i++) {
            keys[i] = 1 + random_below(&random, THREAD_KEYS);
        }
        must_run(queue, &batch);
        for (uint32_t i = 0; i < THREAD_OPS; i++) {
            uint64_t *id = &mine->id_of[keys[i] - 1];
            cr_assert(*id == UINT64_MAX || *id == ids[i], "key %u changes its id",
                      (unsigned)keys[i]);
            *id = ids[i];
            mine->fresh += (*found >> i & 1) == 0;
        }
    }
    io_free(&io);
    sw_queue_destroy(queue);
    return NULL;
}

/* Each key is new to one thread, and has one id for all. */
Test(id_threads, see_the_same_ids)
{
    struct sw_table_config config;
    struct assigner all[THREADS];
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity_slots = 64; /* it grows meanwhile */
    config.max_capacity_slots = 4096;
    config.rows_max = THREAD_KEYS;
    config.stash_slots = 64;
    config.threads = 2;
    struct sw_table *table = must_create(&config);
    uint64_t fresh = 0;
    bool used[THREAD_KEYS] = {false};
    for (uint64_t i = 0; i < THREADS; i++) {
        all[i] = (struct assigner){.table = table, .number = i};
        cr_assert_eq(pthread_create(&all[i].thread, NULL, assign_keys, &all[i]), 0);
    }
    for (uint64_t i = 0; i < THREADS; i++) {
        pthread_join(all[i].thread, NULL);
        fresh += all[i].fresh;
    }
    must_check(table);
    cr_assert_eq(fresh, table_stats(table).occupied);
    for (uint32_t k = 0; k < THREAD_KEYS; k++) {
        uint64_t id = UINT64_MAX;
        for (uint64_t i = 0; i < THREADS; i++) {
            const uint64_t own = all[i].id_of[k];
            cr_assert(own == UINT64_MAX || id == UINT64_MAX || own == id, "key %u has two ids",
                      (unsigned)k + 1);
            id = own != UINT64_MAX ? own : id;
        }
        cr_assert(id == UINT64_MAX || (id < fresh && !used[id]));
        used[id < THREAD_KEYS ? id : 0] |= id != UINT64_MAX;
    }
    sw_table_destroy(table);
}
