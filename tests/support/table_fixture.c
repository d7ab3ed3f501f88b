/* SPDX-License-Identifier: MIT
 *
 * table_fixture.c - runs batches on a table and on the oracle, and compares.
 */
#include "tests/support/table_fixture.h"
#include "tests/support/must.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/mix.h"
#include "table/robin_hood/geometry.h"
#include "tests/support/ops.h"
#include "tests/support/tested.h"

#define ULL(x) ((unsigned long long)(x))

/* Multiplies the slots of a cache, so that no bucket (128 slots) is ever full. */
#define CACHE_ROOM 64

struct sw_table_config fixture_config(uint32_t slot_bits)
{
    struct sw_table_config config = fixture_config_of(tested_engine(), slot_bits);
    config.value_bytes = tested_value_bytes();
    if (config.value_bytes != 0 || config.engine == SW_ENGINE_CACHE) {
        tested_place(&config);
    }
    return config;
}

struct sw_table_config fixture_config_of(enum sw_engine engine, uint32_t slot_bits)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.engine = engine;
    tested_tune(&config);
    config.slot_bits = slot_bits;
    config.capacity_slots = 1 << 12;
    config.batch_ops_max = 4096;
    config.stash_slots = 256;
    config.threads = 1;
    config.seed = 1;
    config.tuning.long_bytes = 1; /* each pass is long */
    return config;
}

double fixture_load_max(enum sw_engine engine)
{
    return engine == SW_ENGINE_CUCKOO ? 0.85 : 1.0;
}

/* What the table must refuse to pass. */
static uint64_t limit_of(const struct fixture *fixture)
{
    struct sw_table_config config = fixture->config;
    struct sw_geometry geometry;
    if (config.engine != SW_ENGINE_ROBIN_HOOD) {
        return fixture->info.occupied_max;
    }
    config.capacity_slots = sw_geometry_capacity_max(&config);
    cr_assert_eq(sw_geometry_compute(&config, &geometry, NULL, 0), SW_OK);
    return geometry.occupied_max;
}

static void *io(struct fixture *fixture, size_t element_bytes)
{
    const size_t bytes = fixture->ops_max * element_bytes + 8;
    return memset(io_array(&fixture->io, bytes), 0xA5, bytes);
}

void fixture_open(struct fixture *fixture, const struct sw_table_config *config)
{
    memset(fixture, 0, sizeof(*fixture));
    fixture->config = *config;
    if (config->engine == SW_ENGINE_ROBIN_HOOD && config->stash_slots == 0) {
        fixture->config.value_bytes = 0; /* rows need a stash */
        fixture->config.rows_in = SW_ROWS_IN_GPU;
        fixture->config.rows_gpu_bytes = 0;
    }
    if (config->engine == SW_ENGINE_CACHE) {
        fixture->config.capacity_slots = (config->capacity_slots + 1) * CACHE_ROOM;
    }
    fixture->table = must_create(&fixture->config);
    fixture->queue = must_queue(fixture->table);
    fixture->io.table = fixture->table;
    sw_table_info(fixture->table, &fixture->info);
    fixture->ops_max = config->batch_ops_max;
    fixture->room =
        config->engine == SW_ENGINE_CACHE ? config->capacity_slots : fixture->info.occupied_max;
    fixture->key_max = config->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
    fixture->value_max = fixture->info.value_bytes == 4 ? UINT32_MAX : fixture->key_max;
    fixture->value_room = fixture->info.value_bytes > 8 ? fixture->info.value_bytes : 8;
    fixture->oracle = oracle_create(config->slot_bits / 2, limit_of(fixture));
    fixture->operations = calloc(fixture->ops_max, sizeof(*fixture->operations));
    cr_assert_not_null(fixture->operations);
    fixture->ops = io(fixture, 1);
    fixture->keys = io(fixture, 8);
    fixture->values = io(fixture, fixture->value_room);
    fixture->compared = io(fixture, fixture->value_room);
    fixture->ranges = io(fixture, 4);
    fixture->previous = io(fixture, fixture->value_room);
    fixture->found = io(fixture, 8);
    fixture->group_ends = io(fixture, 4);
    fixture->group_refused = io(fixture, 1);
    fixture->leftover_keys = io(fixture, 8);
    fixture->leftover_values = io(fixture, fixture->value_room);
}

