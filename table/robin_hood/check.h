/* SPDX-License-Identifier: MIT
 *
 * check.h - checks the invariants of a copy of a table's slots (table/robin_hood/README.md,
 * "Invariants").
 *
 * Threads: pure functions of their arguments. The slots are borrowed for the call.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CHECK_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CHECK_H

#include "table/robin_hood/geometry.h"
#include "table/robin_hood/robin_hood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Scans the slots (main array, then stash), which have a format of widths.h, and compares their
 * number with the state. Returns SW_OK, or SW_E_INVALID with the first violation as text. */
int sw_check_slots(uint32_t format, const struct sw_geometry *geometry,
                   const struct sw_state *state, const void *slots, char *violation,
                   size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
