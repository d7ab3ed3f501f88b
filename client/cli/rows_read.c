/* SPDX-License-Identifier: MIT
 *
 * rows_read.c - values that are no integers from CSV.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/numbers.h"
#include "client/cli/rows.h"
#include "proto/decimal.h"
#include "proto/frame.h"
#include "proto/value_type.h"

#define LENGTH_BYTES ((uint32_t)sizeof(uint32_t))
#define NUMBER_BYTES_MAX 64 /* the longest text of a number */

/* --- bytes ------------------------------------------------------------------------------------ */

static int digit_of(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static const char *read_hex(const struct sw_cli_row_format *format, const uint8_t *text,
                            size_t size, uint8_t *value)
{
    const bool is_string = format->value_format == SW_FRAME_VALUES_STRING;
    const uint32_t most = format->value_bytes - (is_string ? LENGTH_BYTES : 0);
    const uint32_t length = (uint32_t)(size / 2);
    if (size % 2 != 0 || size / 2 > most || (!is_string && length != most)) {
        return is_string ? "the value is not hex of at most value_bytes - 4 bytes"
                         : "the value is not hex of value_bytes bytes";
    }
    memset(value, 0, format->value_bytes);
    if (is_string) {
        memcpy(value, &length, LENGTH_BYTES);
        value += LENGTH_BYTES;
    }
    for (uint32_t i = 0; i < length; i++) {
        const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return "the value is not hex";
        }
        value[i] = (uint8_t)(high << 4 | low);
    }
    return NULL;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The bits of the nearest float with so many bits of exponent and mantissa, ties to even. */
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
    /* a mantissa that is rounded up to 2 * one carries into the exponent, as it must */
    double mantissa = nearbyint(ldexp(fabs(number), mantissa_bits + 1 - exponent));
    double bits = mantissa + ldexp(exponent - 2 + bias, mantissa_bits);
    return sign | (bits >= infinity ? infinity : (uint32_t)bits);
}

static bool read_float(uint32_t type, const char *text, uint8_t *out)
{
    char *end;
    const float narrow = strtof(text, &end);
    if (end == text || *end != '\0') {
        return false;
    }
    if (type == SW_TYPE_F32) {
        memcpy(out, &narrow, sizeof(narrow));
        return true;
    }
    const double number = strtod(text, &end);
    const uint16_t bits =
        (uint16_t)(type == SW_TYPE_F16 ? small_float(number, 5, 10) : small_float(number, 8, 7));
    memcpy(out, &bits, sizeof(bits));
    return true;
}

static bool read_number(uint32_t type, const uint8_t *text, size_t size, uint8_t *out)
{
    char word[NUMBER_BYTES_MAX + 1];
    const uint32_t bytes = sw_value_type_bytes(type);
    uint64_t number = 0;
    if (type != SW_TYPE_U32 && type != SW_TYPE_U64) {
        memcpy(word, text, size < NUMBER_BYTES_MAX ? size : NUMBER_BYTES_MAX);
        word[size < NUMBER_BYTES_MAX ? size : 0] = '\0';
        return read_float(type, word, out);
    }
    if (!sw_decimal_parse(text, size, sw_cli_width_max(bytes), &number)) {
        return false;
    }
    memcpy(out, &number, bytes);
    return true;
}

static const char *read_numbers(const struct sw_cli_row_format *format, const uint8_t *text,
                                size_t size, uint8_t *value)
{
    const uint32_t bytes = sw_value_type_bytes(format->value_type);
    const uint8_t *const end = text + size;
    for (uint32_t at = 0; at < format->value_bytes; at += bytes) {
        const uint8_t *comma = memchr(text, ',', (size_t)(end - text));
        const uint8_t *last = comma != NULL ? comma : end;
        if ((comma == NULL) != (at + bytes == format->value_bytes)) {
            return "the row has another number of numbers";
        }
        while (text < last && isblank(text[0])) {
            text++;
        }
        const uint8_t *stop = last;
        while (stop > text && isblank(stop[-1])) {
            stop--;
        }
        if (!read_number(format->value_type, text, (size_t)(stop - text), value + at)) {
            return "the row has a field that is no number of its type";
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
