/* SPDX-License-Identifier: MIT
 *
 * string_value.h - values that are strings: a length of 4 bytes, as many bytes, and zeros. Pure
 * functions, for any thread.
 */
#ifndef SHERWOOD_PROTO_STRING_VALUE_H
#define SHERWOOD_PROTO_STRING_VALUE_H

#include <stdint.h>

#define SW_STRING_LENGTH_BYTES 4

/* Writes zeros behind each of `count` strings, the first of which begins at `values`. A value has
 * `value_bytes` bytes, and its string the first `string_bytes` of them. Leaves a string alone whose
 * length is larger than its room.
 *
 * Whoever takes values from outside calls it before the table has them: what a client, a file or
 * another server has behind a string is nobody's value, and equal strings have to be equal bytes.
 */
void sw_string_values_clear_tails(void *values, uint32_t value_bytes, uint32_t string_bytes,
                                  uint64_t count);

#endif
