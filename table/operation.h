/* SPDX-License-Identifier: MIT
 *
 * operation.h - what an operation means, for every engine of integers: its effect on one key, the
 * class it is counted in, and what a table keeps beside its slots. Host and device.
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

/* Which class an operation is counted in. */
SW_HD static inline enum sw_op_class sw_op_class_of(uint32_t op)
{
    return op == SW_GET                    ? SW_CLASS_GET
           : SW_OPS_HAS(SW_OPS_DELETE, op) ? SW_CLASS_DELETE
                                           : SW_CLASS_UPSERT;
}

/* The mutable state beside the slots. The key whose mixed value is all ones has no slot: it lives
 * here, so that no key is forbidden. */
struct sw_state {
    uint64_t occupied;       /* entries, those of the stash and the side cell included */
    uint64_t stash_occupied; /* entries of the stash */
    uint64_t side_value;
    uint64_t side_present; /* 0 or 1 */
};

#endif