bool fixture_open_growing(struct fixture *fixture, const struct sw_table_config *config)
{
    const bool plain = config->stash_slots > 0 && config->max_probe == 0;
    if (config->backend != SW_BACKEND_CUDA || plain) {
        fixture_open(fixture, config);
        return true;
    }
    must_refuse(config, SW_E_INVALID, "");
    return false;
}

void fixture_close(struct fixture *fixture)
{
    io_free(&fixture->io);
    sw_queue_destroy(fixture->queue);
    sw_table_destroy(fixture->table);
    oracle_destroy(fixture->oracle);
    free(fixture->operations);
}

uint64_t fixture_load(const struct fixture *fixture, const void *array, size_t i)
{
    return fixture->info.key_bytes == 4 ? ((const uint32_t *)array)[i]
                                        : ((const uint64_t *)array)[i];
}

void fixture_store(const struct fixture *fixture, void *array, size_t i, uint64_t value)
{
    if (fixture->info.key_bytes == 4) {
        ((uint32_t *)array)[i] = (uint32_t)value;
    } else {
        ((uint64_t *)array)[i] = value;
    }
}

struct sw_batch fixture_batch(const struct fixture *fixture, enum sw_op op, uint32_t count)
{
    return (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                             .op = op,
                             .count = count,
                             .keys = fixture->keys,
                             .values = fixture->values,
                             .previous = fixture->previous,
                             .found = fixture->found};
}

/* Word k of the row of a value: bits of the value, other ones in each word. So an operation on bits
 * does to a row what it does to its value. 0 is all zeros. */
static uint32_t row_word(uint64_t value, uint32_t k)
{
    const uint32_t turn = (32 * k + 7 * (k / 2)) % 64;
    return (uint32_t)(value >> turn | value << (64 - turn) % 64);
}

void fixture_store_value(const struct fixture *fixture, void *array, size_t i, uint64_t value)
{
    if (fixture->config.value_bytes == 0) {
        fixture_store(fixture, array, i, value);
        return;
    }
    uint32_t words = fixture->info.value_bytes / 4;
    for (uint32_t k = 0; k < words; k++) {
        ((uint32_t *)array)[i * words + k] = row_word(value, k);
    }
}

uint64_t fixture_load_value(const struct fixture *fixture, const void *array, size_t i)
{
    if (fixture->config.value_bytes == 0) {
        return fixture_load(fixture, array, i);
    }
    uint32_t words = fixture->info.value_bytes / 4;
    const uint32_t *row = (const uint32_t *)array + i * words;
    uint64_t value = row[0] | (words > 1 ? (uint64_t)row[1] << 32 : 0);
    for (uint32_t k = 0; k < words; k++) {
        cr_assert_eq(row[k], row_word(value, k), "seed %llu: word %u of row %zu, of value %llx",
                     ULL(fixture->seed), k, i, ULL(value));
    }
    return value;
}

/* A table with rows is given what it can: sums and the like become writes. */
static enum sw_op stand_in(const struct fixture *fixture, enum sw_op op)
{
    if (fixture->config.value_bytes == 0 || fixture_can(fixture, op)) {
        return op;
    }
    return op == SW_MIN ? SW_SET_ABSENT : op == SW_MAX ? SW_SET_PRESENT : SW_SET;
}

/* Returns the value that operation i expects, if it has two operands. */
static uint64_t draw_expected(const struct fixture *fixture, uint32_t i)
{
    const struct oracle_operation *o = &fixture->operations[i];
    uint64_t held = 0;
    oracle_get(fixture->oracle, o->key, &held);
    return o->operand % 4 == 0 ? o->operand : o->operand % 4 == 1 && i > 0 ? o[-1].operand : held;
}

