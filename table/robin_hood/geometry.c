/* SPDX-License-Identifier: MIT
 *
 * geometry.c - computes the sizes of a table's arrays. table/robin_hood/README.md, "Geometry", has
 * the formulae and their sources.
 */
#include "table/robin_hood/geometry.h"

#include <math.h>

#include "table/config.h"
#include "table/robin_hood/robin_hood_backend.h"
#include "table/robin_hood/rows.h"
#include "table/widths.h"

/* Maximum number of home buckets of a table of 32-bit keys: it never has more entries than there
 * are keys. */
#define BUCKETS_MAX_32 (1ULL << 32)
/* No machine can address larger arrays. The limit keeps all products in 64 bits. */
#define SLOTS_MAX (1ULL << 56)
#define LOAD_MAX 16.0

static int validate(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    int status = sw_config_valid(config, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    if (!(config->max_load > 0.0 && config->max_load <= LOAD_MAX)) {
        return sw_config_refuse(reason, reason_size,
                                "the maximum load must be above 0 and at most 1, not %g",
                                config->max_load);
    }
    if (config->max_load > 1.0 && (config->stash_slots > 0 || config->max_probe == 0)) {
        return sw_config_refuse(
            reason, reason_size,
            "a maximum load above 1 (%g) needs a table without a stash and with a "
            "max_probe",
            config->max_load);
    }
    uint64_t capacity_max = config->capacity_slots > config->max_capacity_slots
                                ? config->capacity_slots
                                : config->max_capacity_slots;
    if (config->stash_slots > SLOTS_MAX) {
        return sw_config_refuse(reason, reason_size, "the stash must be at most 2^56 slots");
    }
    if (config->slot_bits == 64 &&
        (capacity_max > BUCKETS_MAX_32 * SW_BUCKET_SLOTS || config->stash_slots > BUCKETS_MAX_32)) {
        return sw_config_refuse(
            reason, reason_size,
            "tables of 64-bit slots must have at most 2^34 slots and 2^32 stash slots");
    }
    return SW_OK;
}

/* Returns the positive root of load (e^t - 1) = t, for load in (0, 1). Left side minus right side
 * is convex, zero at 0, and decreases first, so Newton's method from above converges to the
 * root. */
static double queue_root(double load)
{
    double t = 2.0 * log(1.0 / load) + 1.0;
    while (load * expm1(t) < t) {
        t *= 2.0;
    }
    for (int i = 0; i < 200; i++) {
        double step = (load * expm1(t) - t) / (load * exp(t) - 1.0);
        t -= step;
        if (!(step > t * 1e-9)) {
            break;
        }
    }
    return t;
}

uint32_t sw_geometry_max_probe(double load, uint64_t buckets, uint32_t bucket_slots)
{
    /* In a full table the overflow is like a Brownian bridge, whose range exceeds 3 sqrt(n) with
     * probability 1e-6. This bound holds for every load, and is the smaller one near load 1. */
    double cap = ceil(3.0 * sqrt((double)buckets * bucket_slots) / bucket_slots) + 1.0;
    if (load < 1.0) {
        double theta = queue_root(load);
        double queue = ceil(log((double)buckets * 1e6) / (theta * bucket_slots)) + 1.0;
        cap = queue < cap ? queue : cap;
    }
    if (cap > (double)buckets) {
        cap = (double)buckets; /* enough even if all entries have the last home */
    }
    return cap < (double)UINT32_MAX ? (uint32_t)cap : UINT32_MAX;
}

/* Returns the home buckets of a table of `slots`. */
static uint64_t buckets_of(uint64_t slots)
{
    slots = slots < SLOTS_MAX ? slots : SLOTS_MAX;
    uint64_t buckets = (slots + SW_BUCKET_SLOTS - 1) / SW_BUCKET_SLOTS;
    return buckets > 0 ? buckets : 1;
}

/* Returns the entries at which a table of `buckets` refuses inserts. */
static uint64_t occupied_max_of(const struct sw_table_config *config, uint64_t buckets)
{
    uint64_t capacity = buckets * SW_BUCKET_SLOTS;
    uint64_t most = (uint64_t)((double)capacity * config->max_load);
    /* a product of two doubles may round up past the capacity only at 1.0, where it is exact
     * below 2^53 and clamped above */
    if (config->max_load <= 1.0 && most > capacity) {
        most = capacity;
    }
    return most > 0 ? most : 1;
}

uint64_t sw_geometry_capacity_max(const struct sw_table_config *config)
{
    uint64_t first = buckets_of(config->capacity_slots);
    uint64_t most = buckets_of(config->max_capacity_slots);
    return (most > first ? most : first) * SW_BUCKET_SLOTS;
}

uint64_t sw_geometry_admitting(const struct sw_table_config *config, uint64_t wanted,
                               uint64_t entries)
{
    uint64_t least = buckets_of(wanted);
    uint64_t buckets = 1;
    if (entries > 1) { /* every table admits one entry */
        double slots = (double)entries / config->max_load;
        buckets = buckets_of(slots < (double)SLOTS_MAX ? (uint64_t)slots : SLOTS_MAX);
        /* the division may be off by a few buckets */
        while (occupied_max_of(config, buckets) < entries &&
               buckets < SLOTS_MAX / SW_BUCKET_SLOTS) {
            buckets++;
        }
        while (buckets > 1 && occupied_max_of(config, buckets - 1) >= entries) {
            buckets--;
        }
    }
    return (buckets > least ? buckets : least) * SW_BUCKET_SLOTS;
}

uint64_t sw_geometry_grown(const struct sw_table_config *config, uint64_t capacity_slots,
                           uint64_t entries)
{
    uint64_t most = sw_geometry_capacity_max(config);
    if (capacity_slots >= most) {
        return capacity_slots;
    }
    uint64_t wanted = sw_geometry_admitting(config, capacity_slots * 2, entries);
    return wanted < most ? wanted : most;
}

/* Limits `entries` to the maximum number of rows, or of ids. */
static uint64_t with_rows(const struct sw_table_config *config, uint64_t entries)
{
    uint64_t rows = sw_geometry_rows_limit(config);
    if (config->value_bytes == 0 && config->rows_max == 0) {
        return entries;
    }
    rows = config->rows_max > 0 && config->rows_max < rows ? config->rows_max : rows;
    return entries < rows ? entries : rows;
}

uint64_t sw_geometry_rows_limit(const struct sw_table_config *config)
{
    return config->slot_bits == 64 ? SW_ROWS_MAX_64 : SW_ROWS_MAX_128;
}

uint64_t sw_geometry_rows_max(const struct sw_table_config *config)
{
    uint64_t most = sw_geometry_capacity_max(config) / SW_BUCKET_SLOTS;
    return with_rows(config, occupied_max_of(config, most));
}

bool sw_geometry_may_hold(const struct sw_table_config *config, uint64_t entries)
{
    return entries <= sw_geometry_rows_max(config);
}

static void compute_stash(const struct sw_table_config *config, struct sw_geometry *geometry)
{
    if (config->stash_slots == 0) {
        geometry->stash_buckets = 0;
        geometry->stash_buckets_total = 0;
        geometry->stash_max = 0;
        return;
    }
    uint64_t entries = config->stash_slots + config->batch_ops_max;
    if (entries > geometry->occupied_max) {
        entries = geometry->occupied_max;
    }
    geometry->stash_buckets = (entries + SW_BUCKET_SLOTS - 1) / SW_BUCKET_SLOTS;
    geometry->stash_buckets_total = 2 * geometry->stash_buckets;
    geometry->stash_max = config->stash_slots;
}

int sw_geometry_compute(const struct sw_table_config *config, struct sw_geometry *geometry,
                        char *reason, size_t reason_size)
{
    int status = validate(config, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    uint64_t buckets = buckets_of(config->capacity_slots);

    geometry->buckets = buckets;
    geometry->max_probe = config->max_probe;
    if (config->max_probe == 0) {
        geometry->max_probe = sw_geometry_max_probe(config->max_load, buckets, SW_BUCKET_SLOTS);
    } else if (config->max_probe > buckets) {
        geometry->max_probe = (uint32_t)buckets;
    }
    geometry->buckets_total = buckets + geometry->max_probe;
    geometry->occupied_max = with_rows(config, occupied_max_of(config, buckets));
    compute_stash(config, geometry);
    geometry->slots_total =
        (geometry->buckets_total + geometry->stash_buckets_total) * SW_BUCKET_SLOTS;
    /* at most 2^56 + 2^34 slots and twice that of stash, 16 bytes each: below 2^63 */
    geometry->bytes_total =
        geometry->slots_total * sw_format_slot_bytes(sw_format(config->slot_bits, config->is_set));
    return SW_OK;
}

void sw_geometry_facts(const struct sw_table_config *config, const struct sw_geometry *geometry,
                       struct sw_backend_facts *facts)
{
    facts->bucket_slots = SW_BUCKET_SLOTS;
    facts->max_probe = geometry->max_probe;
    facts->buckets = geometry->buckets;
    facts->capacity_slots = geometry->buckets * SW_BUCKET_SLOTS;
    facts->max_capacity_slots = sw_geometry_capacity_max(config);
    facts->occupied_max = geometry->occupied_max;
    facts->raw_bytes = geometry->bytes_total;
    facts->image_bytes = geometry->bytes_total;
}
