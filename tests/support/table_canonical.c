/* SPDX-License-Identifier: MIT
 *
 * table_canonical.c - fixture_canonical: the layout must be a function of the contents.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/must.h"
#include "tests/support/table_fixture.h"

#define ULL(x) ((unsigned long long)(x))

struct entry {
    uint64_t m;
    uint64_t value;
};

static int by_m(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    return x->m < y->m ? -1 : x->m > y->m;
}

/* All slots of a table; the main array's buckets, and the whole stash, sorted. */
static struct entry *slots_of(struct sw_table *table, uint64_t *main_slots, uint64_t *stash_slots)
{
    const struct sw_table_info info = table_info(table);
    size_t bytes = sw_table_raw_bytes(table);
    uint64_t count = bytes / (info.slot_bits / 8);
    uint32_t *raw = malloc(bytes);
    struct entry *entries = malloc(count * sizeof(*entries));
    cr_assert(raw != NULL && entries != NULL);
    cr_assert_eq(sw_table_raw_copy(table, raw), SW_OK);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *wide = (const uint64_t *)(const void *)raw;
        bool narrow = info.slot_bits == 64;
        entries[i].value = narrow ? raw[2 * i] : wide[2 * i];
        entries[i].m = narrow ? raw[2 * i + 1] : wide[2 * i + 1];
    }
    free(raw);
    *main_slots = (info.buckets + info.max_probe) * info.bucket_slots;
    *stash_slots = count - *main_slots;
    for (uint64_t i = 0; i < *main_slots; i += info.bucket_slots) {
        qsort(entries + i, info.bucket_slots, sizeof(*entries), by_m);
    }
    qsort(entries + *main_slots, *stash_slots, sizeof(*entries), by_m);
    return entries;
}

/* A table of the fixture's present capacity, given in one batch what the oracle holds. */
static struct sw_table *table_of_contents(struct fixture *fixture)
{
    struct sw_table_config config = fixture->config;
    uint64_t count = oracle_count(fixture->oracle);
    config.capacity_slots = fixture->info.capacity_slots;
    config.max_capacity_slots = 0;
    config.threads = 1;
    config.batch_ops_max = (uint32_t)count + 1;
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    void *memory[4]; /* keys, values, what is handed back */
    for (int i = 0; i < 4; i++) {
        memory[i] = sw_io_alloc(table, count * fixture->value_room + 8);
        cr_assert_not_null(memory[i]);
    }
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = (uint32_t)count,
                             .keys = memory[0],
                             .values = memory[1],
                             .leftover_keys = memory[2],
                             .leftover_values = memory[3]};
    size_t position = 0;
    uint64_t key;
    uint64_t value;
    for (size_t i = 0; oracle_next(fixture->oracle, &position, &key, &value); i++) {
        fixture_store(fixture, memory[0], i, key);
        fixture_store_value(fixture, memory[1], i, value);
    }
    must_run(queue, &batch);
    cr_assert_eq(batch.leftover_count, 0, "what the table holds does not fit at its capacity");
    for (int i = 0; i < 4; i++) {
        sw_io_free(table, memory[i], count * fixture->value_room + 8);
    }
    sw_queue_destroy(queue);
    return table;
}

void fixture_canonical(struct fixture *fixture)
{
    struct sw_table *fresh = table_of_contents(fixture);
    uint64_t main_slots;
    uint64_t stash_slots;
    uint64_t fresh_main;
    uint64_t fresh_stash;
    struct entry *got = slots_of(fixture->table, &main_slots, &stash_slots);
    struct entry *expected = slots_of(fresh, &fresh_main, &fresh_stash);
    cr_assert_eq(main_slots, fresh_main);
    const bool rows = fixture->config.value_bytes != 0; /* an entry may have any row */
    for (uint64_t i = 0; i < main_slots; i++) {
        cr_assert(got[i].m == expected[i].m && (rows || got[i].value == expected[i].value),
                  "seed %llu: bucket %llu holds m %llx, a new table %llx", ULL(fixture->seed),
                  ULL(i / fixture->info.bucket_slots), ULL(got[i].m), ULL(expected[i].m));
    }
    for (uint64_t i = 0; i < stash_slots || i < fresh_stash; i++) {
        uint64_t m = i < stash_slots ? got[main_slots + i].m : fixture->key_max;
        uint64_t fresh_m = i < fresh_stash ? expected[main_slots + i].m : fixture->key_max;
        cr_assert_eq(m, fresh_m, "seed %llu: the stash holds m %llx, a new table's %llx",
                     ULL(fixture->seed), ULL(m), ULL(fresh_m));
    }
    free(got);
    free(expected);
    sw_table_destroy(fresh);
}
