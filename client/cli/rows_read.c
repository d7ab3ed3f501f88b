/* SPDX-License-Identifier: MIT
 *
 * rows_read.c - values that are no integers from CSV.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/cli/numbers.h"
#include "client/cli/rows.h"
#include "proto/decimal.h"
#include "proto/hex.h"
#include "proto/plural.h"
#include "proto/value_type.h"

#define LENGTH_BYTES ((uint32_t)sizeof(uint32_t))
#define NUMBER_BYTES_MAX 64 /* the longest text of a number */

/* --- bytes ------------------------------------------------------------------------------------ */

/* Returns an error text with the number of bytes that a value has; valid until the next call. */
static const char *wrong_size(uint32_t bytes, bool is_string)
{
    static char reason[96];
    if (bytes == 0) {
        return "keys have no values: the line must end behind the key";
    }
    snprintf(reason, sizeof(reason), "the value must be %s%u byte%s in hex, two digits for each",
             is_string ? "at most " : "", bytes, sw_plural_s(bytes));
    return reason;
}

static const char *read_hex(const struct sw_cli_row_format *format, const uint8_t *text,
                            size_t size, uint8_t *value)
{
    const bool is_string = format->value_format == SW_FRAME_VALUES_STRING;
    const uint32_t most = format->value_bytes - (is_string ? LENGTH_BYTES : 0);
    const uint32_t length = (uint32_t)(size / 2);
    if (size % 2 != 0 || size / 2 > most || (!is_string && length != most)) {
        return wrong_size(most, is_string);
    }
    memset(value, 0, format->value_bytes);
    if (is_string) {
        memcpy(value, &length, LENGTH_BYTES);
        value += LENGTH_BYTES;
    }
    return sw_hex_decode((const char *)text, length, value) ? NULL : wrong_size(most, is_string);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Returns the bits of the nearest float with this number of exponent bits and mantissa bits, ties
 * to even. */
static uint32_t small_float(double number, int exponent_bits, int mantissa_bits)
{
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t one = 1U << mantissa_bits;
    const uint32_t infinity = ((1U << exponent_bits) - 1) << mantissa_bits;
    const uint32_t sign = signbit(number) != 0 ? 1U << (exponent_bits + mantissa_bits) : 0;
    int exponent = 0;
    if (isnan(number)) {
        return infinity | one >> 1;
    }
    if (isinf(number)) {
        return sign | infinity;
    }
    (void)frexp(number, &exponent);
    exponent = number == 0 || exponent < 2 - bias ? 2 - bias : exponent;
    /* a mantissa that rounding raises to 2 * one correctly carries into the exponent */
    double mantissa = nearbyint(ldexp(fabs(number), mantissa_bits + 1 - exponent));
    double bits = mantissa + ldexp(exponent - 2 + bias, mantissa_bits);
    return sign | (bits >= infinity ? infinity : (uint32_t)bits);
}

#define NO_NUMBER "the row has a field that is not a number of its type"

/* Returns whether the text is a name of sw_cli_row_write for infinity or NaN. */
static bool is_word(const char *text)
{
    text += *text == '-' || *text == '+';
    return strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0 ||
           strcasecmp(text, "nan") == 0;
}

/* Returns whether the text, a decimal integer, is exactly this number. */
static bool is_same(const char *text, double number)
{
    char digits[NUMBER_BYTES_MAX + 1];
    text += *text == '-' || *text == '+';
    text += strspn(text, "0");
    snprintf(digits, sizeof(digits), "%.0f", fabs(number));
    return strcmp(*text == '\0' ? "0" : text, digits) == 0;
}

/* Returns whether all digits before the exponent are 0. */
static bool is_zero(const char *text)
{
    text += *text == '-' || *text == '+';
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        text += 2;
        return strcspn(text, "123456789abcdefABCDEF") >= strcspn(text, "pP");
    }
    return strcspn(text, "123456789") >= strcspn(text, "eE");
}

/* Returns why the type cannot represent a number, or NULL. `text` has only the number. */
static const char *check_float(uint32_t type, const char *text, uint64_t bits)
{
    const bool is_integer = strpbrk(text, ".eExXpP") == NULL;
    const uint64_t infinity = type == SW_TYPE_F64   ? 0x7FF0000000000000
                              : type == SW_TYPE_F32 ? 0x7F800000
                              : type == SW_TYPE_F16 ? 0x7C00
                                                    : 0x7F80;
    const uint64_t sign = 1ULL << (8 * sw_value_type_bytes(type) - 1);
    if ((bits & ~sign) == infinity) {
        return "the row has a number that is too large for its type";
    }
    if ((bits & ~sign) == 0 && !is_zero(text)) {
        return "the row has a number that its type can only hold as 0: write 0";
    }
    return is_integer && !is_same(text, sw_cli_float_of(type, bits))
               ? "the row has an integer that its type cannot hold: write it with a decimal point "
                 "to have it rounded"
               : NULL;
}

