/* SPDX-License-Identifier: MIT
 *
 * test_long_phase.c - batches in host memory that must not wait (sw_batch.no_wait), beside growth
 * that the test holds, a RESIZE and a CLEAR. Also run under ThreadSanitizer.
 */
#include <criterion/criterion.h>
#include <pthread.h>

#include "table/device.h"
#include "table/growth.h"
#include "table/host/parts.h"
#include "table/host/scratch.h"
#include "table/image.h"
#include "table/sequencer.h"
#include "tests/support/must.h"
#include "tests/support/tested.h"
#include "tests/support/words.h"

TestSuite(long_phase, .timeout = 60);

#define OPS 256U
#define BATCHES 64U
#define VALUE_BYTES_MAX 24U

/* The owner of a table, which lets no growth begin while `is_held` is set. */
struct owner {
    struct sw_growth growth; /* first: the table has a pointer to it */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_held;
    uint32_t waiting; /* growths that wait */
};

static bool permits(struct sw_growth *growth, enum sw_growth_memory memory, uint64_t slots,
                    uint64_t bytes)
{
    struct owner *owner = (struct owner *)growth;
    (void)memory;
    (void)bytes;
    if (slots == 0) {
        return true;
    }
    pthread_mutex_lock(&owner->mutex);
    owner->waiting++;
    pthread_cond_broadcast(&owner->changed);
    while (owner->is_held) {
        pthread_cond_wait(&owner->changed, &owner->mutex);
    }
    owner->waiting--;
    pthread_mutex_unlock(&owner->mutex);
    return true;
}

static void settled(struct sw_growth *growth, enum sw_growth_memory memory, uint64_t bytes)
{
    (void)growth;
    (void)memory;
    (void)bytes;
}

static void wait_for_growths(struct owner *owner, uint32_t growths)
{
    pthread_mutex_lock(&owner->mutex);
    while (owner->waiting < growths) {
        pthread_cond_wait(&owner->changed, &owner->mutex);
    }
    pthread_mutex_unlock(&owner->mutex);
}

static void set_held(struct owner *owner, bool held)
{
    pthread_mutex_lock(&owner->mutex);
    owner->is_held = held;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->mutex);
}

/* A table of a test, with its queues and arrays. */
struct side {
    struct sw_table *table;
    struct sw_queue *queue, *other;
    uint32_t key_bytes;
    uint64_t keys[OPS], found[OPS / 64];
    uint8_t values[OPS * VALUE_BYTES_MAX], previous[OPS * VALUE_BYTES_MAX];
};

static void open_side(struct side *side, const struct sw_table_config *config)
{
    side->table = must_create(config);
    side->queue = must_queue(side->table);
    side->other = must_queue(side->table);
    side->key_bytes = config->slot_bits / 16;
}

static void close_side(struct side *side)
{
    must_check(side->table);
    sw_queue_destroy(side->queue);
    sw_queue_destroy(side->other);
    sw_table_destroy(side->table);
}

/* A batch of the keys from `first` on. */
static struct sw_batch batch_of(struct side *side, enum sw_op op, uint64_t first)
{
    for (uint32_t i = 0; i < OPS; i++) {
        set_word(side->keys, side->key_bytes, i, first + i);
    }
    return (struct sw_batch){.op = op,
                             .count = OPS,
                             .no_wait = true,
                             .keys = side->keys,
                             .values = side->values,
                             .previous = op == SW_GET ? side->previous : NULL,
                             .found = side->found};
}

static uint64_t found(const struct side *side)
{
    uint64_t all = 0;
    for (uint32_t w = 0; w < OPS / 64; w++) {
        all += (uint64_t)__builtin_popcountll(side->found[w]);
    }
    return all;
}

/* --- growth ----------------------------------------------------------------------------------- */

/* Every batch of another thread returns at once, and changes nothing. */
static void turns_away(struct side *side)
{
    static uint64_t scanned[2][OPS * VALUE_BYTES_MAX / 8];
    struct sw_batch clear = {.kind = SW_BATCH_CLEAR, .no_wait = true};
    struct sw_batch resize = {.kind = SW_BATCH_RESIZE, .capacity = 1, .no_wait = true};
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = OPS / 2,
                            .no_wait = true,
                            .scan = {.keys = scanned[0], .values = scanned[1]}};
    struct sw_batch get = {.op = SW_GET, .count = 1, .no_wait = true, .keys = scanned[0]};
    struct sw_batch delete = {.op = SW_DELETE, .count = 1, .no_wait = true, .keys = scanned[0]};
    struct sw_batch *const all[] = {&clear, &resize, &scan, &get, &delete};
    cr_assert(sw_table_is_held(side->table));
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        cr_assert_eq(sw_batch_submit(side->other, all[i]), SW_E_BUSY, "batch %zu", i);
    }
}

