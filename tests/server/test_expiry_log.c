/* SPDX-License-Identifier: MIT
 *
 * test_expiry_log.c - expiring keys in the records for logs and replicas: random batches of random
 * groups, sweeps and clears on one table, under a clock that moves forward and back. Each becomes a
 * record, and the record a batch of a second table with another capacity and seed and without a
 * clock. After every few steps both tables must hold the same entries with the same times. The test
 * also takes images of both, and reads them while batches run. A table of ids has records of ids.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ops/range_apply.h"
#include "server/batch/logging.h"
#include "server/log/replay.h"
#include "server/repl/backlog.h"
#include "table/expiring.h"
#include "table/image.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/random.h"

TestSuite(expiry_log, .timeout = 240);

#define KEYS 40U
#define OPS_MAX 24U
#define STEPS 400
#define ROW_MAX 64U

struct entry {
    uint64_t key, at;
    uint8_t value[ROW_MAX];
};

struct side {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
};

struct world {
    struct side primary, replica;
    struct sw_backlog *backlog;
    struct random random;
    uint64_t clock;
    bool wide; /* sums of rows of 16 bits, whose operands have 32 */
    bool has_ids;
    uint8_t *keys, *values, *compared, *previous, *ops, *refused;
    uint32_t *ranges;
    uint64_t *found, *expires;
    uint32_t *ends;
    uint64_t expired_keys, kept; /* what the test has seen */
};

#define SEED (unsigned long long)random_seed()

static void open_side(struct side *side, uint32_t slot_bits, uint32_t value_bytes, uint64_t ids,
                      uint64_t slots, uint64_t seed)
{
    struct sw_table_config config = cpu_config(slots, 64);
    config.slot_bits = slot_bits;
    config.value_bytes = value_bytes;
    config.rows_max = ids;
    config.stash_slots = 64;
    config.seed = seed;
    side->table = must_create(&config);
    side->queue = must_queue(side->table);
    sw_table_info(side->table, &side->info);
}

static void close_side(struct side *side)
{
    sw_queue_destroy(side->queue);
    sw_table_destroy(side->table);
}

static uint64_t key_of(const struct world *world, uint64_t number)
{
    return number == KEYS - 1 ? world->primary.info.key_bytes == 4 ? UINT32_MAX : UINT64_MAX
                              : number;
}

/* --- what a table holds ----------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct entry *one = a, *two = b;
    return one->key < two->key ? -1 : one->key > two->key;
}

static uint32_t read_image(const struct side *side, struct sw_image *image, struct entry *entries)
{
    static uint64_t keys[KEYS], times[KEYS];
    static uint8_t values[KEYS * ROW_MAX];
    uint32_t count = 0, got = 0;
    const uint32_t key_bytes = side->info.key_bytes, value_bytes = side->info.value_bytes;
    memset(entries, 0, KEYS * sizeof(*entries));
    do {
        cr_assert_eq(
            sw_image_read(image, 7, keys, values, sw_image_expires(image) ? times : NULL, &got),
            SW_OK);
        for (uint32_t i = 0; i < got; i++, count++) {
            cr_assert_lt(count, KEYS, "seed %llu", SEED);
            memcpy(&entries[count].key, (uint8_t *)keys + (size_t)i * key_bytes, key_bytes);
            memcpy(entries[count].value, values + (size_t)i * value_bytes, value_bytes);
            entries[count].at = sw_image_expires(image) ? times[i] : 0;
        }
    } while (got == 7);
    qsort(entries, count, sizeof(*entries), by_key);
    return count;
}

static uint32_t read_all(const struct side *side, struct entry *entries)
{
    struct sw_image *image = NULL;
    cr_assert_eq(sw_image_take(side->queue, false, &image), SW_OK);
    const uint32_t count = read_image(side, image, entries);
    sw_image_drop(image);
    return count;
}

static void compare(const struct world *world, int step)
{
    struct entry one[KEYS], two[KEYS];
    char violation[256] = "";
    const uint32_t count = read_all(&world->primary, one);
    cr_assert_eq(read_all(&world->replica, two), count, "seed %llu, step %d: entries", SEED, step);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(memcmp(&one[i], &two[i], sizeof(one[i])), 0,
                     "seed %llu, step %d: key %llu expires at %llu, key %llu at %llu", SEED, step,
                     (unsigned long long)one[i].key, (unsigned long long)one[i].at,
                     (unsigned long long)two[i].key, (unsigned long long)two[i].at);
    }
    const struct side *const sides[] = {&world->primary, &world->replica};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(sw_table_check(sides[i]->table, violation, sizeof(violation)), SW_OK,
                     "seed %llu, step %d: %s", SEED, step, violation);
    }
    cr_assert_eq(sw_table_last_sequence(world->replica.table),
                 sw_table_last_sequence(world->primary.table), "seed %llu, step %d", SEED, step);
}

/* --- steps ------------------------------------------------------------------------------------ */

