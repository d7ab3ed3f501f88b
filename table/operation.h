/* SPDX-License-Identifier: MIT
 *
 * operation.h - operations on integers, for all engines: their effect on one key, their class in
 * the counters, and the state that a table keeps beside its slots. Host and device.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_OPERATION_H
#define SHERWOOD_TABLE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ops/apply.h"
#include "table/mix.h"
#include "table/table.h"
#include "table/widths.h"

/* Returns the class in which an operation is counted. */
SW_HD static inline enum sw_op_class sw_op_class_of(uint32_t op)
{
    return op == SW_GET                    ? SW_CLASS_GET
           : SW_OPS_HAS(SW_OPS_DELETE, op) ? SW_CLASS_DELETE
                                           : SW_CLASS_UPSERT;
}

/* The mutable state beside the slots. The key whose mixed value is all ones has no slot. Its entry
 * is stored here, so all keys are allowed. */
struct sw_state {
    uint64_t occupied;       /* entries, including those of the stash and the side cell */
    uint64_t stash_occupied; /* entries in the stash */
    uint64_t side_value;
    uint64_t side_present; /* 0 or 1 */
    uint64_t holes;        /* Robin Hood on CUDA: holes of the main array */
};

#endif
