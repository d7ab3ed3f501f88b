/* SPDX-License-Identifier: MIT
 *
 * test_cache_ids.c - caches that number their keys (table/cache/ids.h), by random batches. Which
 * entries leave is the cache's choice, so the test checks what must hold for any choice: a key
 * keeps its id until the reply reports that the key has left, and no id has two keys.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/image.h"
#include "tests/support/cache_config.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

TestSuite(cache_ids, .timeout = 240);

enum { KEYS = 2000, IDS = 1100, OPS = 800, STEPS = 40, PAIRS_MAX = 2 * (IDS + OPS) };

struct pair {
    uint64_t key, id;
};

struct pairs {
    struct pair at[PAIRS_MAX];
    uint32_t count;
};

struct arrays {
    uint64_t keys[OPS], previous[OPS], left_keys[OPS], left_ids[OPS], left_scores[OPS], given[OPS];
    uint64_t scores[OPS], found[(OPS + 63) / 64], not_admitted[(OPS + 63) / 64];
    uint8_t ops[OPS];
};

struct world {
    struct sw_table_config config;
    struct sw_table *table;
    struct sw_queue *queue;
    struct arrays *io;
    struct random random;
    uint32_t key_bytes;
    struct pairs held; /* the entries */
};

static uint64_t load(const struct world *world, const void *array, uint32_t i)
{
    return world->key_bytes == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

static void store(const struct world *world, void *array, uint32_t i, uint64_t value)
{
    if (world->key_bytes == 8) {
        ((uint64_t *)array)[i] = value;
    } else {
        ((uint32_t *)array)[i] = (uint32_t)value;
    }
}

static bool bit_of(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> i % 64 & 1) != 0;
}

static void add(struct pairs *pairs, uint64_t key, uint64_t id)
{
    cr_assert_lt(pairs->count, PAIRS_MAX);
    pairs->at[pairs->count++] = (struct pair){key, id};
}

static int by_key(const void *a, const void *b)
{
    const struct pair *one = a, *other = b;
    return one->key != other->key ? (one->key < other->key ? -1 : 1)
                                  : (one->id > other->id) - (one->id < other->id);
}

static void sort(struct pairs *pairs)
{
    qsort(pairs->at, pairs->count, sizeof(pairs->at[0]), by_key);
}

static bool has_pair(const struct pairs *pairs, uint64_t key, uint64_t id)
{
    const struct pair wanted = {key, id};
    return bsearch(&wanted, pairs->at, pairs->count, sizeof(wanted), by_key) != NULL;
}

static bool has_key(const struct pairs *pairs, uint64_t key)
{
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (pairs->at[i].key == key) {
            return true;
        }
    }
    return false;
}

/* --- tables ----------------------------------------------------------------------------------- */

static struct sw_table_config drawn_config(struct random *random, uint32_t slot_bits)
{
    const enum sw_cache_mode mode = (enum sw_cache_mode)random_below(random, 2);
    const enum sw_cache_policy policy = (enum sw_cache_policy)random_below(random, 5);
    struct sw_table_config config = cache_config(slot_bits, 0, mode, policy);
    config.rows_in = SW_ROWS_IN_GPU;
    config.seed = random_next(random);
    config.rows_max = IDS;
    config.capacity_slots = 256 * (1 + random_below(random, 4));
    config.max_capacity_slots = random_below(random, 2) == 0 ? 0 : 1024;
    config.batch_ops_max = OPS;
    return config;
}

static void open_table(struct world *world)
{
    world->table = must_create(&world->config);
    world->queue = must_queue(world->table);
    world->io = sw_io_alloc(world->table, sizeof(*world->io));
    cr_assert_not_null(world->io);
}

static void close_table(struct world *world)
{
    sw_io_free(world->table, world->io, sizeof(*world->io));
    sw_queue_destroy(world->queue);
    sw_table_destroy(world->table);
}

/* Reads all entries by SCAN, sorted. */
static void read_all(struct world *world, struct pairs *pairs)
{
    struct sw_batch batch = {.kind = SW_BATCH_SCAN, .count = OPS};
    batch.scan.keys = world->io->keys;
    batch.scan.values = world->io->previous;
    pairs->count = 0;
    do {
        batch.scan.got = 0;
        must_run(world->queue, &batch);
        for (uint32_t i = 0; i < batch.scan.got; i++) {
            add(pairs, load(world, world->io->keys, i), load(world, world->io->previous, i));
        }
    } while (batch.scan.cursor != 0);
    sort(pairs);
}

