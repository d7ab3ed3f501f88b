/* SPDX-License-Identifier: MIT
 *
 * test_key_texts.c - rows that end with the text of their key: two texts of one key are an error,
 * and never the other's row. Random histories of batches, several in flight, against a model, one
 * operation after the other; what only reads, by many threads; and what is refused.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/table.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

#define KEYS 12U
#define OPS_MAX 320U
#define OPS_USUAL 40U
#define FLIGHT 3U /* batches submitted before the first is polled */
#define WORLDS 6U
#define STEPS 1000U /* of each */
#define PAYLOAD_MAX 64U
#define TEXT_MAX 32U
#define ROW_MAX (PAYLOAD_MAX + TEXT_MAX)
#define CLOCK 1000U
#define FAR 1000000U /* a time that does not come */

TestSuite(key_texts, .timeout = 120);

struct entry {
    bool held;
    uint32_t numbers[PAYLOAD_MAX / 4];
    uint32_t text; /* 0: none */
};

/* How many bytes of a row are numbers, and its text: what a kernel moves at once depends on it. */
struct shape {
    uint32_t payload, text;
};
static const struct shape shapes[] = {{12, 16}, {4, 8}, {64, 32}, {8, 24}, {60, 8}, {16, 16}};

struct world {
    struct shape shape;
    bool expires; /* the table knows times */
    int step;

    struct sw_table *table;
    struct sw_queue *queue;
    struct random random;
    struct entry entries[KEYS];
    uint64_t held, limit;
    uint64_t keys[KEYS];
    /* I/O memory */
    struct arrays {
        uint64_t keys[OPS_MAX], expires[OPS_MAX], found[OPS_MAX / 64];
        uint8_t values[OPS_MAX * ROW_MAX], previous[OPS_MAX * ROW_MAX];
        uint32_t group_ends[OPS_MAX];
        uint8_t ops[OPS_MAX], group_refused[OPS_MAX];
    } * io; /* [FLIGHT] */
};

static uint32_t row_bytes(const struct shape *shape)
{
    return shape->payload + shape->text;
}

static struct sw_table_config config_of(const struct shape *shape, uint64_t limit)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.capacity_slots = 64;
    config.batch_ops_max = OPS_MAX;
    config.stash_slots = 64;
    config.threads = 1;
    config.seed = 1 + random_seed();
    config.value_bytes = row_bytes(shape);
    config.key_text_bytes = shape->text;
    config.rows_max = limit;
    tested_tune(&config);
    tested_place(&config);
    return config;
}

static void open_world(struct world *world, uint64_t number, uint64_t limit)
{
    memset(world, 0, sizeof(*world));
    world->random = random_of(number);
    world->limit = limit;
    world->shape = shapes[random_below(&world->random, sizeof(shapes) / sizeof(shapes[0]))];
    const struct sw_table_config config = config_of(&world->shape, limit);
    world->table = must_create(&config);
    world->queue = must_queue(world->table);
    const struct sw_table_info info = table_info(world->table);
    world->expires = (info.operations >> SW_EXPIRE & 1) != 0;
    world->io = sw_io_alloc(world->table, FLIGHT * sizeof(*world->io));
    for (uint32_t k = 0; k < KEYS; k++) { /* the last one lies in the side cell, maybe */
        world->keys[k] = k + 1 < KEYS ? random_below(&world->random, UINT64_MAX) : UINT64_MAX;
    }
}

static void close_world(struct world *world)
{
    sw_io_free(world->table, world->io, FLIGHT * sizeof(*world->io));
    sw_queue_destroy(world->queue);
    sw_table_destroy(world->table);
}

/* Texts 1 and 2 differ in their last byte, 2 and 3 in their length. */
static void put_text(const struct shape *shape, uint8_t *row, uint32_t text)
{
    uint8_t *at = row + shape->payload;
    memset(at, text == 0 ? 0 : ' ', shape->text);
    if (text != 0) {
        at[0] = (uint8_t)(shape->text - 2 - (text == 3));
        at[1] = 0;
        at[shape->text - 1] = text == 3 ? 0 : text == 2 ? 'B' : 'A';
    }
}