/* Submits batches until growth holds one. Returns its number. */
static uint32_t submit_until_held(struct side *side, struct sw_batch *batch,
                                  const struct sw_batch *made)
{
    for (uint32_t b = 0; b < BATCHES; b++) {
        const enum sw_op op = made->op;
        *batch = batch_of(side, op, 1 + b * (uint64_t)OPS);
        batch->expire_at = made->expire_at;
        batch->values = SW_OPS_HAS(SW_OPS_ABSENT, (uint32_t)op) ? NULL : side->values;
        cr_assert_eq(sw_batch_submit(side->queue, batch), SW_OK);
        if (sw_batch_poll(side->queue, batch) == SW_PENDING) {
            return b;
        }
        cr_assert_eq(batch->status, SW_OK, "batch %u", b);
    }
    cr_assert_fail("the table never grew");
    return 0;
}

/* While a table waits for its growth, another table of the device answers, its writes get the
 * numbers before that of the batch that waits, and batches of the table are turned away. */
static void other_tables_go_on(const struct sw_table_config *made, enum sw_op op,
                               uint64_t expire_at)
{
    static struct side one, two; /* the tests of a process run one after the other */
    struct owner owner = {.growth = {.permits = permits, .settled = settled},
                          .mutex = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER,
                          .is_held = true};
    struct sw_sequencer sequencer = {0};
    struct sw_table_config config = *made, small = cpu_config(1024, OPS);
    struct sw_batch batch, write;
    const struct sw_batch first = {.op = op, .expire_at = expire_at};
    cr_assert_eq(sw_device_create(2, &config.shared), SW_OK);
    config.sequencer = small.sequencer = &sequencer;
    small.shared = config.shared;
    config.growth = &owner.growth;
    open_side(&two, &small);
    open_side(&one, &config);
    const uint32_t batches = submit_until_held(&one, &batch, &first);
    wait_for_growths(&owner, 1);
    turns_away(&one);
    for (uint32_t b = 0; b < 4; b++) {
        write = batch_of(&two, SW_SET, b * 64);
        must_run(two.queue, &write);
        cr_assert_eq(write.write_sequence, batches + b + 1);
    }
    write = batch_of(&two, SW_GET, 192);
    must_run(two.queue, &write);
    cr_assert_eq(found(&two), OPS);
    cr_assert_not(sw_table_is_held(two.table));
    cr_assert_eq(sw_batch_poll(one.queue, &batch), SW_PENDING);
    set_held(&owner, false);
    must_poll(one.queue, &batch);
    cr_assert_eq(batch.write_sequence, batches + 5U);
    cr_assert_eq(table_stats(one.table).grown, 1);
    for (uint32_t b = 0; b <= batches; b++) {
        write = batch_of(&one, SW_GET, 1 + b * (uint64_t)OPS);
        cr_assert_eq(run_when_free(one.queue, &write), SW_OK);
        cr_assert_eq(found(&one), OPS, "batch %u of %u", b, batches);
    }
    cr_assert_not(sw_table_is_held(one.table));
    close_side(&one);
    close_side(&two);
    sw_device_destroy(config.shared);
}

static struct sw_table_config growing(uint32_t slot_bits)
{
    struct sw_table_config config = cpu_config(1024, OPS);
    config.slot_bits = slot_bits;
    config.max_capacity_slots = 1 << 14;
    config.stash_slots = 256;
    config.tuning.long_bytes = 1;
    return config;
}

Test(long_phase, growth_of_integers)
{
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        struct sw_table_config config = growing(slot_bits);
        other_tables_go_on(&config, SW_SET, 0);
        other_tables_go_on(&config, SW_SUM, 0);
        other_tables_go_on(&config, SW_SET, 1ULL << 40);
    }
}

Test(long_phase, growth_of_rows_ids_and_sets)
{
    struct sw_table_config rows = growing(128), ids = growing(128), set = growing(128);
    rows.value_bytes = VALUE_BYTES_MAX;
    other_tables_go_on(&rows, SW_SET, 0);
    other_tables_go_on(&rows, SW_SET, 1ULL << 40);
    ids.engine = SW_ENGINE_ROBIN_HOOD;
    ids.rows_max = 1 << 13;
    other_tables_go_on(&ids, SW_FIND_OR_INSERT, 0);
    set.is_set = true;
    other_tables_go_on(&set, SW_SET, 0);
}

Test(long_phase, growth_of_a_cache)
{
    struct sw_table_config config = growing(128);
    config.engine = SW_ENGINE_CACHE;
    config.value_bytes = VALUE_BYTES_MAX;
    config.stash_slots = 0;
    other_tables_go_on(&config, SW_SET, 0);
}

