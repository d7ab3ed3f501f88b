/* SPDX-License-Identifier: MIT
 *
 * words.h - arrays of keys and values of either width.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_WORDS_H
#define SHERWOOD_TESTS_SUPPORT_WORDS_H

#include <stdint.h>

/* Returns element i of an array of integers of 4 or 8 bytes. */
static inline uint64_t word_at(const void *words, uint32_t bytes, uint32_t i)
{
    return bytes == 4 ? ((const uint32_t *)words)[i] : ((const uint64_t *)words)[i];
}

static inline void set_word(void *words, uint32_t bytes, uint32_t i, uint64_t value)
{
    if (bytes == 4) {
        ((uint32_t *)words)[i] = (uint32_t)value;
    } else {
        ((uint64_t *)words)[i] = value;
    }
}

#endif
