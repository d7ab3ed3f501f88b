/* SPDX-License-Identifier: MIT
 *
 * sherwood-trace.h - the context of a distributed trace (OpenTelemetry, W3C Trace Context). A
 * server with --otlp-endpoint exports a span for each request that it receives with a sampled
 * context. Other servers ignore the context.
 */
#ifndef SHERWOOD_TRACE_H
#define SHERWOOD_TRACE_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the context of the requests that the handle, and the handles of its tables, send from now
 * on. `traceparent` is the value of a traceparent header, such as
 * "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"; NULL: requests have no context. The
 * library copies it. Requests in flight keep theirs. A context makes a frame 28 bytes longer.
 *
 * These requests carry no context: those through a ring (sherwood-regions.h), logins, and changes
 * of tables. A call that the library splits into several frames sends the context in each.
 *
 * SHERWOOD_E_INVALID: the text is not a valid traceparent. The context is then unchanged. Threads:
 * the one that uses the handle. */
SHERWOOD_MUST_CHECK int sherwood_traceparent(struct sherwood *client, const char *traceparent);

#ifdef __cplusplus
}
#endif

#endif
