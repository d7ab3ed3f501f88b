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
#define SW_FULL_FIXED SW_FULL "a larger --capacity"

/* A format; its arguments are two unsigned long long: the slots wanted, and the most allowed. */
#define SW_RESIZE_RANGE                                                                           \
    "cannot resize to %llu slots: at least 1 and at most %llu slots (the larger of capacity and " \
    "max-capacity)"
#define SW_RESIZE_FAILED                                                                         \
    "there is no memory for the old and the new table at once, or too many keys would meet the " \
    "probe cap: nothing was changed"

/* The log cannot be written: no space, or a write or sync of it has failed. */
#define SW_NOT_DURABLE \
    "the write-ahead log cannot be written, see the server's log; nothing was changed"
#define SW_NOT_DURABLE_LINE \
    "MISCONF Errors writing to the append only file; nothing was changed: see the server's log"

/* Of a command or a transaction: of RESP, since frames have no texts. */
#define SW_COLLISION_LINE \
    "COLLISION another key that is there has the same hash (resp-keys hash): nothing was done"
/* Why an engine lacks what looks at keys before it writes, and what reckons. */
#define SW_WHY_EVICTS ": a write may evict what was looked at before"
#define SW_WHY_NO_INTEGERS \
    ": values are no integers; a server of --engine robin_hood without --value-bytes has integers"
#define SW_WHY_NO_COUNTERS \
    SW_WHY_NO_INTEGERS ", and one with --value-bytes N --value-type string has them as texts"
#define SW_NO_FLOATS_LINE                                                               \
    "ERR INCRBYFLOAT is for strings (--value-type string), and for rows of one number " \
    "(--value-type f32 --value-bytes 4)"
#define SW_WHY_NO_STRINGS ": rows with --value-bytes N --value-type string have it"
#define SW_NO_BITS "operations on bits are for integers, and for rows of bytes, u32 or u64"
#define SW_WHY_NO_SUCH_ROWS ": values are no rows of such numbers"

#define SW_NO_CLEAR                                                                                \
    "slots are on their way to this node: everything cannot be removed now (CLUSTER MOVE STATUS, " \
    "CLUSTER MOVE CANCEL)"

#endif
