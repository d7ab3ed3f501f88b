/* SPDX-License-Identifier: MIT
 *
 * hex.c - bytes as hex digits.
 */
#include "proto/hex.h"

void sw_hex_encode(const uint8_t *bytes, size_t count, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

int sw_hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool sw_hex_decode(const char *text, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        const int high = sw_hex_digit(text[2 * i]);
        const int low = high < 0 ? -1 : sw_hex_digit(text[2 * i + 1]);
        if (low < 0) {
            return false;
        }
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
