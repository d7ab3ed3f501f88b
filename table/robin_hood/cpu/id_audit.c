/* SPDX-License-Identifier: MIT
 *
 * id_audit.c - collects and checks the ids of entries, for both widths.
 */
#include "table/robin_hood/cpu/id_audit.h"

#include <stdio.h>

/* Marks the id of an entry. Returns false if it is too large, or belongs to another entry. */
static bool collect(struct sw_ids *ids, uint64_t id)
{
    if (id >= ids->limit || sw_ids_is_in_use(ids, id)) {
        return false;
    }
    sw_ids_mark(ids, id);
    return true;
}

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/id_audit.inl"
#include "table/each_width.inl"

/* Marks the ids of all entries in `ids`. Returns false if two are equal, or one is too large. */
static bool collect_all(const struct sw_cpu *cpu, struct sw_ids *ids)
{
    return SW_BY_WIDTH(cpu->config.slot_bits, sw_collect_ids, cpu, ids) &&
           (cpu->state.side_present == 0 || collect(ids, cpu->state.side_value));
}

int sw_cpu_collect_ids(struct sw_cpu *cpu)
{
    sw_ids_clear(&cpu->ids);
    return collect_all(cpu, &cpu->ids) ? SW_OK : SW_E_INVALID;
}

/* Returns whether all levels of two maps of ids are the same. */
static bool are_same(const struct sw_ids *one, const struct sw_ids *other)
{
    return memcmp(one->levels[0], other->levels[0], one->bytes) == 0;
}

int sw_cpu_check_ids(const struct sw_cpu *cpu, char *violation, size_t violation_size)
{
    const struct sw_ids *ids = &cpu->ids;
    struct sw_ids found;
    if (sw_ids_open(&found, ids->limit) != SW_OK) {
        return SW_E_NOMEM;
    }
    int status = SW_E_INVALID;
    if (!collect_all(cpu, &found)) {
        snprintf(violation, violation_size,
                 "I15: two entries have one id, or an id is not below the limit of %llu ids",
                 (unsigned long long)ids->limit);
    } else if (found.high > ids->high || !are_same(&found, ids)) {
        snprintf(violation, violation_size,
                 "I15: the ids of the entries, below %llu, are not the ids in use, below %llu",
                 (unsigned long long)found.high, (unsigned long long)ids->high);
    } else if (ids->in_use != cpu->state.occupied || found.in_use != cpu->state.occupied) {
        snprintf(violation, violation_size, "I15: %llu ids are in use, and %llu entries",
                 (unsigned long long)ids->in_use, (unsigned long long)cpu->state.occupied);
    } else {
        status = SW_OK;
    }
    sw_ids_close(&found);
    return status;
}
