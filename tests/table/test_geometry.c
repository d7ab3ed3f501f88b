/* SPDX-License-Identifier: MIT
 *
 * test_geometry.c - sizes of a table's arrays, and the configurations that are refused.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "table/robin_hood/geometry.h"

TestSuite(geometry, .timeout = 60);

static struct sw_geometry plan(const struct sw_table_config *config)
{
    struct sw_geometry geometry;
    char reason[256] = "";
    cr_assert_eq(sw_geometry_compute(config, &geometry, reason, sizeof(reason)), SW_OK, "%s",
                 reason);
    return geometry;
}

/* The caps that were found by measuring tables of 2^27 slots. */
Test(geometry, probe_cap_by_load)
{
    const struct {
        double load;
        uint32_t low;
        uint32_t high;
    } expected[] = {{0.75, 14, 17}, {0.85, 25, 27}, {0.95, 76, 80}, {0.985, 255, 262}};
    for (int i = 0; i < 4; i++) {
        uint32_t cap = sw_geometry_max_probe(expected[i].load, 1ULL << 25, 4);
        cr_assert(cap >= expected[i].low && cap <= expected[i].high, "load %g: cap %u",
                  expected[i].load, cap);
    }
}

Test(geometry, probe_cap_is_bounded)
{
    for (uint64_t buckets = 1; buckets <= 1ULL << 40; buckets *= 2) {
        uint32_t before = 0;
        for (int percent = 1; percent <= 100; percent++) {
            uint32_t cap = sw_geometry_max_probe(percent / 100.0, buckets, 4);
            cr_assert(cap >= 1 && cap <= buckets, "%d %% of %llu: cap %u", percent,
                      (unsigned long long)buckets, cap);
            cr_assert_geq(cap, before, "the cap falls at load %d %%", percent);
            before = cap;
        }
    }
    cr_assert_geq(sw_geometry_max_probe(1e-300, 1ULL << 25, 4), 1);
    cr_assert_geq(sw_geometry_max_probe(nextafter(1.0, 0.0), 1ULL << 25, 4), 3729);
}

Test(geometry, defaults)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    struct sw_geometry geometry = plan(&config);
    cr_assert_eq(geometry.buckets, 1ULL << 22);
    cr_assert_eq(geometry.buckets_total, geometry.buckets + geometry.max_probe);
    cr_assert_eq(geometry.occupied_max, (uint64_t)(0.85 * (1 << 24)));
    cr_assert_eq(geometry.stash_max, 1U << 16);
    cr_assert_eq(geometry.stash_buckets, ((1U << 16) + (1U << 20)) / 4);
    cr_assert_eq(geometry.stash_buckets_total, 2 * geometry.stash_buckets);
    cr_assert_eq(geometry.slots_total, (geometry.buckets_total + geometry.stash_buckets_total) * 4);
    cr_assert_eq(geometry.bytes_total, geometry.slots_total * 16);
    config.slot_bits = 64;
    cr_assert_eq(plan(&config).bytes_total, geometry.slots_total * 8);
}

/* Whatever is asked for fits together: checked over many shapes. */
Test(geometry, parts_fit_together)
{
    const double loads[] = {1e-9, 0.1, 0.85, 1.0};
    const uint64_t stashes[] = {0, 1, 7, 65536};
    struct sw_table_config config;
    sw_table_config_init(&config);
    for (uint64_t slots = 0; slots < 1ULL << 32; slots = slots * 3 + 1) {
        for (int l = 0; l < 4; l++) {
            for (int s = 0; s < 4; s++) {
                config.capacity_slots = slots;
                config.max_load = loads[l];
                config.stash_slots = stashes[s];
                struct sw_geometry g = plan(&config);
                cr_assert(g.buckets >= 1 && g.buckets * 4 >= slots && g.buckets * 4 < slots + 5);
                cr_assert(g.occupied_max >= 1 && g.occupied_max <= g.buckets * 4);
                cr_assert_eq(g.buckets_total, g.buckets + g.max_probe);
                uint64_t most = stashes[s] + config.batch_ops_max;
                most = most < g.occupied_max ? most : g.occupied_max;
                cr_assert_geq(g.stash_buckets * 4, stashes[s] > 0 ? most : 0);
                cr_assert_eq(g.stash_buckets_total, 2 * g.stash_buckets);
            }
        }
    }
}

Test(geometry, given_probe_cap)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.max_probe = 3;
    cr_assert_eq(plan(&config).max_probe, 3);
    config.capacity_slots = 5;
    cr_assert_eq(plan(&config).max_probe, 2, "no more than there are buckets");
}

static void refused(struct sw_table_config config, const char *word)
{
    struct sw_geometry geometry;
    char reason[256] = "";
    cr_assert_eq(sw_geometry_compute(&config, &geometry, reason, sizeof(reason)), SW_E_INVALID);
    cr_assert_not_null(strstr(reason, word), "\"%s\" says nothing of \"%s\"", reason, word);
    cr_assert_eq(sw_geometry_compute(&config, &geometry, NULL, 0), SW_E_INVALID);
}

