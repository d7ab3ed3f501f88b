/* SPDX-License-Identifier: MIT
 *
 * expiring.h - batches of integers that concern expiry times. All threads carry out reads; one
 * thread carries out writes, in order.
 *
 * Threads: the caller is in the phase that the batch needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_EXPIRING_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_EXPIRING_H

#include "table/robin_hood/cpu/room.h"

/* Call these if some entry expires. */
void sw_run_expiring_reads_s64(struct sw_cpu *cpu, struct sw_batch *batch);
void sw_run_expiring_reads_s128(struct sw_cpu *cpu, struct sw_batch *batch);

/* Call these after sw_expiry_begin. The keys are in the scratch. */
void sw_run_expiring_writes_s64(struct sw_cpu *cpu, struct sw_batch *batch,
                                const struct sw_cpu_mix *mix);
void sw_run_expiring_writes_s128(struct sw_cpu *cpu, struct sw_batch *batch,
                                 const struct sw_cpu_mix *mix);

#endif
