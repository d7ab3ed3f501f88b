/* SPDX-License-Identifier: MIT
 *
 * rmw_values.h - computes the new values of CAS on arrays of keys. Input: the values
 * found and the operands. Output: the value before each operation, and one write for each key that
 * changes. Operations take effect in array order, also those on the same key.
 *
 * A struct belongs to one loop. It borrows the arrays of a frame, allocates nothing, and works in
 * steps, so that a long frame does not block its loop.
 */
#ifndef SHERWOOD_SERVER_BULK_RMW_VALUES_H
#define SHERWOOD_SERVER_BULK_RMW_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/batch/shape.h"

struct sw_rmw_values {
    const struct sw_table_shape *shape;
    uint32_t count;
    uint64_t seed; /* random: clients cannot predict collisions */
    uint8_t *keys;
    const uint8_t *operands;
    uint32_t operand_bytes;
    uint8_t *previous; /* in: the values read; out: the value before each operation */
    uint64_t *found;   /* in: key found; out: the operation wrote */
    uint64_t *expires; /* in: when the key expires; NULL: the engine has no expiry */
    uint8_t *values;   /* the values after each operation, one every `value_stride` bytes */
    uint32_t value_stride;
    uint64_t *last; /* bits: the last operation on its key, which has changed */
    uint32_t *map;  /* the last operation on each key so far, plus 1; 0: empty */
    uint32_t map_mask;
    uint32_t at;       /* operations done */
    uint32_t gathered; /* operations whose writes were gathered */

    /* Out. The writes are at the beginning of `keys`, `expires` and `writes`. */
    uint8_t *writes;
    uint32_t write_count;
    bool gives_times;    /* some key that is written expires */
    uint64_t default_at; /* when keys expire that the read did not find; 0: never */
    uint64_t hits;       /* bits of `found` */
};

/* Returns the memory that a frame of such an operation needs besides the two bodies; 0 for other
 * operations. */
uint64_t sw_rmw_values_bytes(const struct sw_table_shape *shape, const struct sw_request *request);

/* Begins. `memory` has sw_rmw_values_bytes() bytes, aligned to 64. `previous` and `found` are the
 * arrays of the reply. If one is NULL, its array also lies in `memory`. Before the first step the
 * caller must fill rmw->previous, found and expires by a read of the table. */
void sw_rmw_values_begin(struct sw_rmw_values *rmw, const struct sw_table_shape *shape,
                         const struct sw_request *request, void *keys, void *operands,
                         void *previous, uint64_t *found, void *memory, uint64_t seed);

/* Continues for about `bytes` bytes of values. Returns true when all operations are done. */
bool sw_rmw_values_step(struct sw_rmw_values *rmw, uint64_t bytes);

#endif