void fixture_set(struct fixture *fixture, uint32_t i, enum sw_op op, uint64_t key, uint64_t operand)
{
    op = stand_in(fixture, op);
    fixture->operations[i] = (struct oracle_operation){
        .op = (uint8_t)op, .key = key & fixture->key_max, .operand = operand & fixture->value_max};
    if (op == SW_CAS) {
        fixture->operations[i].expected = draw_expected(fixture, i);
    }
}

bool fixture_can(const struct fixture *fixture, enum sw_op op)
{
    return (fixture->info.operations >> op & 1) != 0;
}

enum sw_op fixture_draw_op(const struct fixture *fixture, struct random *random)
{
    enum sw_op op;
    do {
        op = (enum sw_op)ops_draw(random, OPS_ON_INTEGERS);
    } while (!fixture_can(fixture, op));
    return op;
}

static struct sw_batch make_batch(struct fixture *fixture, uint32_t count, uint32_t groups)
{
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .count = count,
                             .ops = fixture->ops,
                             .keys = fixture->keys,
                             .values = fixture->values,
                             .previous = fixture->previous,
                             .found = fixture->found,
                             .group_count = groups,
                             .group_ends = groups > 0 ? fixture->group_ends : NULL,
                             .group_refused = groups > 0 ? fixture->group_refused : NULL,
                             .leftover_keys = fixture->leftover_keys,
                             .leftover_values = fixture->leftover_values};
    bool one_op = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct oracle_operation *o = &fixture->operations[i];
        fixture->ops[i] = o->op;
        fixture_store(fixture, fixture->keys, i, o->key);
        fixture_store_value(fixture, fixture->values, i, o->operand);
        if (o->op == SW_CAS) {
            fixture_store_value(fixture, fixture->compared, i, o->expected);
            fixture->ranges[i] = fixture->info.value_bytes;
            batch.expected = fixture->compared;
            batch.ranges = fixture->config.value_bytes != 0 ? fixture->ranges : NULL;
        }
        one_op &= o->op == fixture->operations[0].op;
    }
    for (uint32_t g = 0; g < groups; g++) {
        fixture->group_ends[g] = (uint32_t)((uint64_t)count * (g + 1) / groups);
    }
    if (one_op && count > 0 && count % 2 == 0) {
        batch.ops = NULL; /* both ways to say it are tested */
        batch.op = (enum sw_op)fixture->operations[0].op;
    }
    /* Of eight batches one declines `found`, one `previous`, one both. */
    if (fixture->batches % 4 == 3) {
        batch.found = NULL;
    }
    if (fixture->batches % 8 == 5 || fixture->batches % 8 == 7) {
        batch.previous = NULL;
    }
    return batch;
}

static void compare_answers(const struct fixture *fixture, const struct sw_batch *batch,
                            uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        const struct oracle_operation *o = &fixture->operations[i];
        bool found = batch->found == NULL ? o->found : (batch->found[i / 64] >> (i % 64)) & 1;
        uint64_t previous =
            batch->previous == NULL ? o->previous : fixture_load_value(fixture, batch->previous, i);
        cr_assert_eq(found, o->found, "seed %llu, operation %u (op %u key %llx): found is %d",
                     ULL(fixture->seed), i, o->op, ULL(o->key), found);
        cr_assert_eq(previous, o->previous,
                     "seed %llu, operation %u (op %u key %llx): previous %llx, not %llx",
                     ULL(fixture->seed), i, o->op, ULL(o->key), ULL(previous), ULL(o->previous));
    }
}

static void compare_counters(const struct sw_counters *got, const struct sw_counters *expected)
{
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        cr_assert_eq(got->by_class[c].operations, expected->by_class[c].operations, "class %d", c);
        cr_assert_eq(got->by_class[c].hits, expected->by_class[c].hits, "class %d", c);
        cr_assert_eq(got->by_class[c].misses, expected->by_class[c].misses, "class %d", c);
    }
    cr_assert_eq(got->inserted, expected->inserted);
    cr_assert_eq(got->updated, expected->updated);
    cr_assert_eq(got->deleted, expected->deleted);
    cr_assert_eq(got->refused, expected->refused);
}

