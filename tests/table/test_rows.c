/* SPDX-License-Identifier: MIT
 *
 * test_rows.c - values that are rows: which configurations have them, every small batch, rows that
 * are given back and taken again, limits, growth and shrinking. The suites of integers run again
 * with rows (engines.txt).
 */
#include "table/image.h"
#include "tests/table/row_model.h"

TestSuite(rows, .timeout = 120);

static struct sw_table_config rows_config(uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    config.value_bytes = value_bytes;
    tested_place(&config);
    return config;
}

Test(rows, refused_in_words)
{
    static const uint32_t wrong[] = {1, 2, 5, 4098, 4100, UINT32_MAX - 3};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sw_table_config config = rows_config(128, wrong[i]);
        must_refuse(&config, SW_E_INVALID, "4 to 4096");
    }
    struct sw_table_config config = rows_config(64, 8);
    config.rows_max = 1ULL << 31;
    must_refuse(&config, SW_E_INVALID, "at most 2147483647 rows");
    config.slot_bits = 128;
    cr_assert_eq(sw_table_config_check(&config, NULL, 0), SW_OK);
    config.rows_max = 1ULL << 32;
    must_refuse(&config, SW_E_INVALID, "at most 4294967295 rows");
    config = rows_config(64, 8);
    config.stash_slots = 0;
    must_refuse(&config, SW_E_INVALID, "stash");
    config = rows_config(64, 8);
    config.rows_in = (enum sw_rows_in)3;
    must_refuse(&config, SW_E_INVALID, "gpu or host memory, or both");
    for (int place = SW_ROWS_IN_GPU; place <= SW_ROWS_IN_HOST; place++) {
        config.rows_in = (enum sw_rows_in)place;
        config.rows_gpu_bytes = 1 << 20;
        must_refuse(&config, SW_E_INVALID, "gpu+host");
    }
    config = rows_config(64, 0);
    config.rows_in = SW_ROWS_IN_HOST;
    must_refuse(&config, SW_E_INVALID, "a place for rows");
}

/* What only the CUDA backend refuses: it sets rows aside for the operations of a batch. */
Test(rows, refused_on_cuda)
{
    struct sw_table_config config = rows_config(64, 8);
    if (tested_backend() != SW_BACKEND_CUDA) {
        cr_skip_test("the CPU backend sets no rows aside");
    }
    config.batch_ops_max = (1U << 22) + 1;
    must_refuse(&config, SW_E_INVALID, "at most 4194304 operations");
    config = rows_config(64, 8);
    config.capacity_slots = 1ULL << 32;
    must_refuse(&config, SW_E_INVALID, "set rows-max");
}

Test(rows, what_they_can)
{
    struct fixture fixture;
    struct sw_table_config config = rows_config(128, 60);
    fixture_open(&fixture, &config);
    cr_assert_eq(fixture.info.value_bytes, 60);
    cr_assert_eq(fixture.info.rows_mapped, fixture.info.occupied_max);
    cr_assert_eq(fixture.info.rows_max, fixture.info.occupied_max);
    for (int op = 0; op < SW_OP_END; op++) {
        bool can =
            op == SW_GET || op == SW_SET || op == SW_SET_ABSENT || op == SW_SET_PRESENT ||
            op == SW_DELETE ||
            (op >= SW_ADD_F32 && op <= SW_ADD_PRESENT_BF16 && op != SW_ADD_U64 &&
             op != SW_ADD_PRESENT_U64) ||
            (op >= SW_OR && op <= SW_ANDNOT) || sw_op_expires((uint32_t)op) ||
            SW_OPS_HAS(
                SW_OPS_STRING | SW_OPS_PART | SW_OPS_PAIR | (SW_OPS_FITTING & ~SW_OPS_64_BITS), op);
        cr_assert_eq(fixture_can(&fixture, (enum sw_op)op), can, "operation %d", op);
    }
    cr_assert_gt(sw_image_bytes(fixture.table), fixture.info.rows_mapped);
    cr_assert_geq(sw_table_config_bytes(&config), fixture.info.occupied_max * 64);
    const uint64_t bytes = fixture.info.row_bytes_gpu + fixture.info.row_bytes_host;
    const bool in_host = config.backend == SW_BACKEND_CPU || config.rows_in == SW_ROWS_IN_HOST;
    cr_assert_geq(bytes, fixture.info.rows_mapped * 64);
    cr_assert_eq(fixture.info.row_bytes_gpu == 0, in_host);
    cr_assert_eq(fixture.info.row_bytes_host == 0, !in_host && config.rows_in == SW_ROWS_IN_GPU);
    cr_assert(config.rows_in != SW_ROWS_IN_GPU ||
              fixture.info.bytes_reserved >= sw_table_config_bytes(&config));
    fixture_close(&fixture);
}

