/* SPDX-License-Identifier: MIT
 *
 * batch_results.h - the results of the operations of a RESP batch, and the values after them. Pure
 * functions of a RESP batch that is done.
 */
#ifndef SHERWOOD_SERVER_RESP_BATCH_RESULTS_H
#define SHERWOOD_SERVER_RESP_BATCH_RESULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/ops/apply.h"
#include "server/batch/blob.h"
#include "server/batch/pairs.h"
#include "server/batch/resp_batch.h"

static inline bool sw_result_bit(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static inline bool sw_result_found(const struct sw_resp_batch *batch, uint32_t i)
{
    return sw_result_bit(batch->found, i);
}

/* Counts the operations, of `count` from `first` on, whose keys were present. */
static inline uint64_t sw_result_count_found(const struct sw_resp_batch *batch, uint32_t first,
                                             uint32_t count)
{
    uint64_t found = 0;
    for (uint32_t i = first; i < first + count; i++) {
        found += sw_result_found(batch, i);
    }
    return found;
}

/* The same, but only before the first operation whose key was absent. */
static inline uint64_t sw_result_prefix(const struct sw_resp_batch *batch, uint32_t first,
                                        uint32_t count)
{
    uint32_t found = 0;
    while (found < count && sw_result_found(batch, first + found)) {
        found++;
    }
    return found;
}

/* Did operation `i`, SW_SET_ABSENT or SW_FIND_OR_INSERT, insert its key? */
static inline bool sw_result_entered(const struct sw_resp_batch *batch, uint32_t i)
{
    return !sw_result_found(batch, i) &&
           (batch->not_admitted == NULL || !sw_result_bit(batch->not_admitted, i));
}

/* The value before operation `i`. */
static inline uint64_t sw_result_value(const struct sw_resp_batch *batch, uint32_t i)
{
    return sw_integer_at(batch->previous, batch->batches->shape.value_bytes, i);
}

/* Computes the value after operation `i`. Returns false if the table refused it because the result
 * does not fit. */
static inline bool sw_result_after(const struct sw_resp_batch *batch, uint32_t i, uint64_t *after)
{
    const uint32_t bytes = batch->batches->shape.value_bytes;
    return sw_op_after(batch->ops[i], bytes, sw_result_found(batch, i), sw_result_value(batch, i),
                       sw_integer_at(batch->values, bytes, i), after);
}

/* Whether operation `i` leaves its key present. It may not remove the key. */
static inline bool sw_result_present_after(const struct sw_resp_batch *batch, uint32_t i)
{
    return sw_result_found(batch, i) || SW_OPS_HAS(SW_OPS_INSERT, batch->ops[i]);
}

/* Has the CAS whose operations begin with `first`, an operation that only has the expected value,
 * changed its key? */
static inline bool sw_result_is_swapped(const struct sw_resp_batch *batch, uint32_t first)
{
    return sw_pair_is_met(&batch->flight->batch, batch->batches->shape.value_bytes, first + 1);
}

/* Computes the row after operation `i`, which is of SW_OPS_BITS. Returns its bytes. */
static inline uint32_t sw_result_row_after(const struct sw_resp_batch *batch, uint32_t i,
                                           uint8_t *row)
{
    const struct sw_table_shape *shape = &batch->batches->shape;
    uint32_t bytes = 0;
    const uint8_t *before = sw_blob_at(shape, batch->previous, i, &bytes);
    const uint8_t *operand = (const uint8_t *)batch->values + (size_t)i * shape->value_bytes;
    if (sw_result_found(batch, i)) {
        memcpy(row, before, bytes);
    } else {
        memset(row, 0, bytes);
    }
    sw_op_bits_after(batch->ops[i], operand, bytes, row);
    return bytes;
}

#endif