static uint64_t draw_time(struct world *world)
{
    const uint64_t times[] = {0, SW_EXPIRE_KEEP, 1, world->clock, world->clock + 100000000ULL};
    const uint64_t chance = random_below(&world->random, 8);
    return chance < 5 ? times[chance] : world->clock + random_below(&world->random, 60);
}

static uint32_t draw_op(struct world *world)
{
    const uint64_t wide =
        SW_OPS_F16 | SW_OPS_BF16 | ~SW_OPS_OPERAND; /* operands of 32 bits, or none */
    uint64_t all = world->primary.info.operations & ~SW_OPS_EXPIRE;
    all &= world->has_ids ? ~SW_OPS_PUT : UINT64_MAX; /* only the log sets ids */
    return random_below(&world->random, 4) == 0
               ? ops_draw(&world->random, SW_OPS_EXPIRE)
               : ops_draw(&world->random, world->wide ? all & wide : all);
}

static void draw_numbers(struct world *world, uint32_t count, uint8_t *values)
{
    const uint32_t bytes = world->primary.info.value_bytes * (world->wide ? 2 : 1);
    for (uint32_t i = 0; i < count * bytes; i++) { /* small numbers of any type */
        values[i] = (i % 4 == (world->wide ? 3 : 1)) ? 0x3c : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        values[(size_t)i * bytes] = (uint8_t)random_below(&world->random, 5);
    }
}

static void draw_operands(struct world *world, uint32_t count)
{
    draw_numbers(world, count, world->values);
    draw_numbers(world, count, world->compared);
}

/* Draws the part of each operation; of a CAS its first bytes. */
static void draw_parts(struct world *world, uint32_t count, bool one_op)
{
    const uint32_t bytes = world->primary.info.value_bytes;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t offset = (uint32_t)random_below(&world->random, bytes);
        const uint32_t size = 1 + (uint32_t)random_below(&world->random, bytes - offset);
        const uint32_t op = world->ops[one_op ? 0 : i];
        world->ranges[i] = op == SW_CAS ? 1 + size % 2 : sw_range_of(offset, size, false);
    }
}

/* Tells the replica of a batch that is done: as a record, and a batch made of it. */
static void tell(struct world *world, const struct sw_batch *batch, bool copies, int step)
{
    const struct side *replica = &world->replica;
    const struct sw_wal_shape shape = {.key_bytes = replica->info.key_bytes,
                                       .value_bytes = replica->info.value_bytes};
    struct sw_backlog_record *kept = NULL;
    struct sw_wal_record record;
    if (batch->write_sequence == 0) {
        return;
    }
    sw_logging_add_to_backlog(world->backlog, batch,
                              (struct sw_logged_widths){shape.key_bytes, shape.value_bytes, 0, 0},
                              copies);
    cr_assert_eq(sw_backlog_take(world->backlog, batch->write_sequence - 1, &kept, 1, 1), 1,
                 "seed %llu, step %d", SEED, step);
    cr_assert(sw_wal_record_decode(kept->bytes, sw_backlog_salt(world->backlog), &record));
    cr_assert(sw_wal_record_is_known(&record, &shape));
    cr_assert_leq((uint64_t)record.units * SW_WAL_ALIGN - SW_WAL_RECORD_BYTES,
                  sw_wal_columns_bytes_max(&shape, 64, true));
    cr_assert(record.count > 0 || !sw_wal_needs_expiry(&record) || record.expired_keys > 0);
    struct sw_batch made = {.kind = SW_BATCH_CLEAR};
    if (record.kind == SW_WAL_OPERATIONS) {
        sw_wal_batch_of(&record, &shape, kept->bytes + SW_WAL_RECORD_BYTES, &made);
    }
    if (record.kind == SW_WAL_OPERATIONS && record.count + record.expired_keys == 0) {
        sw_table_set_sequence(replica->table, record.sequence);
    } else {
        made.wants_expired_keys = true;
        cr_assert_eq(sw_batch_run(replica->queue, &made), SW_OK, "seed %llu, step %d", SEED, step);
        cr_assert_eq(made.write_sequence, record.sequence, "seed %llu, step %d", SEED, step);
        cr_assert_eq(made.expired, batch->expired, "seed %llu, step %d", SEED, step);
        cr_assert_eq(made.expired_keys_count, batch->expired_keys_count, "seed %llu, step %d", SEED,
                     step);
        free(made.expired_keys);
    }
    world->expired_keys += record.expired_keys;
    sw_backlog_release(&kept, 1);
}

