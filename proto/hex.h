/* SPDX-License-Identifier: MIT
 *
 * hex.h - bytes as hex digits. Pure functions, for any thread.
 */
#ifndef SHERWOOD_PROTO_HEX_H
#define SHERWOOD_PROTO_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes two digits in lower case for each of `count` bytes, and a NUL. */
void sw_hex_encode(const uint8_t *bytes, size_t count, char *text);
/* Returns the value of a digit in either case, or -1. */
int sw_hex_digit(char c);
/* Reads `count` bytes from 2 * `count` digits in either case. Returns false if another character is
 * among them: then `bytes` is undefined. */
bool sw_hex_decode(const char *text, size_t count, uint8_t *bytes);

#endif
