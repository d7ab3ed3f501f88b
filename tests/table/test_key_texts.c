/* SPDX-License-Identifier: MIT
 *
 * test_key_texts.c - rows that end with the text of their key: two texts of one key are an error,
 * and never the other's row. Random histories against a model, one operation after the other; what
 * only reads, on several threads; and what is refused.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/table.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

#define KEYS 12U
#define OPS_MAX 40U
#define STEPS 20000
#define PAYLOAD 12U
#define TEXT 16U
#define ROW (PAYLOAD + TEXT)
#define CLOCK 1000U
#define FAR 1000000U /* a time that does not come */

TestSuite(key_texts, .timeout = 120);

struct entry {
    bool held;
    uint32_t numbers[PAYLOAD / 4];
    uint32_t text; /* 0: none */
};

struct world {
    struct sw_table *table;
    struct sw_queue *queue;
    struct random random;
    struct entry entries[KEYS];
    uint64_t held, limit;
    uint64_t keys[KEYS];
    /* I/O memory */
    struct arrays {
        uint64_t keys[OPS_MAX], expires[OPS_MAX], found[1];
        uint8_t values[OPS_MAX][ROW], previous[OPS_MAX][ROW];
        uint32_t group_ends[OPS_MAX];
        uint8_t ops[OPS_MAX], group_refused[OPS_MAX];
    } * io;
};

static struct sw_table_config config_of(uint64_t limit)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity_slots = 64;
    config.batch_ops_max = OPS_MAX;
    config.stash_slots = 64;
    config.threads = 1;
    config.seed = 1 + random_seed();
    config.value_bytes = ROW;
    config.key_text_bytes = TEXT;
    config.rows_max = limit;
    return config;
}

static void open_world(struct world *world, uint64_t number, uint64_t limit)
{
    char reason[256] = "";
    const struct sw_table_config config = config_of(limit);
    memset(world, 0, sizeof(*world));
    world->random = random_of(number);
    world->limit = limit;
    cr_assert_eq(sw_table_create(&config, &world->table, reason, sizeof(reason)), SW_OK, "%s",
                 reason);
    cr_assert_eq(sw_queue_create(world->table, &world->queue), SW_OK);
    world->io = sw_io_alloc(world->table, sizeof(*world->io));
    for (uint32_t k = 0; k < KEYS; k++) { /* the last one lies in the side cell, maybe */
        world->keys[k] = k + 1 < KEYS ? random_below(&world->random, UINT64_MAX) : UINT64_MAX;
    }
}

static void close_world(struct world *world)
{
    sw_io_free(world->table, world->io, sizeof(*world->io));
    sw_queue_destroy(world->queue);
    sw_table_destroy(world->table);
}

/* Texts 1 and 2 differ in their last byte, 2 and 3 in their length. */
static void put_text(uint8_t *row, uint32_t text)
{
    static const uint8_t texts[4][TEXT] = {
        {0},
        {14, 0, 'k', 'e', 'y', ' ', 'o', 'f', ' ', 'm', 'a', 'n', 'y', ' ', ' ', 'A'},
        {14, 0, 'k', 'e', 'y', ' ', 'o', 'f', ' ', 'm', 'a', 'n', 'y', ' ', ' ', 'B'},
        {13, 0, 'k', 'e', 'y', ' ', 'o', 'f', ' ', 'm', 'a', 'n', 'y', ' ', ' ', 0}};
    memcpy(row + PAYLOAD, texts[text], TEXT);
}

static void expect_row(const struct entry *entry, const uint8_t *row, const char *what, int step)
{
    uint8_t wanted[ROW] = {0};
    if (entry->held) {
        memcpy(wanted, entry->numbers, PAYLOAD);
        put_text(wanted, entry->text);
    }
    cr_assert_arr_eq(row, wanted, ROW, "seed %llu, step %d: %s", (unsigned long long)random_seed(),
                     step, what);
}

/* --- the model -------------------------------------------------------------------------------- */

struct operation {
    enum sw_op op;
    uint32_t key, text;
    uint64_t at;
    uint32_t numbers[PAYLOAD / 4];
};

