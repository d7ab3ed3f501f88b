/* SPDX-License-Identifier: MIT
 *
 * table_ops.h - operations of a table's batch in terms of the cache. For host and device.
 */
#ifndef SHERWOOD_TABLE_CACHE_TABLE_OPS_H
#define SHERWOOD_TABLE_CACHE_TABLE_OPS_H

#include "table/cache/work.h"
#include "table/once.h"

SW_HD static inline uint32_t sw_cache_table_acts(uint32_t op, bool previous)
{
    uint32_t read = previous ? SW_CACHE_ACT_READ : 0;
    switch (op) {
    case SW_SET:
        return read | SW_CACHE_ACT_WRITE | SW_CACHE_ACT_USE | SW_CACHE_ACT_INSERT;
    case SW_SET_ABSENT:
        return read | SW_CACHE_ACT_INSERT;
    case SW_SET_PRESENT:
        return read | SW_CACHE_ACT_WRITE | SW_CACHE_ACT_USE;
    case SW_DELETE:
        return read | SW_CACHE_ACT_ERASE;
    default:
        return read | SW_CACHE_ACT_USE;
    }
}

SW_HD static inline uint32_t sw_cache_table_class(uint32_t op)
{
    return op == SW_GET ? SW_CLASS_GET : op == SW_DELETE ? SW_CLASS_DELETE : SW_CLASS_UPSERT;
}

/* Key `index` of a batch; on the CPU loaded once. */
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
