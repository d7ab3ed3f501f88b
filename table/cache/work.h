/* SPDX-License-Identifier: MIT
 *
 * work.h - a batch as the drivers carry it out: what the caller said, and its time.
 */
#ifndef SHERWOOD_TABLE_CACHE_WORK_H
#define SHERWOOD_TABLE_CACHE_WORK_H

#include "table/cache/score.h"

struct sw_cache_work {
    struct sw_cache_batch batch;
    struct sw_cache_time time;
};

/* What is done with a key. An operation is a set of these. */
enum sw_cache_act {
    SW_CACHE_ACT_READ = 1,    /* present: copy the value to `out`, first of all */
    SW_CACHE_ACT_WRITE = 2,   /* present: write the value */
    SW_CACHE_ACT_ADD = 4,     /* present: add to the value */
    SW_CACHE_ACT_USE = 8,     /* present: it is a use */
    SW_CACHE_ACT_ERASE = 16,  /* present: remove it */
    SW_CACHE_ACT_INSERT = 32, /* absent: make an entry */
    SW_CACHE_ACT_ECHO = 64    /* absent: copy `value` to `out` */
};

/* The acts of an operation; `touch` is of those that only read. */
SW_HD static inline uint32_t sw_cache_acts(uint32_t op, bool touch)
{
    switch (op) {
    case SW_CACHE_INSERT_OR_ASSIGN:
    case SW_CACHE_INSERT_AND_EVICT:
        return SW_CACHE_ACT_WRITE | SW_CACHE_ACT_USE | SW_CACHE_ACT_INSERT;
    case SW_CACHE_FIND:
        return SW_CACHE_ACT_READ | (touch ? SW_CACHE_ACT_USE : 0);
    case SW_CACHE_ERASE:
        return SW_CACHE_ACT_ERASE;
    case SW_CACHE_FIND_OR_INSERT:
        return SW_CACHE_ACT_READ | SW_CACHE_ACT_USE | SW_CACHE_ACT_INSERT | SW_CACHE_ACT_ECHO;
    case SW_CACHE_ACCUM_OR_ASSIGN:
        return SW_CACHE_ACT_ADD | SW_CACHE_ACT_USE | SW_CACHE_ACT_INSERT;
    case SW_CACHE_ASSIGN:
        return SW_CACHE_ACT_WRITE | SW_CACHE_ACT_USE;
    case SW_CACHE_ASSIGN_SCORES:
        return SW_CACHE_ACT_USE;
    case SW_CACHE_ASSIGN_VALUES:
        return SW_CACHE_ACT_WRITE;
    default:
        return touch ? SW_CACHE_ACT_USE : 0;
    }
}

/* Present keys of these operations are used; absent ones of those become entries. */
SW_HD static inline bool sw_cache_op_writes(uint32_t op)
{
    return op != SW_CACHE_FIND && op != SW_CACHE_FIND_PLACES && op != SW_CACHE_CONTAINS;
}

SW_HD static inline bool sw_cache_op_inserts(uint32_t op)
{
    return op == SW_CACHE_INSERT_OR_ASSIGN || op == SW_CACHE_INSERT_AND_EVICT ||
           op == SW_CACHE_FIND_OR_INSERT || op == SW_CACHE_ACCUM_OR_ASSIGN;
}

SW_HD static inline bool sw_cache_op_uses(uint32_t op, bool touch)
{
    return sw_cache_op_inserts(op) || op == SW_CACHE_ASSIGN || op == SW_CACHE_ASSIGN_SCORES ||
           (touch && !sw_cache_op_writes(op));
}

SW_HD static inline uint64_t sw_cache_given(const struct sw_cache_work *work, uint64_t index)
{
    return work->batch.scores == NULL ? 1 : work->batch.scores[index];
}

#endif
