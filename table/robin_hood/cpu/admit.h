/* SPDX-License-Identifier: MIT
 *
 * admit.h - whether a group would stay within the limit, found out before anything changes: a walk
 * over its operations by presence alone, by times where the batch concerns them, and by the texts
 * of keys where these are kept.
 *
 * Threads: the caller is in a write phase.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ADMIT_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ADMIT_H

#include "table/robin_hood/cpu/cpu.h"

/* Operations [first, end) of a batch on the keys m[]; `operands` are those of integers, as loaded,
 * NULL: the values are rows. `stash_full`: the stash had no room when the batch began. Rows have
 * been written by all groups before. */
enum sw_admission sw_admit_s64(const struct sw_cpu *cpu, const struct sw_batch *batch,
                               const uint32_t *m, const uint32_t *operands, uint32_t first,
                               uint32_t end, bool stash_full);
enum sw_admission sw_admit_s128(const struct sw_cpu *cpu, const struct sw_batch *batch,
                                const uint64_t *m, const uint64_t *operands, uint32_t first,
                                uint32_t end, bool stash_full);

static inline uint32_t sw_cpu_op_at(const struct sw_batch *batch, uint32_t i)
{
    return batch->ops != NULL ? batch->ops[i] : (uint32_t)batch->op;
}

#endif
