/* SPDX-License-Identifier: MIT
 *
 * id_audit.h - passes over the entries of a table of ids (ids_backend.h), in its slots or in a copy
 * of them.
 *
 * Threads: pure functions of their arguments, which are borrowed for the call.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_ID_AUDIT_H
#define SHERWOOD_TABLE_ROBIN_HOOD_ID_AUDIT_H

#include <stddef.h>

#include "table/robin_hood/ids.h"
#include "table/robin_hood/robin_hood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The entries of a table: slots of the main array, then of the stash, and the side cell. */
struct sw_id_entries {
    uint32_t slot_bits;
    const void *slots; /* [slots_total] */
    uint64_t slots_total;
    const struct sw_state *state;
};

/* Marks the ids of all entries as in use; no other id is. Returns SW_OK, or SW_E_INVALID: two
 * entries have one id, or an id is not below the limit. */
SW_MUST_CHECK int sw_collect_ids(const struct sw_id_entries *entries, struct sw_ids *ids);

/* Checks I15 and I16 (table/robin_hood/README.md). Returns SW_OK; SW_E_INVALID with the first
 * violation as text; SW_E_NOMEM. */
int sw_check_ids(const struct sw_id_entries *entries, const struct sw_ids *ids, char *violation,
                 size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
