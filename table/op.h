/* SPDX-License-Identifier: MIT
 *
 * op.h - the operations of a table and their numbers. The log also uses these numbers.
 */
#ifndef SHERWOOD_TABLE_OP_H
#define SHERWOOD_TABLE_OP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/ops/operations.h"
#include "table/mix.h"

/* Operations on a key. "operand" is values[i]. SUM adds modulo 2^width. INCREMENT past the largest
 * value and DECREMENT below zero are refused, and the key stays as it was. For both an absent key
 * counts as 0.
 *
 * Operations from PEEK on exist only in the cache engine, and ADD only for rows. In the cache a GET
 * is a use of the entry. Every operation that writes a value is also a use, except SET_ABSENT of a
 * present key and SET_VALUE. The policy defines the effect of a use on the score (sw_batch.scores).
 * ADD adds value and operand number by number; integers wrap around.
 *
 * EXPIRE changes the time at which a present key expires, and not its value (sw_batch.expires). On
 * an absent key it changes nothing. Its conditional forms change the time only if sw_expire_holds
 * returns true. */
enum sw_op {
#define SW_ROW(name, number, op, ...) SW_##name = (op),
    SW_DATA_OPERATION_MAP(SW_ROW)
#undef SW_ROW
        SW_OP_END = SW_OPS_END
};
/* Each row has its own number, and every number fits the bits of a set. */
#define SW_ROW(name, number, op, ...) +1
static_assert(SW_DATA_OPERATION_MAP(SW_ROW) == SW_OP_END && SW_OP_END < 64,
              "proto/ops/operations.h: SW_OPS_END is the number of the table's operations");
#undef SW_ROW
#define SW_ROW(name, number, op, ...) ^SW_OPS_ONE(op)
static_assert(((uint64_t)0 SW_DATA_OPERATION_MAP(SW_ROW)) == SW_OPS_ONE(SW_OP_END) - 1,
              "proto/ops/operations.h: two operations of the table have one number");
#undef SW_ROW

#define SW_ROW(name, number, op, verb, guard, element, on, ...) &&(SW_ON_##on & SW_ON_INTEGERS) != 0
static_assert(1 SW_INTEGER_OPERATION_MAP(SW_ROW) SW_PAIR_OPERATION_MAP(SW_ROW),
              "proto/ops/operations.h: integers have these");
#undef SW_ROW
#define SW_ROW(name, number, op, verb, guard, element, on, ...) &&(SW_ON_##on & SW_ON_INTEGERS) == 0
static_assert(1 SW_OTHER_OPERATION_MAP(SW_ROW), "proto/ops/operations.h: integers lack these");
#undef SW_ROW

/* Returns whether EXPIRE, or one of its conditional forms, changes the expiry time of a present key
 * from `before` to `at`; 0: never. A pure function. */
SW_HD static inline bool sw_expire_holds(uint32_t op, uint64_t before, uint64_t at)
{
    const bool earlier = at != 0 && (before == 0 || at < before);
    switch (op) {
    case SW_EXPIRE:
        return true;
    case SW_EXPIRE_NONE:
        return before == 0;
    case SW_EXPIRE_SOME:
        return before != 0;
    case SW_EXPIRE_LATER:
        return before != 0 && (at == 0 || at > before);
    case SW_EXPIRE_EARLIER:
        return earlier;
    case SW_EXPIRE_SHORTEN:
        return before != 0 && earlier;
    default:
        return false;
    }
}
SW_HD static inline bool sw_op_expires(uint32_t op)
{
    return SW_OPS_HAS(SW_OPS_EXPIRE, op);
}

/* Classes of operations in the counters. */
enum sw_op_class { SW_CLASS_GET, SW_CLASS_UPSERT, SW_CLASS_DELETE, SW_CLASS_COUNT };

#endif
