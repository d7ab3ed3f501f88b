/* SPDX-License-Identifier: MIT
 *
 * string_value.h - values that are strings: a length of 4 bytes, the bytes of the string, and
 * zeros. Pure functions, for any thread.
 */
#ifndef SHERWOOD_PROTO_STRING_VALUE_H
#define SHERWOOD_PROTO_STRING_VALUE_H

#include <stdint.h>

#define SW_STRING_LENGTH_BYTES 4

/* Writes zeros behind each of `count` strings. The first begins at `values`. A value has
 * `value_bytes` bytes; the first `string_bytes` of them are for its string. Skips a string with a
 * length larger than its room.
 *
 * Every function that receives values from a client, a file or another server calls it before the
 * table gets them. The bytes behind a string have no meaning, and equal strings must be equal
 * bytes. */
void sw_string_values_clear_tails(void *values, uint32_t value_bytes, uint32_t string_bytes,
                                  uint64_t count);

#endif
