/* SPDX-License-Identifier: MIT
 *
 * row_audit.h - checks the invariants of rows in a copy of a table's slots
 * (table/robin_hood/README.md, "Rows").
 *
 * Threads: pure functions of their arguments, which are borrowed for the call.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_ROW_AUDIT_H
#define SHERWOOD_TABLE_ROBIN_HOOD_ROW_AUDIT_H

#include "table/robin_hood/geometry.h"
#include "table/robin_hood/robin_hood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of an arena that are free, used or mapped. */
struct sw_rows_in_use {
    const uint32_t *free; /* [free_count] */
    uint64_t free_count;
    uint64_t high;   /* rows from here on were never used */
    uint64_t mapped; /* rows from here on have no memory */
};

/* Checks I11, I12 and I13 of the slots (main array, then stash). Returns SW_OK; SW_E_INVALID with
 * the first violation as text; SW_E_NOMEM. */
int sw_check_rows(uint32_t slot_bits, const struct sw_geometry *geometry,
                  const struct sw_state *state, const void *slots,
                  const struct sw_rows_in_use *rows, char *violation, size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
