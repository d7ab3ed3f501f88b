/* SPDX-License-Identifier: MIT
 *
 * test_changing.c - keys and operands that another thread changes while a batch runs, as a client
 * may that shares its memory. Each is loaded once: the table stays whole, and the batch is one on
 * values that each element had.
 *
 * Meant to be run under ThreadSanitizer too: the changes are relaxed stores, so it reports every
 * load by the table that is not made for them.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "table/mix.h"
#include "table/robin_hood/cpu/parallel.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

TestSuite(changing, .timeout = 120);

#define SMALL 300U
#define LARGE (SW_PARALLEL_WRITES_MIN + 1000)
/* Number of keys; of 32 bits there can be 2^16. */
#define KEYS 6000U
#define KEYS_MAX (1U << 16)
#define SEED 1

/* --- keys ------------------------------------------------------------------------------------- */

/* Key n: its halves fit together, so two halves of different keys are no key. 0 and 1 are the keys
 * that have no slot in an engine or another. */
static uint64_t key_of(uint32_t key_bytes, uint32_t n)
{
    if (key_bytes == 4) {
        return n == 0   ? UINT32_MAX
               : n == 1 ? sw_unmix_32(UINT32_MAX, SEED)
                        : (~n & 0xffff) << 16 | n;
    }
    return n == 0 ? UINT64_MAX : n == 1 ? sw_unmix_64(UINT64_MAX, SEED) : (uint64_t)~n << 32 | n;
}

static void store(void *array, uint32_t bytes, uint32_t i, uint64_t value)
{
    if (bytes == 4) {
        __atomic_store_n((uint32_t *)array + i, (uint32_t)value, __ATOMIC_RELAXED);
    } else {
        __atomic_store_n((uint64_t *)array + i, value, __ATOMIC_RELAXED);
    }
}

