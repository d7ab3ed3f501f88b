/* SPDX-License-Identifier: MIT
 *
 * otlp.h - spans as OTLP writes them in JSON, with the names of OpenTelemetry's conventions for
 * databases. Pure functions.
 *
 *     {"resourceSpans":[{"resource":{"attributes":[..]},"scopeSpans":[{"scope":{..},"spans":[..]}]}]}
 */
#ifndef SHERWOOD_SERVER_TRACE_OTLP_H
#define SHERWOOD_SERVER_TRACE_OTLP_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "server/trace/span_queue.h"

/* Returns a span as JSON, or NULL if memory is short. `offset_ns` is the difference between the
 * time since 1970 and the clock of the span. */
json_t *sw_otlp_span(const struct sw_span *span, const uint8_t span_id[SW_SPAN_ID_BYTES],
                     int64_t offset_ns);

/* Returns the text of an export of these spans, an array of sw_otlp_span, or NULL if memory is
 * short. The caller frees the text. Takes over `spans`. `instance` identifies this run of the
 * server. */
char *sw_otlp_export(json_t *spans, const char *instance);

/* Returns the number of spans that the receiver has rejected, from its answer to an export. */
uint64_t sw_otlp_rejected(const char *answer, size_t bytes);

#endif
