/* SPDX-License-Identifier: MIT
 *
 * round_results.h - what the operations of a RESP round found, and the values after them. Pure
 * functions of a round whose batch is done.
 */
#ifndef SHERWOOD_SERVER_RESP_ROUND_RESULTS_H
#define SHERWOOD_SERVER_RESP_ROUND_RESULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/ops/apply.h"
#include "server/batch/blob.h"
#include "server/batch/round.h"

static inline bool sw_round_bit(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static inline bool sw_round_found(const struct sw_round *round, uint32_t i)
{
    return sw_round_bit(round->found, i);
}

/* Did operation `i`, SW_SET_ABSENT or SW_FIND_OR_INSERT, insert its key? */
static inline bool sw_round_entered(const struct sw_round *round, uint32_t i)
{
    return !sw_round_found(round, i) &&
           (round->not_admitted == NULL || !sw_round_bit(round->not_admitted, i));
}

/* The value before operation `i`. */
static inline uint64_t sw_round_value(const struct sw_round *round, uint32_t i)
{
    return sw_integer_at(round->previous, round->batches->shape.value_bytes, i);
}

/* Computes the value after operation `i`. Returns false if the table refused it because the result
 * does not fit. */
static inline bool sw_round_after(const struct sw_round *round, uint32_t i, uint64_t *after)
{
    const uint32_t bytes = round->batches->shape.value_bytes;
    return sw_op_after(round->ops[i], bytes, sw_round_found(round, i), sw_round_value(round, i),
                       sw_integer_at(round->values, bytes, i), after);
}

/* Whether operation `i` leaves its key present. It may not remove the key. */
static inline bool sw_round_present_after(const struct sw_round *round, uint32_t i)
{
    return sw_round_found(round, i) || SW_OPS_HAS(SW_OPS_INSERT, round->ops[i]);
}

/* Computes the row after operation `i`, which is of SW_OPS_BITS. Returns its bytes. */
static inline uint32_t sw_round_row_after(const struct sw_round *round, uint32_t i, uint8_t *row)
{
    const struct sw_table_shape *shape = &round->batches->shape;
    uint32_t bytes = 0;
    const uint8_t *before = sw_blob_at(shape, round->previous, i, &bytes);
    const uint8_t *operand = (const uint8_t *)round->values + (size_t)i * shape->value_bytes;
    if (sw_round_found(round, i)) {
        memcpy(row, before, bytes);
    } else {
        memset(row, 0, bytes);
    }
    sw_op_bits_after(round->ops[i], operand, bytes, row);
    return bytes;
}

#endif
