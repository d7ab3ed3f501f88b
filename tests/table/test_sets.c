/* SPDX-License-Identifier: MIT
 *
 * test_sets.c - key sets beside a table of the same keys with values: the same random batches,
 * growth, resizes, images and restores give the same answers, counters and layout. Threads that add
 * the same keys: each key is new once. On CUDA no restore exists, and a set takes other write paths
 * than pairs: the probes differ.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/device.h"
#include "table/image.h"
#include "table/mix.h"
#include "table/restore.h"
#include "table/table.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

TestSuite(sets, .timeout = 120);

/* A batch of MANY operations is carried out on all threads. */
enum { KEYS = 3000, OPS = 900, MANY = 1 << 15, GROUPS_MAX = 8, ROUNDS = 500 };

/* One of the two tables, and what it answers. */
struct side {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_batch batch;
    uint64_t *found;
    uint8_t *refused;
};

struct world {
    struct side set, pairs;
    struct sw_device *device; /* of both: on CUDA they share the scratch of writes */
    struct random random;
    struct io_memory io;
    uint32_t key_bytes;
    uint64_t seed;
    struct sw_table_tuning tuning; /* on CUDA, of both */
    uint8_t *ops;
    void *keys, *values;
    uint32_t *ends;
};

static void store(uint32_t key_bytes, void *array, uint32_t i, uint64_t value)
{
    if (key_bytes == 8) {
        ((uint64_t *)array)[i] = value;
    } else {
        ((uint32_t *)array)[i] = (uint32_t)value;
    }
}

/* Key k of the tests. Key 0 is the key of the side cell. */
static uint64_t key_of(const struct world *world, uint64_t k)
{
    return k > 0                   ? k * 0x9e3779b97f4a7c15ULL
           : world->key_bytes == 8 ? sw_unmix_64(UINT64_MAX, world->seed)
                                   : sw_unmix_32(UINT32_MAX, world->seed);
}

static struct sw_table_config config_of(uint32_t key_bytes, uint64_t seed, bool is_set)
{
    struct sw_table_config config = cpu_config(64, MANY);
    config.slot_bits = 16 * key_bytes;
    config.is_set = is_set;
    config.max_capacity_slots = 2048; /* less than KEYS: groups are refused */
    config.max_load = 0.9;
    config.stash_slots = 8;
    config.threads = 2;
    config.seed = seed;
    config.backend = tested_backend();
    return config;
}

static void open_side(struct world *world, struct side *side, bool is_set)
{
    struct sw_table_config config = config_of(world->key_bytes, world->seed, is_set);
    config.tuning = world->tuning;
    config.shared = world->device;
    side->table = must_create(&config);
    side->queue = must_queue(side->table);
}

static void open_world(struct world *world, uint32_t key_bytes)
{
    memset(world, 0, sizeof(*world));
    world->random = random_of(key_bytes);
    world->key_bytes = key_bytes;
    world->seed = random_next(&world->random);
    struct sw_table_config config = config_of(key_bytes, world->seed, false);
    tested_tune(&config);
    world->tuning = config.tuning;
    cr_assert_eq(sw_device_create(2, &world->device), SW_OK);
    open_side(world, &world->set, true);
    open_side(world, &world->pairs, false);
    world->io.table = world->set.table;
    world->ops = io_array(&world->io, MANY);
    world->keys = io_array(&world->io, MANY * sizeof(uint64_t));
    world->values = io_array(&world->io, MANY * sizeof(uint64_t)); /* zeros */
    world->ends = io_array(&world->io, GROUPS_MAX * sizeof(uint32_t));
    struct side *sides[] = {&world->set, &world->pairs};
    for (int i = 0; i < 2; i++) {
        sides[i]->found = io_array(&world->io, MANY / 8);
        sides[i]->refused = io_array(&world->io, GROUPS_MAX);
    }
}

static void close_world(struct world *world)
{
    io_free(&world->io);
    sw_queue_destroy(world->set.queue);
    sw_queue_destroy(world->pairs.queue);
    sw_table_destroy(world->set.table);
    sw_table_destroy(world->pairs.table);
    sw_device_destroy(world->device);
}

/* --- comparisons ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Returns the keys of a table in the order of the slots, in memory that the caller frees. Kernels
 * leave the keys of a bucket in any order: they are sorted. */
