/* SPDX-License-Identifier: MIT
 *
 * test_combined.c - write batches of several threads that the CPU backend carries out together
 * (table/robin_hood/cpu/combined.h). Meant to be run under ThreadSanitizer too.
 *
 * Threads run batches on few keys and keep each batch with its answers. Afterwards a second table,
 * which combines nothing, runs the same batches in the order of their write_sequence. Every answer,
 * every counter and every slot must be equal.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "table/instance.h"
#include "table/robin_hood/cpu/combined.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"
#include "tests/support/threads.h"

TestSuite(combined, .timeout = 120);

#define THREADS 6U
#define BATCHES 40U
#define OPS_MAX 700U
#define KEYS 2600U
#define GROUPS_MAX 7U
#define SEED 5U
/* With this probe cap all keys have one home, so the stash holds nearly all entries. */
#define CROWDED_PROBE 2U

/* Arrays of 64-bit slots hold uint32_t in the same memory. */
struct kept {
    struct sw_batch batch;
    uint64_t keys[OPS_MAX], values[OPS_MAX], expected[OPS_MAX], previous[OPS_MAX];
    uint64_t found[(OPS_MAX + 63) / 64];
    uint64_t times[OPS_MAX];
    uint32_t group_ends[GROUPS_MAX];
    uint8_t group_refused[GROUPS_MAX];
};

struct writer {
    struct sw_table *table;
    pthread_barrier_t *start;
    uint32_t number, slot_bits;
    bool expires;
    bool crowded;      /* all keys have one home */
    bool is_set;       /* the table keeps keys alone */
    struct kept *kept; /* [BATCHES] */
    uint64_t errors;
};

static struct sw_table_config config_of(uint32_t slot_bits, uint64_t capacity,
                                        uint64_t max_capacity, uint32_t max_probe)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.slot_bits = slot_bits;
    config.capacity_slots = capacity;
    config.max_capacity_slots = max_capacity;
    config.max_probe = max_probe;
    /* a launch takes some of the parts that wait: those that the stash has room for, or these */
    config.stash_slots = max_probe != 0 ? 512 : 8 * OPS_MAX;
    config.batch_ops_max = 4 * OPS_MAX;
    config.seed = SEED;
    config.threads = 2;
    config.tuning.long_bytes = 1; /* each growth is long */
    return config;
}

static void put(const struct writer *me, uint64_t *array, uint32_t i, uint64_t value)
{
    if (me->slot_bits == 64) {
        ((uint32_t *)array)[i] = (uint32_t)value;
    } else {
        array[i] = value;
    }
}

/* Key number n; number 0 is the key that the side cell holds. */
static uint64_t key_at(const struct writer *me, uint32_t n)
{
    if (me->crowded) {
        return me->slot_bits == 64 ? sw_unmix_32(n, SEED) : sw_unmix_64(n, SEED);
    }
    return me->slot_bits == 64 ? (n == 0 ? sw_unmix_32(UINT32_MAX, SEED) : n * 2654435761U)
           : n == 0            ? sw_unmix_64(UINT64_MAX, SEED)
                               : n * 0x9e3779b97f4a7c15ULL;
}

/* Draws a batch: mostly of one operation that may be combined, sometimes of others. */
static void draw(const struct writer *me, struct random *random, struct kept *kept)
{
    struct sw_batch *batch = &kept->batch;
    const enum sw_op op =
        (enum sw_op)ops_at(SW_BACKEND_ALL_OPERATIONS,
                           (uint32_t)random_below(random, OPS_COUNT(SW_BACKEND_ALL_OPERATIONS)));
    const bool often = random_below(random, 2) == 0;
    *batch = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                               .op = often || op == SW_GET || op == SW_PEEK ? SW_SET : op,
                               .count = 1 + (uint32_t)random_below(random, OPS_MAX),
                               .keys = kept->keys,
                               .values = kept->values,
                               .expected = kept->expected};
    batch->previous = random_below(random, 4) > 0 ? kept->previous : NULL;
    batch->found = random_below(random, 4) > 0 ? kept->found : NULL;
    batch->no_wait = random_below(random, 2) == 0;
    batch->clock_ms = me->expires ? 1000 + random_below(random, 10) : 0;
    batch->expire_at = me->expires && random_below(random, 8) == 0 ? 1005 : 0;
    batch->expires_out = random_below(random, 4) == 0 ? kept->times : NULL;
    batch->group_count = (uint32_t)random_below(random, GROUPS_MAX);
    batch->group_ends = kept->group_ends;
    batch->group_refused = kept->group_refused;
    for (uint32_t g = 0; g < batch->group_count; g++) {
        kept->group_ends[g] = (g + 1) * batch->count / batch->group_count;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const bool hot = random_below(random, 3) == 0;
        put(me, kept->keys, i, key_at(me, (uint32_t)random_below(random, hot ? 5 : KEYS)));
        put(me, kept->values, i, random_below(random, 3));
        put(me, kept->expected, i, random_below(random, 3));
    }
    if (!SW_OPS_HAS(SW_OPS_PAIR, batch->op)) {
        batch->expected = NULL;
    }
    if (me->is_set) {
        batch->op = often ? SW_SET : op % 2 == 0 ? SW_SET_ABSENT : SW_DELETE;
        batch->values = batch->previous = NULL;
        batch->expected = NULL;
        batch->expires_out = NULL;
    }
}