static void write_some(struct world *world, int step)
{
    const struct side *primary = &world->primary;
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, OPS_MAX);
    const bool one_op = random_below(&world->random, 3) == 0;
    const bool one_time = random_below(&world->random, 3) == 0;
    const bool is_row = primary->info.value_bytes > 8;
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = key_of(world, random_below(&world->random, KEYS));
        memcpy(world->keys + (size_t)i * primary->info.key_bytes, &key, primary->info.key_bytes);
        world->ops[i] = (uint8_t)draw_op(world);
        world->expires[i] = draw_time(world);
        if (i + 1 == count || random_below(&world->random, 3) == 0) {
            world->ends[groups++] = i + 1;
        }
    }
    draw_operands(world, count);
    draw_parts(world, count, one_op);
    world->clock += random_below(&world->random, 20);
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = one_op ? (enum sw_op)world->ops[0] : SW_GET,
                             .ops = one_op ? NULL : world->ops,
                             .count = count,
                             .keys = world->keys,
                             .values = world->values,
                             .wide_operands = world->wide,
                             .expected = world->wide ? NULL : world->compared,
                             .ranges = !world->wide && is_row ? world->ranges : NULL,
                             .previous = world->previous,
                             .found = world->found,
                             .group_count = one_op ? 0 : groups,
                             .group_ends = one_op ? NULL : world->ends,
                             .group_refused = one_op ? NULL : world->refused,
                             .clock_ms = world->clock,
                             .expires = one_time ? NULL : world->expires,
                             .expire_at = one_time ? world->expires[0] : 0,
                             .wants_expired_keys = true};
    const int status = sw_batch_run(primary->queue, &batch);
    cr_assert(status == SW_OK || status == SW_E_FULL, "seed %llu, step %d: %d", SEED, step, status);
    tell(world, &batch, !one_op, step);
    free(batch.expired_keys);
}

static void sweep_some(struct world *world, int step)
{
    const bool back = random_below(&world->random, 8) == 0;
    struct sw_batch sweep = {.kind = SW_BATCH_SWEEP,
                             .count = 1 + (uint32_t)random_below(&world->random, 64),
                             .wants_expired_keys = true};
    world->clock += back ? (uint64_t)-61000 : random_below(&world->random, 20);
    do {
        sweep.clock_ms = world->clock;
        cr_assert_eq(sw_batch_run(world->primary.queue, &sweep), SW_OK);
        tell(world, &sweep, true, step);
        free(sweep.expired_keys);
    } while (sweep.sweep.cursor != 0 && back);
}

static void step_once(struct world *world, int step)
{
    const uint64_t chance = random_below(&world->random, 100);
    struct sw_batch clear = {.kind = SW_BATCH_CLEAR};
    if (chance == 0) {
        cr_assert_eq(sw_batch_run(world->primary.queue, &clear), SW_OK);
        tell(world, &clear, true, step);
    } else if (chance < 15) {
        sweep_some(world, step);
    } else {
        write_some(world, step);
    }
}

/* An image is what the table was when it was taken, whatever is written while it is read. */
static void image_meanwhile(struct world *world, int step)
{
    struct entry before[KEYS], seen[KEYS];
    struct sw_image *image = NULL;
    const uint32_t count = read_all(&world->primary, before);
    cr_assert_eq(sw_image_take(world->primary.queue, false, &image), SW_OK);
    for (int i = 0; i < 4; i++) {
        step_once(world, step);
    }
    cr_assert_eq(read_image(&world->primary, image, seen), count, "seed %llu, step %d", SEED, step);
    cr_assert_eq(memcmp(seen, before, count * sizeof(*seen)), 0, "seed %llu, step %d", SEED, step);
    world->kept += sw_image_expires(image);
    sw_image_drop(image);
}

