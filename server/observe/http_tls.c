/* SPDX-License-Identifier: MIT
 *
 * http_tls.c - moves bytes between TLS streams and the sockets that libmicrohttpd reads.
 */
#include "server/observe/http_tls.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/tls/stream.h"
#include "server/list.h"
#include "server/net/spare_fd.h"
#include "server/net/tls_first.h"
#include "server/observe/log.h"

#define EVENTS_MAX 64        /* events handled between two runs of libmicrohttpd */
#define MOVES_MAX 64         /* most moves of a connection in a row; a pair of sockets holds less */
#define ACCEPT_PAUSE_MS 100  /* pause after a lack of descriptors */
#define LISTENER UINT64_C(0) /* epoll data of the listening socket */

/* Reply to a client that speaks HTTP without TLS. */
static const char plain_reply[] =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: "
    "close\r\n\r\nThis port speaks TLS: use https.\n";

enum state {
    HANDSHAKE,
    OPEN,
    ENDING /* everything was sent; waits until the peer ends its side */
};

/* Bytes that wait to be sent to one side. */
struct load {
    size_t begin, end;
    uint8_t bytes[SW_TLS_RECORD_BYTES];
};

struct connection {
    struct sw_list link; /* of `waiting` or `open` */
    enum state state;
    bool first_byte_known;
    bool peer_ended; /* the peer sends nothing more */
    int peer;
    int http;          /* this module's end of the pair; -1: not open */
    uint64_t since_ms; /* start of its time in this state */
    struct sw_tls_stream stream;
    struct load request, reply;
};

struct sw_http_tls {
    struct sw_http_tls_options options;
    int epoll;
    uint64_t pause_ms;      /* time at which accepting goes on; 0: it is not paused */
    struct sw_list waiting; /* HANDSHAKE and ENDING, the oldest first */
    uint32_t waiting_count;
    struct sw_list open;
    struct sw_tls_scratch scratch;
    struct sw_spare_fd spare;
};

static struct connection *connection_at(struct sw_list *link)
{
    return SW_CONTAINER(link, struct connection, link);
}

static bool is_empty(const struct load *load)
{
    return load->begin == load->end;
}

/* --- lists of connections --------------------------------------------------------------------- */

static void enter(struct sw_http_tls *tls, struct connection *connection, enum state state,
                  uint64_t now_ms)
{
    connection->state = state;
    connection->since_ms = now_ms;
    sw_list_push(state == OPEN ? &tls->open : &tls->waiting, &connection->link);
    tls->waiting_count += state != OPEN;
}

static void leave(struct sw_http_tls *tls, struct connection *connection)
{
    sw_list_remove(&connection->link);
    tls->waiting_count -= connection->state != OPEN;
}

static void drop(struct sw_http_tls *tls, struct connection *connection)
{
    leave(tls, connection);
    sw_tls_stream_close(&connection->stream);
    close(connection->peer);
    if (connection->http >= 0) {
        close(connection->http);
    }
    free(connection);
}

static void refuse_handshake(struct sw_http_tls *tls, struct connection *connection,
                             const char *why)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    char name[NI_MAXHOST] = "a client that has gone";
    if (getpeername(connection->peer, (struct sockaddr *)&address, &size) == 0) {
        (void)getnameinfo((struct sockaddr *)&address, size, name, sizeof(name), NULL, 0,
                          NI_NUMERICHOST);
    }
    SW_COUNT(tls->options.counters, tls_handshake_failures, 1);
    sw_log_limited(SW_LOG_TLS, SW_LOG_NOTICE, "TLS handshake with %s for HTTP failed: %s", name,
                   why);
    drop(tls, connection);
}

/* Closes the connection that has waited longest. */
static void make_room(struct sw_http_tls *tls)
{
    struct connection *oldest = connection_at(tls->waiting.next);
    SW_COUNT(tls->options.counters, http_evictions, 1);
    if (oldest->state == HANDSHAKE) {
        refuse_handshake(tls, oldest, "others came while it took its time");
    } else {
        drop(tls, oldest);
    }
}

/* --- epoll ------------------------------------------------------------------------------------ */

