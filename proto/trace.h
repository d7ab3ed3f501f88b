/* SPDX-License-Identifier: MIT
 *
 * trace.h - the context of a distributed trace, as W3C Trace Context defines it. Pure functions.
 */
#ifndef SHERWOOD_PROTO_TRACE_H
#define SHERWOOD_PROTO_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define SW_TRACE_ID_BYTES 16
#define SW_SPAN_ID_BYTES 8

/* The bytes of the field `traceparent` of a request. */
struct sw_trace {
    uint8_t trace_id[SW_TRACE_ID_BYTES];
    uint8_t parent_id[SW_SPAN_ID_BYTES]; /* the span of the caller */
    uint8_t flags;                       /* bit 0: the caller records the trace */
};

/* Parses the value of a traceparent header: "00-", 32 hex digits, "-", 16 hex digits, "-", 2 hex
 * digits. A higher version than 00 may go on behind another "-". Returns false if the text is not
 * valid; *trace is then undefined. */
bool sw_trace_parse(const char *text, struct sw_trace *trace);
/* Returns whether the bytes are a context: neither id is all zero. */
bool sw_trace_is_valid(const struct sw_trace *trace);

static inline bool sw_trace_is_sampled(const struct sw_trace *trace)
{
    return (trace->flags & 1) != 0;
}

#endif
