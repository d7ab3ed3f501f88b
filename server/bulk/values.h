/* SPDX-License-Identifier: MIT
 *
 * values.h - are the values of a frame what the table's values are? Pure, any thread.
 */
#ifndef SHERWOOD_SERVER_BULK_VALUES_H
#define SHERWOOD_SERVER_BULK_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Of strings (SW_VALUE_STRING), `count` values of `value_bytes` bytes each: a length of 4 bytes
 * that is longer than its value has room for would have readers go beyond the value. Returns true
 * if no length is; else false with *first (which value) and *length of the first that is. */
bool sw_strings_fit(const void *values, uint32_t value_bytes, uint32_t count, uint32_t *first,
                    uint32_t *length);

#endif
