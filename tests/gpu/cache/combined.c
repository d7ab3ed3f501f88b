/* SPDX-License-Identifier: MIT
 *
 * combined.c - writes of a cache behind table.h that are carried out together: with room for every
 * key, against the cache on the CPU; and newcomers to a full cache, who must learn, each in its own
 * batch, that they were turned away.
 */
#include "tests/gpu/combined.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cache/trial.h"

#define KEYS 1000
#define OPERATIONS 6000 /* of a round */

static struct sw_table_config configuration(const struct sw_table_config *config,
                                            uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config table = *config;
    table.slot_bits = slot_bits;
    table.value_bytes = value_bytes;
    table.batch_ops_max = OPERATIONS;
    return table;
}

static struct sw_table *create(struct trial_faults *faults, const struct sw_table_config *config)
{
    char reason[256] = "";
    struct sw_table *table = NULL;
    if (sw_table_create(config, &table, reason, sizeof(reason)) != SW_OK) {
        trial_fault(faults, "create: %s", reason);
    }
    return table;
}

/* --- with room for every key ------------------------------------------------------------------ */

static bool run_rounds(struct combined *combined, struct random *random, uint32_t rounds)
{
    static const enum sw_op ops[] = {SW_GET, SW_SET, SW_GET, SW_SET_ABSENT, SW_DELETE};
    for (uint32_t n = 0; n < rounds; n++) {
        struct combined_round round = {
            .batches = n % 4 == 3 ? COMBINED_BATCHES_MAX : 2 + (uint32_t)random_below(random, 59),
            .count_max = n % 4 == 3 ? 3 : 200,
            .large = 5,
            .queues = 1 + n % COMBINED_QUEUES,
            .op = ops[n % (sizeof(ops) / sizeof(ops[0]))],
            .reads = n % COMBINED_QUEUES == 0,
            .clears = n % 4 == 2,
            .fresh = 5,
            .deletes = 20,
            .universe = n % 3 == 1 ? 100 : KEYS,
            .operations = OPERATIONS,
        };
        if (!combined_run(combined, &round)) {
            return false;
        }
    }
    return true;
}

static void compare_tables(struct trial_faults *faults, struct sw_table *const tables[2])
{
    struct sw_table_stats stats[2];
    for (int s = 0; s < 2; s++) {
        char violation[256] = "";
        if (sw_table_check(tables[s], violation, sizeof(violation)) != SW_OK) {
            trial_fault(faults, "table %d: %s", s, violation);
        }
        sw_table_stats(tables[s], &stats[s]);
    }
    if (stats[0].occupied != stats[1].occupied || stats[1].counters.evicted != 0) {
        trial_fault(faults, "occupied: %llu, tested %llu; %llu evicted",
                    (unsigned long long)stats[0].occupied, (unsigned long long)stats[1].occupied,
                    (unsigned long long)stats[1].counters.evicted);
    }
}

static void with_room(struct trial_faults *faults, const struct trial_setting *setting,
                      struct sw_table_config config)
{
    uint32_t rounds = 5 + setting->scale;
    config.capacity_slots = 4 * (KEYS + (uint64_t)rounds * OPERATIONS);
    struct sw_table_config oracle = config;
    oracle.backend = SW_BACKEND_CPU;
    struct sw_table *tables[2] = {create(faults, &oracle), create(faults, &config)};
    if (tables[0] != NULL && tables[1] != NULL) {
        struct combined combined;
        struct random random = {setting->seed + config.value_bytes};
        if (!combined_open(&combined, tables[0], tables[1], OPERATIONS, KEYS,
                           random_next(&random)) ||
            !run_rounds(&combined, &random, rounds)) {
            trial_fault(faults, "%u-bit keys, %u bytes: %s", config.slot_bits / 2,
                        config.value_bytes, combined.failure);
        }
        combined_close(&combined);
        compare_tables(faults, tables);
    }
    sw_table_destroy(tables[0]);
    sw_table_destroy(tables[1]);
}

/* --- newcomers to a full cache ---------------------------------------------------------------- */

#define OFFERS 40
#define OFFER_MAX 100 /* operations of one */

struct offer {
    struct sw_batch batch;
    uint8_t ops[OFFER_MAX];
    uint64_t keys[OFFER_MAX];
    uint64_t found[(OFFER_MAX + 63) / 64];
    uint64_t not_admitted[(OFFER_MAX + 63) / 64];
    uint64_t turned_away; /* how many must be */
    uint64_t updated;
    uint8_t values[OFFER_MAX * sizeof(uint64_t)];
};

