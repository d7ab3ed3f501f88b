/* SPDX-License-Identifier: MIT
 *
 * test_id_threads.c - threads that assign the same keys in one table of ids. Each has several
 * batches in flight.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

TestSuite(id_threads, .timeout = 120);

enum { THREADS = 4, THREAD_KEYS = 200, THREAD_ROUNDS = 100, THREAD_OPS = 16, PAIRS = 3 };

struct assigner {
    pthread_t thread;
    struct sw_table *table;
    uint64_t number;
    uint64_t id_of[THREAD_KEYS]; /* of key k + 1; UINT64_MAX: none yet */
    uint64_t fresh;              /* ids that were new to this thread's batches */
};

/* An ASSIGN and a GET of the same keys behind it in its stream. The arrays are of both. */
struct pair {
    struct sw_batch assign, get;
    uint64_t *keys, *ids, *seen, *found;
};

static struct sw_batch batch_of(const struct pair *pair, enum sw_op op, uint32_t stream)
{
    return (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                             .op = op,
                             .count = THREAD_OPS,
                             .stream = stream,
                             .keys = pair->keys,
                             .previous = op == SW_GET ? pair->seen : pair->ids,
                             .found = op == SW_GET ? pair->found + 1 : pair->found};
}

static void submit(struct sw_queue *queue, struct pair *pair, struct random *random)
{
    const uint32_t stream = (uint32_t)random_below(random, 2);
    for (uint32_t i = 0; i < THREAD_OPS; i++) {
        pair->keys[i] = 1 + random_below(random, THREAD_KEYS);
    }
    pair->assign = batch_of(pair, SW_FIND_OR_INSERT, stream);
    pair->get = batch_of(pair, SW_GET, stream);
    cr_assert_eq(sw_batch_submit(queue, &pair->assign), SW_OK);
    cr_assert_eq(sw_batch_submit(queue, &pair->get), SW_OK);
}

/* No thread deletes keys, so a key keeps its id. */
static void note(struct assigner *mine, const struct pair *pair)
{
    cr_assert_eq(pair->found[1], (1U << THREAD_OPS) - 1, "a GET behind the ASSIGN misses a key");
    for (uint32_t i = 0; i < THREAD_OPS; i++) {
        uint64_t *id = &mine->id_of[pair->keys[i] - 1];
        cr_assert(*id == UINT64_MAX || *id == pair->ids[i], "key %u changes its id",
                  (unsigned)pair->keys[i]);
        cr_assert_eq(pair->ids[i], pair->seen[i]);
        *id = pair->ids[i];
        mine->fresh += (pair->found[0] >> i & 1) == 0;
    }
}

/* Assigns random keys. */
static void *assign_keys(void *context)
{
    struct assigner *mine = context;
    struct random random = random_of(100 + mine->number);
    struct sw_queue *queue = must_queue(mine->table);
    struct io_memory io = {.table = mine->table};
    struct pair pairs[PAIRS];
    memset(mine->id_of, 0xFF, sizeof(mine->id_of));
    for (uint32_t p = 0; p < PAIRS; p++) {
        pairs[p].keys = io_array(&io, THREAD_OPS * sizeof(uint64_t));
        pairs[p].ids = io_array(&io, THREAD_OPS * sizeof(uint64_t));
        pairs[p].seen = io_array(&io, THREAD_OPS * sizeof(uint64_t));
        pairs[p].found = io_array(&io, 2 * sizeof(uint64_t));
    }
    for (uint32_t round = 0; round < THREAD_ROUNDS / tested_share(); round++) {
        for (uint32_t p = 0; p < PAIRS; p++) {
            submit(queue, &pairs[p], &random);
        }
        for (uint32_t p = PAIRS; p-- > 0;) {
            must_poll(queue, &pairs[p].get);
            must_poll(queue, &pairs[p].assign);
            note(mine, &pairs[p]);
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
    config.backend = tested_backend();
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
