/* SPDX-License-Identifier: MIT
 *
 * resp_write.c - replies of the Redis protocol.
 */
#include "proto/resp.h"

#include <string.h>

#include "proto/decimal.h"

static inline char *put_line_end(char *out)
{
    out[0] = '\r';
    out[1] = '\n';
    return out + 2;
}

static inline char *put_line(char *out, char type, uint64_t value)
{
    *out++ = type;
    return put_line_end(out + sw_decimal_format(value, out));
}

char *sw_resp_put_bulk_integer(char *out, uint64_t value)
{
    size_t digits = sw_decimal_digits(value);
    *out++ = '$';
    if (digits >= 10) {
        *out++ = (char)('0' + digits / 10);
    }
    *out++ = (char)('0' + digits % 10);
    out = put_line_end(out);
    return put_line_end(out + sw_decimal_format(value, out));
}

char *sw_resp_put_integer(char *out, int64_t value)
{
    if (value >= 0) {
        return put_line(out, ':', (uint64_t)value);
    }
    *out++ = ':';
    return put_line(out, '-', 0 - (uint64_t)value);
}

char *sw_resp_put_unsigned(char *out, uint64_t value)
{
    return put_line(out, ':', value);
}

char *sw_resp_put_null(char *out, bool resp3)
{
    return resp3 ? sw_resp_put_bytes(out, "_\r\n", 3) : sw_resp_put_bytes(out, "$-1\r\n", 5);
}

char *sw_resp_put_array(char *out, uint64_t count)
{
    return put_line(out, '*', count);
}

char *sw_resp_put_map(char *out, uint64_t pairs, bool resp3)
{
    return resp3 ? put_line(out, '%', pairs) : put_line(out, '*', 2 * pairs);
}

char *sw_resp_put_bulk_header(char *out, uint64_t bytes)
{
    return put_line(out, '$', bytes);
}

char *sw_resp_put_bytes(char *out, const void *bytes, size_t size)
{
    if (size > 0) {
        memcpy(out, bytes, size);
    }
    return out + size;
}