/* Reads the entries after a step, and checks the table: each entry is one of `may`; exactly those
 * unless some may have left unseen. */
static void check_held(struct world *world, struct pairs *may, uint64_t unseen)
{
    must_check(world->table);
    read_all(world, &world->held);
    sort(may);
    cr_assert_eq(world->held.count + unseen, may->count);
    for (uint32_t i = 0; i < world->held.count; i++) {
        cr_assert_lt(world->held.at[i].id, IDS);
        cr_assert(has_pair(may, world->held.at[i].key, world->held.at[i].id));
    }
}

/* --- operations ------------------------------------------------------------------------------- */

static struct sw_batch drawn_batch(struct world *world)
{
    struct arrays *io = world->io;
    const uint64_t range = random_below(&world->random, 4) == 0 ? 5 : KEYS;
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, OPS);
    for (uint32_t i = 0; i < count; i++) {
        store(world, io->keys, i, random_below(&world->random, range));
        io->scores[i] = 1 + random_below(&world->random, 1000);
    }
    memset(io->found, 0xa5, sizeof(io->found));
    memset(io->not_admitted, 0xa5, sizeof(io->not_admitted));
    return (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = SW_FIND_OR_INSERT,
        .count = count,
        .keys = io->keys,
        .previous = io->previous,
        .found = io->found,
        .not_admitted = io->not_admitted,
        .leftover_keys = io->left_keys,
        .leftover_values = io->left_ids,
        .leftover_scores = io->left_scores,
        .scores = sw_cache_takes_scores(world->config.cache_policy) ? io->scores : NULL};
}

/* Checks the answers of a batch that is done. Adds to `came` the entries before it and its new
 * ones; to `left` those that it evicted or deleted. */
static void check_answers(struct world *world, const struct sw_batch *batch, struct pairs *came,
                          struct pairs *left)
{
    struct arrays *io = world->io;
    const uint64_t none = world->key_bytes == 8 ? UINT64_MAX : UINT32_MAX;
    cr_assert_eq(batch->counters.evicted, batch->leftover_count);
    *came = world->held;
    left->count = 0;
    for (uint32_t i = 0; i < batch->leftover_count; i++) {
        add(left, load(world, io->left_keys, i), load(world, io->left_ids, i));
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint64_t key = load(world, io->keys, i), id = load(world, io->previous, i);
        const enum sw_op op = batch->ops == NULL ? batch->op : (enum sw_op)batch->ops[i];
        const bool turned_away = bit_of(io->not_admitted, i);
        if (bit_of(io->found, i)) {
            cr_assert(!turned_away && id < IDS);
            if (op == SW_DELETE) {
                add(left, key, id);
            }
        } else if (op == SW_FIND_OR_INSERT && !turned_away) {
            add(came, key, id);
        } else {
            cr_assert_eq(id, turned_away ? none : 0, "operation %u", i);
        }
    }
    sort(came);
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint64_t key = load(world, io->keys, i), id = load(world, io->previous, i);
        if (bit_of(io->found, i)) {
            cr_assert(has_pair(came, key, id), "operation %u: key %llu does not have id %llu", i,
                      (unsigned long long)key, (unsigned long long)id);
        } else if (has_key(&world->held, key)) {
            cr_assert(has_key(left, key), "operation %u", i);
        }
    }
}

/* Removes the pairs of `left` from those of `came`, one for one: all of them are there. */
static void take_away(struct pairs *came, struct pairs *left)
{
    uint32_t kept = 0, gone = 0;
    sort(left);
    for (uint32_t i = 0; i < came->count; i++) {
        if (gone < left->count && by_key(&came->at[i], &left->at[gone]) == 0) {
            gone++;
        } else {
            came->at[kept++] = came->at[i];
        }
    }
    cr_assert_eq(gone, left->count, "an absent entry left");
    came->count = kept;
}

static void run_operations(struct world *world, bool mixed)
{
    static const uint8_t ops[] = {SW_FIND_OR_INSERT, SW_GET, SW_DELETE, SW_PEEK};
    static struct pairs came, left;
    struct sw_batch batch = drawn_batch(world);
    if (mixed) {
        for (uint32_t i = 0; i < batch.count; i++) {
            world->io->ops[i] = ops[random_below(&world->random, sizeof(ops))];
        }
        batch.ops = world->io->ops;
    } else if (random_below(&world->random, 8) == 0) {
        batch.op = SW_DELETE;
    }
    must_run(world->queue, &batch);
    const uint64_t moved = batch.counters.evicted - batch.leftover_count;
    cr_assert_eq(moved, 0); /* growth to twice the slots evicts nothing here */
    check_answers(world, &batch, &came, &left);
    take_away(&came, &left);
    check_held(world, &came, 0);
}