/* Applies an operation, and says what becomes of its group. */
static enum sw_admission apply(struct world *world, const struct operation *operation,
                               struct entry *before)
{
    struct entry *entry = &world->entries[operation->key];
    const enum sw_op op = operation->op;
    const bool adds = op == SW_ADD_U32 || op == SW_ADD_PRESENT_U32;
    const bool sets_time = op == SW_EXPIRE || op == SW_SET || op == SW_SET_PRESENT || !entry->held;
    const bool writes = op == SW_SET || op == SW_ADD_U32 || (op == SW_SET_ABSENT && !entry->held) ||
                        ((op == SW_SET_PRESENT || op == SW_ADD_PRESENT_U32) && entry->held);
    const bool ends = operation->at != 0 && operation->at <= CLOCK && sets_time;
    *before = *entry;
    if (entry->held && entry->text != 0 && operation->text != 0 && entry->text != operation->text) {
        return SW_REFUSED_COLLISION;
    }
    if (op == SW_DELETE || ((writes || op == SW_EXPIRE) && ends)) {
        world->held -= entry->held;
        entry->held = false;
    } else if (writes) {
        if (!entry->held && world->held == world->limit) {
            return SW_REFUSED_FULL;
        }
        for (uint32_t i = 0; i < PAYLOAD / 4; i++) {
            const uint32_t sum = adds && entry->held ? entry->numbers[i] : 0;
            entry->numbers[i] = sum + operation->numbers[i];
        }
        entry->text = operation->text != 0 || !entry->held ? operation->text : entry->text;
        world->held += !entry->held;
        entry->held = true;
    }
    return SW_ADMITTED;
}

/* --- histories -------------------------------------------------------------------------------- */

static struct operation draw(struct world *world)
{
    static const enum sw_op ops[] = {SW_GET,         SW_SET,    SW_SET,     SW_SET_ABSENT,
                                     SW_SET_PRESENT, SW_DELETE, SW_ADD_U32, SW_ADD_PRESENT_U32,
                                     SW_EXPIRE};
    static const uint64_t times[] = {0, 0, 0, 0, SW_EXPIRE_KEEP, FAR, CLOCK};
    struct random *random = &world->random;
    struct operation operation = {
        .op = ops[random_below(random, sizeof(ops) / sizeof(ops[0]))],
        .key = (uint32_t)random_below(random, KEYS),
        .text = random_below(random, 4) == 0 ? (uint32_t)random_below(random, 4) : 1,
        .at = times[random_below(random, sizeof(times) / sizeof(times[0]))],
    };
    for (uint32_t i = 0; i < PAYLOAD / 4; i++) {
        operation.numbers[i] = (uint32_t)random_below(random, UINT32_MAX);
    }
    return operation;
}

static void run_batch(struct world *world, int step)
{
    struct arrays *io = world->io;
    struct operation operations[OPS_MAX];
    const bool only_reads = random_below(&world->random, 4) == 0;
    const bool with_times = random_below(&world->random, 2) == 0;
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, OPS_MAX);
    uint32_t groups = 0;
    bool writes = false;
    for (uint32_t i = 0; i < count; i++) {
        operations[i] = draw(world);
        operations[i].op = only_reads || (!with_times && operations[i].op == SW_EXPIRE)
                               ? SW_GET
                               : operations[i].op;
        operations[i].at = with_times ? operations[i].at : 0;
        writes |= operations[i].op != SW_GET;
        io->ops[i] = (uint8_t)operations[i].op;
        io->keys[i] = world->keys[operations[i].key];
        io->expires[i] = operations[i].at;
        memcpy(io->values[i], operations[i].numbers, PAYLOAD);
        put_text(io->values[i], operations[i].text);
        if (i + 1 == count || random_below(&world->random, 3) != 0) {
            io->group_ends[groups++] = i + 1;
        }
    }
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .ops = io->ops,
                             .count = count,
                             .keys = io->keys,
                             .values = io->values,
                             .previous = io->previous,
                             .found = io->found,
                             .group_count = groups,
                             .group_ends = io->group_ends,
                             .group_refused = io->group_refused,
                             .clock_ms = CLOCK,
                             .expires = with_times && writes ? io->expires : NULL};
    const int status = sw_batch_run(world->queue, &batch);
    bool refused = false;
    uint64_t full = 0;
    for (uint32_t g = 0, i = 0; g < groups; g++) {
        const uint32_t first = i, end = io->group_ends[g];
        struct world saved = *world;
        struct entry before[OPS_MAX];
        enum sw_admission admission = SW_ADMITTED;
        for (; i < end && admission == SW_ADMITTED; i++) {
            admission = apply(world, &operations[i], &before[i]);
        }
        cr_assert_eq(io->group_refused[g], admission, "seed %llu, step %d: group %u: %d, not %d",
                     (unsigned long long)random_seed(), step, g, io->group_refused[g], admission);
        for (i = first; i < end && admission == SW_ADMITTED; i++) {
            cr_assert_eq(io->found[0] >> i & 1, before[i].held);
            expect_row(&before[i], io->previous[i], "the row before", step);
        }
        if (admission != SW_ADMITTED) {
            memcpy(world->entries, saved.entries, sizeof(saved.entries));
            world->held = saved.held;
            refused = true;
            full += admission == SW_REFUSED_FULL ? end - first : 0;
        }
        i = end;
    }
    cr_assert_eq(status, refused ? SW_E_FULL : SW_OK);
    cr_assert_eq(batch.counters.refused, full, "collisions are no lack of room");
}

