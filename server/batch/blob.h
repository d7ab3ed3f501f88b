/* SPDX-License-Identifier: MIT
 *
 * blob.h - values that are bytes, as the table stores them and as clients mean them: strings have
 * their length before them, and zeros behind. Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_BLOB_H
#define SHERWOOD_SERVER_BATCH_BLOB_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "server/batch/shape.h"

/* Writes a value as the table stores it. It is not longer than blob_bytes_max; `text` may be NULL
 * if it is empty. */
static inline void sw_blob_put(const struct sw_table_shape *shape, uint8_t *out, const void *text,
                               uint32_t size)
{
    uint32_t rest = shape->blob_bytes_max - size;
    if (shape->value_format == SW_VALUE_STRING) {
        static_assert(SW_VALUE_LENGTH_BYTES == sizeof(size), "the length is a size");
        memcpy(out, &size, sizeof(size));
        out += sizeof(size);
    }
    if (size > 0) {
        memcpy(out, text, size);
    }
    memset(out + size, 0, rest);
}

/* Element i of an array of values: its bytes, and their number in *size. The length is cut to the
 * size of a value: a client of bulk frames has written it. */
static inline const uint8_t *sw_blob_at(const struct sw_table_shape *shape, const void *array,
                                        uint32_t i, uint32_t *size)
{
    const uint8_t *blob = (const uint8_t *)array + (size_t)i * shape->value_bytes;
    *size = shape->blob_bytes_max;
    if (shape->value_format == SW_VALUE_STRING) {
        uint32_t length;
        memcpy(&length, blob, sizeof(length));
        *size = length < *size ? length : *size;
        blob += sizeof(length);
    }
    return blob;
}

#endif
