/* SPDX-License-Identifier: MIT
 *
 * plan.h - sizes of a run before it starts, and the refusal of what is too large. Pure; any thread.
 */
#ifndef SHERWOOD_LOAD_PLAN_H
#define SHERWOOD_LOAD_PLAN_H

#include "bench/load/worker.h"

/* Keys of a full unit. */
uint32_t sw_load_unit_keys(const struct sw_load_options *options, enum sw_load_operation operation);
/* Refuses a run whose buffers would pass the limit, before anything is allocated; before the widths
 * are known (`workload` is NULL) they are taken for 8. Both return an sw_load_status, with a
 * sentence in `error` (SW_LOAD_ERROR_BYTES). */
int sw_load_plan_memory(const struct sw_load_options *options,
                        const struct sw_load_workload *workload, char *error);
/* The partitions of a mix, once the widths are known. *out borrows `options` and `workload`. */
int sw_load_plan_partitions(const struct sw_load_options *options,
                            const struct sw_load_workload *workload,
                            struct sw_load_partition_setup *out, char *error);

#endif
