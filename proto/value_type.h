/* SPDX-License-Identifier: MIT
 *
 * value_type.h - what rows are, by the numbers that frames, snapshots and the log have for it.
 *
 * All functions are pure and may be called from any thread.
 */
#ifndef SHERWOOD_PROTO_VALUE_TYPE_H
#define SHERWOOD_PROTO_VALUE_TYPE_H

#include <stdbool.h>
#include <stdint.h>

enum sw_value_type {
    SW_TYPE_BYTES,
    SW_TYPE_STRING,
    SW_TYPE_U32,
    SW_TYPE_U64,
    SW_TYPE_F32,
    SW_TYPE_F16,
    SW_TYPE_BF16,
    SW_TYPE_COUNT
};

/* "bytes", ..; "?" if it is not known. */
const char *sw_value_type_name(uint32_t type);
/* The bytes of a number; 0: bytes and strings have none. */
uint32_t sw_value_type_bytes(uint32_t type);
/* Whether what was written as one may be read as the other: bytes are anything, numbers are of one
 * type, known here or not. */
bool sw_value_types_fit(uint32_t one, uint32_t other);

#endif