static void add_counters(struct sw_counters *sum, const struct sw_counters *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++) {
        to[i] += from[i];
    }
}

/* Returns the operations of an admitted group that a table with rows counts as updates of present
 * keys, although their expected values were not met. */
static uint64_t unmet(const struct fixture *fixture, uint32_t begin, uint32_t end)
{
    uint64_t count = 0;
    for (uint32_t i = begin; i < end && fixture->config.value_bytes != 0; i++) {
        const struct oracle_operation *o = &fixture->operations[i];
        count += o->op == SW_CAS && o->found && o->previous != o->expected;
    }
    return count;
}

/* Removes the entries that the table handed back from the oracle, which must have them. */
static void take_back(struct fixture *fixture, const struct sw_batch *batch)
{
    for (uint32_t k = 0; k < batch->leftover_count; k++) {
        uint64_t held;
        uint64_t key = fixture_load(fixture, fixture->leftover_keys, k);
        uint64_t value = fixture_load_value(fixture, fixture->leftover_values, k);
        cr_assert(oracle_get(fixture->oracle, key, &held), "left-over key %llx was never stored",
                  ULL(key));
        cr_assert_eq(held, value, "left-over key %llx", ULL(key));
        oracle_remove(fixture->oracle, key);
    }
}

int fixture_run(struct fixture *fixture, uint32_t count, uint32_t groups)
{
    if (fixture->config.backend == SW_BACKEND_CUDA && fixture->config.value_bytes != 0 &&
        groups > count) {
        groups = count; /* batches on rows have no more there */
    }
    struct sw_batch batch = make_batch(fixture, count, groups);
    struct sw_counters expected = {0};
    bool admitted_all = true;
    batch.no_wait = fixture->batches % 2 == 0;
    int status = sw_batch_run(fixture->queue, &batch);
    uint32_t begin = 0;
    for (uint32_t g = 0; g < (groups > 0 ? groups : 1); g++) {
        uint32_t end = groups > 0 ? fixture->group_ends[g] : count;
        bool admitted =
            oracle_apply(fixture->oracle, fixture->operations + begin, end - begin, &expected);
        if (groups > 0) {
            cr_assert_eq(fixture->group_refused[g], !admitted, "seed %llu, group %u of %u",
                         ULL(fixture->seed), g, groups);
        }
        if (admitted) {
            compare_answers(fixture, &batch, begin, end);
            expected.updated += unmet(fixture, begin, end);
        }
        admitted_all &= admitted;
        begin = end;
    }
    cr_assert_eq(status, admitted_all ? SW_OK : SW_E_FULL, "seed %llu, status: %s",
                 ULL(fixture->seed), sw_status_text(status));
    if (batch.found != NULL && count % 64 != 0 && count > 0) {
        cr_assert_eq(fixture->found[count / 64] >> (count % 64), 0, "unused bits of found");
    }
    compare_counters(&batch.counters, &expected);
    take_back(fixture, &batch);
    add_counters(&fixture->expected, &expected);
    fixture->batches++;
    sw_table_info(fixture->table, &fixture->info);
    return status;
}

int fixture_run_one(struct fixture *fixture, enum sw_op op, uint64_t key, uint64_t operand)
{
    fixture_set(fixture, 0, op, key, operand);
    return fixture_run(fixture, 1, 0);
}

void fixture_insert_range(struct fixture *fixture, uint64_t first, uint64_t count)
{
    uint32_t n = 0;
    for (uint64_t k = 0; k < count; k++) {
        fixture_set(fixture, n++, SW_SET, first + k, (first + k) * 7 + 1);
        if (n == fixture->ops_max || k + 1 == count) {
            fixture_run(fixture, n, 0);
            n = 0;
        }
    }
}

