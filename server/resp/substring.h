/* SPDX-License-Identifier: MIT
 *
 * substring.h - the part of a value that GETRANGE returns. Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_SUBSTRING_H
#define SHERWOOD_SERVER_RESP_SUBSTRING_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/resp.h"

/* The first and the last byte; negative: from the end. It is stored in place of an operand, which
 * has at least 4 bytes. 16 bits are enough for the offsets in any value. */
struct sw_substring {
    int16_t first, last;
};

/* Reads both arguments. Returns false if one is no number. */
bool sw_substring_read(const struct sw_resp_argument *first, const struct sw_resp_argument *last,
                       struct sw_substring *out);
/* Where the part of a value of `size` bytes begins, and how many bytes it has. */
uint32_t sw_substring_in(struct sw_substring range, uint32_t size, uint32_t *bytes);

#endif