static void run_world(uint32_t slot_bits, uint32_t value_bytes, bool wide, uint64_t ids)
{
    struct world world = {
        .random = random_of(slot_bits + value_bytes), .wide = wide, .has_ids = ids > 0};
    const size_t room = (size_t)OPS_MAX * (ROW_MAX * 2 + 8);
    world.clock = 1000000000000;
    open_side(&world.primary, slot_bits, value_bytes, ids, 24, 1);
    open_side(&world.replica, slot_bits, value_bytes, ids, 256, 2);
    world.backlog = sw_backlog_create(1 << 20);
    sw_backlog_enable(world.backlog, world.primary.table);
    uint8_t **const arrays[] = {&world.keys,     &world.values, &world.compared,
                                &world.previous, &world.ops,    &world.refused};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        *arrays[i] = calloc(1, room);
    }
    world.found = calloc(OPS_MAX, sizeof(*world.found));
    world.ranges = calloc(OPS_MAX, sizeof(*world.ranges));
    world.expires = calloc(OPS_MAX, sizeof(*world.expires));
    world.ends = calloc(OPS_MAX, sizeof(*world.ends));
    for (int step = 0; step < STEPS || world.expired_keys == 0 || world.kept == 0; step++) {
        if (random_below(&world.random, 8) == 0) {
            image_meanwhile(&world, step);
        } else {
            step_once(&world, step);
        }
        if (step % 4 == 0) {
            compare(&world, step);
        }
    }
    compare(&world, STEPS);
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        free(*arrays[i]);
    }
    free(world.found);
    free(world.ranges);
    free(world.expires);
    free(world.ends);
    sw_backlog_destroy(world.backlog);
    close_side(&world.primary);
    close_side(&world.replica);
}

Test(expiry_log, integers)
{
    run_world(64, 0, false, 0);
    run_world(128, 0, false, 0);
}

Test(expiry_log, rows)
{
    run_world(64, 60, false, 0);
    run_world(128, 12, false, 0);
}

Test(expiry_log, rows_with_wide_operands)
{
    run_world(64, 60, true, 0);
    run_world(128, 12, true, 0);
}

Test(expiry_log, ids)
{
    run_world(64, 0, false, 20);
    run_world(128, 0, false, 30);
}

/* The clock may pass the time of a new key before its batch runs. */
Test(expiry_log, the_id_of_a_key_that_expires_at_once)
{
    struct side side;
    uint64_t keys[] = {7, 8, 9}, ids[3] = {0}, found = 0;
    open_side(&side, 128, 0, 3, 64, 1);
    struct sw_batch batch = {
        .op = SW_FIND_OR_INSERT, .count = 1, .keys = keys, .previous = ids, .found = &found};
    cr_assert_eq(sw_batch_run(side.queue, &batch), SW_OK);
    batch.count = 3;
    batch.clock_ms = 1000;
    batch.expire_at = 999;
    cr_assert_eq(sw_batch_run(side.queue, &batch), SW_OK);
    cr_assert_eq(found, 1);
    cr_assert(ids[0] == 0 && ids[1] == 1 && ids[2] == 2, "ids %llu", (unsigned long long)ids[1]);
    batch.op = SW_GET;
    batch.clock_ms = 1001;
    cr_assert_eq(sw_batch_run(side.queue, &batch), SW_OK);
    cr_assert_eq(found, 1, "the two others have expired");
    close_side(&side);
}

/* A record that removes an absent key belongs to another table. */
Test(expiry_log, a_key_that_is_not_there)
{
    struct side side;
    uint64_t key = 7;
    open_side(&side, 128, 0, 0, 64, 1);
    struct sw_batch sweep = {.kind = SW_BATCH_SWEEP, .remove_keys = &key, .remove_count = 1};
    cr_assert_eq(sw_batch_run(side.queue, &sweep), SW_E_INVALID);
    struct sw_batch set = {.op = SW_SET, .count = 1, .keys = &key, .values = &key};
    cr_assert_eq(sw_batch_run(side.queue, &set), SW_OK);
    cr_assert_eq(sw_batch_run(side.queue, &sweep), SW_E_INVALID, "it never expires");
    close_side(&side);
}
