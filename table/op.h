/* SPDX-License-Identifier: MIT
 *
 * op.h - the operations of a table, by their numbers, which the log has, too.
 */
#ifndef SHERWOOD_TABLE_OP_H
#define SHERWOOD_TABLE_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "table/mix.h"

/* What one operation does to its key. "operand" is values[i]. SUM adds modulo 2^width; INCREMENT
 * past the largest value and DECREMENT below zero are refused, and the key stays as it was. For
 * both an absent key counts as 0.
 *
 * Operations from PEEK on exist in the cache engine alone, and ADD for rows. There a GET and every
 * operation that writes a value is a use of the entry, except SET_ABSENT of a present key and
 * SET_VALUE. The policy says what a use does to the score (sw_batch.scores). ADD adds value and
 * operand number by number; integers wrap around.
 *
 * EXPIRE changes the time at which its key expires, and not the value (sw_batch.expires); of an
 * absent key nothing. It does so always, or under a condition: sw_expire_holds. */
enum sw_op {
    SW_GET = 0,              /* read */
    SW_SET = 1,              /* insert or replace */
    SW_SUM = 2,              /* insert, or add the operand */
    SW_MIN = 3,              /* insert, or keep the smaller */
    SW_MAX = 4,              /* insert, or keep the larger */
    SW_SET_ABSENT = 5,       /* insert if the key is absent (NX) */
    SW_SET_PRESENT = 6,      /* replace if the key is present (XX) */
    SW_INCREMENT = 7,        /* add, refused on overflow */
    SW_DECREMENT = 8,        /* subtract, refused below zero */
    SW_DELETE = 9,           /* remove */
    SW_OP_COUNT = 10,        /* number of the operations above, those of tables of integers */
    SW_PEEK = 10,            /* read; not a use */
    SW_FIND_OR_INSERT = 11,  /* insert if the key is absent, otherwise read, which is a use */
    SW_SET_SCORE = 12,       /* if the key is present, count a use and do nothing else */
    SW_SET_VALUE = 13,       /* replace if the key is present; not a use */
    SW_ADD_F32 = 14,         /* insert, or add: numbers of 32 bits, IEEE 754 */
    SW_ADD_U32 = 15,         /* the same for unsigned integers */
    SW_ADD_U64 = 16,         /* the same for 64 bits: value_bytes is a multiple of 8 */
    SW_ADD_PRESENT_F32 = 17, /* add if the key is present */
    SW_ADD_PRESENT_U32 = 18,
    SW_ADD_PRESENT_U64 = 19,
    SW_ADD_F16 = 20,         /* rows: as SW_ADD_F32, with each sum rounded to 16 bits, IEEE 754 */
    SW_ADD_BF16 = 21,        /* .. to the high 16 bits of a number of 32 */
    SW_ADD_PRESENT_F16 = 22, /* add if the key is present */
    SW_ADD_PRESENT_BF16 = 23,
    SW_EXPIRE = 24,
    SW_EXPIRE_NONE = 25,    /* if the key does not expire yet (NX) */
    SW_EXPIRE_SOME = 26,    /* if it does (XX) */
    SW_EXPIRE_LATER = 27,   /* if it expires earlier than that (GT); never is later than any */
    SW_EXPIRE_EARLIER = 28, /* if it expires later than that (LT), or never */
    SW_EXPIRE_SHORTEN = 29, /* if it expires, and later than that (XX LT) */
    SW_OP_END = 30          /* number of all operations */
};

/* Whether EXPIRE, or one of its kinds with a condition, changes a present key that expires `before`
 * to expire `at`; 0: never. A pure function. */
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
    return op >= SW_EXPIRE && op <= SW_EXPIRE_SHORTEN;
}

/* Operations are counted in three classes. */
enum sw_op_class { SW_CLASS_GET, SW_CLASS_UPSERT, SW_CLASS_DELETE, SW_CLASS_COUNT };

#endif