static uint64_t *slots_of(const struct world *world, const struct side *side, bool has_values,
                          size_t count)
{
    const uint32_t word = world->key_bytes, slot = has_values ? 2 * word : word;
    const uint32_t in_bucket = table_info(side->table).bucket_slots;
    uint8_t *slots = malloc(count * slot);
    uint64_t *keys = calloc(count, sizeof(*keys));
    cr_assert(slots != NULL && keys != NULL);
    cr_assert_eq(count * slot, sw_table_raw_bytes(side->table));
    cr_assert_eq(sw_table_raw_copy(side->table, slots), SW_OK);
    for (size_t i = 0; i < count; i++) {
        memcpy(&keys[i], slots + (i + 1) * slot - word, word);
    }
    for (size_t i = 0; i < count && tested_backend() == SW_BACKEND_CUDA; i += in_bucket) {
        qsort(keys + i, in_bucket, sizeof(*keys), by_value);
    }
    free(slots);
    return keys;
}

/* Slot by slot, a set holds the keys of the other table. */
static void compare_slots(const struct world *world)
{
    const size_t count = sw_table_raw_bytes(world->set.table) / world->key_bytes;
    uint64_t *keys = slots_of(world, &world->set, false, count);
    uint64_t *pairs = slots_of(world, &world->pairs, true, count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(keys[i], pairs[i], "slot %zu", i);
    }
    free(keys);
    free(pairs);
}

static void compare_tables(const struct world *world)
{
    struct sw_table_stats a = table_stats(world->set.table);
    const struct sw_table_stats b = table_stats(world->pairs.table);
    for (int c = 0; c < SW_CLASS_COUNT && tested_backend() == SW_BACKEND_CUDA; c++) {
        a.counters.by_class[c].probes = b.counters.by_class[c].probes;
    }
    must_check(world->set.table);
    cr_assert_eq(memcmp(&a.counters, &b.counters, sizeof(a.counters)), 0);
    cr_assert_eq(a.occupied, b.occupied);
    cr_assert_eq(a.stash_occupied, b.stash_occupied);
    cr_assert_eq(a.grown, b.grown);
    cr_assert_eq(a.writes, b.writes);
    cr_assert_eq(a.changes, b.changes);
    cr_assert_eq(table_info(world->set.table).capacity_slots,
                 table_info(world->pairs.table).capacity_slots);
    compare_slots(world);
}

/* Runs a batch on both tables. The set gets no values. */
static void run_both(struct world *world, const struct sw_batch *batch)
{
    struct side *sides[] = {&world->set, &world->pairs};
    const uint32_t words = (batch->count + 63) / 64;
    int statuses[2];
    for (int i = 0; i < 2; i++) {
        sides[i]->batch = *batch;
        if (batch->kind == SW_BATCH_OPERATIONS) {
            sides[i]->batch.values = i == 0 ? NULL : world->values;
            sides[i]->batch.found = sides[i]->found;
            sides[i]->batch.group_refused = sides[i]->refused;
        }
        statuses[i] = sw_batch_run(sides[i]->queue, &sides[i]->batch);
    }
    cr_assert_eq(statuses[0], statuses[1]);
    cr_assert(statuses[0] == SW_OK || statuses[0] == SW_E_FULL || statuses[0] == SW_E_NOMEM,
              "status %d", statuses[0]);
    cr_assert_eq(world->set.batch.write_sequence, world->pairs.batch.write_sequence);
    if (batch->kind == SW_BATCH_OPERATIONS) {
        cr_assert_eq(memcmp(world->set.found, world->pairs.found, words * sizeof(uint64_t)), 0);
        cr_assert_eq(memcmp(world->set.refused, world->pairs.refused, batch->group_count), 0);
    }
}

/* --- steps ------------------------------------------------------------------------------------ */

static void draw_batch(struct world *world)
{
    static const uint8_t mixed[] = {SW_SET_ABSENT,  SW_SET_ABSENT, SW_SET,
                                    SW_SET_PRESENT, SW_DELETE,     SW_GET};
    const bool many = random_below(&world->random, 20) == 0;
    const uint32_t count = many ? MANY : 1 + (uint32_t)random_below(&world->random, OPS);
    const uint32_t groups = (uint32_t)random_below(&world->random, GROUPS_MAX);
    const bool is_mixed = random_below(&world->random, 2) == 0;
    const uint64_t range = 1 + random_below(&world->random, KEYS);
    for (uint32_t i = 0; i < count; i++) {
        world->ops[i] = mixed[random_below(&world->random, sizeof(mixed))];
        store(world->key_bytes, world->keys, i, key_of(world, random_below(&world->random, range)));
    }
    for (uint32_t g = 0; g < groups; g++) {
        world->ends[g] = g + 1 == groups ? count : (g + 1) * (count / groups);
    }
    run_both(world, &(struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                                       .op = (enum sw_op)world->ops[0],
                                       .ops = is_mixed ? world->ops : NULL,
                                       .count = count,
                                       .keys = world->keys,
                                       .group_count = groups,
                                       .group_ends = world->ends});
}