/* Another table is written while SW_SCRATCH_AREAS_MAX tables with expiry times grow: they leave the
 * areas of scratch to it. */
Test(long_phase, growth_with_times_leaves_the_scratch)
{
    enum { TABLES = SW_SCRATCH_AREAS_MAX };
    static struct side sides[TABLES], side;
    static struct sw_batch batches[TABLES];
    struct owner owner = {.growth = {.permits = permits, .settled = settled},
                          .mutex = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER,
                          .is_held = true};
    struct sw_table_config config = growing(128), small = cpu_config(1024, OPS);
    const struct sw_batch first = {.op = SW_SET, .expire_at = 1ULL << 40};
    cr_assert_eq(sw_device_create(2, &config.shared), SW_OK);
    small.shared = config.shared;
    config.growth = &owner.growth;
    open_side(&side, &small);
    for (uint32_t t = 0; t < TABLES; t++) {
        open_side(&sides[t], &config);
        (void)submit_until_held(&sides[t], &batches[t], &first);
        wait_for_growths(&owner, t + 1);
    }
    struct sw_batch write = batch_of(&side, SW_SET, 1);
    must_run(side.queue, &write);
    set_held(&owner, false);
    for (uint32_t t = 0; t < TABLES; t++) {
        must_poll(sides[t].queue, &batches[t]);
        close_side(&sides[t]);
    }
    close_side(&side);
    sw_device_destroy(config.shared);
}

/* A batch that overwrites keys with expiry times is not pending, even if the table has no room for
 * OPS new keys. */
Test(long_phase, overwriting_is_not_long)
{
    static struct side side;
    struct sw_table_config config = growing(128);
    open_side(&side, &config);
    for (uint32_t b = 0; b < 1000; b++) {
        struct sw_batch batch = batch_of(&side, SW_SET, 1 + b % 3 * (uint64_t)OPS);
        batch.expire_at = 1ULL << 40;
        cr_assert_eq(sw_batch_submit(side.queue, &batch), SW_OK);
        cr_assert_eq(sw_batch_poll(side.queue, &batch), SW_OK, "batch %u", b);
    }
    cr_assert_eq(table_stats(side.table).grown, 0);
    close_side(&side);
}

/* --- passes over the table -------------------------------------------------------------------- */

/* A RESIZE and a CLEAR of every engine are pending first, and do the same as without no_wait. */
Test(long_phase, resize_and_clear)
{
    static struct side side;
    for (int engine = SW_ENGINE_ROBIN_HOOD; engine <= SW_ENGINE_CACHE; engine++) {
        struct sw_table_config config = growing(128);
        struct sw_batch batch;
        config.engine = (enum sw_engine)engine;
        config.max_capacity_slots = engine == SW_ENGINE_CUCKOO ? 0 : 1 << 14;
        config.value_bytes = engine == SW_ENGINE_CACHE ? 8 : 0;
        open_side(&side, &config);
        batch = batch_of(&side, SW_SET, 1);
        cr_assert_eq(run_when_free(side.queue, &batch), SW_OK);
        if (engine != SW_ENGINE_CUCKOO) {
            batch = (struct sw_batch){.kind = SW_BATCH_RESIZE, .capacity = 4096, .no_wait = true};
            must_run(side.queue, &batch);
            cr_assert_eq(batch.write_sequence, 2);
            cr_assert_eq(table_info(side.table).capacity_slots, 4096);
        }
        batch = batch_of(&side, SW_GET, 1);
        must_run(side.queue, &batch);
        cr_assert_eq(found(&side), OPS);
        batch = (struct sw_batch){.kind = SW_BATCH_CLEAR, .no_wait = true};
        must_run(side.queue, &batch);
        cr_assert_eq(batch.counters.deleted, OPS);
        cr_assert_eq(batch.write_sequence, engine == SW_ENGINE_CUCKOO ? 2 : 3);
        cr_assert_eq(table_stats(side.table).occupied, 0);
        close_side(&side);
    }
}

/* --- images ----------------------------------------------------------------------------------- */

struct taker {
    struct sw_queue *queue;
    bool ends; /* atomic */
    bool failed;
};

static void *take_images(void *argument)
{
    struct taker *taker = argument;
    while (!__atomic_load_n(&taker->ends, __ATOMIC_RELAXED)) {
        struct sw_image *image = NULL;
        taker->failed |= sw_image_take(taker->queue, false, &image) != SW_OK;
        sw_image_drop(image);
    }
    return NULL;
}

/* While the arrays of a large table are copied for an image, a write does not wait, and reads go
 * on, also those that change scores. */
