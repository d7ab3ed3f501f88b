/* SPDX-License-Identifier: MIT
 *
 * texts.h - key strings at the end of rows: `text_bytes` bytes. The first two bytes are both 0 if
 * and only if the row has no key string.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_TEXTS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_TEXTS_H

#include <string.h>

#include "table/robin_hood/cpu/arena.h"
#include "table/table.h"

/* Returns the key string at the end of a row; NULL: none. */
static inline const uint8_t *sw_text_of_row(const struct sw_arena *arena, const uint8_t *row)
{
    const uint8_t *text = row + arena->value_bytes - arena->text_bytes;
    return arena->text_bytes > 0 && (text[0] | text[1]) != 0 ? text : NULL;
}

/* Returns the key string of operation i; NULL: none. */
static inline const uint8_t *sw_text_of_operation(const struct sw_arena *arena,
                                                  const struct sw_batch *batch, uint32_t i)
{
    const uint8_t *rows = batch->values;
    return rows != NULL ? sw_text_of_row(arena, rows + (size_t)i * arena->value_bytes) : NULL;
}

/* Returns whether two key strings show that two keys have one hash. Either may be NULL: none. */
static inline bool sw_texts_collide(const struct sw_arena *arena, const uint8_t *one,
                                    const uint8_t *other)
{
    return one != NULL && other != NULL && memcmp(one, other, arena->text_bytes) != 0;
}

#endif