/* Scans both tables with small batches: the keys are the same, in the same order. */
static void compare_scans(struct world *world)
{
    uint64_t cursor = 0;
    uint32_t keys[2][200] = {{0}}; /* 100 keys of 8 bytes */
    uint64_t values[100];
    do {
        struct sw_batch a = {.kind = SW_BATCH_SCAN, .count = 100};
        a.scan.cursor = cursor;
        struct sw_batch b = a;
        a.scan.keys = keys[0];
        b.scan.keys = keys[1];
        b.scan.values = values;
        must_run(world->set.queue, &a);
        must_run(world->pairs.queue, &b);
        cr_assert_eq(a.scan.got, b.scan.got);
        cr_assert_eq(a.scan.cursor, b.scan.cursor);
        cr_assert_eq(memcmp(keys[0], keys[1], (size_t)a.scan.got * world->key_bytes), 0);
        cursor = a.scan.cursor;
    } while (cursor != 0);
}

/* Reads an image of a table as sorted keys, in memory that the caller frees. The table is written
 * after the image was taken. */
static uint64_t *image_of(struct world *world, struct side *side, bool has_values, uint32_t *count)
{
    struct sw_image *image = NULL;
    uint8_t *keys = calloc(KEYS, sizeof(uint64_t)), *values = calloc(KEYS, sizeof(uint64_t));
    uint64_t *sorted = calloc(KEYS, sizeof(uint64_t));
    cr_assert(keys != NULL && values != NULL && sorted != NULL);
    cr_assert_eq(sw_image_take(side->queue, false, &image), SW_OK);
    store(world->key_bytes, world->keys, 0, key_of(world, 1));
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_DELETE,
                             .count = 1,
                             .keys = world->keys,
                             .values = world->values};
    must_run(side->queue, &batch);
    cr_assert_eq(sw_image_read(image, KEYS, keys, has_values ? values : NULL, NULL, count), SW_OK);
    sw_image_drop(image);
    for (uint32_t i = 0; i < *count; i++) {
        memcpy(&sorted[i], keys + (size_t)i * world->key_bytes, world->key_bytes);
    }
    qsort(sorted, *count, sizeof(*sorted), by_value);
    free(keys);
    free(values);
    return sorted;
}

/* Images of both tables have the same keys, and restores of them the same layout. */
static void compare_images(struct world *world)
{
    uint32_t counts[2];
    struct side *sides[] = {&world->set, &world->pairs};
    uint64_t *keys[] = {image_of(world, &world->set, false, &counts[0]),
                        image_of(world, &world->pairs, true, &counts[1])};
    cr_assert_eq(counts[0], counts[1]);
    cr_assert_eq(memcmp(keys[0], keys[1], counts[0] * sizeof(uint64_t)), 0);
    for (uint32_t i = 0; i < counts[0]; i++) {
        store(world->key_bytes, world->keys, i, keys[0][i]);
    }
    for (int i = 0; i < 2; i++) {
        struct sw_restore *restore = NULL;
        if (tested_backend() == SW_BACKEND_CUDA) {
            free(keys[i]);
            continue;
        }
        must_clear(sides[i]->queue);
        cr_assert_eq(sw_restore_begin(sides[i]->table, counts[0], &restore), SW_OK);
        cr_assert_eq(sw_restore_add(restore, world->keys, i == 0 ? NULL : world->values, counts[0]),
                     SW_OK);
        cr_assert_eq(sw_restore_end(restore, true), SW_OK);
        free(keys[i]);
    }
}

static void take_step(struct world *world)
{
    const uint64_t what = random_below(&world->random, 40);
    if (what == 0) {
        run_both(world, &(struct sw_batch){.kind = SW_BATCH_CLEAR});
    } else if (what < 3) {
        run_both(world, &(struct sw_batch){.kind = SW_BATCH_RESIZE,
                                           .capacity = random_below(&world->random, 2049)});
    } else if (what < 5) {
        compare_scans(world);
    } else if (what < 7) {
        compare_images(world);
    } else {
        draw_batch(world);
    }
    compare_tables(world);
}

/* --- tests ------------------------------------------------------------------------------------ */

Test(sets, equal_the_keys_of_a_table_with_values)
{
    for (uint32_t key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
        struct world world;
        open_world(&world, key_bytes);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            if (tested_now(round, ROUNDS)) {
                take_step(&world);
            }
        }
        cr_assert(tested_share() > 1 || table_stats(world.set.table).counters.refused > 0);
        cr_assert_gt(table_stats(world.set.table).grown, 0);
        close_world(&world);
    }
}

