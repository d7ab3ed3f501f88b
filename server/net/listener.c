/* SPDX-License-Identifier: MIT
 *
 * listener.c - accepts a connection, chooses a loop, and puts the socket into the loop's inbox.
 */
#include "server/net/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/frame.h"
#include "server/config/live.h"
#include "server/limits.h"
#include "server/net/bind.h"
#include "server/net/spare_fd.h"
#include "server/observe/log.h"

struct socket {
    uv_poll_t poll;
    struct sw_listener *listener;
    int fd;
    bool is_unix;
    bool is_tls;
};

struct sw_listener {
    uv_loop_t uv;
    uv_async_t stop;
    uv_timer_t pause; /* runs while accepting is paused for lack of resources */
    struct sw_spare_fd spare;
    bool is_refusing; /* set when a pause ends: a connection that finds no descriptor is refused */
    uv_thread_t thread;
    const struct sw_config *config;
    struct sw_net *nets[SW_LOOPS_MAX]; /* one for each loop; borrowed */
    uint32_t loop_count;
    struct socket sockets[SW_ACTIVATED_MAX + 1]; /* the last is the socket for TLS */
    unsigned socket_count;
    uint16_t port;                 /* the TCP port; 0: none */
    uint16_t tls_port;             /* the port for TLS; 0: none */
    struct sw_bound_file file;     /* of unix-socket, which the listener removes */
    bool running;                  /* the thread has been started */
    uint64_t handed[SW_LOOPS_MAX]; /* connections given to each loop since the start */
    uint64_t rejected;             /* atomic: connections refused since the start */
};

/* --- accepting -------------------------------------------------------------------------------- */

/* Returns the index of the loop with the fewest connections, and in *total the number of
 * connections of all loops. */
static uint32_t choose_loop(struct sw_listener *listener, uint64_t *total)
{
    uint32_t best = 0;
    uint64_t fewest = UINT64_MAX;
    *total = 0;
    for (uint32_t i = 0; i < listener->loop_count; i++) {
        struct sw_loop_counters *counters = listener->nets[i]->counters;
        /* A connection counts as open once it was given to the loop, which opens it later. */
        uint64_t closed = __atomic_load_n(&counters->connections_closed, __ATOMIC_RELAXED);
        uint64_t open = listener->handed[i] - closed;
        *total += open;
        if (open < fewest) {
            fewest = open;
            best = i;
        }
    }
    return best;
}

/* Gives an accepted socket to a loop. A connection over connections-max goes to a loop too, because
 * only there its first byte shows in which protocol it must be refused. */
static void give_to_loop(struct sw_listener *listener, int fd, const struct socket *from)
{
    uint64_t total = 0;
    uint32_t i = choose_loop(listener, &total);
    bool is_refused = total >= sw_config_connections(listener->config);
    struct sw_inbox_item item = {fd, from->is_unix, from->is_tls, is_refused};
    if (sw_inbox_put(&listener->nets[i]->inbox, item) != 0) {
        sw_log_limited(SW_LOG_NO_MEMORY, SW_LOG_ERROR, "no memory for a connection: it was closed");
        close(fd);
        return;
    }
    listener->handed[i] += !is_refused;
    if (is_refused) {
        __atomic_store_n(&listener->rejected, listener->rejected + 1, __ATOMIC_RELAXED);
    }
}

static void on_acceptable(uv_poll_t *poll, int status, int events);

static void on_pause_over(uv_timer_t *timer)
{
    struct sw_listener *listener = timer->data;
    listener->is_refusing = true;
    for (unsigned i = 0; i < listener->socket_count; i++) {
        uv_poll_start(&listener->sockets[i].poll, UV_READABLE, on_acceptable);
    }
}

/* accept() failed for lack of resources. The connection stays in the backlog, and epoll would
 * report it again at once, so accepting pauses for a moment. At the end of the pause the client has
 * usually sent its first byte, which selects the protocol of the error. */
static void pause_accepting(struct sw_listener *listener)
{
    for (unsigned i = 0; i < listener->socket_count; i++) {
        uv_poll_stop(&listener->sockets[i].poll);
    }
    uv_timer_start(&listener->pause, on_pause_over, SW_ACCEPT_PAUSE_MS, 0);
}

