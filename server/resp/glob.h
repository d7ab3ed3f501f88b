/* SPDX-License-Identifier: MIT
 *
 * glob.h - patterns of SCAN and KEYS, as redis has them: * ? [a-c] [^a-c] and \ before a byte that
 * stands for itself. Patterns and texts are any bytes. Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_GLOB_H
#define SHERWOOD_SERVER_RESP_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the pattern match the whole text? Takes a time of at most pattern_size * text_size steps. */
bool sw_glob_matches(const uint8_t *pattern, size_t pattern_size, const uint8_t *text,
                     size_t text_size);

/* Can the pattern match a text of decimal digits? False is certain; true may be wrong about the
 * number of digits. Takes a time of at most 10 * pattern_size steps. */
bool sw_glob_may_match_digits(const uint8_t *pattern, size_t pattern_size);

#endif
