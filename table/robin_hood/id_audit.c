/* SPDX-License-Identifier: MIT
 *
 * id_audit.c - collects and checks the ids of entries, for both widths.
 */
#include "table/robin_hood/id_audit.h"

#include <stdio.h>
#include <string.h>

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
#define SW_WIDTH_BODY "table/robin_hood/id_audit.inl"
#include "table/each_width.inl"

int sw_collect_ids(const struct sw_id_entries *entries, struct sw_ids *ids)
{
    sw_ids_clear(ids);
    return SW_BY_WIDTH(entries->slot_bits, sw_collect_slots, entries, ids) &&
                   (entries->state->side_present == 0 || collect(ids, entries->state->side_value))
               ? SW_OK
               : SW_E_INVALID;
}

/* Returns whether all levels of two maps of ids are the same. */
static bool are_same(const struct sw_ids *one, const struct sw_ids *other)
{
    return memcmp(one->levels[0], other->levels[0], one->bytes) == 0;
}

int sw_check_ids(const struct sw_id_entries *entries, const struct sw_ids *ids, char *violation,
                 size_t violation_size)
{
    const uint64_t occupied = entries->state->occupied;
    struct sw_ids found;
    if (sw_ids_open(&found, ids->limit) != SW_OK) {
        return SW_E_NOMEM;
    }
    int status = SW_E_INVALID;
    if (sw_collect_ids(entries, &found) != SW_OK) {
        snprintf(violation, violation_size,
                 "I15: two entries have one id, or an id is not below the limit of %llu ids",
                 (unsigned long long)ids->limit);
    } else if (found.high > ids->high || !are_same(&found, ids)) {
        snprintf(violation, violation_size,
                 "I15: the ids of the entries, below %llu, are not the ids in use, below %llu",
                 (unsigned long long)found.high, (unsigned long long)ids->high);
    } else if (ids->in_use != occupied || found.in_use != occupied) {
        snprintf(violation, violation_size, "I16: %llu ids are in use, and %llu entries",
                 (unsigned long long)ids->in_use, (unsigned long long)occupied);
    } else {
        status = SW_OK;
    }
    sw_ids_close(&found);
    return status;
}