/* Registers these events of one of the connection's sockets at epoll. The lowest bit of the data
 * identifies the socket. */
static bool watch(struct sw_http_tls *tls, struct connection *connection, int fd, uint32_t events,
                  bool is_new)
{
    struct epoll_event event = {
        .events = events,
        .data.u64 = (uint64_t)(uintptr_t)connection | (fd == connection->http),
    };
    return epoll_ctl(tls->epoll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0;
}

static void watch_both(struct sw_http_tls *tls, struct connection *connection)
{
    bool reads =
        !connection->peer_ended && (connection->state != OPEN || is_empty(&connection->request));
    bool writes = sw_tls_is_sending(&connection->stream) || !is_empty(&connection->reply);
    (void)watch(tls, connection, connection->peer, (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0),
                false);
    if (connection->http >= 0) {
        (void)watch(tls, connection, connection->http,
                    (is_empty(&connection->reply) ? EPOLLIN : 0) |
                        (is_empty(&connection->request) ? 0 : EPOLLOUT),
                    false);
    }
}

static void watch_listener(struct sw_http_tls *tls, bool on)
{
    struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.u64 = LISTENER};
    (void)epoll_ctl(tls->epoll, EPOLL_CTL_MOD, tls->options.listener, &event);
}

/* --- moving ----------------------------------------------------------------------------------- */

/* Creates the pair of sockets, and hands one end to libmicrohttpd. */
static bool open_http(struct sw_http_tls *tls, struct connection *connection)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        return false;
    }
    connection->http = pair[0];
    if (!watch(tls, connection, pair[0], EPOLLIN, true)) {
        close(pair[1]);
        return false;
    }
    tls->options.give(tls->options.context, pair[1]);
    return true;
}

/* Continues the handshake. Returns false if the connection was closed. */
static bool shake_hands(struct sw_http_tls *tls, struct connection *connection, uint64_t now_ms)
{
    char text[SW_TLS_TROUBLE_BYTES];
    if (!connection->first_byte_known) {
        enum sw_tls_first first =
            sw_tls_first_byte(connection->peer, plain_reply, text, sizeof(text));
        connection->first_byte_known = first == SW_TLS_FIRST_RECORD;
        if (first == SW_TLS_FIRST_OTHER) {
            refuse_handshake(tls, connection, text);
            return false;
        }
    }
    int result =
        connection->first_byte_known ? sw_tls_handshake(&connection->stream) : SW_TLS_AGAIN;
    if (result == SW_TLS_FAILED) {
        refuse_handshake(tls, connection, tls->scratch.trouble);
        return false;
    }
    if (result == 1) {
        SW_COUNT(tls->options.counters, tls_handshakes, 1);
        leave(tls, connection);
        enter(tls, connection, OPEN, now_ms);
        if (!open_http(tls, connection)) {
            sw_log_limited(SW_LOG_HTTP, SW_LOG_ERROR, "HTTP by TLS: no descriptors");
            drop(tls, connection);
            return false;
        }
    }
    return true;
}

/* Each function returns true if bytes have moved, and sets *broken if the connection is broken. */

static bool read_peer(struct connection *connection, bool *broken)
{
    struct load *load = &connection->request;
    if (connection->peer_ended || !is_empty(load)) {
        return false;
    }
    int64_t got = sw_tls_read(&connection->stream, load->bytes, sizeof(load->bytes));
    load->begin = 0;
    load->end = got > 0 ? (size_t)got : 0;
    connection->peer_ended = got == SW_TLS_END || got == SW_TLS_CUT;
    *broken |= got == SW_TLS_FAILED;
    if (connection->peer_ended && connection->http >= 0) {
        shutdown(connection->http, SHUT_WR);
    }
    return got > 0;
}

static bool write_http(struct connection *connection)
{
    struct load *load = &connection->request;
    if (is_empty(load)) {
        return false;
    }
    ssize_t sent = connection->http < 0 ? (ssize_t)(load->end - load->begin)
                                        : send(connection->http, load->bytes + load->begin,
                                               load->end - load->begin, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) {
        sent = (ssize_t)(load->end - load->begin); /* the HTTP server does not read it: drop it */
    }
    load->begin += sent > 0 ? (size_t)sent : 0;
    return sent > 0;
}