static uint64_t load(const void *array, uint32_t bytes, uint32_t i)
{
    return bytes == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

/* --- a table, its arrays, and who changes them ------------------------------------------------ */

struct trial {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    uint32_t count; /* operations of a batch */
    struct random random;
    struct io_memory io;
    /* room for KEYS_MAX each; the first two are changed */
    void *keys;
    void *values;
    void *still_keys;
    void *still_values;
    void *previous;
    uint64_t *found;
    uint8_t *ops;
    uint32_t *group_ends;
    uint8_t *group_refused;
    void *leftover_keys;
    void *leftover_values;
    /* the changing thread's */
    pthread_t thread;
    struct random changes;
    uint32_t (*choose_key)(struct random *random, uint32_t i);
    uint64_t (*choose_operand)(struct random *random);
    uint32_t sweeps; /* atomic */
    uint32_t stop;   /* atomic */
};

static void *io(struct trial *trial, size_t element_bytes)
{
    return io_array(&trial->io, KEYS_MAX * element_bytes);
}

static void trial_open(struct trial *trial, const struct sw_table_config *config, uint32_t count)
{
    memset(trial, 0, sizeof(*trial));
    trial->table = must_create(config);
    trial->queue = must_queue(trial->table);
    sw_table_info(trial->table, &trial->info);
    trial->io.table = trial->table;
    trial->count = count;
    trial->random = random_of(1);
    trial->changes = random_of(2);
    trial->keys = io(trial, trial->info.key_bytes);
    trial->values = io(trial, trial->info.value_bytes);
    trial->still_keys = io(trial, trial->info.key_bytes);
    trial->still_values = io(trial, trial->info.value_bytes);
    trial->previous = io(trial, trial->info.value_bytes);
    trial->found = io(trial, sizeof(*trial->found));
    trial->ops = io(trial, sizeof(*trial->ops));
    trial->group_ends = io(trial, sizeof(*trial->group_ends));
    trial->group_refused = io(trial, sizeof(*trial->group_refused));
    trial->leftover_keys = io(trial, trial->info.key_bytes);
    trial->leftover_values = io(trial, trial->info.value_bytes);
}

static void trial_close(struct trial *trial)
{
    io_free(&trial->io);
    sw_queue_destroy(trial->queue);
    sw_table_destroy(trial->table);
}

/* Changes everything, over and over. */
static void *change_main(void *argument)
{
    struct trial *trial = argument;
    uint32_t key_bytes = trial->info.key_bytes;
    uint32_t element = trial->info.value_bytes == 8 ? 8 : 4;
    uint32_t elements = trial->info.value_bytes / element;
    while (__atomic_load_n(&trial->stop, __ATOMIC_RELAXED) == 0) {
        for (uint32_t i = 0; i < trial->count; i++) {
            store(trial->keys, key_bytes, i,
                  key_of(key_bytes, trial->choose_key(&trial->changes, i)));
            for (uint32_t e = 0; e < elements; e++) {
                store(trial->values, element, i * elements + e,
                      trial->choose_operand(&trial->changes));
            }
        }
        __atomic_fetch_add(&trial->sweeps, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Returns when every key and operand has been set. */
static void start_changing(struct trial *trial, uint32_t (*choose_key)(struct random *, uint32_t),
                           uint64_t (*choose_operand)(struct random *))
{
    trial->choose_key = choose_key;
    trial->choose_operand = choose_operand;
    cr_assert_eq(pthread_create(&trial->thread, NULL, change_main, trial), 0);
    while (__atomic_load_n(&trial->sweeps, __ATOMIC_RELAXED) == 0) {
        sched_yield();
    }
}

static void stop_changing(struct trial *trial)
{
    __atomic_store_n(&trial->stop, 1, __ATOMIC_RELAXED);
    pthread_join(trial->thread, NULL);
}

/* --- what must hold --------------------------------------------------------------------------- */

/* Keys [first, first + count) as one batch of `op` on arrays that do not change. */
static struct sw_counters run_still(struct trial *trial, enum sw_op op, uint32_t first,
                                    uint32_t count, uint64_t operand, void *previous)
{
    for (uint32_t i = 0; i < count; i++) {
        store(trial->still_keys, trial->info.key_bytes, i,
              key_of(trial->info.key_bytes, first + i));
        if (op != SW_GET && op != SW_DELETE) {
            store(trial->still_values, trial->info.value_bytes, i, operand);
        }
    }
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = op,
                             .count = count,
                             .keys = trial->still_keys,
                             .values = trial->still_values,
                             .previous = previous};
    must_run(trial->queue, &batch);
    return batch.counters;
}

/* The table is whole, and not fuller than it may be. Returns its entries. */
static uint64_t expect_whole(const struct trial *trial, const char *what)
{
    char violation[256] = "";
    struct sw_table_info info; /* it may have grown */
    int status = sw_table_check(trial->table, violation, sizeof(violation));
    cr_assert_eq(status, SW_OK, "after %s: %s", what, violation);
    const struct sw_table_stats stats = table_stats(trial->table);
    sw_table_info(trial->table, &info);
    cr_assert_leq(stats.occupied, info.occupied_max, "after %s", what);
    return stats.occupied;
}

/* Every entry is found, and is one of the keys [0, keys). */
static void audit(struct trial *trial, uint32_t keys, const char *what)
{
    uint64_t occupied = expect_whole(trial, what);
    uint64_t found = run_still(trial, SW_GET, 0, keys, 0, NULL).by_class[SW_CLASS_GET].hits;
    cr_assert_eq(occupied, found, "after %s: %llu entries are counted, %llu found", what,
                 (unsigned long long)occupied, (unsigned long long)found);
}

static void expect_counters(const struct trial *trial, const struct sw_batch *batch)
{
    uint64_t operations = batch->counters.refused;
    uint64_t hits = 0;
    uint64_t bits = 0;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        const struct sw_op_counters *count = &batch->counters.by_class[c];
        cr_assert_eq(count->operations, count->hits + count->misses);
        operations += count->operations;
        hits += count->hits;
    }
    for (uint32_t w = 0; w < (batch->count + 63) / 64; w++) {
        bits += (uint64_t)__builtin_popcountll(trial->found[w]);
    }
    cr_assert_eq(operations, batch->count);
    cr_assert(bits == hits || batch->counters.refused > 0);
}

/* --- every operation -------------------------------------------------------------------------- */

/* Draws operations of those the engine has, and groups. */
static void draw_mix(struct trial *trial)
{
    for (uint32_t i = 0; i < trial->count; i++) {
        do {
            trial->ops[i] = (uint8_t)ops_draw(&trial->random, SW_OPS_INTEGERS);
        } while ((trial->info.operations >> trial->ops[i] & 1) == 0);
        trial->group_ends[i] = (i + 1) * 10 < trial->count ? (i + 1) * 10 : trial->count;
    }
}

static void run_changing(struct trial *trial, uint32_t kind)
{
    char what[32];
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = kind < SW_OP_END ? (enum sw_op)kind : SW_GET,
                             .count = trial->count,
                             .ops = kind < SW_OP_END ? NULL : trial->ops,
                             .keys = trial->keys,
                             .values = trial->values,
                             .previous = trial->previous,
                             .found = trial->found,
                             .leftover_keys = trial->leftover_keys,
                             .leftover_values = trial->leftover_values};
    if (kind > SW_OP_END) {
        batch.group_count = (trial->count + 9) / 10;
        batch.group_ends = trial->group_ends;
        batch.group_refused = trial->group_refused;
    }
    draw_mix(trial);
    int status = sw_batch_run(trial->queue, &batch);
    snprintf(what, sizeof(what), "%u operations of kind %u", trial->count, kind);
    cr_assert(status == SW_OK || status == SW_E_FULL, "%s: %s", what, sw_status_text(status));
    expect_counters(trial, &batch);
    audit(trial, KEYS, what);
}

static uint32_t any_key(struct random *random, uint32_t i)
{
    (void)i;
    return (uint32_t)random_below(random, KEYS);
}

/* Every operation alone, then mixed, then mixed in groups. */
static void run_all(const struct sw_table_config *config, uint32_t count)
{
    struct trial trial;
    trial_open(&trial, config, count);
    start_changing(&trial, any_key, random_next);
    /* others must not change the expected values of operations with two operands */
    const uint64_t operations = trial.info.operations & ~SW_OPS_PAIR;
    for (uint32_t kind = 0; kind < SW_OP_END + 2; kind++) {
        if (kind >= SW_OP_END || (operations >> kind & 1) != 0) {
            run_changing(&trial, kind);
        }
    }
    stop_changing(&trial);
    trial_close(&trial);
}

static struct sw_table_config config_of(enum sw_engine engine, uint32_t slot_bits,
                                        uint64_t capacity)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.engine = engine;
    config.slot_bits = slot_bits;
    config.capacity_slots = capacity;
    config.batch_ops_max = KEYS_MAX;
    config.stash_slots = 256;
    config.threads = engine == SW_ENGINE_CACHE ? 0 : 2;
    config.seed = SEED;
    return config;
}