enum { TOGETHER = 3, EACH = OPS / TOGETHER / 64 * 64 };

/* Batches of ASSIGN in flight at once, each in a part of the arrays. CUDA carries them out in one
 * launch, so evicted entries are not listed. */
static void run_together(struct world *world)
{
    static struct pairs came;
    struct arrays *io = world->io;
    struct sw_batch batches[TOGETHER];
    uint64_t evicted = 0;
    (void)drawn_batch(world);
    for (uint32_t b = 0; b < TOGETHER; b++) {
        const size_t first = (size_t)b * EACH;
        for (uint32_t i = 0; i < EACH; i++) {
            store(world, io->keys, (uint32_t)first + i, random_below(&world->random, KEYS));
        }
        batches[b] =
            (struct sw_batch){.op = SW_FIND_OR_INSERT,
                              .count = 1 + (uint32_t)random_below(&world->random, EACH),
                              .keys = (uint8_t *)io->keys + first * world->key_bytes,
                              .previous = (uint8_t *)io->previous + first * world->key_bytes,
                              .found = io->found + first / 64,
                              .not_admitted = io->not_admitted + first / 64};
        cr_assert_eq(sw_batch_submit(world->queue, &batches[b]), SW_OK);
    }
    came = world->held;
    for (uint32_t b = 0; b < TOGETHER; b++) {
        must_poll(world->queue, &batches[b]);
        evicted += batches[b].counters.evicted;
        for (uint32_t i = 0; i < batches[b].count; i++) {
            if (!bit_of(batches[b].found, i) && !bit_of(batches[b].not_admitted, i)) {
                add(&came, load(world, batches[b].keys, i), load(world, batches[b].previous, i));
            }
        }
    }
    sort(&came);
    for (uint32_t b = 0; b < TOGETHER; b++) {
        for (uint32_t i = 0; i < batches[b].count; i++) {
            cr_assert(bit_of(batches[b].not_admitted, i) ||
                      has_pair(&came, load(world, batches[b].keys, i),
                               load(world, batches[b].previous, i)));
        }
    }
    check_held(world, &came, evicted);
}

/* RESIZE: entries keep their ids; those that do not fit leave. */
static void run_resize(struct world *world)
{
    static struct pairs before;
    const uint64_t most = table_info(world->table).max_capacity_slots;
    struct sw_batch batch = {.kind = SW_BATCH_RESIZE,
                             .capacity = 1 + random_below(&world->random, most)};
    before = world->held;
    must_run(world->queue, &batch);
    check_held(world, &before, batch.counters.evicted);
}

/* CLEAR, or ERASE_SCORES of some entries. */
static void run_removal(struct world *world)
{
    static struct pairs before;
    struct sw_batch batch = {.kind = random_below(&world->random, 2) == 0 ? SW_BATCH_CLEAR
                                                                          : SW_BATCH_ERASE_SCORES};
    if (batch.kind == SW_BATCH_ERASE_SCORES) {
        batch.range.max = random_below(&world->random, 2000);
    }
    before = world->held;
    must_run(world->queue, &batch);
    check_held(world, &before, batch.counters.deleted);
}

/* --- loads ------------------------------------------------------------------------------------ */

static int load_some(struct world *world, const struct pair *pairs, const uint64_t *scores,
                     uint32_t count, bool restores)
{
    struct arrays *io = world->io;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = count,
                             .keys = io->keys,
                             .values = io->given,
                             .scores = restores ? io->scores : NULL,
                             .restores = restores};
    for (uint32_t i = 0; i < count; i++) {
        store(world, io->keys, i, pairs[i].key);
        store(world, io->given, i, pairs[i].id);
        io->scores[i] = scores[i];
    }
    return sw_batch_run(world->queue, &batch);
}