/* --- every small batch ------------------------------------------------------------------------ */

#define SMALL_OPS 3U /* operations of a batch */
#define SMALL_KEYS 2U
#define SMALL_CHOICES (SMALL_KEYS * 5U)

/* Any batch of three operations on two keys, cut into groups in any way, from any start, in a table
 * of one row or two: answers, refusals, contents, and every row in one place. The keys are deleted
 * between batches, not cleared, so that rows are taken from the stack in many orders. */
static void small_batches(uint32_t slot_bits, uint32_t value_bytes, uint64_t rows)
{
    static const enum sw_op ops[] = {SW_GET, SW_SET, SW_SET_ABSENT, SW_SET_PRESENT, SW_DELETE};
    struct sw_table_config config = rows_config(slot_bits, value_bytes);
    struct fixture fixture;
    uint64_t value = 1;
    config.capacity_slots = 16;
    config.batch_ops_max = 64;
    config.rows_max = rows;
    fixture_open(&fixture, &config);
    const uint64_t keys[SMALL_KEYS] = {7, fixture_key_of(&fixture, fixture.key_max)};
    const uint32_t batches = SMALL_CHOICES * SMALL_CHOICES * SMALL_CHOICES;
    for (uint32_t x = 0; x < batches * SMALL_OPS * 4; x++) {
        const uint32_t start = x % 4;
        const uint32_t groups = x / 4 % SMALL_OPS + 1;
        uint32_t rest = x / 4 / SMALL_OPS;
        /* an emulated device takes its time: of these one in forty is run */
        const bool now = tested_share() == 1 || (x + random_seed()) % (4 * tested_share()) == 0;
        if ((start == 3 && rows < 2) || !now) {
            continue;
        }
        for (uint32_t k = 0; k < SMALL_KEYS; k++) { /* deletes first: they make room */
            if ((start >> k & 1) == 0) {
                fixture_run_one(&fixture, SW_DELETE, keys[k], 0);
            }
        }
        for (uint32_t k = 0; k < SMALL_KEYS; k++) {
            if ((start >> k & 1) != 0) {
                fixture_run_one(&fixture, SW_SET, keys[k], value++);
            }
        }
        for (uint32_t i = 0; i < SMALL_OPS; i++) {
            fixture_set(&fixture, i, ops[rest % 5], keys[rest / 5 % SMALL_KEYS], value++);
            rest /= SMALL_CHOICES;
        }
        fixture_run(&fixture, SMALL_OPS, groups);
        must_check(fixture.table);
    }
    fixture_end(&fixture);
}

Test(rows, every_small_batch_of_one_row)
{
    small_batches(64, 4, 1);
    small_batches(128, 60, 1);
}

