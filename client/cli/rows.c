/* SPDX-License-Identifier: MIT
 *
 * rows.c - values that are no integers, as CSV.
 */
#include "client/cli/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "client/cli/numbers.h"
#include "proto/hex.h"
#include "proto/value_type.h"

#define LENGTH_BYTES ((uint32_t)sizeof(uint32_t))

static double double_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static double float_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof(number));
    return (double)number;
}

/* IEEE 754, 16 bits: a sign, 5 bits of exponent, 10 of the mantissa. */
static double half_of(uint32_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double mantissa = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31) {
        return mantissa == 0 ? sign * (double)INFINITY : (double)NAN;
    }
    return sign * (exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25));
}

double sw_cli_float_of(uint32_t type, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    return type == SW_TYPE_F16    ? half_of(low)
           : type == SW_TYPE_BF16 ? float_of(low << 16) /* the high half of a float of 32 bits */
           : type == SW_TYPE_F64  ? double_of(bits)
                                  : float_of(low);
}

static void put_number(FILE *out, uint32_t type, const uint8_t *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, sw_value_type_bytes(type));
    switch (type) {
    case SW_TYPE_F64:
        fprintf(out, "%.17g", sw_cli_float_of(type, bits));
        break;
    case SW_TYPE_F32:
        fprintf(out, "%.9g", sw_cli_float_of(type, bits));
        break;
    case SW_TYPE_F16:
        fprintf(out, "%.5g", sw_cli_float_of(type, bits));
        break;
    case SW_TYPE_BF16:
        fprintf(out, "%.4g", sw_cli_float_of(type, bits));
        break;
    case SW_TYPE_I64:
        fprintf(out, "%" PRId64, (int64_t)bits);
        break;
    default:
        fprintf(out, "%" PRIu64, bits);
        break;
    }
}

static void put_hex(FILE *out, const uint8_t *bytes, size_t count)
{
    char digits[2 * 32 + 1];
    for (size_t at = 0; at < count; at += 32) {
        const size_t part = count - at < 32 ? count - at : 32;
        sw_hex_encode(bytes + at, part, digits);
        fwrite(digits, 2, part, out);
    }
}

void sw_cli_row_write(FILE *out, const struct sw_cli_row_format *format, const void *value)
{
    const uint8_t *bytes = value;
    const uint32_t number = sw_value_type_bytes(format->value_type);
    if (format->value_format == SW_FRAME_VALUES_STRING) {
        const uint32_t most = format->value_bytes - LENGTH_BYTES;
        uint32_t length;
        memcpy(&length, bytes, LENGTH_BYTES);
        put_hex(out, bytes + LENGTH_BYTES, length < most ? length : most);
        return;
    }
    if (number == 0) {
        put_hex(out, bytes, format->value_bytes);
        return;
    }
    for (uint32_t at = 0; at < format->value_bytes; at += number) {
        if (at > 0) {
            fputc(',', out);
        }
        put_number(out, format->value_type, bytes + at);
    }
}

bool sw_cli_rows_write(FILE *out, const struct sw_cli_row_format *format, uint32_t key_bytes,
                       const void *keys, const void *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%" PRIu64 "%s", sw_cli_number_at(keys, key_bytes, i),
                format->value_type == SW_TYPE_NONE ? "" : ",");
        sw_cli_row_write(out, format, (const uint8_t *)values + i * format->value_bytes);
        fputc('\n', out);
    }
    return ferror(out) == 0;
}
