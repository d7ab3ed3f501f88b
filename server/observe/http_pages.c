/* SPDX-License-Identifier: MIT
 *
 * http_pages.c - the reply to each path of the HTTP server.
 */
#include "server/observe/http_pages.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "server/observe/http.h"
#include "server/observe/problems.h"
#include "server/observe/status.h"
#include "server/observe/status_page.h"

#define HTTP_PAGE_BYTES_MAX (1024 * 1024)

static const char type_text[] = "text/plain; charset=utf-8";
static const char type_prometheus[] = "text/plain; version=0.0.4; charset=utf-8";
static const char type_openmetrics[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

static const char type_html[] = "text/html; charset=utf-8";
static const char type_json[] = "application/json";

static const char page_index[] =
    "Sherwood, a key-value server.\n\n/             this text; for a browser, the status "
    "page\n/metrics      counters and gauges for Prometheus\n/status.json  statistics of now and "
    "of the last ten minutes, and current problems\n/healthz      200 while the process runs; "
    "degraded: .. while it refuses writes because of the disk\n/readyz       200 while it serves "
    "at least reads; otherwise 503 with the reason\n";
static const char page_no_copy[] = "This replica has not received its primary's table yet.\n";
static const char page_no_primary[] = "not ready: this member of the shard knows no primary\n";
static const char page_missing[] =
    "The page does not exist. The pages are /, /metrics, /status.json, /healthz and /readyz.\n";
static const char page_no_token[] = "This page needs a bearer token: --http-token-file.\n";
static const char page_since[] = "since is the number of a sample: decimal digits.\n";
static const char page_no_memory[] = "Not enough memory for the page.\n";

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
                             struct MHD_Response *response)
{
    enum MHD_Result result = MHD_NO;
    if (response == NULL) {
        return MHD_NO; /* no memory: libmicrohttpd closes the connection */
    }
    if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") == MHD_YES &&
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
        (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
         MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES) &&
        (status != MHD_HTTP_UNAUTHORIZED ||
         MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                 "Bearer realm=\"sherwood\"") == MHD_YES)) {
        result = MHD_queue_response(connection, status, response);
    }
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result sw_http_reply_text(struct MHD_Connection *connection, unsigned status,
                                   const char *page)
{
    /* libmicrohttpd only reads the memory, although its prototype takes a pointer to non-const. */
    return reply(
        connection, status, type_text,
        MHD_create_response_from_buffer(strlen(page), (void *)page, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result reply_loading(struct MHD_Connection *connection, unsigned percent)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "loading: %u %%\n", percent);
    return reply(connection, MHD_HTTP_SERVICE_UNAVAILABLE, type_text,
                 MHD_create_response_from_buffer((size_t)size, text, MHD_RESPMEM_MUST_COPY));
}

/* Takes over the memory of the text. */
static enum MHD_Result reply_rendered(struct MHD_Connection *connection, const char *type,
                                      struct sw_text *text)
{
    if (text->failed) {
        sw_text_fini(text);
        return sw_http_reply_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, page_no_memory);
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(text->size, text->data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        sw_text_fini(text);
    }
    return reply(connection, MHD_HTTP_OK, type, response);
}

static enum MHD_Result reply_metrics(const struct sw_http_pages *pages,
                                     struct MHD_Connection *connection)
{
    const char *accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    bool openmetrics = accept != NULL && sw_http_wants_openmetrics(accept);
    struct sw_server_stats snapshot;
    struct sw_text text;

    pages->snapshot(pages->server, &snapshot);
    sw_text_init(&text, HTTP_PAGE_BYTES_MAX);
    sw_metrics_render(&snapshot, openmetrics, &text);
    return reply_rendered(connection, openmetrics ? type_openmetrics : type_prometheus, &text);
}

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

static enum MHD_Result reply_status(const struct sw_http_pages *pages,
                                    struct MHD_Connection *connection)
{
    struct timespec wall;
    struct sw_server_stats snapshot;
    struct sw_status_query query = {.now_ms = now_ms()};
    if (!sw_status_parse_since(
            MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "since"),
            &query.since)) {
        return sw_http_reply_text(connection, MHD_HTTP_BAD_REQUEST, page_since);
    }
    clock_gettime(CLOCK_REALTIME, &wall);
    query.wall_ms = (uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / 1000000;
    pages->snapshot(pages->server, &snapshot);
    struct sw_text text;
    sw_text_init(&text, HTTP_PAGE_BYTES_MAX);
    sw_status_render(&snapshot, pages->history, &query, &text);
    return reply_rendered(connection, type_json, &text);
}

static bool is_browser(struct MHD_Connection *connection)
{
    const char *accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    return accept != NULL && sw_http_wants_html(accept);
}

/* Sends the status page to a browser, and a line of text to other clients. */
static enum MHD_Result reply_index(struct MHD_Connection *connection)
{
    const bool html = is_browser(connection);
    struct MHD_Response *response =
        html ? MHD_create_response_from_buffer(sw_status_page_bytes, (void *)sw_status_page,
                                               MHD_RESPMEM_PERSISTENT)
             : MHD_create_response_from_buffer(strlen(page_index), (void *)page_index,
                                               MHD_RESPMEM_PERSISTENT);
    const char *const headers[][2] = {{MHD_HTTP_HEADER_VARY, "Accept"},
                                      {"Content-Security-Policy", sw_status_policy},
                                      {"Referrer-Policy", "no-referrer"},
                                      {"X-Frame-Options", "DENY"},
                                      {"Cross-Origin-Opener-Policy", "same-origin"}};
    for (size_t i = 0; response != NULL && i < (html ? sizeof(headers) / sizeof(headers[0]) : 1);
         i++) {
        if (MHD_add_response_header(response, headers[i][0], headers[i][1]) != MHD_YES) {
            MHD_destroy_response(response); /* send no page without its policy */
            response = NULL;
        }
    }
    return reply(connection, MHD_HTTP_OK, html ? type_html : type_text, response);
}

/* Replies 200 even while writes are refused because of the disk: a restart would not help, and
 * taking the server out of service would also end the reads. The text names the problem. */
static enum MHD_Result reply_up(const struct sw_server_stats *snapshot,
                                struct MHD_Connection *connection, const char *word)
{
    char problem[SW_PROBLEM_BYTES];
    char text[SW_PROBLEM_BYTES + 32];
    if (sw_problems_degraded(snapshot, problem)) {
        word = "degraded: ";
    } else {
        problem[0] = '\0';
    }
    int size = snprintf(text, sizeof(text), "%s%s\n", word, problem);
    return reply(connection, MHD_HTTP_OK, type_text,
                 MHD_create_response_from_buffer((size_t)size, text, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result reply_health(const struct sw_http_pages *pages,
                                    struct MHD_Connection *connection)
{
    struct sw_server_stats snapshot;
    pages->snapshot(pages->server, &snapshot);
    return reply_up(&snapshot, connection, "ok");
}

static enum MHD_Result reply_ready(const struct sw_http_pages *pages,
                                   struct MHD_Connection *connection)
{
    struct sw_server_stats snapshot;
    pages->snapshot(pages->server, &snapshot);
    if (snapshot.persistence.loading) {
        return reply_loading(connection, sw_persistence_percent(&snapshot.persistence));
    }
    if (snapshot.ready && snapshot.cluster.is_enabled && !snapshot.cluster.is_in_topology) {
        return sw_http_reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                  snapshot.cluster.has_topology
                                      ? "not ready: this node is not in the cluster's topology\n"
                                      : "not ready: the cluster has no topology yet\n");
    }
    if (snapshot.replication.lacks_data) {
        return sw_http_reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, page_no_copy);
    }
    if (snapshot.ready && snapshot.replication.knows_no_primary) {
        return sw_http_reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, page_no_primary);
    }
    return snapshot.ready ? reply_up(&snapshot, connection, "ready")
                          : sw_http_reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                               "not ready: starting or shutting down\n");
}