/* Under a sanitizer only one width of slots: another one in each run. */
static uint32_t first_width(void)
{
    return tested_now(0, 2) ? 64 : 128;
}
static uint32_t last_width(void)
{
    return tested_now(1, 2) ? 128 : 64;
}

static void run_both_sizes(const struct sw_table_config *config)
{
    run_all(config, SMALL);
    run_all(config, LARGE);
}

Test(changing, robin_hood_with_room)
{
    for (uint32_t bits = first_width(); bits <= last_width(); bits += 64) {
        struct sw_table_config config = config_of(SW_ENGINE_ROBIN_HOOD, bits, 3 * KEYS);
        run_both_sizes(&config);
    }
}

/* Refuses groups; what meets the cap is handed back. */
Test(changing, robin_hood_that_is_full)
{
    for (uint32_t bits = first_width(); bits <= last_width(); bits += 64) {
        struct sw_table_config config = config_of(SW_ENGINE_ROBIN_HOOD, bits, KEYS / 2);
        config.stash_slots = 0;
        run_both_sizes(&config);
    }
}

Test(changing, robin_hood_that_grows)
{
    for (uint32_t bits = first_width(); bits <= last_width(); bits += 64) {
        struct sw_table_config config = config_of(SW_ENGINE_ROBIN_HOOD, bits, 64);
        config.max_capacity_slots = 2 * KEYS;
        run_both_sizes(&config);
        config.threads = 1;
        run_all(&config, SMALL);
    }
}

Test(changing, cuckoo)
{
    for (uint32_t bits = first_width(); bits <= last_width(); bits += 64) {
        struct sw_table_config config = config_of(SW_ENGINE_CUCKOO, bits, 2 * KEYS);
        run_both_sizes(&config);
    }
}