static bool read_http(struct connection *connection)
{
    struct load *load = &connection->reply;
    if (connection->http < 0 || !is_empty(load)) {
        return false;
    }
    ssize_t got = recv(connection->http, load->bytes, sizeof(load->bytes), 0);
    load->begin = 0;
    load->end = got > 0 ? (size_t)got : 0;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        close(connection->http);
        connection->http = -1;
    }
    return got > 0;
}

static bool write_peer(struct connection *connection, bool *broken)
{
    struct load *load = &connection->reply;
    if (is_empty(load)) {
        return false;
    }
    const struct iovec part = {load->bytes + load->begin, load->end - load->begin};
    int64_t sent = sw_tls_write(&connection->stream, &part, 1);
    load->begin += sent > 0 ? (size_t)sent : 0;
    *broken |= sent == SW_TLS_FAILED;
    return sent > 0;
}

/* Sends the remaining bytes, then waits for the peer's end: closing a socket with unread input may
 * discard the reply. Returns false if the connection is over. */
static bool end(struct connection *connection)
{
    int sent = sw_tls_flush(&connection->stream);
    if (sent == 1) {
        shutdown(connection->peer, SHUT_WR);
    }
    connection->request.begin = connection->request.end = 0;
    return sent != SW_TLS_FAILED && !(sent == 1 && connection->peer_ended);
}

static void move(struct sw_http_tls *tls, struct connection *connection, uint64_t now_ms)
{
    bool broken = false, moved = true;
    if (connection->state == HANDSHAKE && !shake_hands(tls, connection, now_ms)) {
        return;
    }
    for (int i = 0; i < MOVES_MAX && connection->state != HANDSHAKE && moved && !broken; i++) {
        moved = read_peer(connection, &broken);
        moved |= write_http(connection);
        moved |= read_http(connection);
        moved |= write_peer(connection, &broken);
    }
    if (connection->state == OPEN && !broken && connection->http < 0 &&
        is_empty(&connection->reply)) {
        leave(tls, connection);
        enter(tls, connection, ENDING, now_ms);
        broken = sw_tls_end(&connection->stream) == SW_TLS_FAILED;
    }
    if (broken || (connection->state == ENDING && !end(connection))) {
        drop(tls, connection);
    } else {
        watch_both(tls, connection);
    }
}

/* --- accepting -------------------------------------------------------------------------------- */

static void open_connection(struct sw_http_tls *tls, int fd, uint64_t now_ms)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    SSL_CTX *context = sw_tls_credentials_context(tls->options.credentials);
    if (connection == NULL ||
        sw_tls_stream_open(&connection->stream, context, fd, true, &tls->scratch) != 0) {
        sw_log_limited(SW_LOG_NO_MEMORY, SW_LOG_ERROR, "no memory for a connection: it was closed");
        free(connection);
        close(fd);
    } else {
        connection->peer = fd;
        connection->http = -1;
        sw_list_init(&connection->link);
        if (tls->waiting_count == tls->options.limit) {
            make_room(tls);
        }
        enter(tls, connection, HANDSHAKE, now_ms);
        if (!watch(tls, connection, fd, EPOLLIN, true)) {
            drop(tls, connection);
        }
    }
    SSL_CTX_free(context);
}

/* Does nothing: without a handshake there is no way to send such a connection an error. */
static void refuse_fd(int fd)
{
    (void)fd;
}

