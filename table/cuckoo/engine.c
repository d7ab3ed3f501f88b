/* SPDX-License-Identifier: MIT
 *
 * engine.c - the valid configurations of a cuckoo table, and its backends.
 */
#include "table/cuckoo/engine.h"

#include "table/config.h"
#include "table/cuckoo/cuckoo_backend.h"

static int valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    if (config->hash_functions != 0 && config->hash_functions != 2 && config->hash_functions != 3) {
        return sw_config_refuse(reason, reason_size, "there must be 2 or 3 hash functions, not %u",
                                (unsigned)config->hash_functions);
    }
    struct sw_cuckoo_geometry geometry;
    sw_cuckoo_geometry_compute(config, &geometry);
    const uint32_t functions = geometry.shape.functions;
    double most = functions == 2 ? SW_CUCKOO_LOAD_MAX_2 : SW_CUCKOO_LOAD_MAX_3;
    if (config->capacity_slots < 1 ||
        config->capacity_slots > functions * SW_CUCKOO_CELLS_EACH_MAX) {
        return sw_config_refuse(
            reason, reason_size, "a cuckoo table of %u functions has 1 to %llu slots, not %llu",
            (unsigned)functions, (unsigned long long)(functions * SW_CUCKOO_CELLS_EACH_MAX),
            (unsigned long long)config->capacity_slots);
    }
    if (!(config->max_load > 0) || config->max_load > most) {
        return sw_config_refuse(reason, reason_size,
                                "a cuckoo table of %u functions holds a load of at most %g, not "
                                "%g: lower the maximum load%s",
                                (unsigned)functions, most, config->max_load,
                                functions == 2 ? ", or use 3 functions" : "");
    }
    if (geometry.occupied_max < 1) {
        return sw_config_refuse(reason, reason_size,
                                "a cuckoo table of %llu slots holds no key at a load of %g: raise "
                                "the capacity",
                                (unsigned long long)geometry.cells, config->max_load);
    }
    return SW_OK;
}

/* Bytes of the cells, of the second arrays for a rehash, and of the stash. */
static uint64_t bytes(const struct sw_table_config *config)
{
    struct sw_cuckoo_geometry geometry;
    sw_cuckoo_geometry_compute(config, &geometry);
    return (2 * geometry.cells + geometry.stash_room) * (config->slot_bits / 8);
}

const struct sw_engine_parts sw_cuckoo_engine = {
    .name = "cuckoo",
    .fields = SW_FIELD_MAX_PROBE | SW_FIELD_HASH_FUNCTIONS,
    .valid = valid,
    .bytes = bytes,
    .cpu = &sw_cuckoo_backend_cpu,
    .cuda = sw_cuckoo_backend_cuda,
};