/* Of 20 and 256 bytes a value may arrive in part as it was, in part as it is. */
Test(changing, cache)
{
    for (uint32_t bits = first_width(); bits <= last_width(); bits += 64) {
        struct sw_table_config config = config_of(SW_ENGINE_CACHE, bits, KEYS / 2);
        run_both_sizes(&config);
        config.value_bytes = bits == 64 ? 20 : 256;
        run_all(&config, SMALL);
    }
}

/* --- decisions -------------------------------------------------------------------------------- */

/* Loads that race are found in the first of them. */
#if defined(__SANITIZE_THREAD__)
#define BATCHES_TO_THE_LIMIT 2
#else
#define BATCHES_TO_THE_LIMIT 20
#endif

/* Present, or absent. */
static uint32_t key_or_other(struct random *random, uint32_t i)
{
    return random_below(random, 2) == 0 ? i : i + LARGE;
}

/* The table looks up the keys of a large batch to decide whether it fits. About half of the batch
 * fits here. If the table looked up other keys than it writes, every fourth batch would exceed the
 * limit. */
static void fill_to_the_limit(uint32_t slot_bits)
{
    struct sw_table_config config = config_of(SW_ENGINE_ROBIN_HOOD, slot_bits, KEYS_MAX);
    struct trial trial;
    trial_open(&trial, &config, LARGE);
    uint32_t filled = (uint32_t)trial.info.occupied_max - LARGE / 2 - LARGE;
    run_still(&trial, SW_SET, 0, LARGE, 1, NULL);
    run_still(&trial, SW_SET, 2 * LARGE, filled, 1, NULL);
    start_changing(&trial, key_or_other, random_next);
    for (uint32_t b = 0; b < BATCHES_TO_THE_LIMIT; b++) {
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_SET,
                                 .count = LARGE,
                                 .keys = trial.keys,
                                 .values = trial.values,
                                 .found = trial.found};
        int status = sw_batch_run(trial.queue, &batch);
        cr_assert(status == SW_OK || status == SW_E_FULL);
        expect_whole(&trial, "a batch that may fit");
        run_still(&trial, SW_DELETE, LARGE, LARGE, 0, NULL);
    }
    stop_changing(&trial);
    audit(&trial, 2 * LARGE + filled, "all of them");
    trial_close(&trial);
}

Test(changing, never_passes_the_limit)
{
    for (uint32_t bits = first_width(); bits <= last_width(); bits += 64) {
        fill_to_the_limit(bits);
    }
}

#define START 1000U

static uint64_t little_or_much(struct random *random)
{
    return random_below(random, 2) == 0 ? 1 : 5 * START;
}

static uint32_t first_keys(struct random *random, uint32_t i)
{
    (void)i;
    return (uint32_t)random_below(random, SMALL);
}

/* A decrement that would pass zero changes nothing, and an increment that would pass the maximum
 * neither. Both compare the value that they change, not an older one. */
static void count_to_the_end(const struct sw_table_config *config, uint32_t count)
{
    const uint64_t largest = config->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
    struct trial trial;
    trial_open(&trial, config, count);
    start_changing(&trial, first_keys, little_or_much);
    for (uint32_t b = 0; b < 8; b++) {
        bool down = b % 2 == 0;
        run_still(&trial, SW_SET, 0, SMALL, down ? START : largest - START, NULL);
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = down ? SW_DECREMENT : SW_INCREMENT,
                                 .count = count,
                                 .keys = trial.keys,
                                 .values = trial.values};
        must_run(trial.queue, &batch);
        run_still(&trial, SW_GET, 0, SMALL, 0, trial.previous);
        for (uint32_t i = 0; i < SMALL; i++) {
            uint64_t value = load(trial.previous, trial.info.value_bytes, i);
            cr_assert(down ? value <= START : value >= largest - START, "%llu",
                      (unsigned long long)value);
        }
    }
    stop_changing(&trial);
    trial_close(&trial);
}

Test(changing, counts_to_the_end_and_not_beyond)
{
    for (uint32_t bits = first_width(); bits <= last_width(); bits += 64) {
        for (int engine = SW_ENGINE_ROBIN_HOOD; engine <= SW_ENGINE_CUCKOO; engine++) {
            struct sw_table_config config = config_of((enum sw_engine)engine, bits, KEYS);
            count_to_the_end(&config, SMALL);
            count_to_the_end(&config, LARGE);
        }
    }
}
