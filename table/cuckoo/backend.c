/* SPDX-License-Identifier: MIT
 *
 * backend.c - host functions shared by both backends of the cuckoo engine.
 */
#include <stdio.h>

#include "table/cuckoo/cuckoo_backend.h"

#define SW_WIDTH_BODY "table/cuckoo/backend.inl"
#include "table/each_width.inl"

int sw_cuckoo_check(uint32_t slot_bits, const void *table, char *violation, size_t violation_size)
{
    char unwanted[256];
    bool wanted = violation != NULL && violation_size > 0;
    char *text = wanted ? violation : unwanted;
    size_t size = wanted ? violation_size : sizeof(unwanted);
    return SW_BY_WIDTH(slot_bits, sw_cuckoo_check, table, text, size);
}

void sw_cuckoo_backend_facts(const struct sw_cuckoo_geometry *geometry, uint64_t bytes,
                             struct sw_backend_facts *facts)
{
    *facts = (struct sw_backend_facts){
        .bucket_slots = 1,
        .max_probe = geometry->shape.chain_max,
        .buckets = geometry->cells,
        .capacity_slots = geometry->cells,
        .max_capacity_slots = geometry->cells,
        .occupied_max = geometry->occupied_max,
        .bytes_reserved = bytes,
    };
}
