/* SPDX-License-Identifier: MIT
 *
 * decimal.h - unsigned integers as decimal text. Parsing is strict, checks for overflow, and does
 * not depend on a locale. All functions are pure and may be called from any thread.
 */
#ifndef SHERWOOD_PROTO_DECIMAL_H
#define SHERWOOD_PROTO_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits of the largest uint64_t. */
#define SW_DECIMAL_DIGITS_MAX 20

/* Parses all `size` bytes, which must be one or more digits. Leading zeros are allowed, because
 * redis-benchmark pads with them; signs and spaces are not. Returns false, and leaves *out as it
 * was, if the bytes are anything else or the number is larger than `max`. */
bool sw_decimal_parse(const uint8_t *text, size_t size, uint64_t max, uint64_t *out);

/* Does the same, but a unit may follow the digits: one letter K, M, G or T (in either case), which
 * multiplies the number by 1024, 1024^2, 1024^3 or 1024^4. An i behind the letter changes nothing:
 * 1M and 1Mi are the same size. Every size of the server, of its tools and of the studies is read
 * by this function. */
bool sw_decimal_parse_size(const uint8_t *text, size_t size, uint64_t max, uint64_t *out);

/* Does the same for counts of the load generator: without the i the letter stands for a power of
 * 1000, and 1M is less than 1Mi. */
bool sw_decimal_parse_count(const uint8_t *text, size_t size, uint64_t max, uint64_t *out);

/* Returns the number of digits that sw_decimal_format writes. */
size_t sw_decimal_digits(uint64_t value);

/* Writes the digits without a NUL; `out` has room for SW_DECIMAL_DIGITS_MAX. Returns their number.
 */
size_t sw_decimal_format(uint64_t value, char *out);

#endif
