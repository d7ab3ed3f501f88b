/* SPDX-License-Identifier: MIT
 *
 * refusals.h - error texts that both protocols send when the table refuses a request.
 */
#ifndef SHERWOOD_SERVER_BATCH_REFUSALS_H
#define SHERWOOD_SERVER_BATCH_REFUSALS_H

/* Errors of a write that would pass max-load in a table that did not grow: one for each cure.
 * sw_table_full (shape.h) chooses. */
#define SW_FULL \
    "the table would pass its maximum load: nothing was changed; delete keys, or restart with "
#define SW_FULL_GROWS SW_FULL "a larger --max-capacity or more memory"
#define SW_FULL_ROWS SW_FULL "more memory or a larger --max-capacity (and --rows-max, if it is set)"
#define SW_FULL_IDS                                                                               \
    "no id is free, or the table would pass its maximum load: nothing was changed; delete keys, " \
    "or use a larger --ids or --max-capacity: at a restart, or in TABLE CREATE of another table"
#define SW_FULL_FIXED SW_FULL "a larger --capacity"

/* A format; its arguments are two unsigned long long: the slots wanted, and the most allowed. */
#define SW_RESIZE_RANGE \
    "cannot resize to %llu slots: choose 1 to %llu, the larger of capacity and max-capacity"
#define SW_RESIZE_FAILED                                                                           \
    "cannot resize: no memory for the old and the new table at once, or too many keys would meet " \
    "the probe cap; nothing was changed"

#define SW_TABLE_FAILED_LINE "ERR the table failed and the server stops: see its log"
/* A loop creates a queue into a table with its first batch. */
#define SW_NO_QUEUE \
    "no memory for a queue of the table: nothing was changed; free memory, then try again"

/* The log cannot be written: no space, or a write or sync of it has failed. */
#define SW_NOT_DURABLE \
    "the write-ahead log cannot be written, see the server's log; nothing was changed"
#define SW_NOT_DURABLE_LINE \
    "MISCONF Errors writing to the append only file; nothing was changed: see the server's log"

#define SW_READ_NOT_DURABLE                                                                \
    "the write that was read is not on storage (--read-durable yes): the write-ahead log " \
    "failed, or the server became a replica"

/* A key of a frame. */
#define SW_KEY_OUTSIDE_RANGES "a key is outside the key ranges of the user; nothing was changed"

/* Error lines of RESP only. */
#define SW_LOADING_LINE "LOADING Sherwood is loading the dataset in memory"
#define SW_LONG_VALUE_LINE "ERR value would be longer than a row allows (--value-bytes)"
#define SW_COLLISION_LINE \
    "COLLISION an existing key has the same hash (--resp-keys hash); nothing was changed"
/* Tables that lack an operation, behind "the .. engine has no ..". */
#define SW_OF_ROWS " for rows"
#define SW_OF_IDS " for ids"
#define SW_OF_SETS " for keys without values"
/* Reasons that follow "the .. engine has no ..": why it lacks read-modify-write commands, counters,
 * or operations on a kind of value. */
#define SW_WHY_EVICTS                                                                      \
    ": a write may evict the entry between the read and the write; start the server with " \
    "--engine robin_hood"
#define SW_WHY_ONLY_ADD                                                                         \
    ": of the operations that depend on a stored value it has only ADD; start the server with " \
    "--engine robin_hood"
#define SW_WHY_NO_INTEGERS                                                              \
    ": values are not integers; start the server with --engine robin_hood and without " \
    "--value-bytes"
#define SW_WHY_NO_COUNTERS SW_WHY_NO_INTEGERS ", or with --value-bytes N --value-type string"
#define SW_NO_FLOATS_LINE                                                                        \
    "ERR INCRBYFLOAT needs values that are strings (--value-type string) or rows of one number " \
    "(--value-type f64 --value-bytes 8, or f32 and 4)"
#define SW_WHY_NO_STRINGS SW_WHY_ENGINE " --value-bytes N --value-type string"
#define SW_NEEDS_STRINGS "needs values that are strings" SW_WHY_NO_STRINGS
#define SW_NO_BITS                                                                     \
    "bit operations need values that are integers, or rows of bytes, u32, u64 or i64 " \
    "(--value-type)"
#define SW_WHY_IDS ": the table chooses the ids of keys; use ASSIGN"
#define SW_WHY_ENGINE ": start the server with --engine robin_hood"
#define SW_WHY_NO_VALUES ": start the server without --value-type none"
#define SW_WHY_NO_SCORES ": start the server with --engine cache"
#define SW_WHY_NO_IDS ": the table has no ids; start the server with --engine robin_hood --ids N"
#define SW_WHY_NO_SET                                                             \
    ": keys of the table have values; start the server with --engine robin_hood " \
    "--value-type none"
#define SW_WHY_NO_SUCH_ROWS ": values are not rows of this number type (see --value-type)"

#define SW_NO_CLEAR                                                                                \
    "cannot clear the table while slots migrate to this node: wait (CLUSTER MOVE STATUS), or use " \
    "CLUSTER MOVE CANCEL"

#endif
