/* SPDX-License-Identifier: MIT
 *
 * values.h - checking the values of a frame. A pure function, for any thread.
 */
#ifndef SHERWOOD_SERVER_BULK_VALUES_H
#define SHERWOOD_SERVER_BULK_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Checks `count` strings (SW_VALUE_STRING) of `value_bytes` bytes each. A string begins with its
 * length in 4 bytes; a length larger than the rest of the value would make readers read beyond it.
 * Returns true if all lengths fit. Otherwise returns false, with the index of the first wrong value
 * in *first and its length in *length. */
bool sw_bulk_strings_fit(const void *values, uint32_t value_bytes, uint32_t count, uint32_t *first,
                         uint32_t *length);

#endif
