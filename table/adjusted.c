/* SPDX-License-Identifier: MIT
 *
 * adjusted.c - changes of entries that no counter of a batch counts.
 */
#include "table/adjusted.h"

#include "table/batch.h"
#include "table/expiring.h"

static uint64_t given_time(const struct sw_batch *batch, uint32_t i)
{
    return batch->expires != NULL ? batch->expires[i] : batch->expire_at;
}

static bool was_absent(const struct sw_batch *batch, uint32_t i)
{
    return batch->found != NULL && (batch->found[i / 64] >> (i % 64) & 1) == 0;
}

bool sw_expire_was_idle(const struct sw_batch *batch, enum sw_op op, uint32_t i)
{
    const uint64_t at = given_time(batch, i);
    return was_absent(batch, i) ||
           (batch->expires_out != NULL && (at == batch->expires_out[i] || at == SW_EXPIRE_KEEP ||
                                           !sw_expire_holds(op, batch->expires_out[i], at)));
}

/* An EXPIRE to a time that has passed removes the key, and `expired` counts it. Others may write to
 * the answers of a shared batch, so they are not read. The answers of a SET_SCORE are never read:
 * even if the batch is not shared, they may lie in a client's memory on the device. */
static bool has_adjusted(const struct sw_batch *batch, uint32_t i)
{
    const enum sw_op op = batch->ops == NULL ? batch->op : (enum sw_op)batch->ops[i];
    if (op == SW_SET_SCORE) {
        return true;
    }
    if (!sw_op_expires(op)) {
        return false;
    }
    const uint64_t at = given_time(batch, i);
    const bool removes = at != 0 && at <= batch->clock_ms;
    return !removes && (batch->shared || !sw_expire_was_idle(batch, op, i));
}

static bool was_refused(const struct sw_batch *batch, uint32_t group)
{
    return batch->group_count > 0 && batch->group_refused != NULL &&
           batch->group_refused[group] != 0;
}

uint64_t sw_batch_adjusted(const struct sw_batch *batch)
{
    uint64_t adjusted = 0;
    if (batch->kind == SW_BATCH_EPOCH) {
        return batch->write_sequence != 0 && batch->status == SW_OK;
    }
    const uint32_t groups = batch->group_count > 0 ? batch->group_count : 1;
    for (uint32_t g = 0, i = 0; g < groups; g++) {
        const uint32_t end = batch->group_count > 0 ? batch->group_ends[g] : batch->count;
        if (was_refused(batch, g)) {
            i = end;
        }
        for (; i < end; i++) {
            adjusted += has_adjusted(batch, i);
        }
    }
    return adjusted;
}