static void accept_some(struct sw_http_tls *tls, uint64_t now_ms)
{
    int fd = sw_spare_fd_accept(&tls->spare, tls->options.listener);
    if (fd >= 0) {
        open_connection(tls, fd, now_ms);
        return;
    }
    const int error = errno;
    const enum sw_spare_fd_result result =
        sw_spare_fd_after(&tls->spare, tls->options.listener, error, refuse_fd);
    if (result == SW_SPARE_FD_REFUSED) {
        SW_COUNT(tls->options.counters, http_errors, 1);
        sw_log_limited(SW_LOG_HTTP, SW_LOG_WARNING,
                       "a connection by HTTPS was closed: accept: %s; raise LimitNOFILE= or "
                       "ulimit -n",
                       strerror(error));
    }
    if (result != SW_SPARE_FD_NONE) {
        return; /* epoll reports the next connection */
    }
    sw_log_limited(SW_LOG_HTTP, SW_LOG_WARNING, "https: accept: %s; trying again in %d ms",
                   strerror(error), ACCEPT_PAUSE_MS);
    tls->pause_ms = now_ms + ACCEPT_PAUSE_MS;
    watch_listener(tls, false);
}

/* --- the interface ---------------------------------------------------------------------------- */

int sw_http_tls_create(const struct sw_http_tls_options *options, struct sw_http_tls **out)
{
    struct sw_http_tls *tls = calloc(1, sizeof(*tls));
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = LISTENER};
    *out = NULL;
    if (tls == NULL) {
        return -1;
    }
    tls->options = *options;
    sw_spare_fd_open(&tls->spare);
    sw_list_init(&tls->waiting);
    sw_list_init(&tls->open);
    tls->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (sw_tls_scratch_init(&tls->scratch) != 0 || tls->epoll < 0 ||
        epoll_ctl(tls->epoll, EPOLL_CTL_ADD, options->listener, &event) != 0) {
        sw_http_tls_destroy(tls);
        return -1;
    }
    *out = tls;
    return 0;
}

void sw_http_tls_destroy(struct sw_http_tls *tls)
{
    if (tls == NULL) {
        return;
    }
    while (tls->waiting.next != &tls->waiting) {
        drop(tls, connection_at(tls->waiting.next));
    }
    while (tls->open.next != &tls->open) {
        drop(tls, connection_at(tls->open.next));
    }
    if (tls->epoll >= 0) {
        close(tls->epoll);
    }
    sw_spare_fd_close(&tls->spare);
    sw_tls_scratch_fini(&tls->scratch);
    free(tls);
}

int sw_http_tls_fd(const struct sw_http_tls *tls)
{
    return tls->epoll;
}

/* Fetches one event at a time, because handling an event may close a connection that has another
 * event. */
void sw_http_tls_run(struct sw_http_tls *tls, uint64_t now_ms)
{
    struct epoll_event event;
    for (int i = 0; i < EVENTS_MAX && epoll_wait(tls->epoll, &event, 1, 0) == 1; i++) {
        if (event.data.u64 == LISTENER) {
            accept_some(tls, now_ms);
            continue;
        }
        struct connection *connection =
            (struct connection *)(uintptr_t)(event.data.u64 & ~UINT64_C(1));
        bool is_peer = (event.data.u64 & 1) == 0;
        if (is_peer && (event.events & (EPOLLERR | EPOLLHUP)) != 0 &&
            connection->state != HANDSHAKE) {
            drop(tls, connection);
        } else {
            move(tls, connection, now_ms);
        }
    }
}

int sw_http_tls_expire(struct sw_http_tls *tls, uint64_t now_ms, int most_ms)
{
    uint64_t least_ms = (uint64_t)most_ms;
    if (tls->pause_ms != 0 && now_ms >= tls->pause_ms) {
        tls->pause_ms = 0;
        watch_listener(tls, true);
    }
    if (tls->pause_ms != 0 && tls->pause_ms - now_ms < least_ms) {
        least_ms = tls->pause_ms - now_ms;
    }
    while (tls->waiting.next != &tls->waiting) {
        struct connection *oldest = connection_at(tls->waiting.next);
        uint64_t age_ms = now_ms - oldest->since_ms;
        if (age_ms < tls->options.timeout_ms) {
            uint64_t left_ms = tls->options.timeout_ms - age_ms;
            return (int)(left_ms < least_ms ? left_ms : least_ms);
        }
        SW_COUNT(tls->options.counters, http_timeouts, 1);
        if (oldest->state == HANDSHAKE) {
            refuse_handshake(tls, oldest, "it took longer than http-timeout-ms");
        } else {
            drop(tls, oldest);
        }
    }
    return (int)least_ms;
}