Test(rows, every_small_batch_of_two_rows)
{
    small_batches(64, 8, 2);
    small_batches(128, 1028, 2);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Random batches of sums on few keys: every answer and every row is bit for bit what one operation
 * after the other makes. */
static void sums_in_order(uint32_t slot_bits, uint32_t value_bytes)
{
    static const uint8_t ops[] = {
        SW_GET,     SW_SET,     SW_DELETE,          SW_ADD_F32,         SW_ADD_F32, SW_ADD_U32,
        SW_OR,      SW_XOR,     SW_ADD_PRESENT_F32, SW_ADD_PRESENT_U32, SW_AND,     SW_ANDNOT,
        SW_ADD_U64, SW_ADD_F64, SW_ADD_PRESENT_U64, SW_ADD_PRESENT_F64};
    const uint32_t choices = value_bytes % 8 == 0 ? 16 : 12;
    static struct row_world world;
    row_world_open(&world, slot_bits, value_bytes, 0, 0);
    for (uint32_t step = 0; step < 20; step += tested_share()) {
        const bool deletes = random_below(&world.random, 2) == 0;
        struct sw_batch batch = row_world_batch(&world, ops[random_below(&world.random, choices)]);
        for (uint32_t i = 0; i < batch.count; i++) {
            const uint8_t op = ops[random_below(&world.random, choices)];
            world.fixture.ops[i] = op == SW_DELETE && !deletes ? SW_SET : op;
            draw_operand(&world, i);
        }
        must_run(world.fixture.queue, &batch);
        for (uint32_t i = 0; i < batch.count; i++) {
            row_world_answer(&world, &batch, i);
            model_apply(&world, row_world_op(&batch, i), row_world_key(&world, i),
                        row_world_operand(&world, i));
        }
        must_check(world.fixture.table);
    }
    fixture_close(&world.fixture);
}

Test(rows, sums_in_order)
{
    tested_with_rows(sums_in_order);
}

/* --- batches of one operation that want no answers -------------------------------------------- */

#define FEW_ROWS 4U
#define FEW_OPS 50U

/* Carries out a batch group by group, and notes which groups a table of FEW_ROWS refuses. */
static void model_groups(struct row_world *world, const struct sw_batch *batch, bool *refused)
{
    uint32_t i = 0;
    for (uint32_t g = 0; g < batch->group_count; g++) {
        uint32_t entries = 0;
        bool after[KEYS];
        memcpy(after, world->present, sizeof(after));
        for (uint32_t j = i; j < batch->group_ends[g]; j++) {
            after[row_world_key(world, j)] |=
                batch->op != SW_SET_PRESENT && batch->op != SW_ADD_PRESENT_F32;
        }
        bool inserts = false;
        for (uint32_t k = 0; k < KEYS; k++) {
            entries += after[k];
            inserts = inserts || after[k] != world->present[k];
        }
        refused[g] = inserts && entries > FEW_ROWS;
        for (; i < batch->group_ends[g]; i++) {
            if (!refused[g]) {
                model_apply(world, batch->op, row_world_key(world, i), row_world_operand(world, i));
            }
        }
    }
}

/* Random batches, cut into groups, in a table with room for fewer rows than there are keys: rows of
 * keys that are present, of new ones, of both more than once; and of refused groups, which must
 * have written nothing. With few entries nothing can be refused, so that rows may be replaced
 * before keys are inserted. */
static void without_answers(uint32_t slot_bits, uint32_t value_bytes)
{
    static const enum sw_op ops[] = {SW_SET,     SW_SET,     SW_SET_ABSENT,     SW_SET_PRESENT,
                                     SW_ADD_F32, SW_ADD_F32, SW_ADD_PRESENT_F32};
    static struct row_world world;
    struct fixture *fixture = &world.fixture;
    struct random *random = &world.random;
    bool refused[FEW_OPS];
    row_world_open(&world, slot_bits, value_bytes, 0, FEW_ROWS);
    for (uint32_t step = 0; step < STEPS; step += tested_share()) {
        const uint32_t most = random_below(random, 2) == 0 ? FEW_ROWS : FEW_OPS;
        const uint32_t keys = random_below(random, 2) == 0 ? 2 : KEYS;
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = ops[random_below(random, sizeof(ops) / sizeof(ops[0]))],
                                 .count = 1 + (uint32_t)random_below(random, most),
                                 .keys = fixture->keys,
                                 .values = fixture->values,
                                 .group_ends = fixture->group_ends,
                                 .group_refused = fixture->group_refused};
        if (random_below(random, 8) == 0) {
            must_clear(fixture->queue);
            memset(world.present, 0, sizeof(world.present));
            memset(world.rows, 0, sizeof(world.rows));
        }
        for (uint32_t i = 0; i < batch.count; i++) {
            fixture_store(fixture, fixture->keys, i, random_below(random, keys));
            draw_operand(&world, i);
            if (i + 1 == batch.count || random_below(random, 3) == 0) {
                fixture->group_ends[batch.group_count++] = i + 1;
            }
        }
        model_groups(&world, &batch, refused);
        const int status = sw_batch_run(fixture->queue, &batch);
        bool any = false;
        for (uint32_t g = 0; g < batch.group_count; g++) {
            cr_assert_eq(fixture->group_refused[g], refused[g], "group %u of a batch of op %u", g,
                         batch.op);
            any = any || refused[g];
        }
        cr_assert_eq(status, any ? SW_E_FULL : SW_OK);
        row_world_check(&world);
    }
    fixture_close(fixture);
}

