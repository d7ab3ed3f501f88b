/* SPDX-License-Identifier: MIT
 *
 * plan.h - computes the sizes of a run before it starts, and refuses runs that are too large. Pure;
 * any thread.
 */
#ifndef SHERWOOD_LOAD_PLAN_H
#define SHERWOOD_LOAD_PLAN_H

#include "bench/load/worker.h"

/* Returns the keys of a full unit. */
uint32_t sw_load_unit_keys(const struct sw_load_options *options, enum sw_load_operation operation);
/* Refuses a run whose buffers would exceed the limit, before any allocation. `workload` is NULL
 * while the widths are unknown: then they count as 8. Both functions return an sw_load_status, with
 * a sentence in `error` (SW_LOAD_ERROR_BYTES). */
int sw_load_plan_memory(const struct sw_load_options *options,
                        const struct sw_load_workload *workload, char *error);
/* Configures the partitions of a mix, once the widths are known. *out borrows `options` and
 * `workload`. */
int sw_load_plan_partitions(const struct sw_load_options *options,
                            const struct sw_load_workload *workload,
                            struct sw_load_partition_setup *out, char *error);

#endif
