/* SPDX-License-Identifier: MIT
 *
 * expiry_pair.h - two tables of the same keys, and the I/O memory of both, for test_expiry_pair.c.
 */
#ifndef SHERWOOD_TESTS_TABLE_EXPIRY_PAIR_H
#define SHERWOOD_TESTS_TABLE_EXPIRY_PAIR_H

#include <criterion/criterion.h>
#include <string.h>

#include "table/table.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

#define OPS_MAX 2048U
#define KEYS 700U
#define IO_BYTES (OPS_MAX * 192ULL) /* more than the arrays of a side have */
#define SECOND 1                    /* the table that is tested */
#define TEXT_BYTES 16U

struct side {
    struct sw_table *table;
    struct sw_queue *queue;
    uint8_t *memory, *keys, *values, *previous, *refused, *ops;
    uint64_t *found, *expires, *expires_out;
    uint32_t *ends;
    struct sw_batch batch;
};

struct world {
    struct side sides[2];
    struct random random;
    uint32_t key_bytes, value_bytes;
    uint32_t text_bytes; /* of a row, the last ones: 0, or TEXT_BYTES */
    bool replays;
    uint64_t operations; /* that are drawn: of no parts, and not of times */
    uint64_t clock;
    uint64_t held; /* a bit for each remainder of keys by 64 */
    int step;
    int quiet; /* steps during which no operation sets an expiry time */
};

#define agree(what, first, second)                                                            \
    cr_assert_eq((uint64_t)(first), (uint64_t)(second), "seed %llu, step %d: %s: %llu, %llu", \
                 (unsigned long long)random_seed(), world->step, what,                        \
                 (unsigned long long)(first), (unsigned long long)(second))
#define agree_bytes(what, first, second, bytes)                                                   \
    cr_assert((bytes) == 0 || memcmp(first, second, bytes) == 0, "seed %llu, step %d: %s differ", \
              (unsigned long long)random_seed(), world->step, what)

/* Returns the next array, with `bytes` bytes an operation. */
static uint8_t *carve_array(uint8_t **next, uint64_t bytes)
{
    uint8_t *at = *next;
    *next += OPS_MAX * bytes;
    return at;
}

static void open_side(struct side *side, const struct sw_table_config *config)
{
    memset(side, 0, sizeof(*side));
    side->table = must_create(config);
    side->queue = must_queue(side->table);
    side->memory = sw_io_alloc(side->table, IO_BYTES);
    uint8_t *next = side->memory;
    side->values = carve_array(&next, 64);
    side->previous = carve_array(&next, 64);
    side->keys = carve_array(&next, sizeof(uint64_t));
    side->expires = (uint64_t *)(void *)carve_array(&next, sizeof(uint64_t));
    side->expires_out = (uint64_t *)(void *)carve_array(&next, sizeof(uint64_t));
    side->ends = (uint32_t *)(void *)carve_array(&next, sizeof(uint32_t));
    side->found = (uint64_t *)(void *)carve_array(&next, 1);
    side->refused = carve_array(&next, 1);
    side->ops = carve_array(&next, 1);
}

static void close_side(struct side *side)
{
    sw_io_free(side->table, side->memory, IO_BYTES);
    sw_queue_destroy(side->queue);
    sw_table_destroy(side->table);
}

static void put_key(const struct world *world, struct side *side, uint32_t i, uint64_t key)
{
    key = key == KEYS - 1 ? UINT64_MAX : key; /* some key of all ones */
    memcpy(side->keys + (size_t)i * world->key_bytes, &key, world->key_bytes);
}

static void open_world(struct world *world, uint32_t slot_bits, uint32_t row_bytes, bool texts,
                       bool grows, bool replays)
{
    struct sw_table_config config;
    struct sw_table_info info;
    sw_table_config_init(&config);
    memset(world, 0, sizeof(*world));
    config.backend = SW_BACKEND_CPU;
    config.slot_bits = slot_bits;
    config.value_bytes = row_bytes;
    config.key_text_bytes = texts ? TEXT_BYTES : 0;
    config.capacity_slots = grows ? 64 : 72;
    config.max_capacity_slots = grows ? 2048 : 0;
    config.batch_ops_max = OPS_MAX;
    config.stash_slots = 256;
    config.threads = 1;
    world->key_bytes = slot_bits / 16;
    world->value_bytes = row_bytes > 0 ? row_bytes : world->key_bytes;
    world->text_bytes = config.key_text_bytes;
    world->replays = replays;
    world->random =
        random_of(slot_bits + row_bytes + (grows ? 1 : 0) + (replays ? 2 : 0) + (texts ? 4096 : 0));
    world->clock = 1000000000000;
    world->quiet = (int)random_below(&world->random, 20);
    open_side(&world->sides[0], &config);
    config.backend = tested_backend();
    config.threads = 2;
    if (row_bytes > 0) {
        tested_place(&config);
    }
    tested_tune(&config);
    open_side(&world->sides[SECOND], &config);
    sw_table_info(world->sides[SECOND].table, &info);
    world->operations = info.operations & ~(SW_OPS_EXPIRE | SW_OPS_PART | SW_OPS_PAIR);
    for (int s = 0; s < 2; s++) { /* no key is there: this begins the clock */
        struct sw_batch first = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_EXPIRE,
                                 .count = 1,
                                 .keys = world->sides[s].keys,
                                 .clock_ms = world->clock,
                                 .expire_at = world->clock + 1};
        put_key(world, &world->sides[s], 0, 0);
        must_run(world->sides[s].queue, &first);
    }
}

#endif
