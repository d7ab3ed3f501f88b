/* SPDX-License-Identifier: MIT
 *
 * key_strings.h - key strings at the end of rows: `key_string_bytes` bytes. The first two bytes are
 * both 0 if and only if the row has no key string.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_KEY_STRINGS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_KEY_STRINGS_H

#include <string.h>

#include "table/robin_hood/cpu/arena.h"
#include "table/table.h"

/* Returns the key string at the end of a row; NULL: none. */
static inline const uint8_t *sw_key_string_of_row(const struct sw_arena *arena, const uint8_t *row)
{
    const uint8_t *key_string = row + arena->value_bytes - arena->key_string_bytes;
    return arena->key_string_bytes > 0 && (key_string[0] | key_string[1]) != 0 ? key_string : NULL;
}

/* Returns the key string of operation i; NULL: none. */
static inline const uint8_t *sw_key_string_of_operation(const struct sw_arena *arena,
                                                        const struct sw_batch *batch, uint32_t i)
{
    const uint8_t *rows = batch->values;
    return rows != NULL ? sw_key_string_of_row(arena, rows + (size_t)i * arena->value_bytes) : NULL;
}

/* Returns whether two key strings show that two keys have one hash. Either may be NULL: none. */
static inline bool sw_key_strings_collide(const struct sw_arena *arena, const uint8_t *one,
                                          const uint8_t *other)
{
    return one != NULL && other != NULL && memcmp(one, other, arena->key_string_bytes) != 0;
}

#endif