Test(long_phase, images_turn_writes_away)
{
    static struct side side;
    for (int engine = SW_ENGINE_CUCKOO; engine <= SW_ENGINE_CACHE; engine++) {
        struct sw_table_config config = growing(128);
        pthread_t thread;
        uint32_t turned_away = 0;
        config.engine = (enum sw_engine)engine;
        config.capacity_slots = 1 << 19;
        config.max_capacity_slots = 0;
        config.value_bytes = engine == SW_ENGINE_CACHE ? 8 : 0;
        config.tuning.long_bytes = 0;
        open_side(&side, &config);
        struct taker taker = {.queue = side.other};
        cr_assert_eq(pthread_create(&thread, NULL, take_images, &taker), 0);
        while (turned_away < 20) {
            struct sw_batch batch = batch_of(&side, SW_SET, 1);
            const int status = sw_batch_run(side.queue, &batch);
            cr_assert(status == SW_OK || status == SW_E_BUSY);
            turned_away += status == SW_E_BUSY;
            batch = batch_of(&side, SW_GET, 1);
            cr_assert_eq(sw_batch_run(side.queue, &batch), SW_OK, "a read of engine %d", engine);
        }
        __atomic_store_n(&taker.ends, true, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
        cr_assert_not(taker.failed);
        close_side(&side);
    }
}

/* --- searches by score ------------------------------------------------------------------------ */

/* Polls a batch until it is done. Returns whether it was pending. */
static bool was_pending(struct sw_queue *queue, struct sw_batch *batch)
{
    const bool is = sw_batch_poll(queue, batch) == SW_PENDING;
    if (is) {
        must_poll(queue, batch);
    }
    cr_assert_eq(batch->status, SW_OK);
    return is;
}

/* A cache in which each search by score is long. */
static struct sw_table_config searched_for_long(void)
{
    struct sw_table_config config = growing(128);
    config.engine = SW_ENGINE_CACHE;
    config.capacity_slots = 1 << 19;
    config.max_capacity_slots = 0;
    config.value_bytes = 8;
    config.tuning.long_bytes = 0;
    return config;
}

/* A search by score is pending while it visits all slots, and reads go on beside it. */
Test(long_phase, searches_by_score)
{
    static struct side side;
    static uint64_t keys[OPS], values[OPS], scores[OPS];
    struct sw_table_config config = searched_for_long();
    bool counts = false, scans = false;
    config.cache_policy = SW_CACHE_LFU;
    open_side(&side, &config);
    struct sw_batch batch = batch_of(&side, SW_SET, 1);
    must_run(side.queue, &batch);
    while (!counts || !scans) {
        struct sw_batch count = {
            .kind = SW_BATCH_COUNT_SCORES, .no_wait = true, .range = {.max = UINT64_MAX}};
        struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                                .count = OPS,
                                .no_wait = true,
                                .scan = {.keys = keys,
                                         .values = values,
                                         .scores = scores,
                                         .by_score = true,
                                         .score_max = UINT64_MAX}};
        cr_assert_eq(sw_batch_submit(side.queue, &count), SW_OK);
        const int status = sw_batch_submit(side.other, &scan);
        cr_assert(status == SW_OK || (status == SW_E_BUSY && sw_cpu_cores() == 1));
        batch = batch_of(&side, SW_GET, 1);
        must_run(side.queue, &batch);
        cr_assert_eq(found(&side), OPS);
        counts |= was_pending(side.queue, &count);
        if (status == SW_E_BUSY) {
            cr_assert_eq(sw_batch_submit(side.other, &scan), SW_OK);
        }
        scans |= was_pending(side.other, &scan);
        cr_assert_eq(count.range.matched, OPS);
        cr_assert_eq(scan.scan.got, OPS);
    }
    close_side(&side);
}

/* Searches that overlap do not starve a write, which gets in as soon as those under way have
 * ended. */
Test(long_phase, searches_let_a_write_in)
{
    enum { QUEUES = 64 };
    static struct side side;
    static struct sw_batch counts[QUEUES];
    static bool is_under_way[QUEUES];
    const struct sw_table_config config = searched_for_long();
    open_side(&side, &config);
    for (uint32_t writes = 0; writes < 60;) {
        struct sw_batch write = batch_of(&side, SW_SET, 1);
        for (uint32_t q = 0; q < QUEUES; q++) {
            if (is_under_way[q] && sw_batch_poll(side.queue, &counts[q]) != SW_PENDING) {
                is_under_way[q] = false;
            }
            if (!is_under_way[q]) {
                counts[q] = (struct sw_batch){.kind = SW_BATCH_COUNT_SCORES, .no_wait = true};
                is_under_way[q] = sw_batch_submit(side.queue, &counts[q]) == SW_OK;
            }
        }
        writes += sw_batch_run(side.queue, &write) == SW_OK;
    }
    for (uint32_t q = 0; q < QUEUES; q++) {
        if (is_under_way[q]) {
            must_poll(side.queue, &counts[q]);
        }
    }
    close_side(&side);
}