static void expect_row(const struct world *world, const struct entry *entry, const uint8_t *row,
                       const char *what)
{
    uint8_t wanted[ROW_MAX] = {0};
    if (entry->held) {
        memcpy(wanted, entry->numbers, world->shape.payload);
        put_text(&world->shape, wanted, entry->text);
    }
    cr_assert_arr_eq(row, wanted, row_bytes(&world->shape), "seed %llu, step %d: %s",
                     (unsigned long long)random_seed(), world->step, what);
}

/* --- the model -------------------------------------------------------------------------------- */

struct operation {
    enum sw_op op;
    uint32_t key, text;
    uint64_t at;
    uint32_t numbers[PAYLOAD_MAX / 4];
};

/* Applies an operation, and says what becomes of its group. */
static enum sw_admission apply(struct world *world, const struct operation *operation,
                               struct entry *before)
{
    struct entry *entry = &world->entries[operation->key];
    const enum sw_op op = operation->op;
    const bool adds = op == SW_ADD_U32 || op == SW_ADD_PRESENT_U32;
    const bool sets_time = op == SW_EXPIRE || op == SW_SET || op == SW_SET_PRESENT || !entry->held;
    const bool inserts = op == SW_SET || op == SW_ADD_U32 || op == SW_XOR;
    const bool writes =
        inserts || (op == SW_SET_ABSENT && !entry->held) ||
        ((op == SW_SET_PRESENT || op == SW_ADD_PRESENT_U32 || op == SW_ANDNOT) && entry->held);
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
        for (uint32_t i = 0; i < world->shape.payload / 4; i++) {
            const uint32_t was = entry->held ? entry->numbers[i] : 0;
            entry->numbers[i] = op == SW_XOR      ? was ^ operation->numbers[i]
                                : op == SW_ANDNOT ? was & ~operation->numbers[i]
                                : adds            ? was + operation->numbers[i]
                                                  : operation->numbers[i];
        }
        entry->text = operation->text != 0 || !entry->held ? operation->text : entry->text;
        world->held += !entry->held;
        entry->held = true;
    }
    return SW_ADMITTED;
}

/* --- histories -------------------------------------------------------------------------------- */

/* `hot`: most operations are on one key, and most have its text. */
static struct operation draw(struct world *world, bool hot)
{
    static const enum sw_op ops[] = {SW_GET,         SW_SET,    SW_SET,     SW_SET_ABSENT,
                                     SW_SET_PRESENT, SW_DELETE, SW_ADD_U32, SW_ADD_PRESENT_U32,
                                     SW_XOR,         SW_ANDNOT, SW_EXPIRE};
    static const uint64_t times[] = {0, 0, 0, 0, SW_EXPIRE_KEEP, FAR, CLOCK};
    struct random *random = &world->random;
    const bool usual = hot && random_below(random, 50) != 0;
    struct operation operation = {
        .op = usual ? SW_ADD_U32 : ops[random_below(random, sizeof(ops) / sizeof(ops[0]))],
        .key = usual ? 0 : (uint32_t)random_below(random, KEYS),
        .text = !usual && random_below(random, 4) == 0 ? (uint32_t)random_below(random, 4) : 1,
        .at = usual ? 0 : times[random_below(random, sizeof(times) / sizeof(times[0]))],
    };
    for (uint32_t i = 0; i < PAYLOAD_MAX / 4; i++) {
        operation.numbers[i] = (uint32_t)random_below(random, UINT32_MAX);
    }
    return operation;
}

/* A batch, and what its operations are. */
struct drawn {
    struct sw_batch batch;
    struct operation operations[OPS_MAX];
};

