/* SPDX-License-Identifier: MIT
 *
 * id_writes.h - writes of a table of ids (ids_backend.h): one thread, in order.
 *
 * Threads: the caller is in a write phase.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ID_WRITES_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ID_WRITES_H

#include "table/robin_hood/cpu/room.h"

/* The keys are in the scratch. If the batch concerns expiry times, call them after
 * sw_expiry_begin. */
void sw_run_id_writes_s64(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix);
void sw_run_id_writes_s128(struct sw_cpu *cpu, struct sw_batch *batch,
                           const struct sw_cpu_mix *mix);

#endif
