/* SPDX-License-Identifier: MIT
 *
 * table_ops.h - operations of a table's batch in terms of the cache. For host and device.
 */
#ifndef SHERWOOD_TABLE_CACHE_TABLE_OPS_H
#define SHERWOOD_TABLE_CACHE_TABLE_OPS_H

#include "table/cache/actions.h"
#include "table/cache/score.h"
#include "table/load_once.h"

/* Returns the actions of an operation. `previous`: the batch requests values; `ids`: they are ids
 * (ids.h). */
SW_HD static inline uint32_t sw_cache_table_actions(uint32_t op, bool previous, bool ids)
{
    uint32_t actions = previous ? SW_CACHE_DO_READ : 0;
    actions |= SW_OPS_HAS(SW_OPS_USE, op) ? SW_CACHE_DO_USE : 0;
    actions |= SW_OPS_HAS(SW_OPS_INSERT, op) ? SW_CACHE_DO_INSERT : 0;
    actions |= SW_OPS_HAS(SW_OPS_ADD, op) ? SW_CACHE_DO_ADD : 0;
    actions |= SW_OPS_HAS(SW_OPS_DELETE, op) ? SW_CACHE_DO_ERASE : 0;
    actions |= SW_OPS_HAS(SW_OPS_PUT & SW_OPS_OPERAND & ~SW_OPS_ADD, op) ? SW_CACHE_DO_WRITE : 0;
    actions |= ids && SW_OPS_HAS(SW_OPS_INSERT & ~SW_OPS_PUT, op) ? SW_CACHE_DO_KEEP : 0;
    return actions;
}

/* Removes the action USE if the policy requires it: under CUSTOM a GET is no use, and no operation
 * of a batch without scores is a use. */
SW_HD static inline uint32_t sw_cache_table_uses(uint32_t actions, uint32_t op, uint32_t policy,
                                                 bool scores)
{
    bool keeps = policy == SW_CACHE_CUSTOM && (!scores || op == SW_GET);
    return keeps ? actions & ~(uint32_t)SW_CACHE_DO_USE : actions;
}

/* Returns the caller's score, or number of uses, for operation `index`. */
SW_HD static inline uint64_t sw_cache_table_given(const uint64_t *scores, uint32_t policy,
                                                  uint64_t index)
{
    if (scores == NULL) {
        return policy == SW_CACHE_CUSTOM ? 0 : 1;
    }
    return SW_LOAD_ONCE(scores + index);
}

/* Returns the type of the numbers that an operation adds: enum sw_cache_element. */
SW_HD static inline uint32_t sw_cache_table_element(uint32_t op)
{
    return SW_OPS_HAS(SW_OPS_U32, op)   ? SW_CACHE_U32
           : SW_OPS_HAS(SW_OPS_U64, op) ? SW_CACHE_U64
                                        : SW_CACHE_F32;
}

SW_HD static inline uint32_t sw_cache_table_class(uint32_t op)
{
    return SW_OPS_HAS(SW_OPS_READ, op)     ? SW_CLASS_GET
           : SW_OPS_HAS(SW_OPS_DELETE, op) ? SW_CLASS_DELETE
                                           : SW_CLASS_UPSERT;
}

/* Returns key `index` of a batch. The CPU loads it once, because others may change it meanwhile. */
SW_HD static inline uint64_t sw_cache_table_key(const void *keys, uint32_t key_bytes,
                                                uint64_t index)
{
#ifdef __CUDA_ARCH__
    return key_bytes == 4 ? ((const uint32_t *)keys)[index] : ((const uint64_t *)keys)[index];
#else
    return key_bytes == 4 ? SW_LOAD_ONCE((const uint32_t *)keys + index)
                          : SW_LOAD_ONCE((const uint64_t *)keys + index);
#endif
}

#endif