static void *writer_main(void *argument)
{
    struct writer *me = argument;
    struct sw_queue *queue = must_queue(me->table);
    struct random random = random_of(me->number);
    for (uint32_t b = 0; b < BATCHES; b++) {
        draw(me, &random, &me->kept[b]);
    }
    pthread_barrier_wait(me->start);
    for (uint32_t b = 0; b < BATCHES; b++) {
        const int status = run_when_free(queue, &me->kept[b].batch);
        me->errors += status != SW_OK && status != SW_E_FULL;
    }
    sw_queue_destroy(queue);
    return NULL;
}

/* Holds a read phase until the most parts wait, or for a while, again and again. So most launches
 * have several parts, also on a machine where two threads rarely run at the same time. */
static void *hold_writers_back(void *argument)
{
    struct sw_cpu *cpu = argument;
    struct sw_cpu_combined *combined = &cpu->combined;
    while (__atomic_load_n(&combined->writers, __ATOMIC_RELAXED) > 0) {
        bool all = false;
        sw_phase_lock_enter_read(&cpu->lock);
        for (int i = 0; i < 200 && !all; i++) {
            sched_yield();
            pthread_mutex_lock(&combined->mutex);
            all = combined->waiting_count == combined->parts_max;
            pthread_mutex_unlock(&combined->mutex);
        }
        sw_phase_lock_leave_read(&cpu->lock);
    }
    return NULL;
}

static int in_order(const void *a, const void *b)
{
    const uint64_t x = (*(struct kept *const *)a)->batch.write_sequence;
    const uint64_t y = (*(struct kept *const *)b)->batch.write_sequence;
    return (x > y) - (x < y);
}

/* Compares the counters, except `probes` and `failures`, which depend on the way. */
static void compare_counters(struct sw_counters one, struct sw_counters other)
{
    for (uint32_t c = 0; c < SW_CLASS_COUNT; c++) {
        one.by_class[c].probes = other.by_class[c].probes = 0;
    }
    one.failures = other.failures = 0;
    cr_assert_eq(memcmp(&one, &other, sizeof(one)), 0);
}

/* Runs a batch on the second table, and compares its answers with those that were kept. */
static void replay(struct sw_queue *queue, const struct kept *kept, uint32_t slot_bits)
{
    static struct kept again; /* the tests of a process run one after the other */
    const uint32_t count = kept->batch.count;
    again = *kept;
    again.batch.found = kept->batch.found != NULL ? again.found : NULL;
    again.batch.previous = kept->batch.previous != NULL ? again.previous : NULL;
    again.batch.expires_out = kept->batch.expires_out != NULL ? again.times : NULL;
    again.batch.group_refused = again.group_refused;
    const int status = sw_batch_run(queue, &again.batch);
    cr_assert_eq(status, kept->batch.status);
    cr_assert_eq(again.batch.write_sequence, kept->batch.write_sequence, "a gap in the numbers");
    cr_assert_eq(again.batch.clock_ms, kept->batch.clock_ms);
    cr_assert_eq(again.batch.expired, kept->batch.expired);
    compare_counters(again.batch.counters, kept->batch.counters);
    cr_assert_eq(memcmp(again.found, kept->found, sizeof(again.found)), 0);
    cr_assert_eq(memcmp(again.previous, kept->previous, (size_t)count * slot_bits / 16), 0);
    cr_assert_eq(memcmp(again.times, kept->times, sizeof(again.times)), 0);
    cr_assert_eq(memcmp(again.group_refused, kept->group_refused, sizeof(again.group_refused)), 0);
}