/* Replaces the table by another one, of another size, that loads an image of it. */
static void reload(struct world *world)
{
    static struct pairs before;
    static uint64_t keys[IDS], ids[IDS], scores[IDS];
    struct sw_image *image = NULL;
    uint32_t got = 0;
    before.count = 0;
    cr_assert_eq(sw_image_take(world->queue, false, &image), SW_OK);
    cr_assert_eq(sw_image_read(image, IDS, keys, ids, scores, &got), SW_OK);
    sw_image_drop(image);
    for (uint32_t i = 0; i < got; i++) {
        add(&before, load(world, keys, i), load(world, ids, i));
    }
    close_table(world);
    world->config = drawn_config(&world->random, world->config.slot_bits);
    open_table(world);
    for (uint32_t first = 0, count; first < got; first += count) {
        count = 1 + (uint32_t)random_below(&world->random, got - first < OPS ? got - first : OPS);
        cr_assert_eq(load_some(world, before.at + first, scores + first, count, true), SW_OK);
        must_check(world->table);
    }
    check_held(world, &before, before.count - table_stats(world->table).occupied);
    if (random_below(&world->random, 4) == 0) {
        run_removal(world); /* while the ids are loose */
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

static void run_world(uint32_t number)
{
    static struct world world;
    memset(&world, 0, sizeof(world));
    world.random = random_of(number);
    world.key_bytes = number % 2 == 0 ? 8 : 4;
    world.config = drawn_config(&world.random, 16 * world.key_bytes);
    open_table(&world);
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint64_t draw = random_below(&world.random, 20);
        if (draw < 9) {
            run_operations(&world, false);
        } else if (draw < 12) {
            run_together(&world);
        } else if (draw < 16) {
            run_operations(&world, true);
        } else if (draw < 18) {
            run_resize(&world);
        } else if (draw < 19) {
            run_removal(&world);
        } else {
            reload(&world);
        }
    }
    close_table(&world);
}

Test(cache_ids, keep_their_keys)
{
    const uint32_t worlds = 20;
    for (uint32_t number = 0; number < worlds; number++) {
        if (tested_now(number, worlds)) {
            run_world(number);
        }
    }
}

/* A load needs scores, distinct ids below the limit, and an empty cache. */
Test(cache_ids, refuse_wrong_loads)
{
    static struct world world;
    const uint64_t scores[2] = {1, 1};
    const struct {
        struct pair pairs[2];
        bool restores;
        int status;
    } cases[] = {
        {{{1, 5}, {2, 5}}, true, SW_E_INVALID},
        {{{1, 5}, {2, IDS}}, true, SW_E_INVALID},
        {{{1, 5}, {2, 6}}, false, SW_E_INVALID},
        {{{1, IDS - 1}, {2, 6}}, true, SW_OK},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&world, 0, sizeof(world));
        world.random = random_of(i);
        world.key_bytes = i % 2 == 0 ? 8 : 4;
        world.config = drawn_config(&world.random, 16 * world.key_bytes);
        open_table(&world);
        cr_assert_eq(load_some(&world, cases[i].pairs, scores, 2, cases[i].restores),
                     cases[i].status, "case %u", i);
        must_check(world.table);
        cr_assert_eq(table_stats(world.table).occupied, cases[i].status == SW_OK ? 2 : 0);
        if (cases[i].status == SW_OK) { /* the same load again, then one behind another write */
            cr_assert_eq(load_some(&world, cases[i].pairs, scores, 2, true), SW_E_INVALID);
            read_all(&world, &world.held);
        }
        run_operations(&world, false);
        const struct pair more = {KEYS + 1, 7};
        cr_assert_eq(load_some(&world, &more, scores, 1, true),
                     world.held.count > 0 ? SW_E_INVALID : SW_OK);
        close_table(&world);
    }
}

Test(cache_ids, refuse_wrong_configurations)
{
    struct sw_table_config config = cache_config(128, 0, SW_CACHE_MEMORY, SW_CACHE_LRU);
    config.rows_in = SW_ROWS_IN_GPU;
    config.capacity_slots = 256;
    config.rows_max = 255;
    must_refuse(&config, SW_E_INVALID, "from 256 to");
    config.rows_max = 300;
    config.max_capacity_slots = 512;
    must_refuse(&config, SW_E_INVALID, "at most that many slots, not 512");
    config.max_capacity_slots = 0;
    config.value_bytes = 8;
    must_refuse(&config, SW_E_INVALID, "value_bytes or rows_max, not both");
    config.value_bytes = 0;
    config.rows_in = SW_ROWS_IN_HOST;
    must_refuse(&config, SW_E_INVALID, "must be in GPU memory");
    config.rows_in = SW_ROWS_IN_GPU;
    config.slot_bits = 64;
    config.rows_max = 1ULL << 32;
    must_refuse(&config, SW_E_INVALID, "to 4294967295 ids");
}