/* The status page itself needs no token, because it contains no data. A browser needs the page
 * first: the page asks the user for the token, and sends it with /status.json. */
static bool is_admitted(const struct sw_http_pages *pages, struct MHD_Connection *connection,
                        const char *path)
{
    return sw_http_token_needs_none(path) ||
           sw_http_token_admits(pages->token,
                                MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                            MHD_HTTP_HEADER_AUTHORIZATION)) ||
           (strcmp(path, "/") == 0 && is_browser(connection));
}

enum MHD_Result sw_http_reply(const struct sw_http_pages *pages, struct MHD_Connection *connection,
                              const char *path)
{
    if (!is_admitted(pages, connection, path)) {
        return sw_http_reply_text(connection, MHD_HTTP_UNAUTHORIZED, page_no_token);
    }
    if (strcmp(path, "/metrics") == 0) {
        return reply_metrics(pages, connection);
    }
    if (strcmp(path, "/status.json") == 0) {
        return reply_status(pages, connection);
    }
    if (strcmp(path, "/healthz") == 0) {
        return reply_health(pages, connection);
    }
    if (strcmp(path, "/readyz") == 0) {
        return reply_ready(pages, connection);
    }
    if (strcmp(path, "/") == 0) {
        return reply_index(connection);
    }
    return sw_http_reply_text(connection, MHD_HTTP_NOT_FOUND, page_missing);
}