static void draw_batch(struct world *world, struct arrays *io, struct drawn *drawn)
{
    struct random *random = &world->random;
    struct operation *operations = drawn->operations;
    const bool only_reads = random_below(random, 4) == 0;
    const bool with_times = world->expires && random_below(random, 2) == 0;
    const bool hot = random_below(random, 20) == 0;
    const bool alike = random_below(random, 2) == 0; /* as most are: no two texts meet */
    const uint32_t most = hot ? OPS_MAX : OPS_USUAL;
    const uint32_t count = hot ? OPS_MAX - OPS_USUAL + (uint32_t)random_below(random, OPS_USUAL)
                               : 1 + (uint32_t)random_below(random, most);
    const uint32_t bytes = row_bytes(&world->shape);
    uint32_t groups = 0;
    bool writes = false;
    for (uint32_t i = 0; i < count; i++) {
        operations[i] = draw(world, hot);
        operations[i].op = only_reads || (!with_times && operations[i].op == SW_EXPIRE)
                               ? SW_GET
                               : operations[i].op;
        operations[i].at = with_times ? operations[i].at : 0;
        operations[i].text = alike && operations[i].text != 0 ? 1 : operations[i].text;
        writes |= operations[i].op != SW_GET;
        io->ops[i] = (uint8_t)operations[i].op;
        io->keys[i] = world->keys[operations[i].key];
        io->expires[i] = operations[i].at;
        memcpy(io->values + (size_t)i * bytes, operations[i].numbers, world->shape.payload);
        put_text(&world->shape, io->values + (size_t)i * bytes, operations[i].text);
        if (i + 1 == count || random_below(random, 3) != 0) {
            io->group_ends[groups++] = i + 1;
        }
    }
    drawn->batch = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
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
    if (only_reads && random_below(random, 2) == 0) { /* what CUDA holds back */
        drawn->batch.ops = NULL;
        drawn->batch.op = SW_GET;
    }
}

/* Applies a batch that is done to the model, and compares its answers. */
static void expect_batch(struct world *world, const struct arrays *io, const struct drawn *drawn)
{
    const struct sw_batch *batch = &drawn->batch;
    const uint32_t bytes = row_bytes(&world->shape);
    bool refused = false;
    uint64_t full = 0, counted = 0;
    bool writes = false;
    for (uint32_t g = 0, i = 0; g < batch->group_count; g++) {
        const uint32_t first = i, end = io->group_ends[g];
        struct world saved = *world;
        struct entry before[OPS_MAX];
        enum sw_admission admission = SW_ADMITTED;
        for (; i < end && admission == SW_ADMITTED; i++) {
            admission = apply(world, &drawn->operations[i], &before[i]);
        }
        cr_assert_eq(io->group_refused[g], admission, "seed %llu, step %d: group %u: %d, not %d",
                     (unsigned long long)random_seed(), world->step, g, io->group_refused[g],
                     admission);
        for (i = first; i < end; i++) {
            writes |= drawn->operations[i].op != SW_GET;
        }
        for (i = first; i < end && admission == SW_ADMITTED; i++) {
            cr_assert_eq(io->found[i / 64] >> i % 64 & 1, before[i].held);
            expect_row(world, &before[i], io->previous + (size_t)i * bytes, "the row before");
        }
        if (admission != SW_ADMITTED) {
            memcpy(world->entries, saved.entries, sizeof(saved.entries));
            world->held = saved.held;
            refused = true;
            full += admission == SW_REFUSED_FULL ? end - first : 0;
        } else {
            counted += end - first;
        }
        i = end;
    }
    uint64_t operations = 0;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        operations += batch->counters.by_class[c].operations;
    }
    cr_assert_eq(batch->status, refused ? SW_E_FULL : SW_OK);
    cr_assert_eq(batch->counters.refused, full, "collisions are no lack of room");
    cr_assert_eq(operations, writes ? counted : batch->count,
                 "operations that collide count as none");
}