/* Reads without texts show every row, its text included. */
static void look_at_all(struct world *world, int step)
{
    char violation[256] = "";
    struct arrays *io = world->io;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_GET,
                             .count = KEYS,
                             .keys = io->keys,
                             .previous = io->previous,
                             .found = io->found};
    memcpy(io->keys, world->keys, sizeof(world->keys));
    cr_assert_eq(sw_batch_run(world->queue, &batch), SW_OK);
    for (uint32_t k = 0; k < KEYS; k++) {
        expect_row(&world->entries[k], io->previous[k], "a row", step);
    }
    cr_assert_eq(sw_table_check(world->table, violation, sizeof(violation)), SW_OK, "%s",
                 violation);
}

/* `limit` rows: room is certain, or not. */
static void run_history(uint64_t number, uint64_t limit)
{
    static struct world world;
    open_world(&world, number, limit);
    for (int step = 0; step < STEPS; step++) {
        run_batch(&world, step);
        look_at_all(&world, step);
    }
    close_world(&world);
}

Test(key_texts, histories_with_room)
{
    run_history(1, 50);
}

Test(key_texts, histories_at_the_limit)
{
    run_history(2, KEYS - 3);
}

/* --- reads on several threads ----------------------------------------------------------------- */

#define MANY 20000U

/* Of many keys, read at once, some by another text: just their groups are refused. */
Test(key_texts, reads_by_all_threads)
{
    struct sw_table *table = NULL;
    struct sw_queue *queue = NULL;
    struct random random = random_of(3);
    struct sw_table_config config = config_of(0);
    char reason[256] = "";
    config.capacity_slots = 2 * MANY;
    config.batch_ops_max = MANY;
    config.threads = 4;
    cr_assert_eq(sw_table_create(&config, &table, reason, sizeof(reason)), SW_OK, "%s", reason);
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    uint64_t *keys = sw_io_alloc(table, MANY * sizeof(*keys));
    uint8_t *values = sw_io_alloc(table, (size_t)MANY * ROW);
    uint32_t *ends = sw_io_alloc(table, MANY * sizeof(*ends));
    uint8_t *refused = sw_io_alloc(table, MANY);
    uint8_t wanted[MANY] = {0};
    memset(values, 7, (size_t)MANY * ROW);
    for (uint32_t i = 0; i < MANY; i++) {
        keys[i] = i;
        put_text(values + (size_t)i * ROW, 1 + i % 2);
    }
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS, .op = SW_SET, .count = MANY, .keys = keys, .values = values};
    cr_assert_eq(sw_batch_run(queue, &batch), SW_OK);
    uint32_t groups = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        if (random_below(&random, 100) == 0) {
            put_text(values + (size_t)i * ROW, 3);
            wanted[groups] = SW_REFUSED_COLLISION;
        }
        if (i + 1 == MANY || random_below(&random, 3) != 0) {
            ends[groups++] = i + 1;
        }
    }
    batch.op = SW_GET;
    batch.group_count = groups;
    batch.group_ends = ends;
    batch.group_refused = refused;
    cr_assert_eq(sw_batch_run(queue, &batch), SW_E_FULL);
    cr_assert_arr_eq(refused, wanted, groups);
    sw_io_free(table, keys, MANY * sizeof(*keys));
    sw_io_free(table, values, (size_t)MANY * ROW);
    sw_io_free(table, ends, MANY * sizeof(*ends));
    sw_io_free(table, refused, MANY);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void refused(const struct sw_table_config *config, const char *word)
{
    char reason[256] = "";
    struct sw_table *table = NULL;
    cr_assert_eq(sw_table_create(config, &table, reason, sizeof(reason)), SW_E_INVALID);
    cr_assert_not_null(strstr(reason, word), "\"%s\" says nothing of \"%s\"", reason, word);
}

Test(key_texts, refused_in_words)
{
    static const uint32_t wrong[] = {4, 12, 32, ROW, UINT32_MAX - 7};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sw_table_config config = config_of(0);
        config.key_text_bytes = wrong[i];
        refused(&config, "a multiple of 8 bytes of a row");
    }
    struct sw_table_config config = config_of(0);
    config.backend = SW_BACKEND_CUDA;
    refused(&config, "backend cpu");
    config = config_of(0);
    config.value_bytes = 0;
    config.rows_max = 0;
    refused(&config, "no use for texts of keys");
    static struct world world;
    open_world(&world, 4, 4);
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_GET,
                             .count = 1,
                             .keys = world.io->keys,
                             .shared = true};
    cr_assert_eq(sw_batch_run(world.queue, &batch), SW_E_INVALID, "others may change texts");
    close_world(&world);
}
