/* SPDX-License-Identifier: MIT
 *
 * id_audit.h - passes over the entries of a table of ids (ids_backend.h).
 *
 * Threads: the caller is in the phase that the function needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ID_AUDIT_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ID_AUDIT_H

#include "table/robin_hood/cpu/cpu.h"

/* Marks the ids of all entries as in use; no other id is. In a write phase. Returns SW_OK, or
 * SW_E_INVALID: two entries have one id, or an id is not below the limit. */
SW_MUST_CHECK int sw_cpu_collect_ids(struct sw_cpu *cpu);

/* Checks I15 (table/robin_hood/README.md). In a read phase. Returns SW_OK; SW_E_INVALID
 * with the first violation as text; SW_E_NOMEM. */
int sw_cpu_check_ids(const struct sw_cpu *cpu, char *violation, size_t violation_size);

#endif
