/* SPDX-License-Identifier: MIT
 *
 * decimal.h - unsigned integers as decimal text. Strict, overflow-checked, no locale.
 */
#ifndef SHERWOOD_PROTO_DECIMAL_H
#define SHERWOOD_PROTO_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits of the largest uint64_t. */
#define SW_DECIMAL_DIGITS_MAX 20

/* Parses all `size` bytes: one or more digits, leading zeros allowed (redis-benchmark pads with
 * them), no sign, no space. Returns false, *out untouched, for anything else or above `max`. */
bool sw_decimal_parse(const uint8_t *text, size_t size, uint64_t max, uint64_t *out);

/* The same, and one K, M, G or T (either case) may follow: times 1024, 1024^2, .. */
bool sw_decimal_parse_size(const uint8_t *text, size_t size, uint64_t max, uint64_t *out);

/* How many digits sw_decimal_format writes. */
size_t sw_decimal_digits(uint64_t value);

/* Writes the digits, no NUL; `out` has room for SW_DECIMAL_DIGITS_MAX. Returns how many. */
size_t sw_decimal_format(uint64_t value, char *out);

#endif
