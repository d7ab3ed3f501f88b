/* SPDX-License-Identifier: MIT
 *
 * value_type.h - the types and formats of values, by their numbers in frames, snapshots and the
 * log.
 *
 * All functions are pure and may be called from any thread.
 */
#ifndef SHERWOOD_PROTO_VALUE_TYPE_H
#define SHERWOOD_PROTO_VALUE_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ops/operations.h"

/* SW_TYPE_BYTES, ..: the elements of SW_ELEMENT_MAP. */
enum sw_value_type {
#define SW_TYPE_ENUM(name, number, ...) SW_TYPE_##name = (number),
    SW_ELEMENT_MAP(SW_TYPE_ENUM)
#undef SW_TYPE_ENUM
        SW_TYPE_COUNT
};

/* "bytes", ..; "?" if it is not known. */
const char *sw_value_type_name(uint32_t type);
/* Returns the bytes of a number of this type; 0 for bytes and strings. */
uint32_t sw_value_type_bytes(uint32_t type);
enum sw_number_kind sw_value_type_kind(uint32_t type);
/* Returns the type whose ADD adds numbers of this type; SW_TYPE_BYTES: none. */
uint32_t sw_value_type_adds(uint32_t type);
/* Returns whether values written as one type may be read as the other: bytes fit every type
 * that has values, numbers only their own type, known here or not. */
bool sw_value_types_fit(uint32_t one, uint32_t other);

/* The formats of values: name, number of enum ValueFormat, word for people.
 * INTEGER: an unsigned integer of value_bytes bytes.
 * STRING: a length of 4 bytes, little-endian, then the bytes of the string, then zeros.
 * FIXED: value_bytes bytes of any kind. */
#define SW_FRAME_VALUES_MAP(X) \
    X(INTEGER, 0, "integer")   \
    X(STRING, 1, "string")     \
    X(FIXED, 2, "fixed")

enum sw_frame_values {
#define SW_FRAME_VALUES_ENUM(name, number, word) SW_FRAME_VALUES_##name = (number),
    SW_FRAME_VALUES_MAP(SW_FRAME_VALUES_ENUM)
#undef SW_FRAME_VALUES_ENUM
};
bool sw_frame_values_is_known(uint32_t format);
/* "integer", ..; "?" if it is not known. */
const char *sw_frame_values_name(uint32_t format);

#endif
