/* SPDX-License-Identifier: MIT
 *
 * id_world.h - a table of ids, its arrays and a model of it: test_ids.c, test_id_sets.c. Threads:
 * one.
 */
#ifndef SHERWOOD_TESTS_TABLE_ID_WORLD_H
#define SHERWOOD_TESTS_TABLE_ID_WORLD_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/expiring.h"
#include "table/image.h"
#include "table/mix.h"
#include "table/restore.h"
#include "table/table.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

enum { KEYS = 400, IDS = 250, OPS = 600, GROUPS_MAX = 8, ROUNDS = 400 };

struct entry {
    bool present;
    uint64_t id;
    uint64_t expires; /* 0: never */
};

struct model {
    struct entry entries[KEYS];
    bool used[IDS];
    uint32_t count;
};

struct world {
    struct sw_table *table;
    struct sw_queue *queue;
    struct random random;
    struct model model;
    uint32_t key_bytes;
    uint64_t seed;
    uint32_t most; /* most entries at any time so far */
    uint64_t clock_ms;
    struct io_memory io;
    uint8_t *ops, *refused;
    void *keys, *values, *previous;
    uint64_t *found, *expires;
    uint32_t *ends;
    uint32_t key_of[OPS]; /* of operation i, in the model */
};

static inline uint64_t load(const struct world *world, const void *array, uint32_t i)
{
    return world->key_bytes == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

static inline void store(const struct world *world, void *array, uint32_t i, uint64_t value)
{
    if (world->key_bytes == 8) {
        ((uint64_t *)array)[i] = value;
    } else {
        ((uint32_t *)array)[i] = (uint32_t)value;
    }
}

/* Key k of the model. Key 0 is the key of the side cell. */
static inline uint64_t key_of(const struct world *world, uint32_t k)
{
    return k > 0                   ? k
           : world->key_bytes == 8 ? sw_unmix_64(UINT64_MAX, world->seed)
                                   : sw_unmix_32(UINT32_MAX, world->seed);
}

static inline struct sw_table *create(uint32_t key_bytes, uint64_t ids, uint64_t seed)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.slot_bits = 16 * key_bytes;
    config.capacity_slots = 64;
    config.max_capacity_slots = ids < 4096 ? 4096 : 2 * ids;
    config.rows_max = ids;
    config.stash_slots = 64;
    config.batch_ops_max = 1U << 14;
    config.threads = 2;
    config.seed = seed;
    tested_tune(&config);
    return must_create(&config);
}

static inline void open_world(struct world *world, uint32_t key_bytes, uint64_t number)
{
    memset(world, 0, sizeof(*world));
    world->random = random_of(number);
    world->key_bytes = key_bytes;
    world->seed = 77;
    world->clock_ms = 1000;
    world->table = create(key_bytes, IDS, world->seed);
    cr_assert_eq(sw_queue_create(world->table, &world->queue), SW_OK);
    world->io.table = world->table;
    world->ops = io_array(&world->io, OPS);
    world->refused = io_array(&world->io, OPS);
    world->keys = io_array(&world->io, OPS * sizeof(uint64_t));
    world->values = io_array(&world->io, OPS * sizeof(uint64_t));
    world->previous = io_array(&world->io, OPS * sizeof(uint64_t));
    world->found = io_array(&world->io, OPS * sizeof(uint64_t));
    world->expires = io_array(&world->io, OPS * sizeof(uint64_t));
    world->ends = io_array(&world->io, OPS * sizeof(uint32_t));
}

static inline void close_world(struct world *world)
{
    sw_queue_destroy(world->queue);
    io_free(&world->io);
    sw_table_destroy(world->table);
}

/* Sets keys 1 .. count of a batch, all of operation `op`. */
static inline struct sw_batch of_keys(struct world *world, enum sw_op op, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        store(world, world->keys, i, i + 1);
    }
    return (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                             .op = op,
                             .count = count,
                             .keys = world->keys,
                             .previous = world->previous,
                             .found = world->found};
}

/* Fills a table that no restore can fill, as a server does. Returns the status. */
static inline int set_all(struct sw_table *table, const void *keys, const void *values,
                          uint32_t count, uint32_t key_bytes)
{
    const size_t bytes = KEYS * sizeof(uint64_t);
    uint8_t *memory = sw_io_alloc(table, 2 * bytes);
    struct sw_queue *queue = NULL;
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    memcpy(memory, keys, (size_t)count * key_bytes);
    memcpy(memory + bytes, values, (size_t)count * key_bytes);
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = count,
                             .keys = memory,
                             .values = memory + bytes};
    const int status = sw_batch_run(queue, &batch);
    sw_queue_destroy(queue);
    sw_io_free(table, memory, 2 * bytes);
    return status;
}

/* Returns a table that is filled from an image of the world's table. */
static inline struct sw_table *restored(struct world *world, int wanted, uint64_t ids)
{
    struct sw_image *image = NULL;
    struct sw_restore *restore = NULL;
    uint64_t keys[KEYS], values[KEYS], times[KEYS];
    uint32_t got = 0;
    struct sw_table *table = create(world->key_bytes, ids, world->seed + 1);
    cr_assert_eq(sw_image_take(world->queue, false, &image), SW_OK);
    cr_assert_eq(sw_image_read(image, KEYS, keys, values, times, &got), SW_OK);
    sw_image_drop(image);
    int status = sw_restore_begin(table, got, &restore);
    if (status == SW_OK) {
        cr_assert_eq(sw_restore_add(restore, keys, values, got), SW_OK);
        status = sw_restore_end(restore, true);
    } else if (status == SW_E_UNSUPPORTED) {
        status = set_all(table, keys, values, got, world->key_bytes);
    }
    cr_assert_eq(status, wanted);
    must_check(table);
    return table;
}

/* Returns the id that the next new key gets. The key leaves at once. */
static inline uint64_t next_id(struct sw_table *table, uint32_t key_bytes)
{
    struct sw_queue *queue = NULL;
    uint64_t *memory = sw_io_alloc(table, 4 * sizeof(*memory));
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    memset(memory, 0, 4 * sizeof(*memory));
    memory[0] = KEYS + 1000;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_FIND_OR_INSERT,
                             .count = 1,
                             .keys = memory,
                             .previous = memory + 1,
                             .found = memory + 2};
    must_run(queue, &batch);
    cr_assert_eq(memory[2], 0);
    const uint64_t id = key_bytes == 8 ? memory[1] : *(uint32_t *)(void *)(memory + 1);
    batch.op = SW_DELETE;
    must_run(queue, &batch);
    sw_queue_destroy(queue);
    sw_io_free(table, memory, 4 * sizeof(*memory));
    return id;
}

#endif
