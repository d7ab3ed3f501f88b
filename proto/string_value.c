/* SPDX-License-Identifier: MIT
 *
 * string_value.c - clearing what stands behind strings.
 */
#include "proto/string_value.h"

#include <endian.h>
#include <string.h>

void sw_string_values_clear_tails(void *values, uint32_t value_bytes, uint32_t string_bytes,
                                  uint64_t count)
{
    const uint32_t room = string_bytes - SW_STRING_LENGTH_BYTES;
    uint8_t *value = values;
    for (uint64_t i = 0; i < count; i++, value += value_bytes) {
        uint32_t length;
        memcpy(&length, value, sizeof(length));
        length = le32toh(length);
        if (length < room) {
            memset(value + SW_STRING_LENGTH_BYTES + length, 0, room - length);
        }
    }
}