/* The reply to a connection for which there is no descriptor. */
static void refuse_fd(int fd)
{
    static const char line[] = "-ERR max number of clients reached\r\n";
    const struct sw_reply reply = {
        .status = SW_REPLY_TOO_MANY_CONNECTIONS,
        .message = "the server has no file descriptor left",
    };
    uint8_t frame[SW_FRAME_HEAD_BYTES_MAX], first = 0;
    const int bytes = sw_reply_encode(&reply, 0, frame, sizeof(frame));
    if (recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && first == SW_FRAME_MAGIC && bytes > 0) {
        (void)!send(fd, frame, (size_t)bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        (void)!send(fd, line, sizeof(line) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* Refuses a connection on the TLS port: without a handshake the server can send no error. */
static void refuse_tls_fd(int fd)
{
    (void)fd;
}

/* accept() failed. Returns false if the backlog is empty, or if accepting pauses. */
static bool go_on_after(const struct socket *socket, int error)
{
    struct sw_listener *listener = socket->listener;
    const bool lacks_fd = sw_spare_fd_helps(error);
    if (lacks_fd && !listener->is_refusing) {
        pause_accepting(listener);
        return false;
    }
    switch (sw_spare_fd_after(&listener->spare, socket->fd, error,
                              socket->is_tls ? refuse_tls_fd : refuse_fd)) {
    case SW_SPARE_FD_AGAIN:
        return true;
    case SW_SPARE_FD_REFUSED:
        __atomic_store_n(&listener->rejected, listener->rejected + 1, __ATOMIC_RELAXED);
        sw_log_limited(SW_LOG_ACCEPT, SW_LOG_WARNING,
                       "a connection was refused: accept: %s; raise LimitNOFILE= or ulimit -n",
                       strerror(error));
        return true;
    case SW_SPARE_FD_EMPTY:
        listener->is_refusing = listener->is_refusing && !lacks_fd;
        return false;
    case SW_SPARE_FD_NONE:
        break;
    }
    sw_log_limited(SW_LOG_ACCEPT, SW_LOG_WARNING, "accept: %s; trying again in %d ms",
                   strerror(error), SW_ACCEPT_PAUSE_MS);
    pause_accepting(listener);
    return false;
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    struct socket *socket = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < SW_ACCEPT_BURST; i++) {
        int fd = sw_spare_fd_accept(&socket->listener->spare, socket->fd);
        if (fd >= 0) {
            socket->listener->is_refusing = false;
            give_to_loop(socket->listener, fd, socket);
        } else if (!go_on_after(socket, errno)) {
            return;
        }
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_stop(uv_async_t *async)
{
    struct sw_listener *listener = async->data;
    for (unsigned i = 0; i < listener->socket_count; i++) {
        uv_poll_stop(&listener->sockets[i].poll);
        uv_close((uv_handle_t *)&listener->sockets[i].poll, NULL);
    }
    uv_close((uv_handle_t *)&listener->pause, NULL);
    uv_close((uv_handle_t *)&listener->stop, NULL);
}

static void run_listener(void *argument)
{
    struct sw_listener *listener = argument;
    uv_run(&listener->uv, UV_RUN_DEFAULT);
}

static void add_socket(struct sw_listener *listener, int fd, bool is_unix, bool is_tls)
{
    struct socket *socket = &listener->sockets[listener->socket_count++];
    socket->fd = fd;
    socket->is_unix = is_unix;
    socket->is_tls = is_tls;
    socket->listener = listener;
}

static void adopt(struct sw_listener *listener, const struct sw_activated *activated)
{
    for (uint32_t i = 0; i < activated->listener_count; i++) {
        struct sockaddr_storage address;
        socklen_t size = sizeof(address);
        bool is_unix =
            getsockname(activated->listeners[i], (struct sockaddr *)&address, &size) == 0 &&
            address.ss_family == AF_UNIX;
        uint16_t port = is_unix ? 0 : sw_bound_port(activated->listeners[i]);
        add_socket(listener, activated->listeners[i], is_unix, activated->is_tls[i]);
        if (activated->is_tls[i]) {
            listener->tls_port = port;
        } else if (!is_unix) {
            listener->port = port;
        }
    }
}

/* The server binds the TLS port itself, even with socket activation. */
static int bind_tls(struct sw_listener *listener)
{
    const struct sw_config *config = listener->config;
    if (config->tls_port == 0) {
        return 0;
    }
    int fd = sw_bind_tcp(config->bind, (uint16_t)config->tls_port,
                         &(struct sw_bind_names){"bind", "tls-port"});
    if (fd < 0) {
        return -1;
    }
    add_socket(listener, fd, false, true);
    listener->tls_port = sw_bound_port(fd);
    return 0;
}

static int bind_configured(struct sw_listener *listener)
{
    const struct sw_config *config = listener->config;
    if (config->bind[0] != '\0' && config->tls_only == 0) {
        int fd = sw_bind_tcp(config->bind, (uint16_t)config->port,
                             &(struct sw_bind_names){"bind", "port"});
        if (fd < 0) {
            return -1;
        }
        add_socket(listener, fd, false, false);
        listener->port = sw_bound_port(fd);
    }
    if (config->unix_socket[0] != '\0') {
        int fd = sw_bind_unix(config->unix_socket, config->unix_socket_mode, &listener->file);
        if (fd < 0) {
            return -1;
        }
        add_socket(listener, fd, true, false);
    }
    return 0;
}

static void close_sockets(struct sw_listener *listener)
{
    sw_spare_fd_close(&listener->spare);
    sw_unbind_unix(listener->config->unix_socket, &listener->file); /* while it is open */
    for (unsigned i = 0; i < listener->socket_count; i++) {
        close(listener->sockets[i].fd);
    }
    listener->socket_count = 0;
}

int sw_listener_create(const struct sw_config *config, const struct sw_activated *activated,
                       struct sw_net *const *nets, uint32_t loop_count, struct sw_listener **out)
{
    struct sw_listener *listener = calloc(1, sizeof(*listener));
    *out = NULL;
    if (listener == NULL) {
        sw_log(SW_LOG_ERROR, "no memory for the listener");
        return -1;
    }
    listener->config = config;
    listener->spare.fd = -1;
    for (uint32_t i = 0; i < loop_count; i++) {
        listener->nets[i] = nets[i];
    }
    listener->loop_count = loop_count;
    if (activated != NULL && activated->listener_count > 0) {
        adopt(listener, activated);
    } else if (bind_configured(listener) != 0) {
        sw_listener_destroy(listener);
        return -1;
    }
    if (bind_tls(listener) != 0) {
        sw_listener_destroy(listener);
        return -1;
    }
    *out = listener;
    return 0;
}

int sw_listener_start(struct sw_listener *listener)
{
    int error = uv_loop_init(&listener->uv);
    if (error == 0) {
        error = uv_async_init(&listener->uv, &listener->stop, on_stop);
        if (error != 0) {
            uv_loop_close(&listener->uv);
        }
    }
    if (error != 0) {
        sw_log(SW_LOG_ERROR, "the listener cannot start: %s", uv_strerror(error));
        return -1;
    }
    sw_spare_fd_open(&listener->spare);
    uv_timer_init(&listener->uv, &listener->pause);
    listener->stop.data = listener;
    listener->pause.data = listener;
    for (unsigned i = 0; i < listener->socket_count; i++) {
        struct socket *socket = &listener->sockets[i];
        error = uv_poll_init(&listener->uv, &socket->poll, socket->fd);
        assert(error == 0); /* polling fails only for files and for descriptors polled twice */
        socket->poll.data = socket;
        uv_poll_start(&socket->poll, UV_READABLE, on_acceptable);
    }
    error = uv_thread_create(&listener->thread, run_listener, listener);
    if (error != 0) {
        sw_log(SW_LOG_ERROR, "cannot start the listener's thread: %s", uv_strerror(error));
        on_stop(&listener->stop);
        uv_run(&listener->uv, UV_RUN_DEFAULT);
        uv_loop_close(&listener->uv);
        return -1;
    }
    listener->running = true;
    return 0;
}

void sw_listener_stop(struct sw_listener *listener)
{
    if (listener == NULL) {
        return;
    }
    if (listener->running) {
        uv_async_send(&listener->stop);
        uv_thread_join(&listener->thread);
        uv_loop_close(&listener->uv);
        listener->running = false;
    }
    close_sockets(listener);
}

void sw_listener_destroy(struct sw_listener *listener)
{
    sw_listener_stop(listener);
    free(listener);
}

uint16_t sw_listener_port(const struct sw_listener *listener)
{
    return listener->port;
}

uint16_t sw_listener_tls_port(const struct sw_listener *listener)
{
    return listener->tls_port;
}

uint64_t sw_listener_rejected(const struct sw_listener *listener)
{
    return __atomic_load_n(&listener->rejected, __ATOMIC_RELAXED);
}
