/* SPDX-License-Identifier: MIT
 *
 * trace.c - parses and checks trace contexts.
 */
#include "proto/trace.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "proto/hex.h"

static_assert(sizeof(struct sw_trace) == 25, "the bytes of the field traceparent");

/* The characters of version 00. */
#define TEXT_BYTES 55

bool sw_trace_is_valid(const struct sw_trace *trace)
{
    static const uint8_t zeros[SW_TRACE_ID_BYTES];
    return memcmp(trace->trace_id, zeros, sizeof(trace->trace_id)) != 0 &&
           memcmp(trace->parent_id, zeros, sizeof(trace->parent_id)) != 0;
}

/* The digits of a traceparent are in lower case. */
static bool has_upper_case(const char *text)
{
    for (int i = 0; i < TEXT_BYTES; i++) {
        if (isupper((unsigned char)text[i])) {
            return true;
        }
    }
    return false;
}

bool sw_trace_parse(const char *text, struct sw_trace *trace)
{
    uint8_t version;
    if (strnlen(text, TEXT_BYTES) < TEXT_BYTES || has_upper_case(text) || text[2] != '-' ||
        text[35] != '-' || text[52] != '-' || !sw_hex_decode(text, 1, &version)) {
        return false;
    }
    const char end = text[TEXT_BYTES];
    return version != 0xff && (end == '\0' || (end == '-' && version > 0)) &&
           sw_hex_decode(text + 3, sizeof(trace->trace_id), trace->trace_id) &&
           sw_hex_decode(text + 36, sizeof(trace->parent_id), trace->parent_id) &&
           sw_hex_decode(text + 53, 1, &trace->flags) && sw_trace_is_valid(trace);
}
