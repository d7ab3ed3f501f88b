/* SPDX-License-Identifier: MIT
 *
 * http.c - a small read-only HTTP server. One thread runs libmicrohttpd, closes connections that
 * take too long (http_connections.h), and keeps the history (history.h).
 */
#include "server/observe/http.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uv.h>

#include "server/net/bind.h"
#include "server/net/spare_fd.h"
#include "server/observe/http_connections.h"
#include "server/observe/http_pages.h"
#include "server/observe/http_tls.h"
#include "server/observe/log.h"

/* The longest time between two runs of libmicrohttpd. */
#define HTTP_RUN_MS 1000
/* Connections accepted between two runs of libmicrohttpd: see http_connections.h. */
#define ACCEPT_BURST 10
#define ACCEPT_PAUSE_MS 100 /* pause after a lack of resources */

static const char page_method[] = "Only GET and HEAD are served here.\n";
static const char page_no_host[] = "A request of HTTP/1.1 has one Host header.\n";
static const char page_two_lengths[] = "Content-Length and Transfer-Encoding exclude each other.\n";
static const char page_repeated[] =
    "A request has one Authorization, Content-Length and Transfer-Encoding at most.\n";
static const char page_encoding[] = "Transfer-Encoding may only be chunked.\n";
static const char page_name[] = "The name of a header ends before its colon, without blanks.\n";
static const char page_nul[] = "A request has no NUL bytes.\n";

struct sw_http {
    struct MHD_Daemon *daemon;
    uv_thread_t thread; /* the only thread that runs the daemon */
    bool running;
    int fd;                     /* the listening socket */
    int epoll_fd;               /* the daemon's */
    struct sw_http_tls *tls;    /* the thread's; NULL: without TLS */
    struct sw_spare_fd spare;   /* the thread's, without TLS */
    uint64_t pause_ms;          /* time at which accepting goes on; 0: it is not paused */
    int stop_fd;                /* eventfd: readable once the thread is to end */
    struct sw_http_pages pages; /* the thread's */
    struct sw_http_connections connections; /* the thread's */
    struct sw_loop_counters counters;       /* written by the thread, read by any */
};

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

static struct sw_http_connection *entry_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* Counts of the headers that a request may have only once. */
struct headers {
    unsigned hosts, authorizations, lengths, encodings;
    bool has_other_encoding; /* than chunked */
    bool has_blank_name;     /* a name with a blank before its colon */
};

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct headers *headers = context;
    const size_t size = strlen(name);
    (void)kind;
    headers->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
    headers->authorizations += strcasecmp(name, MHD_HTTP_HEADER_AUTHORIZATION) == 0;
    headers->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        headers->encodings++;
        headers->has_other_encoding |= value == NULL || strcasecmp(value, "chunked") != 0;
    }
    headers->has_blank_name |= strcspn(name, " \t") < size;
    return MHD_YES;
}

/* Returns an error text about a request that libmicrohttpd accepts, or NULL. */
static const char *malformed(struct MHD_Connection *connection,
                             const struct sw_http_connection *entry, const char *version)
{
    struct headers headers = {0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, &headers);
    if (entry != NULL && entry->has_nul) {
        return page_nul;
    }
    if (headers.has_blank_name) {
        return page_name;
    }
    if (headers.hosts > 1 || (headers.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_1) == 0)) {
        return page_no_host;
    }
    if (headers.authorizations > 1 || headers.lengths > 1 || headers.encodings > 1) {
        return page_repeated;
    }
    if (headers.lengths > 0 && headers.encodings > 0) {
        return page_two_lengths;
    }
    return headers.has_other_encoding ? page_encoding : NULL;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    struct sw_http *http = context;
    (void)upload;
    const char *problem = malformed(connection, entry_of(connection), version);
    if (problem != NULL) {
        return sw_http_reply_text(connection, MHD_HTTP_BAD_REQUEST, problem);
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return sw_http_reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, page_method);
    }
    /* The first call comes before the body. A reply to it would close the connection. */
    if (*state == NULL) {
        *state = http;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0; /* the body is ignored */
        return MHD_YES;
    }
    return sw_http_reply(&http->pages, connection, path);
}

__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format,
                                                         va_list arguments)
{
    char line[512];
    (void)context;
    vsnprintf(line, sizeof(line), format, arguments);
    line[strcspn(line, "\r\n")] = '\0';
    sw_log_limited(SW_LOG_HTTP, SW_LOG_DEBUG, "http: %s", line);
}

/* --- connections ------------------------------------------------------------------------------ */

static void on_connection(void *context, struct MHD_Connection *connection, void **entry,
                          enum MHD_ConnectionNotificationCode code)
{
    struct sw_http *http = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *entry = info == NULL
                     ? NULL
                     : sw_http_connection_opened(&http->connections, info->connect_fd, now_ms());
    } else if (*entry != NULL) {
        sw_http_connection_closed(&http->connections, *entry);
    }
    SW_GAUGE(&http->counters, http_connections, http->connections.open);
}

