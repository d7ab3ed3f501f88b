/* SPDX-License-Identifier: MIT
 *
 * http.h - /metrics, /healthz, /readyz, and a status page at / with its /status.json, on a thread
 * of their own.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_HTTP_H
#define SHERWOOD_SERVER_OBSERVE_HTTP_H

#include <stdint.h>

#include "server/observe/server_stats.h"
#include "server/observe/text.h"

struct sw_http;
struct sw_http_token;
struct sw_tls_credentials;

/* Listens on config's http_bind and http_port, or on `fd` if it is not -1 (socket activation; the
 * caller keeps `fd`). Borrows `token` and `credentials` until the stop. Pages that are not open to
 * all require the token (http_token.h). Only http-tls uses the credentials. The HTTP thread calls
 * the snapshot callback. Returns 0 and sets *out; or logs an error and returns -1. *port receives
 * the bound port (0: a Unix socket). Sets both before the first call of the callback. */
int sw_http_start(const struct sw_config *config, int fd, const struct sw_http_token *token,
                  struct sw_tls_credentials *credentials,
                  void (*snapshot)(void *server, struct sw_server_stats *snapshot), void *server,
                  struct sw_http **out, uint16_t *port);

/* Adds the counters and gauges of the HTTP server to `to`. Threads: any. */
void sw_http_add_counters(const struct sw_http *http, struct sw_loop_counters *to);

/* Stops listening and joins the thread. NULL is allowed. */
void sw_http_stop(struct sw_http *http);

/* Writes the metrics in the text format of Prometheus (0.0.4), or as OpenMetrics 1.0 (metrics.c).
 */
void sw_metrics_render(const struct sw_server_stats *snapshot, bool openmetrics,
                       struct sw_text *text);

/* Returns true if an Accept header prefers OpenMetrics 1.0 to the older format
 * (http_content_type.c). */
bool sw_http_wants_openmetrics(const char *accept);

/* Returns true if an Accept header names text/html and does not prefer text/plain, as a browser's
 * does. */
bool sw_http_wants_html(const char *accept);

#endif