static const char *read_float(uint32_t type, const char *text, uint8_t *out)
{
    char *end;
    const double number = strtod(text, &end);
    uint64_t bits = 0;
    if (end == text || *end != '\0' || isspace((unsigned char)text[0])) {
        return NO_NUMBER;
    }
    if (type == SW_TYPE_F64) {
        memcpy(&bits, &number, sizeof(number));
    } else if (type == SW_TYPE_F32) {
        const float narrow = strtof(text, NULL); /* `number` rounded again may differ */
        memcpy(&bits, &narrow, sizeof(narrow));
    } else {
        bits = type == SW_TYPE_F16 ? small_float(number, 5, 10) : small_float(number, 8, 7);
    }
    const char *wrong = NULL;
    if (isfinite(number) || !is_word(text)) {
        wrong = isnan(number) ? NO_NUMBER : check_float(type, text, bits);
    }
    memcpy(out, &bits, sw_value_type_bytes(type)); /* the low bytes come first */
    return wrong;
}

/* Reads an integer of `bytes` bytes: unsigned, or signed with 8 bytes. */
static const char *read_integer(uint32_t type, const uint8_t *text, size_t size, uint8_t *out)
{
    const uint32_t bytes = sw_value_type_bytes(type);
    const bool is_signed = sw_value_type_kind(type) == SW_NUMBER_SIGNED;
    const bool is_negative = is_signed && size > 0 && text[0] == '-';
    const uint64_t max = is_signed ? (uint64_t)INT64_MAX + is_negative : sw_cli_width_max(bytes);
    uint64_t number = 0;
    if (!sw_decimal_parse(text + is_negative, size - is_negative, max, &number)) {
        return NO_NUMBER;
    }
    number = is_negative ? 0 - number : number;
    memcpy(out, &number, bytes); /* the low bytes come first */
    return NULL;
}

static const char *read_number(uint32_t type, const uint8_t *text, size_t size, uint8_t *out)
{
    char word[NUMBER_BYTES_MAX + 1];
    if (sw_value_type_kind(type) != SW_NUMBER_FLOAT) {
        return read_integer(type, text, size, out);
    }
    if (size > NUMBER_BYTES_MAX || memchr(text, '\0', size) != NULL) {
        return size > NUMBER_BYTES_MAX ? NO_NUMBER ": it has more than 64 characters" : NO_NUMBER;
    }
    memcpy(word, text, size);
    word[size] = '\0';
    return read_float(type, word, out);
}

/* Returns an error text with the number of numbers in a row of the wrong length; valid until the
 * next call. */
static const char *wrong_count(const struct sw_cli_row_format *format, const uint8_t *text,
                               size_t size)
{
    static char reason[64];
    size_t found = 1;
    for (size_t i = 0; i < size; i++) {
        found += text[i] == ',';
    }
    snprintf(reason, sizeof(reason), "the row has %zu number%s, but must have %u", found,
             sw_plural_s(found), format->value_bytes / sw_value_type_bytes(format->value_type));
    return reason;
}

static const char *read_numbers(const struct sw_cli_row_format *format, const uint8_t *text,
                                size_t size, uint8_t *value)
{
    const uint32_t bytes = sw_value_type_bytes(format->value_type);
    const uint8_t *const row = text, *const end = text + size;
    for (uint32_t at = 0; at < format->value_bytes; at += bytes) {
        const uint8_t *comma = memchr(text, ',', (size_t)(end - text));
        const uint8_t *last = comma != NULL ? comma : end;
        if ((comma == NULL) != (at + bytes == format->value_bytes)) {
            return wrong_count(format, row, size);
        }
        while (text < last && isblank(text[0])) {
            text++;
        }
        const uint8_t *stop = last;
        while (stop > text && isblank(stop[-1])) {
            stop--;
        }
        const char *wrong =
            read_number(format->value_type, text, (size_t)(stop - text), value + at);
        if (wrong != NULL) {
            return wrong;
        }
        text = last + (comma != NULL);
    }
    return NULL;
}

const char *sw_cli_row_read(const struct sw_cli_row_format *format, const void *text, size_t size,
                            void *value)
{
    return sw_value_type_bytes(format->value_type) == 0 ? read_hex(format, text, size, value)
                                                        : read_numbers(format, text, size, value);
}