static void run_batches(struct world *world)
{
    static struct drawn drawn[FLIGHT];
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, FLIGHT);
    for (uint32_t b = 0; b < count; b++) {
        draw_batch(world, &world->io[b], &drawn[b]);
        cr_assert_eq(sw_batch_submit(world->queue, &drawn[b].batch), SW_OK);
    }
    for (uint32_t b = 0; b < count; b++) {
        while (sw_batch_poll(world->queue, &drawn[b].batch) == SW_PENDING) {
        }
        expect_batch(world, &world->io[b], &drawn[b]);
    }
}

/* Reads without texts show every row, its text included. */
static void look_at_all(struct world *world)
{
    struct arrays *io = world->io;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_GET,
                             .count = KEYS,
                             .keys = io->keys,
                             .previous = io->previous,
                             .found = io->found};
    memcpy(io->keys, world->keys, sizeof(world->keys));
    must_run(world->queue, &batch);
    for (uint32_t k = 0; k < KEYS; k++) {
        expect_row(world, &world->entries[k], io->previous + (size_t)k * row_bytes(&world->shape),
                   "a row");
    }
    must_check(world->table);
}

/* `limit` rows: room is certain, or not. Some histories, each with a table of its own. */
static void run_histories(uint64_t number, uint64_t limit)
{
    for (uint32_t w = 0; w < WORLDS; w++) {
        static struct world world;
        if (!tested_now(w, WORLDS)) {
            continue;
        }
        open_world(&world, number * WORLDS + w, limit);
        for (uint32_t step = 0; step < STEPS / tested_share(); step++) {
            world.step = (int)step;
            run_batches(&world);
            look_at_all(&world);
        }
        close_world(&world);
    }
}

Test(key_texts, histories_with_room)
{
    run_histories(1, 50);
}

Test(key_texts, histories_at_the_limit)
{
    run_histories(2, KEYS - 3);
}

/* --- reads by many threads -------------------------------------------------------------------- */

#define MANY 20000U

/* Reads many keys at once, some by another text: only their groups are refused. */
Test(key_texts, reads_by_all_threads)
{
    struct random random = random_of(3);
    const struct shape *shape = &shapes[0];
    const size_t row = row_bytes(shape);
    struct sw_table_config config = config_of(shape, 0);
    config.capacity_slots = 2 * MANY;
    config.batch_ops_max = MANY;
    config.threads = 4;
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    struct io_memory io = {.table = table};
    uint64_t *keys = io_array(&io, MANY * sizeof(*keys));
    uint8_t *values = io_array(&io, MANY * row);
    uint32_t *ends = io_array(&io, MANY * sizeof(*ends));
    uint8_t *refused = io_array(&io, MANY);
    uint8_t wanted[MANY] = {0};
    memset(values, 7, MANY * row);
    for (uint32_t i = 0; i < MANY; i++) {
        keys[i] = i;
        put_text(shape, values + i * row, 1 + i % 2);
    }
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS, .op = SW_SET, .count = MANY, .keys = keys, .values = values};
    must_run(queue, &batch);
    uint32_t groups = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        if (random_below(&random, 100) == 0) {
            put_text(shape, values + i * row, 3);
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
    io_free(&io);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

/* --- what is refused -------------------------------------------------------------------------- */

Test(key_texts, refused_in_words)
{
    const struct shape *shape = &shapes[0];
    const uint32_t wrong[] = {4, 12, 32, row_bytes(shape), UINT32_MAX - 7};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sw_table_config config = config_of(shape, 0);
        config.key_text_bytes = wrong[i];
        must_refuse(&config, SW_E_INVALID, "a multiple of 8 bytes of a row");
    }
    struct sw_table_config config = config_of(shape, 0);
    config.rows_in = SW_ROWS_IN_GPU;
    config.rows_gpu_bytes = 0;
    config.value_bytes = 0;
    config.rows_max = 0;
    must_refuse(&config, SW_E_INVALID, "does not support texts of keys");
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
