/* SPDX-License-Identifier: MIT
 *
 * glob.h - patterns of SCAN and KEYS, as redis has them: * ? [a-c] [^a-c] and \ before a byte that
 * stands for itself. Patterns and texts are any bytes. A pure function, for any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_GLOB_H
#define SHERWOOD_SERVER_RESP_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the pattern match the whole text? Takes a time of at most pattern_size * text_size steps. */
bool sw_glob_matches(const uint8_t *pattern, size_t pattern_size, const uint8_t *text,
                     size_t text_size);

#endif
