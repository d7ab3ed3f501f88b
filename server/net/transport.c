/* SPDX-License-Identifier: MIT
 *
 * transport.c - the transport for unencrypted TCP and Unix sockets, on libuv.
 */
#include "server/net/transport.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "server/list.h"

/* After this many seconds without traffic the kernel sends a keepalive probe to a TCP peer. */
#define KEEPALIVE_SECONDS 60

static struct sw_transport *transport_of(uv_handle_t *handle)
{
    return SW_CONTAINER(handle, struct sw_transport, uv.handle);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct sw_transport *transport = transport_of(handle);
    (void)suggested;
    *buffer = transport->events->room(transport);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct sw_transport *transport = transport_of((uv_handle_t *)stream);
    if (count != 0) { /* libuv reports EAGAIN as 0 */
        transport->events->received(transport, count, (uint8_t *)buffer->base);
    }
}

static void on_written(uv_write_t *write, int status)
{
    struct sw_transport *transport = SW_CONTAINER(write, struct sw_transport, write);
    transport->writing = false;
    transport->events->written(transport, status);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    (void)request;
    (void)status; /* reading reports a broken connection too */
}

static void on_closed(uv_handle_t *handle)
{
    struct sw_transport *transport = transport_of(handle);
    assert(!transport->writing); /* libuv cancels writes before it closes a handle */
    transport->events->closed(transport);
}

static void read_start(struct sw_transport *transport)
{
    assert(!uv_is_closing(&transport->uv.handle));
    uv_read_start(&transport->uv.stream, on_alloc, on_read);
}

static void read_stop(struct sw_transport *transport)
{
    uv_read_stop(&transport->uv.stream);
}

static int try_write(struct sw_transport *transport, const uv_buf_t *pieces, unsigned count)
{
    return uv_try_write(&transport->uv.stream, pieces, count);
}

static int write_all(struct sw_transport *transport, const uv_buf_t *pieces, unsigned count)
{
    assert(!transport->writing);
    return uv_write(&transport->write, &transport->uv.stream, pieces, count, on_written);
}

static uint64_t queued_bytes(const struct sw_transport *transport)
{
    return uv_stream_get_write_queue_size(&transport->uv.stream);
}

static void shut_down(struct sw_transport *transport)
{
    assert(!uv_is_closing(&transport->uv.handle));
    uv_shutdown(&transport->shutdown, &transport->uv.stream, on_shutdown);
}

static void close_handle(struct sw_transport *transport)
{
    assert(!uv_is_closing(&transport->uv.handle));
    uv_close(&transport->uv.handle, on_closed);
}

const struct sw_transport_functions sw_transport_plain = {
    .read_start = read_start,
    .read_stop = read_stop,
    .try_write = try_write,
    .write = write_all,
    .queued_bytes = queued_bytes,
    .shutdown = shut_down,
    .close = close_handle,
};

static void size_buffer(int fd, int which, uint64_t bytes)
{
    int size = (int)bytes;
    if (bytes > 0) {
        setsockopt(fd, SOL_SOCKET, which, &size, sizeof(size));
    }
}

void sw_socket_tune_tcp(int fd, struct sw_socket_sizes sizes)
{
    int on = 1, seconds = KEEPALIVE_SECONDS;
    size_buffer(fd, SO_SNDBUF, sizes.tcp);
    size_buffer(fd, SO_RCVBUF, sizes.tcp);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
}

int sw_transport_open(struct sw_transport *transport, uv_loop_t *uv, int fd, bool is_unix,
                      struct sw_socket_sizes sizes, const struct sw_transport_events *events)
{
    memset(transport, 0, sizeof(*transport));
    transport->functions = &sw_transport_plain;
    transport->events = events;
    if (is_unix) {
        size_buffer(fd, SO_SNDBUF, sizes.unix_socket);
        uv_pipe_init(uv, &transport->uv.pipe, 0);
        return uv_pipe_open(&transport->uv.pipe, fd);
    }
    sw_socket_tune_tcp(fd, sizes);
    uv_tcp_init(uv, &transport->uv.tcp);
    return uv_tcp_open(&transport->uv.tcp, fd);
}
