/* SPDX-License-Identifier: MIT
 *
 * texts.h - the texts of keys, which rows end with: `text_bytes` bytes, of which the first two are
 * not both 0, unless there is none.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_TEXTS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_TEXTS_H

#include <string.h>

#include "table/robin_hood/cpu/arena.h"
#include "table/table.h"

/* The text at the end of a row; NULL: there is none. */
static inline const uint8_t *sw_text_of_row(const struct sw_arena *arena, const uint8_t *row)
{
    const uint8_t *text = row + arena->value_bytes - arena->text_bytes;
    return arena->text_bytes > 0 && (text[0] | text[1]) != 0 ? text : NULL;
}

/* The text that operation i has. */
static inline const uint8_t *sw_text_of_operation(const struct sw_arena *arena,
                                                  const struct sw_batch *batch, uint32_t i)
{
    const uint8_t *rows = batch->values;
    return rows != NULL ? sw_text_of_row(arena, rows + (size_t)i * arena->value_bytes) : NULL;
}

/* Whether two texts, of which either may be none, say that a key is two. */
static inline bool sw_texts_collide(const struct sw_arena *arena, const uint8_t *one,
                                    const uint8_t *other)
{
    return one != NULL && other != NULL && memcmp(one, other, arena->text_bytes) != 0;
}

#endif