enum { THREADS = 4, BATCHES_MAX = 60, EACH = 1 << 12 };

struct adder {
    struct sw_table *table;
    uint32_t key_bytes;
    uint32_t batches;
    uint64_t fresh;
};

/* Adds 0 .. batches * EACH - 1; so do the others. */
static void *add_all(void *context)
{
    struct adder *adder = context;
    struct io_memory io = {.table = adder->table};
    struct sw_queue *queue = must_queue(adder->table);
    void *keys = io_array(&io, EACH * sizeof(uint64_t));
    uint64_t *found = io_array(&io, EACH / 8);
    for (uint32_t b = 0; b < adder->batches; b++) {
        for (uint32_t i = 0; i < EACH; i++) {
            store(adder->key_bytes, keys, i, (uint64_t)b * EACH + i);
        }
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_SET_ABSENT,
                                 .count = EACH,
                                 .keys = keys,
                                 .found = found};
        must_run(queue, &batch);
        for (uint32_t i = 0; i < EACH; i++) {
            adder->fresh += (found[i / 64] >> (i % 64) & 1) == 0;
        }
    }
    sw_queue_destroy(queue);
    io_free(&io);
    return NULL;
}

Test(sets, of_threads_have_each_key_new_once)
{
    for (uint32_t key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
        struct sw_table_config config = config_of(key_bytes, 5, true);
        struct adder adders[THREADS];
        pthread_t threads[THREADS];
        const uint32_t batches = BATCHES_MAX / tested_share();
        uint64_t fresh = 0;
        config.max_capacity_slots = 1 << 19;
        struct sw_table *table = must_create(&config);
        for (int i = 0; i < THREADS; i++) {
            adders[i] = (struct adder){table, key_bytes, batches, 0};
            cr_assert_eq(pthread_create(&threads[i], NULL, add_all, &adders[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            fresh += adders[i].fresh;
        }
        cr_assert_eq(fresh, (uint64_t)batches * EACH);
        cr_assert_eq(table_stats(table).occupied, (uint64_t)batches * EACH);
        must_check(table);
        sw_table_destroy(table);
    }
}

Test(sets, take_half_the_memory)
{
    for (uint32_t key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
        struct sw_table_config set = config_of(key_bytes, 1, true);
        struct sw_table_config pairs = config_of(key_bytes, 1, false);
        cr_assert_eq(2 * sw_table_config_bytes(&set), sw_table_config_bytes(&pairs));
        struct sw_table *table = must_create(&set);
        cr_assert_eq(table_info(table).value_bytes, 0);
        cr_assert_eq(table_info(table).key_bytes, key_bytes);
        sw_table_destroy(table);
    }
}

Test(sets, have_no_operations_on_values)
{
    struct sw_table_config config = config_of(8, 1, true);
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    const uint64_t of_sets = SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_SET) | SW_OPS_ONE(SW_SET_ABSENT) |
                             SW_OPS_ONE(SW_SET_PRESENT) | SW_OPS_ONE(SW_DELETE);
    uint64_t key = 1, value = 1, times[1];
    for (uint32_t op = 0; op < SW_OP_END; op++) {
        struct sw_batch batch = {.op = (enum sw_op)op, .count = 1, .keys = &key, .values = &value};
        if ((of_sets >> op & 1) == 0 && !SW_OPS_HAS(SW_OPS_PAIR | SW_OPS_PART, op)) {
            cr_assert_eq(sw_batch_run(queue, &batch), SW_E_UNSUPPORTED, "operation %u", op);
        }
    }
    struct sw_batch batch = {.op = SW_SET, .count = 1, .keys = &key, .expires_out = times};
    cr_assert_eq(sw_batch_run(queue, &batch), SW_E_UNSUPPORTED);
    batch = (struct sw_batch){.kind = SW_BATCH_SWEEP};
    cr_assert_eq(sw_batch_run(queue, &batch), SW_E_UNSUPPORTED);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

Test(sets, are_refused_where_they_cannot_be)
{
    struct sw_table_config config = config_of(8, 1, true);
    config.stash_slots = 0;
    must_refuse(&config, SW_E_INVALID, "must have a stash");
    config = config_of(8, 1, true);
    config.value_bytes = 8;
    must_refuse(&config, SW_E_INVALID, "does not support value_bytes");
    config = config_of(8, 1, true);
    config.rows_max = 8;
    must_refuse(&config, SW_E_INVALID, "does not support a maximum of rows");
    config = config_of(8, 1, true);
    config.max_capacity_slots = 0;
    config.max_load = 0.85;
    config.engine = SW_ENGINE_CUCKOO;
    must_refuse(&config, SW_E_INVALID, "does not support keys without values");
}