/* libmicrohttpd calls this when it has read a request line. The result is the initial state of the
 * request, as on_request receives it. */
static void *on_request_line(void *context, const char *path, struct MHD_Connection *connection)
{
    struct sw_http_connection *entry = entry_of(connection);
    (void)context;
    (void)path;
    if (entry != NULL) {
        sw_http_connection_asked(entry, now_ms());
    }
    return NULL;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct sw_http *http = context;
    struct sw_http_connection *entry = entry_of(connection);
    (void)state;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS);
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK) {
        SW_COUNT(&http->counters, http_requests, 1);
    }
    if (info != NULL && info->http_status >= MHD_HTTP_BAD_REQUEST) {
        SW_COUNT(&http->counters, http_errors, 1);
    }
    if (entry != NULL) {
        sw_http_connection_replied(entry, now_ms());
    }
}

/* Leaves escapes in paths as they are. None of our paths needs one, and "%00" would end a path
 * early. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* Hands a new connection, with or without TLS, to libmicrohttpd. */
static void hand_over(void *context, int fd)
{
    struct sw_http *http = context;
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    (void)MHD_add_connection(http->daemon, fd, &none, sizeof(none));
}

/* Sends the reply to a connection that is accepted with the spare descriptor. */
static void refuse_fd(int fd)
{
    static const char reply[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Connection: close\r\n\r\nThe server has no file descriptor left.\n";
    (void)!send(fd, reply, sizeof(reply) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Handles a failed accept(). Returns false if the backlog is empty or accepting pauses. */
static bool go_on_after(struct sw_http *http, int error)
{
    switch (sw_spare_fd_after(&http->spare, http->fd, error, refuse_fd)) {
    case SW_SPARE_FD_AGAIN:
        return true;
    case SW_SPARE_FD_REFUSED:
        SW_COUNT(&http->counters, http_errors, 1);
        sw_log_limited(SW_LOG_HTTP, SW_LOG_WARNING,
                       "a connection by HTTP was refused: accept: %s; raise LimitNOFILE= or "
                       "ulimit -n",
                       strerror(error));
        return true;
    case SW_SPARE_FD_EMPTY:
        return false;
    case SW_SPARE_FD_NONE:
        break;
    }
    sw_log_limited(SW_LOG_HTTP, SW_LOG_WARNING, "http: accept: %s; trying again in %d ms",
                   strerror(error), ACCEPT_PAUSE_MS);
    http->pause_ms = now_ms() + ACCEPT_PAUSE_MS;
    return false;
}

/* Accepts some connections, without TLS. Left to libmicrohttpd, accepting would stop at the limit
 * of open files, or retry without a pause. */
static void accept_some(struct sw_http *http)
{
    for (int i = 0; i < ACCEPT_BURST; i++) {
        const int fd = sw_spare_fd_accept(&http->spare, http->fd);
        if (fd >= 0) {
            hand_over(http, fd);
        } else if (!go_on_after(http, errno)) {
            return;
        }
    }
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Takes a sample if one is due. Returns the milliseconds until the next one is due, at most
 * `most_ms`. */
static int sample(struct sw_http *http, int most_ms)
{
    if (sw_history_due(http->pages.history, now_ms(), most_ms) == 0) {
        struct sw_server_stats snapshot;
        http->pages.snapshot(http->pages.server, &snapshot);
        sw_history_add(http->pages.history, &snapshot, now_ms());
    }
    return sw_history_due(http->pages.history, now_ms(), most_ms);
}

/* Returns the milliseconds until a pause of accepting ends, at most `most_ms`. */
static int pause_left(struct sw_http *http, int most_ms)
{
    const uint64_t now = now_ms();
    if (http->pause_ms <= now) {
        http->pause_ms = 0;
        return most_ms;
    }
    return (int)(http->pause_ms - now) < most_ms ? (int)(http->pause_ms - now) : most_ms;
}

static void run_http(void *argument)
{
    struct sw_http *http = argument;
    struct pollfd fds[] = {
        {.fd = http->epoll_fd, .events = POLLIN},
        {.fd = http->stop_fd, .events = POLLIN},
        {.events = POLLIN}, /* the descriptor that accepts connections */
    };
    while (fds[1].revents == 0) {
        int timeout_ms = sw_http_connections_expire(&http->connections, now_ms(), HTTP_RUN_MS);
        if (http->tls != NULL) {
            timeout_ms = sw_http_tls_expire(http->tls, now_ms(), timeout_ms);
        }
        timeout_ms = pause_left(http, timeout_ms);
        fds[2].fd = http->tls != NULL     ? sw_http_tls_fd(http->tls)
                    : http->pause_ms == 0 ? http->fd
                                          : -1;
        timeout_ms = sample(http, timeout_ms);
        MHD_UNSIGNED_LONG_LONG soon_ms = 0;
        if (MHD_get_timeout(http->daemon, &soon_ms) == MHD_YES &&
            soon_ms < (MHD_UNSIGNED_LONG_LONG)timeout_ms) {
            timeout_ms = (int)soon_ms;
        }
        if (poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms) < 0 && errno != EINTR) {
            sw_log(SW_LOG_ERROR, "the HTTP server stops: poll failed: %s", strerror(errno));
            return;
        }
        if (http->tls != NULL) {
            sw_http_tls_run(http->tls, now_ms());
        } else if (fds[2].revents != 0) {
            accept_some(http);
        }
        sw_http_connections_peek(&http->connections);
        MHD_run(http->daemon);
    }
}

static int start_daemon(struct sw_http *http, const struct sw_config *config)
{
    const union MHD_DaemonInfo *info = NULL;
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request,
        http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)sw_http_connections_room(sw_config_http_connections(config)),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)config->http_request_bytes_max,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, http,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
    if (http->daemon == NULL) {
        return -1;
    }
    info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    http->epoll_fd = info != NULL ? info->epoll_fd : -1;
    http->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (http->epoll_fd < 0 || http->stop_fd < 0 ||
        uv_thread_create(&http->thread, run_http, http) != 0) {
        return -1;
    }
    http->running = true;
    return 0;
}

/* Duplicates the socket passed by the service manager, or opens one. Returns the descriptor; or
 * logs an error and returns -1. */
static int open_socket(const struct sw_config *config, int fd)
{
    if (fd < 0) {
        return sw_bind_tcp(config->http_bind, (uint16_t)config->http_port,
                           &(struct sw_bind_names){"http-bind", "http-port"});
    }
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        sw_log(SW_LOG_ERROR, "cannot use the HTTP socket passed by the service manager: %s",
               strerror(errno));
        return -1;
    }
    const int flags = fcntl(own, F_GETFL);
    (void)fcntl(own, F_SETFL, flags | O_NONBLOCK);
    return own;
}