static int by_m(const void *a, const void *b)
{
    const struct sw_slot_s128 *x = a, *y = b;
    return (x->m > y->m) - (x->m < y->m);
}

/* The contents determine which entries a bucket holds, not their slots in it. */
static void sort_buckets(void *slots, size_t bytes, uint32_t slot_bits)
{
    struct sw_slot_s128 bucket[SW_BUCKET_SLOTS];
    struct sw_slot_s64 *narrow = slots;
    struct sw_slot_s128 *wide = slots;
    for (size_t at = 0; at < bytes / (slot_bits / 8); at += SW_BUCKET_SLOTS) {
        for (uint32_t i = 0; i < SW_BUCKET_SLOTS; i++) {
            bucket[i] = slot_bits == 128
                            ? wide[at + i]
                            : (struct sw_slot_s128){narrow[at + i].value, narrow[at + i].m};
        }
        qsort(bucket, SW_BUCKET_SLOTS, sizeof(bucket[0]), by_m);
        for (uint32_t i = 0; i < SW_BUCKET_SLOTS; i++) {
            if (slot_bits == 128) {
                wide[at + i] = bucket[i];
            } else {
                narrow[at + i] =
                    (struct sw_slot_s64){(uint32_t)bucket[i].value, (uint32_t)bucket[i].m};
            }
        }
    }
}

static int by_key(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(uint64_t));
}

static int by_short_key(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(uint32_t));
}

/* The same for key sets, whose slots are m alone: any order will do. */
static void sort_keys(uint8_t *slots, size_t bytes, uint32_t slot_bits)
{
    const size_t slot = slot_bits / 16;
    for (size_t at = 0; at < bytes; at += SW_BUCKET_SLOTS * slot) {
        qsort(slots + at, SW_BUCKET_SLOTS, slot, slot_bits == 128 ? by_key : by_short_key);
    }
}

static void compare_slots(struct sw_table *one, struct sw_table *other)
{
    const uint32_t slot_bits = table_info(one).slot_bits;
    const size_t bytes = sw_table_raw_bytes(one);
    uint8_t *a = malloc(bytes), *b = malloc(bytes);
    cr_assert_eq(sw_table_raw_bytes(other), bytes);
    cr_assert(a != NULL && b != NULL);
    cr_assert_eq(sw_table_raw_copy(one, a), SW_OK);
    cr_assert_eq(sw_table_raw_copy(other, b), SW_OK);
    if (((struct sw_cpu *)one->memory)->config.is_set) {
        sort_keys(a, bytes, slot_bits);
        sort_keys(b, bytes, slot_bits);
    } else {
        sort_buckets(a, bytes, slot_bits);
        sort_buckets(b, bytes, slot_bits);
    }
    cr_assert_eq(memcmp(a, b, bytes), 0, "the layouts differ");
    free(a);
    free(b);
}

static void equal_in_order(const struct sw_table_config *config, bool expires)
{
    struct sw_table_config alone = *config;
    alone.threads = 1; /* carries out every batch in order */
    struct sw_table *table = must_create(config), *second = must_create(&alone);
    struct sw_cpu *cpu = table->memory;
    struct kept *kept = calloc((size_t)THREADS * BATCHES, sizeof(*kept));
    struct kept *sorted[THREADS * BATCHES];
    struct writer writers[THREADS];
    pthread_barrier_t start;
    pthread_t holder;
    cr_assert(kept != NULL);
    pthread_barrier_init(&start, NULL, THREADS);
    cr_assert_eq(cpu->combined.parts_max, 0, "two threads are too few by themselves");
    cpu->combined.parts_max = THREADS - 1; /* now and then one thread is too many */
    sw_cpu_begin_write(cpu);               /* each batch finds another writer */
    for (uint32_t t = 0; t < THREADS; t++) {
        writers[t] = (struct writer){.table = table,
                                     .start = &start,
                                     .number = t,
                                     .slot_bits = config->slot_bits,
                                     .expires = expires,
                                     .crowded = config->max_probe == CROWDED_PROBE,
                                     .is_set = config->is_set,
                                     .kept = kept + (size_t)t * BATCHES};
    }
    cr_assert_eq(pthread_create(&holder, NULL, hold_writers_back, cpu), 0);
    threads_run(THREADS, writer_main, writers, sizeof(writers[0]));
    sw_cpu_end_write(cpu);
    pthread_join(holder, NULL);
    for (uint32_t t = 0; t < THREADS; t++) {
        cr_assert_eq(writers[t].errors, 0);
    }
    /* elsewhere small batches, which are not combined, may fill the stash before the first launch
     */
    cr_assert(expires || config->max_probe != 0 || config->capacity_slots < 2 * KEYS ||
                  cpu->combined.next >> 32 > 0,
              "no launch");
    for (uint32_t b = 0; b < THREADS * BATCHES; b++) {
        sorted[b] = &kept[b];
    }
    qsort(sorted, THREADS * BATCHES, sizeof(struct kept *), in_order);
    struct sw_queue *queue = must_queue(second);
    for (uint32_t b = 0; b < THREADS * BATCHES; b++) {
        replay(queue, sorted[b], config->slot_bits);
    }
    compare_slots(table, second);
    must_check(table);
    cr_assert_eq(table_stats(table).occupied, table_stats(second).occupied);
    cr_assert_eq(table_stats(table).stash_occupied, table_stats(second).stash_occupied);
    cr_assert_eq(table_info(table).capacity_slots, table_info(second).capacity_slots);
    sw_queue_destroy(queue);
    pthread_barrier_destroy(&start);
    free(kept);
    sw_table_destroy(table);
    sw_table_destroy(second);
}

