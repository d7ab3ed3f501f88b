/* SPDX-License-Identifier: MIT
 *
 * admit.h - decides whether a group is admitted, before anything changes. Checks the operations of
 * the group and tracks presence, expiry times if the batch concerns them, and key strings if the
 * table stores them.
 *
 * Threads: the caller is in a write phase.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ADMIT_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ADMIT_H

#include <string.h>

#include "table/robin_hood/cpu/cpu.h"

/* Decides about the operations [first, end) of a batch on the keys m[]. `operands` are the loaded
 * integers; NULL: the values are rows. `stash_full`: the stash had no room when the batch began.
 * All earlier groups have written their rows. */
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

/* Answers the operations [first, end), which are refused, with zeros: the caller's arrays may hold
 * values and times of other batches. */
static inline void sw_cpu_answer_refused(const struct sw_batch *batch, uint32_t first, uint32_t end,
                                         size_t value_bytes)
{
    if (batch->previous != NULL) {
        memset((uint8_t *)batch->previous + first * value_bytes, 0, (end - first) * value_bytes);
    }
    if (batch->expires_out != NULL) {
        memset(batch->expires_out + first, 0, (end - first) * sizeof(*batch->expires_out));
    }
}

#endif