Test(rows, without_answers)
{
    tested_with_rows(without_answers);
}

/* --- larger ones ------------------------------------------------------------------------------ */

/* Random batches near the limit of rows, which is far below that of entries. */
static void near_the_limit(uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config config = rows_config(slot_bits, value_bytes);
    struct random random = random_of(value_bytes + slot_bits);
    struct fixture fixture;
    config.batch_ops_max = 300;
    config.rows_max = 200;
    config.max_capacity_slots = 1 << 16;
    config.threads = 2;
    fixture_open(&fixture, &config);
    fixture.seed = random.state;
    cr_assert_eq(fixture.info.occupied_max, 200);
    for (uint32_t step = 0; step < 60; step += tested_share()) {
        uint32_t count = 1 + (uint32_t)random_below(&random, 300);
        const bool deletes = random_below(&random, 2) == 0;
        for (uint32_t i = 0; i < count; i++) {
            const enum sw_op op = fixture_draw_op(&fixture, &random);
            fixture_set(&fixture, i, op == SW_DELETE && !deletes ? SW_SET_ABSENT : op,
                        random_below(&random, 300), random_next(&random));
        }
        fixture_run(&fixture, count, (uint32_t)random_below(&random, count + 1));
        must_check(fixture.table);
        if (random_below(&random, 20) == 0) {
            fixture_clear(&fixture);
        }
    }
    cr_assert(config.backend == SW_BACKEND_CUDA ||
                  fixture.info.capacity_slots == config.capacity_slots,
              "growth would be in vain");
    fixture_end(&fixture);
}

Test(rows, near_the_limit)
{
    tested_with_rows(near_the_limit);
}

/* Grows, shrinks and is cleared among deletes; rows move only to lower places, and only by a
 * resize. On CUDA none moves, and what has memory keeps it. */
static void grows_and_shrinks(uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config config = rows_config(slot_bits, value_bytes);
    struct random random = random_of(7 + value_bytes + slot_bits);
    struct fixture fixture;
    config.capacity_slots = 64;
    config.max_capacity_slots = 1 << 12;
    config.batch_ops_max = 512;
    fixture_open(&fixture, &config);
    fixture.seed = random.state;
    const uint64_t mapped = fixture.info.rows_mapped;
    const bool on_cuda = config.backend == SW_BACKEND_CUDA;
    for (int round = 0; round < 3; round++) {
        fixture_insert_range(&fixture, 0, 2000);
        cr_assert_gt(fixture.info.rows_mapped, 2000);
        for (uint32_t first = 0; first < 2000; first += 500) {
            uint32_t n = 0;
            for (uint32_t i = 0; i < 500; i++) {
                if (random_below(&random, 32) != 0) {
                    fixture_set(&fixture, n++, SW_DELETE, first + i, 0);
                }
            }
            fixture_run(&fixture, n, 0);
        }
        must_check(fixture.table);
        cr_assert_eq(fixture_resize(&fixture, 64), SW_OK);
        cr_assert(on_cuda || fixture.info.rows_mapped == fixture.info.occupied_max);
        fixture_audit(&fixture);
        fixture_canonical(&fixture);
        if (round == 1) {
            fixture_clear(&fixture);
            cr_assert_eq(fixture_resize(&fixture, 64), SW_OK);
            cr_assert(on_cuda || fixture.info.rows_mapped == mapped);
            must_check(fixture.table);
        }
    }
    fixture_close(&fixture);
}

Test(rows, grows_and_shrinks)
{
    for (int i = 0; i < TESTED_ROW_SIZES; i++) {
        if (tested_now((uint32_t)i, TESTED_ROW_SIZES)) {
            grows_and_shrinks(i % 2 == 0 ? 64 : 128, tested_row_sizes[i]);
        }
    }
}

/* A table whose rows do not fit in memory is not created, and says so. */
Test(rows, too_large)
{
    struct sw_table_config config = rows_config(128, 4096);
    config.capacity_slots = 1 << 20;
    config.max_capacity_slots = 1ULL << 32;
    config.max_load = 1;
    cr_assert_eq(sw_table_config_check(&config, NULL, 0), SW_OK);
    config.capacity_slots = 1ULL << 31; /* 8 TiB of rows */
    config.max_capacity_slots = 0;
    must_refuse(&config, SW_E_NOMEM, "capacity");
}