static int open_tls(struct sw_http *http, const struct sw_config *config,
                    struct sw_tls_credentials *credentials)
{
    const struct sw_http_tls_options options = {
        .credentials = credentials,
        .listener = http->fd,
        .limit = sw_config_http_connections(config),
        .timeout_ms = config->http_timeout_ms,
        .counters = &http->counters,
        .give = hand_over,
        .context = http,
    };
    return sw_http_tls_create(&options, &http->tls);
}

int sw_http_start(const struct sw_config *config, int fd, const struct sw_http_token *token,
                  struct sw_tls_credentials *credentials,
                  void (*snapshot)(void *server, struct sw_server_stats *snapshot), void *server,
                  struct sw_http **out, uint16_t *port)
{
    struct sw_http *http = calloc(1, sizeof(*http));
    *out = NULL;
    if (http == NULL || (http->pages.history = sw_history_create()) == NULL ||
        sw_http_connections_init(&http->connections, sw_config_http_connections(config),
                                 config->http_timeout_ms, &http->counters) != 0) {
        sw_log(SW_LOG_ERROR, "not enough memory for the HTTP server");
        sw_history_destroy(http != NULL ? http->pages.history : NULL);
        free(http);
        return -1;
    }
    http->pages.token = token;
    http->pages.snapshot = snapshot;
    http->pages.server = server;
    http->stop_fd = http->spare.fd = -1;
    http->fd = open_socket(config, fd);
    if (http->fd < 0) {
        sw_http_stop(http);
        return -1;
    }
    if (config->http_tls == 0) {
        sw_spare_fd_open(&http->spare);
    }
    /* Set before the first request, whose snapshot callback reads them. */
    *port = sw_bound_port(http->fd);
    *out = http;
    if ((config->http_tls != 0 && open_tls(http, config, credentials) != 0) ||
        start_daemon(http, config) != 0) {
        sw_log(SW_LOG_ERROR, "the HTTP server did not start on port %u: %s", *port,
               strerror(errno));
        sw_http_stop(http);
        *out = NULL;
        return -1;
    }
    return 0;
}

void sw_http_stop(struct sw_http *http)
{
    uint64_t one = 1;
    if (http == NULL) {
        return;
    }
    if (http->running) {
        ssize_t count = write(http->stop_fd, &one, sizeof(one));
        (void)count; /* if the counter is full, it is readable already */
        uv_thread_join(&http->thread);
    }
    if (http->daemon != NULL) {
        MHD_stop_daemon(http->daemon);
    }
    sw_http_tls_destroy(http->tls);
    if (http->stop_fd >= 0) {
        close(http->stop_fd);
    }
    if (http->fd >= 0) {
        close(http->fd);
    }
    sw_spare_fd_close(&http->spare);
    sw_http_connections_fini(&http->connections);
    sw_history_destroy(http->pages.history);
    free(http);
}

void sw_http_add_counters(const struct sw_http *http, struct sw_loop_counters *to)
{
    sw_loop_counters_add(to, &http->counters);
}