void fixture_clear(struct fixture *fixture)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR, .no_wait = fixture->batches % 2 == 0};
    must_run(fixture->queue, &batch);
    cr_assert_eq(batch.counters.deleted, oracle_count(fixture->oracle));
    fixture->expected.deleted += oracle_count(fixture->oracle);
    fixture->batches++;
    oracle_clear(fixture->oracle);
}

int fixture_resize(struct fixture *fixture, uint64_t capacity)
{
    struct sw_batch batch = {
        .kind = SW_BATCH_RESIZE, .capacity = capacity, .no_wait = fixture->batches % 2 == 0};
    int status = sw_batch_submit(fixture->queue, &batch);
    if (status != SW_OK) {
        return status;
    }
    do {
        status = sw_batch_poll(fixture->queue, &batch);
    } while (status == SW_PENDING);
    fixture->batches++;
    sw_table_info(fixture->table, &fixture->info);
    if (status == SW_E_INVALID) {
        return status;
    }
    cr_assert_eq(batch.capacity, fixture->info.capacity_slots, "seed %llu: resized to %llu of %llu",
                 ULL(fixture->seed), ULL(batch.capacity), ULL(fixture->info.capacity_slots));
    cr_assert(status != SW_OK || batch.capacity >= capacity);
    return status;
}

uint64_t fixture_key_of(const struct fixture *fixture, uint64_t m)
{
    return fixture->info.slot_bits == 64 ? sw_unmix_32((uint32_t)m, fixture->info.seed)
                                         : sw_unmix_64(m, fixture->info.seed);
}

static uint64_t m_of(const struct fixture *fixture, uint64_t key)
{
    return fixture->info.slot_bits == 64 ? sw_mix_32((uint32_t)key, fixture->info.seed)
                                         : sw_mix_64(key, fixture->info.seed);
}

uint64_t fixture_first_m(const struct fixture *fixture, uint64_t bucket)
{
    unsigned bits = fixture->info.slot_bits / 2;
    uint64_t m = (uint64_t)((long double)bucket / (long double)fixture->info.buckets *
                            (bits == 64 ? 18446744073709551616.0L : 4294967296.0L));
    return m + (bits == 64 ? 1U << 10 : 2); /* past what the division rounded away */
}

static void look_up(struct fixture *fixture, uint32_t *n, uint64_t key)
{
    fixture_set(fixture, (*n)++, SW_GET, key, 0);
    if (*n == fixture->ops_max) {
        fixture_run(fixture, *n, 0);
        *n = 0;
    }
}

void fixture_audit(struct fixture *fixture)
{
    char violation[512];
    int status = sw_table_check(fixture->table, violation, sizeof(violation));
    cr_assert_eq(status, SW_OK, "seed %llu, check: %s: %s", ULL(fixture->seed),
                 sw_status_text(status), violation);

    uint32_t n = 0;
    size_t position = 0;
    uint64_t key;
    uint64_t value;
    look_up(fixture, &n, 0);
    look_up(fixture, &n, fixture->key_max);
    look_up(fixture, &n, fixture_key_of(fixture, fixture->key_max));
    while (oracle_next(fixture->oracle, &position, &key, &value)) {
        uint64_t m = m_of(fixture, key);
        look_up(fixture, &n, key);
        look_up(fixture, &n, key - 1);
        look_up(fixture, &n, key + 1);
        look_up(fixture, &n, fixture_key_of(fixture, (m - 1) & fixture->key_max));
        look_up(fixture, &n, fixture_key_of(fixture, (m + 1) & fixture->key_max));
    }
    if (n > 0) {
        fixture_run(fixture, n, 0);
    }

    const struct sw_table_stats stats = table_stats(fixture->table);
    cr_assert_eq(stats.occupied, oracle_count(fixture->oracle), "occupied %llu, not %llu",
                 ULL(stats.occupied), ULL(oracle_count(fixture->oracle)));
    cr_assert_eq(stats.batches, fixture->batches);
    compare_counters(&stats.counters, &fixture->expected);
}

void fixture_end(struct fixture *fixture)
{
    fixture_audit(fixture);
    fixture_close(fixture);
}