static bool bit_of(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

/* Runs `op` for keys [first, first + OFFER_MAX) in the first of the offers. */
static const struct offer *run_keys(struct trial_faults *faults, struct sw_queue *queue,
                                    struct offer *offer, enum sw_op op, uint64_t first)
{
    for (uint32_t i = 0; i < OFFER_MAX; i++) {
        offer->keys[i] = first + i;
    }
    offer->batch = (struct sw_batch){.op = op,
                                     .count = OFFER_MAX,
                                     .keys = offer->keys,
                                     .values = offer->values,
                                     .found = offer->found};
    trial_expect(faults, sw_batch_run(queue, &offer->batch), "a batch");
    return offer;
}

/* Fills the cache, then uses all it holds twice more. Returns the first key never offered; a key
 * that is present in *present. */
static uint64_t fill_cache(struct trial_faults *faults, struct sw_table *table,
                           struct sw_queue *queue, struct offer *offer, uint64_t *present)
{
    struct sw_table_info info;
    struct sw_table_stats stats = {.occupied = 0};
    uint64_t end = 1;
    sw_table_info(table, &info);
    for (; stats.occupied < info.capacity_slots && end < 64 * info.capacity_slots;
         end += OFFER_MAX) {
        run_keys(faults, queue, offer, SW_SET_ABSENT, end);
        sw_table_stats(table, &stats);
    }
    for (int times = 0; times < 2; times++) {
        for (uint64_t key = 1; key < end; key += OFFER_MAX) {
            run_keys(faults, queue, offer, SW_GET, key);
            for (uint32_t i = 0; i < OFFER_MAX; i++) {
                *present = bit_of(offer->found, i) ? key + i : *present;
            }
        }
    }
    if (stats.occupied != info.capacity_slots || *present == 0) {
        trial_fault(faults, "%llu entries in %llu slots", (unsigned long long)stats.occupied,
                    (unsigned long long)info.capacity_slots);
    }
    return end;
}

/* Newcomers, and here and there a key that is present. */
static void draw_offer(struct offer *offer, struct random *random, uint64_t *next, uint64_t present)
{
    static const uint8_t ops[] = {SW_SET, SW_SET_ABSENT, SW_SET_PRESENT};
    uint32_t count = 1 + (uint32_t)random_below(random, OFFER_MAX);
    offer->turned_away = 0;
    offer->updated = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool held = random_below(random, 10) == 0;
        uint8_t op = ops[random_below(random, sizeof(ops))];
        offer->keys[i] = held ? present : (*next)++;
        offer->ops[i] = op;
        offer->turned_away += !held && op != SW_SET_PRESENT;
        offer->updated += held && op != SW_SET_ABSENT;
    }
    memset(offer->found, 0xA5, sizeof(offer->found));
    memset(offer->not_admitted, 0xA5, sizeof(offer->not_admitted));
    offer->batch = (struct sw_batch){.ops = offer->ops,
                                     .count = count,
                                     .keys = offer->keys,
                                     .values = offer->values,
                                     .found = offer->found,
                                     .not_admitted = offer->not_admitted};
}

static void check_offer(struct trial_faults *faults, const struct offer *offer, uint64_t present)
{
    const struct sw_counters *counters = &offer->batch.counters;
    uint32_t count = offer->batch.count;
    for (uint32_t i = 0; i < count; i++) {
        bool held = offer->keys[i] == present;
        if (bit_of(offer->found, i) != held ||
            bit_of(offer->not_admitted, i) != (!held && offer->ops[i] != SW_SET_PRESENT)) {
            trial_fault(faults, "operation %u (%u) of %u: found %d, not_admitted %d", i,
                        offer->ops[i], count, bit_of(offer->found, i),
                        bit_of(offer->not_admitted, i));
        }
    }
    if (count % 64 != 0 &&
        (offer->found[count / 64] | offer->not_admitted[count / 64]) >> (count % 64) != 0) {
        trial_fault(faults, "unused bits of found or not_admitted");
    }
    if (counters->not_admitted != offer->turned_away || counters->updated != offer->updated ||
        counters->inserted != 0 || counters->by_class[SW_CLASS_UPSERT].operations != count) {
        trial_fault(faults, "%llu turned away, not %llu; %llu updated, not %llu",
                    (unsigned long long)counters->not_admitted,
                    (unsigned long long)offer->turned_away, (unsigned long long)counters->updated,
                    (unsigned long long)offer->updated);
    }
}

/* Scores must be numbers of uses: of a newcomer it is the lowest. Keys are of 64 bits, values of
 * 8 bytes. */
static void turned_away(struct trial_faults *faults, const struct trial_setting *setting,
                        struct sw_table_config config)
{
    config.capacity_slots = 1024;
    struct sw_table *table = create(faults, &config);
    struct sw_queue *queue = NULL;
    struct offer *offers = NULL;
    if (table != NULL && sw_queue_create(table, &queue) == SW_OK) {
        offers = sw_io_alloc(table, OFFERS * sizeof(*offers));
    }
    if (offers == NULL) {
        trial_fault(faults, "no memory for the offers");
    } else {
        struct random random = {setting->seed};
        uint64_t present = 0;
        memset(offers, 0, OFFERS * sizeof(*offers));
        uint64_t next = fill_cache(faults, table, queue, offers, &present);
        for (uint32_t o = 0; o < OFFERS; o++) {
            draw_offer(&offers[o], &random, &next, present);
            trial_expect(faults, sw_batch_submit(queue, &offers[o].batch), "submit");
        }
        for (uint32_t o = 0; o < OFFERS; o++) {
            while (sw_batch_poll(queue, &offers[o].batch) == SW_PENDING) {
            }
            check_offer(faults, &offers[o], present);
        }
    }
    sw_io_free(table, offers, OFFERS * sizeof(*offers));
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

uint64_t case_combined(const struct trial_setting *setting, const struct sw_table_config *config)
{
    static const uint32_t sizes[] = {4, 8, 24, 64};
    struct trial_faults faults = {.name = "combined"};
    if (config->cache_policy == SW_CACHE_CUSTOM || config->cache_policy == SW_CACHE_EPOCH_LRU ||
        config->tuning.cache_writing != SW_CACHE_WRITING_LOCKS) {
        return 0; /* a table does not have this policy, or cannot choose this way of writing */
    }
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            with_room(&faults, setting, configuration(config, slot_bits, sizes[s]));
        }
    }
    if (config->cache_policy != SW_CACHE_LRU) {
        turned_away(&faults, setting, configuration(config, 128, 8));
    }
    return faults.count;
}