static void both_widths(uint64_t capacity, uint64_t max_capacity, uint32_t max_probe, bool expires)
{
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        const struct sw_table_config config =
            config_of(slot_bits, capacity, max_capacity, max_probe);
        equal_in_order(&config, expires);
    }
}

Test(combined, equal_the_same_batches_of_key_sets)
{
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        struct sw_table_config config = config_of(slot_bits, 1 << 13, 0, 0);
        config.is_set = true;
        equal_in_order(&config, false);
    }
}

Test(combined, equal_the_same_batches_in_order)
{
    both_widths(1 << 13, 0, 0, false);
}

Test(combined, refuse_what_has_no_room)
{
    both_widths(1 << 11, 0, 0, false);
}

Test(combined, grow_as_the_same_batches_in_order)
{
    both_widths(1 << 8, 1 << 13, 0, false);
}

Test(combined, fill_the_stash)
{
    both_widths(1 << 12, 0, 1, false);
}

Test(combined, refuse_what_finds_the_stash_full)
{
    both_widths(1 << 13, 0, CROWDED_PROBE, false);
}

Test(combined, leave_batches_with_times_alone)
{
    both_widths(1 << 13, 0, 0, true);
}

/* --- long phases ------------------------------------------------------------------------------ */

struct patient {
    struct sw_queue *queue;
    struct sw_batch batch;
    int status;
};

static void *write_patiently(void *argument)
{
    struct patient *patient = argument;
    patient->status = sw_batch_run(patient->queue, &patient->batch);
    return NULL;
}

/* A writer that waits for a long phase leads nobody: a batch that must not wait is turned away. */
Test(combined, a_patient_writer_holds_up_nobody)
{
    enum { OPS = 256 };
    static uint64_t keys[OPS], values[OPS];
    struct sw_table_config config = config_of(128, 1 << 13, 0, 0);
    struct sw_table *table = must_create(&config);
    struct sw_cpu *cpu = table->memory;
    struct sw_queue *queue = must_queue(table);
    pthread_t thread;
    for (uint32_t i = 0; i < OPS; i++) {
        keys[i] = i;
    }
    struct sw_batch batch = {.op = SW_SET, .count = OPS, .keys = keys, .values = values};
    struct patient patient = {.queue = must_queue(table), .batch = batch};
    batch.no_wait = true;
    cpu->combined.parts_max = THREADS;
    sw_cpu_begin_write(cpu); /* each batch finds another writer */
    (void)sw_phase_lock_enter_uncounted(&cpu->lock);
    sw_phase_lock_lengthen(&cpu->lock);
    cr_assert_eq(pthread_create(&thread, NULL, write_patiently, &patient), 0);
    while (__atomic_load_n(&cpu->combined.writers, __ATOMIC_RELAXED) < 2) {
        sched_yield();
    }
    for (uint32_t i = 0; i < 1000; i++) {
        cr_assert_eq(sw_batch_run(queue, &batch), SW_E_BUSY);
    }
    sw_phase_lock_leave_write(&cpu->lock);
    pthread_join(thread, NULL);
    cr_assert_eq(patient.status, SW_OK);
    cr_assert_eq(patient.batch.counters.inserted, OPS);
    sw_cpu_end_write(cpu);
    sw_queue_destroy(patient.queue);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}
