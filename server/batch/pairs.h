/* SPDX-License-Identifier: MIT
 *
 * pairs.h - the results of operations with two operands (SW_OPS_PAIR: CAS). Pure functions of a
 * batch that is done, for any thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_PAIRS_H
#define SHERWOOD_SERVER_BATCH_PAIRS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "server/batch/shape.h"
#include "table/batch.h"

/* Returns the bytes of an expected value that the table compares: of a string with its length. */
static inline uint32_t sw_pair_bytes(const struct sw_table_shape *shape, const void *expected)
{
    uint32_t length = 0;
    if (shape->value_format != SW_VALUE_STRING) {
        return shape->value_bytes - shape->key_text_bytes;
    }
    memcpy(&length, expected, sizeof(length));
    return SW_VALUE_LENGTH_BYTES +
           (length < shape->blob_bytes_max ? length : shape->blob_bytes_max);
}

/* Did operation i, of a group that was not refused, find its key with the expected value? Then it
 * has stored its other operand. The batch requests `previous` and `found`. */
static inline bool sw_pair_is_met(const struct sw_batch *batch, uint32_t value_bytes, uint32_t i)
{
    assert(batch->expected != NULL && batch->previous != NULL && batch->found != NULL);
    const size_t at = (size_t)i * value_bytes;
    return (batch->found[i / 64] >> (i % 64) & 1) != 0 &&
           memcmp((const uint8_t *)batch->previous + at, (const uint8_t *)batch->expected + at,
                  batch->ranges != NULL ? batch->ranges[i] : value_bytes) == 0;
}

#endif
