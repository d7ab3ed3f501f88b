/* SPDX-License-Identifier: MIT
 *
 * values.c - checks the lengths of strings in one pass.
 */
#include "server/bulk/values.h"

#include <string.h>

#include "server/config/config.h"

static uint32_t length_at(const uint8_t *values, uint32_t value_bytes, uint32_t i)
{
    uint32_t length;
    memcpy(&length, values + (uint64_t)i * value_bytes, sizeof(length));
    return length;
}

bool sw_bulk_strings_fit(const void *values, uint32_t value_bytes, uint32_t count, uint32_t *first,
                         uint32_t *length)
{
    const uint32_t most = value_bytes - SW_VALUE_LENGTH_BYTES;
    uint32_t longest = 0;
    for (uint32_t i = 0; i < count; i++) { /* no branch, because nearly always all lengths fit */
        uint32_t next = length_at(values, value_bytes, i);
        longest = next > longest ? next : longest;
    }
    if (longest <= most) {
        return true;
    }
    *first = 0;
    while ((*length = length_at(values, value_bytes, *first)) <= most) {
        ++*first;
    }
    return false;
}
