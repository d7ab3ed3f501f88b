/* SPDX-License-Identifier: MIT
 *
 * combine.h - CAS and SETRANGE on arrays of keys: from the values that were found, and the
 * operands, it makes the value before each operation, and one write for each key that changes.
 * Operations take effect in array order, those on the same key one after the other.
 *
 * A struct belongs to one loop. It borrows the arrays of a frame, allocates nothing, and works in
 * steps, so that a long frame does not hold its loop.
 */
#ifndef SHERWOOD_SERVER_BULK_COMBINE_H
#define SHERWOOD_SERVER_BULK_COMBINE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/batch/shape.h"

struct sw_combine {
    const struct sw_table_shape *shape;
    uint32_t operation;
    uint32_t count;
    uint32_t range_offset, range_bytes; /* of SETRANGE */
    uint64_t seed;                      /* nobody can foresee how keys meet in the map */
    uint8_t *keys;
    const uint8_t *operands;
    uint32_t operand_bytes;
    uint8_t *previous; /* in: what the look found; then the value before each operation */
    uint64_t *found;   /* in: was the key there? Then: before the operation; CAS: did it write? */
    uint64_t *expires; /* in: when the key expires; NULL: none does */
    uint8_t *values;   /* the values after each operation, one every `value_stride` bytes */
    uint32_t value_stride;
    uint64_t *last; /* bits: the key is not there again behind it, and has changed */
    uint32_t *map;  /* the last operation on each key so far, plus 1; 0: empty */
    uint32_t map_mask;
    uint32_t at;       /* operations done */
    uint32_t gathered; /* .. and looked at for what is written */

    /* Out. What is written is at the beginning of `keys`, `expires`, and of `writes`. */
    uint8_t *writes;
    uint32_t write_count;
    bool gives_times;    /* some key that is written expires */
    uint64_t default_at; /* when those do that the look has not found; 0: never */
    uint64_t hits;       /* bits of `found` */
};

/* The memory that a frame of such an operation needs beside its body and that of its reply; 0 for
 * other operations. */
uint64_t sw_combine_bytes(const struct sw_table_shape *shape, const struct sw_request *request);

/* Begins; `memory` has so many bytes, aligned to 64. `previous` and `found` are the arrays of the
 * reply, or NULL where it has none: then they lie in the memory, too. The caller has previous,
 * found and expires filled by a look before the first step. */
void sw_combine_begin(struct sw_combine *combine, const struct sw_table_shape *shape,
                      const struct sw_request *request, void *keys, void *operands, void *previous,
                      uint64_t *found, void *memory, uint64_t seed);

/* Goes on for about so many bytes of values. Returns true when it is done. */
bool sw_combine_step(struct sw_combine *combine, uint64_t bytes);

#endif