Test(geometry, what_is_refused)
{
    struct sw_table_config good;
    sw_table_config_init(&good);
    struct sw_table_config bad = good;
    bad.slot_bits = 32;
    refused(bad, "64 or 128");
    bad = good;
    bad.max_load = 0.0;
    refused(bad, "load");
    bad.max_load = 1.0001;
    refused(bad, "load");
    bad.stash_slots = 0;
    refused(bad, "max_probe");
    bad.max_probe = 8;
    bad.max_load = 16.1;
    refused(bad, "load");
    bad.max_load = NAN;
    refused(bad, "load");
    bad = good;
    bad.batch_ops_max = 0;
    refused(bad, "batch");
    bad.batch_ops_max = (1U << 28) + 1;
    refused(bad, "batch");
    bad = good;
    bad.capacity_slots = UINT64_MAX;
    refused(bad, "capacity");
    bad = good;
    bad.stash_slots = UINT64_MAX;
    refused(bad, "stash");
    bad = good;
    bad.max_capacity_slots = (1ULL << 56) + 1;
    refused(bad, "capacity");
    bad.slot_bits = 64;
    bad.max_capacity_slots = (1ULL << 34) + 1;
    refused(bad, "2^34");
    bad.max_capacity_slots = 0;
    bad.capacity_slots = (1ULL << 34) + 1;
    refused(bad, "2^34");
    bad = good;
    bad.backend = (enum sw_backend_kind)7;
    refused(bad, "backend");
}

/* The largest that is allowed does not overflow. */
Test(geometry, largest)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.capacity_slots = 1ULL << 56;
    config.stash_slots = 1ULL << 56;
    config.max_load = 1.0;
    struct sw_geometry g = plan(&config);
    cr_assert_eq(g.occupied_max, 1ULL << 56);
    cr_assert_eq(g.bytes_total / 16, g.slots_total);
    cr_assert_eq(g.slots_total / 4, g.buckets_total + g.stash_buckets_total);
    cr_assert_gt(g.slots_total, 1ULL << 56);
}

/* At a load above 1 entries that do not fit are handed back, so more entries are admitted than the
 * table has slots. */
Test(geometry, load_above_one)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.stash_slots = 0;
    config.max_probe = 8;
    config.max_load = 16.0;
    config.capacity_slots = 1000;
    cr_assert_eq(plan(&config).occupied_max, 16000);
    cr_assert_eq(plan(&config).max_probe, 8);
}

/* The smallest capacity that admits a number of entries: one bucket less does not. */
Test(geometry, admitting)
{
    const double loads[] = {1e-9, 0.001, 0.3, 0.85, 0.985, 1.0, 7.7};
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.stash_slots = 0;
    config.max_probe = 4;
    for (int l = 0; l < 7; l++) {
        config.max_load = loads[l];
        for (uint64_t entries = 0; entries < 1ULL << 22; entries = entries * 5 / 4 + 1) {
            uint64_t capacity = sw_geometry_admitting(&config, 0, entries);
            cr_assert(capacity >= 4 && capacity % 4 == 0);
            config.capacity_slots = capacity;
            cr_assert_geq(plan(&config).occupied_max, entries);
            if (capacity > 4) {
                config.capacity_slots = capacity - 4;
                cr_assert_lt(plan(&config).occupied_max, entries, "load %g, %llu entries", loads[l],
                             (unsigned long long)entries);
            }
            cr_assert_eq(sw_geometry_admitting(&config, capacity + 1, entries), capacity + 4);
        }
    }
    config.max_load = 1e-300;
    cr_assert_eq(sw_geometry_admitting(&config, 0, UINT64_MAX), 1ULL << 56, "no larger ones");
    cr_assert_eq(sw_geometry_admitting(&config, UINT64_MAX, 0), 1ULL << 56);
}

Test(geometry, grown)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.max_load = 0.5;
    config.capacity_slots = 100;
    cr_assert_eq(sw_geometry_capacity_max(&config), 100);
    cr_assert_eq(sw_geometry_grown(&config, 100, 1000), 100, "it may not grow");
    config.max_capacity_slots = 100;
    cr_assert_eq(sw_geometry_grown(&config, 100, 1000), 100);
    config.max_capacity_slots = 997;
    cr_assert_eq(sw_geometry_capacity_max(&config), 1000, "whole buckets");
    cr_assert_eq(sw_geometry_grown(&config, 100, 51), 200, "twice as large");
    cr_assert_eq(sw_geometry_grown(&config, 100, 101), 204, "as large as they need");
    cr_assert_eq(sw_geometry_grown(&config, 100, 501), 1000, "no larger than allowed");
    cr_assert_eq(sw_geometry_grown(&config, 800, 401), 1000);
    cr_assert_eq(sw_geometry_grown(&config, 1000, 501), 1000);
}

/* Agrees with the geometry of a table created at the largest capacity. */
Test(geometry, may_hold)
{
    static const double loads[] = {0.01, 0.5, 0.85, 0.985, 1.0};
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        for (uint64_t most = 1; most < 300; most++) {
            struct sw_table_config config;
            struct sw_geometry geometry;
            sw_table_config_init(&config);
            config.capacity_slots = most;
            config.max_load = loads[i];
            cr_assert_eq(sw_geometry_compute(&config, &geometry, NULL, 0), SW_OK);
            config.capacity_slots = 1;
            config.max_capacity_slots = most;
            cr_assert(sw_geometry_may_hold(&config, geometry.occupied_max));
            cr_assert(!sw_geometry_may_hold(&config, geometry.occupied_max + 1));
        }
    }
}
