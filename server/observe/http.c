/* SPDX-License-Identifier: MIT
 *
 * http.c - a small read-only HTTP server by libmicrohttpd.
 */
#include "server/observe/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/observe/log.h"

#define HTTP_CONNECTIONS_MAX 64
#define HTTP_TIMEOUT_S 10
#define HTTP_CONNECTION_BYTES (16 * 1024)
#define HTTP_BACKLOG 64
#define HTTP_PAGE_BYTES_MAX (1024 * 1024)

static const char type_text[] = "text/plain; charset=utf-8";
static const char type_prometheus[] = "text/plain; version=0.0.4; charset=utf-8";
static const char type_openmetrics[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

static const char page_index[] = "Sherwood, a key-value server.\n"
                                 "\n"
                                 "/metrics  counters and gauges for Prometheus\n"
                                 "/healthz  200 while the process runs\n"
                                 "/readyz   200 while it serves, 503 before and during shutdown\n";
static const char page_missing[] = "There is no such page. There are /, /metrics, /healthz and "
                                   "/readyz.\n";
static const char page_method[] = "Only GET and HEAD are answered here.\n";
static const char page_no_memory[] = "There was not enough memory to write the page.\n";

struct sw_http {
    struct MHD_Daemon *daemon;
    int fd;
    void (*snapshot)(void *server, struct sw_snapshot *snapshot);
    void *server;
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              struct MHD_Response *response)
{
    enum MHD_Result result = MHD_NO;
    if (response == NULL) {
        return MHD_NO; /* no memory: libmicrohttpd closes the connection */
    }
    if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") == MHD_YES &&
        (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
         MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES)) {
        result = MHD_queue_response(connection, status, response);
    }
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *page)
{
    /* Persistent memory: libmicrohttpd only reads it, whatever its prototype says. */
    return answer(
        connection, status, type_text,
        MHD_create_response_from_buffer(strlen(page), (void *)page, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result answer_metrics(struct sw_http *http, struct MHD_Connection *connection)
{
    const char *accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    bool openmetrics = accept != NULL && sw_http_wants_openmetrics(accept);
    struct sw_snapshot snapshot;
    struct sw_text text;
    struct MHD_Response *response = NULL;

    http->snapshot(http->server, &snapshot);
    sw_text_init(&text, HTTP_PAGE_BYTES_MAX);
    sw_metrics_render(&snapshot, openmetrics, &text);
    if (text.failed) {
        sw_text_fini(&text);
        return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, page_no_memory);
    }
    response = MHD_create_response_from_buffer(text.size, text.data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        sw_text_fini(&text);
    }
    return answer(connection, MHD_HTTP_OK, openmetrics ? type_openmetrics : type_prometheus,
                  response);
}

static enum MHD_Result answer_ready(struct sw_http *http, struct MHD_Connection *connection)
{
    struct sw_snapshot snapshot;
    http->snapshot(http->server, &snapshot);
    return snapshot.ready ? answer_text(connection, MHD_HTTP_OK, "ready\n")
                          : answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                        "not ready: starting or shutting down\n");
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    struct sw_http *http = context;
    (void)version;
    (void)upload;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, page_method);
    }
    /* The first call comes before any body; an answer to it would close the connection. */
    if (*state == NULL) {
        *state = http;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0; /* a body nobody asked for */
        return MHD_YES;
    }
    if (strcmp(path, "/metrics") == 0) {
        return answer_metrics(http, connection);
    }
    if (strcmp(path, "/healthz") == 0) {
        return answer_text(connection, MHD_HTTP_OK, "ok\n");
    }
    if (strcmp(path, "/readyz") == 0) {
        return answer_ready(http, connection);
    }
    if (strcmp(path, "/") == 0) {
        return answer_text(connection, MHD_HTTP_OK, page_index);
    }
    return answer_text(connection, MHD_HTTP_NOT_FOUND, page_missing);
}

__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format,
                                                         va_list arguments)
{
    char line[512];
    (void)context;
    vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\r\n")] = '\0';
    sw_log_limited(SW_LOG_HTTP, SW_LOG_DEBUG, "http: %s", line);
}

/* A listening socket for an address that sw_config_load has accepted. -1 with a sentence logged. */
static int listen_on(const struct sw_config *config)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
    socklen_t size = sizeof *v4;
    int on = 1, fd = -1;

    if (inet_pton(AF_INET, config->http_bind, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)config->http_port);
    } else if (inet_pton(AF_INET6, config->http_bind, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)config->http_port);
        size = sizeof *v6;
    } else {
        sw_log(SW_LOG_ERROR, "http-bind '%s' is not an address", config->http_bind);
        return -1;
    }
    fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&storage, size) != 0 || listen(fd, HTTP_BACKLOG) != 0) {
        sw_log(SW_LOG_ERROR, "cannot listen for HTTP on %s port %u: %s", config->http_bind,
               config->http_port, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage storage = {0};
    socklen_t size = sizeof storage;
    if (getsockname(fd, (struct sockaddr *)&storage, &size) != 0) {
        return 0;
    }
    if (storage.ss_family == AF_INET) {
        return ntohs(((struct sockaddr_in *)&storage)->sin_port);
    }
    return storage.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&storage)->sin6_port) : 0;
}

int sw_http_start(const struct sw_config *config, int fd,
                  void (*snapshot)(void *server, struct sw_snapshot *snapshot), void *server,
                  struct sw_http **out, uint16_t *port)
{
    struct sw_http *http = calloc(1, sizeof *http);
    *out = NULL;
    if (http == NULL) {
        sw_log(SW_LOG_ERROR, "not enough memory for the HTTP server");
        return -1;
    }
    http->snapshot = snapshot;
    http->server = server;
    http->fd = fd >= 0 ? dup(fd) : listen_on(config);
    if (http->fd < 0) {
        if (fd >= 0) {
            sw_log(SW_LOG_ERROR, "cannot use the HTTP socket passed by the service manager: %s",
                   strerror(errno));
        }
        free(http);
        return -1;
    }
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request,
        http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, http->fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)HTTP_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_CONNECTION_BYTES,
        MHD_OPTION_END);
    if (http->daemon == NULL) {
        sw_log(SW_LOG_ERROR, "the HTTP server did not start on port %u", bound_port(http->fd));
        close(http->fd);
        free(http);
        return -1;
    }
    *port = bound_port(http->fd);
    *out = http;
    return 0;
}

void sw_http_stop(struct sw_http *http)
{
    if (http == NULL) {
        return;
    }
    /* After this the socket is ours again; without it libmicrohttpd would close it. */
    bool ours = MHD_quiesce_daemon(http->daemon) != MHD_INVALID_SOCKET;
    MHD_stop_daemon(http->daemon);
    if (ours) {
        close(http->fd);
    }
    free(http);
}
