/* SPDX-License-Identifier: MIT
 *
 * geometry.c - the sizes of a cuckoo table.
 */
#include <math.h>

#include "table/cuckoo/engine.h"
#include "table/table.h"

uint32_t sw_cuckoo_chain_bound(double l, uint64_t n)
{
    double bound = n > 1 ? ceil(l * log2((double)n)) : 1;
    return bound < 1 ? 1 : bound > 1e9 ? 1000000000U : (uint32_t)bound;
}

static uint32_t functions_of(const struct sw_table_config *config)
{
    return config->hash_functions == 0 ? SW_CUCKOO_FUNCTIONS_MAX : config->hash_functions;
}

void sw_cuckoo_geometry_compute(const struct sw_table_config *config,
                                struct sw_cuckoo_geometry *geometry)
{
    uint32_t functions = functions_of(config);
    *geometry = (struct sw_cuckoo_geometry){
        .shape.each = (config->capacity_slots + functions - 1) / functions,
        .shape.functions = functions,
    };
    geometry->cells = sw_cuckoo_cells(&geometry->shape);
    geometry->shape.chain_max =
        config->max_probe != 0 ? config->max_probe
                               : sw_cuckoo_chain_bound(SW_CUCKOO_CHAIN_FACTOR, geometry->cells);
    geometry->occupied_max = (uint64_t)((double)geometry->cells * config->max_load);
    geometry->stash_max = config->stash_slots;
    /* A batch that begins with at most stash_max entries in the stash may add up to two entries per
     * operation: one by an insert, one by an undone delete. A batch that begins with more may add
     * one per operation, by undone deletes. A batch that begins with more than stash_most adds
     * nothing. */
    geometry->stash_most = geometry->stash_max + config->batch_ops_max;
    geometry->stash_room = geometry->stash_most + config->batch_ops_max;
}
