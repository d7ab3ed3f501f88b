/* SPDX-License-Identifier: MIT
 *
 * fake_server.c - the thread, and frames over a blocking socket.
 */
#include "tests/support/fake_server.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void need(bool good, const char *what)
{
    if (!good) {
        perror(what);
        abort();
    }
}

struct connection {
    struct sw_fake_server *server;
    int fd;
};

static void *serve_one(void *argument)
{
    struct connection *connection = argument;
    connection->server->script(connection->fd, connection->server->user);
    shutdown(connection->fd, SHUT_RDWR);
    free(connection);
    return NULL;
}

static void *serve(void *argument)
{
    struct sw_fake_server *server = argument;
    for (;;) {
        int fd = accept(server->listener, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        if ((server->flags & SW_FAKE_PARALLEL) == 0) {
            server->script(fd, server->user);
            close(fd);
            continue;
        }
        int n = server->connections;
        struct connection *connection = malloc(sizeof(*connection));
        need(connection != NULL && n < SW_FAKE_CONNECTIONS_MAX, "another connection");
        *connection = (struct connection){server, fd};
        server->fds[n] = fd;
        need(pthread_create(&server->threads[n], NULL, serve_one, connection) == 0, "thread");
        server->connections++;
    }
}

static void listen_unix(struct sw_fake_server *server)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strcpy(server->folder, "/tmp/sherwood-fake-XXXXXX");
    need(mkdtemp(server->folder) != NULL, "mkdtemp");
    snprintf(name.sun_path, sizeof(name.sun_path), "%s/s", server->folder);
    snprintf(server->address, sizeof(server->address), "unix:%s/s", server->folder);
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(server->listener >= 0, "socket");
    need(bind(server->listener, (struct sockaddr *)&name, sizeof(name)) == 0, "bind");
}

static void listen_tcp(struct sw_fake_server *server)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(name);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(server->listener >= 0, "socket");
    need(bind(server->listener, (struct sockaddr *)&name, size) == 0, "bind");
    need(getsockname(server->listener, (struct sockaddr *)&name, &size) == 0, "getsockname");
    snprintf(server->address, sizeof(server->address), "127.0.0.1:%u", ntohs(name.sin_port));
}

void sw_fake_start_with(struct sw_fake_server *server, void (*script)(int fd, void *user),
                        void *user, int flags)
{
    *server = (struct sw_fake_server){.script = script, .user = user, .flags = flags};
    if ((flags & SW_FAKE_TCP) != 0) {
        listen_tcp(server);
    } else {
        listen_unix(server);
    }
    need(listen(server->listener, SW_FAKE_CONNECTIONS_MAX) == 0, "listen");
    need(pthread_create(&server->thread, NULL, serve, server) == 0, "pthread_create");
}

void sw_fake_start(struct sw_fake_server *server, void (*script)(int fd, void *user), void *user)
{
    sw_fake_start_with(server, script, user, 0);
}

void sw_fake_stop(struct sw_fake_server *server)
{
    char path[sizeof(server->folder) + 4];
    /* Wakes accept. */
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    for (int i = 0; i < server->connections; i++) {
        pthread_join(server->threads[i], NULL);
        close(server->fds[i]);
    }
    close(server->listener);
    if ((server->flags & SW_FAKE_TCP) == 0) {
        snprintf(path, sizeof(path), "%s/s", server->folder);
        unlink(path);
        rmdir(server->folder);
    }
}

static bool read_exactly(int fd, uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t got = recv(fd, bytes, size, 0);
        if (got <= 0) {
            return false;
        }
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

bool sw_fake_write(int fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool sw_fake_read(int fd, struct sw_request *request, uint8_t *body, size_t room)
{
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_frame_prefix prefix;
    if (!read_exactly(fd, head, SW_FRAME_PREFIX_BYTES) ||
        sw_frame_prefix_decode(head, SW_FRAME_PREFIX_BYTES, UINT64_MAX, &prefix) <= 0) {
        return false;
    }
    size_t rest = (size_t)sw_frame_head_bytes(prefix.header_bytes) - SW_FRAME_PREFIX_BYTES;
    return read_exactly(fd, head + SW_FRAME_PREFIX_BYTES, rest) &&
           sw_request_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, request) == 0 &&
           prefix.body_bytes <= room && read_exactly(fd, body, (size_t)prefix.body_bytes);
}

bool sw_fake_reply(int fd, const struct sw_reply *reply, const uint8_t *body, size_t body_bytes)
{
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    int size = sw_reply_encode(reply, body_bytes, head, sizeof(head));
    return size > 0 && sw_fake_write(fd, head, (size_t)size) && sw_fake_write(fd, body, body_bytes);
}

bool sw_fake_hello(int fd, uint32_t key_bytes, uint32_t value_bytes, uint32_t ops_max,
                   uint32_t in_flight_max)
{
    struct sw_request request;
    if (!sw_fake_read(fd, &request, NULL, 0) || request.operation != SW_OPERATION_HELLO) {
        return false;
    }
    struct sw_reply reply = {.request_id = request.request_id, .has_info = true};
    reply.info = (struct sw_server_info){.version = "fake",
                                         .backend = "cpu",
                                         .backend_reason = "a test",
                                         .key_bytes = key_bytes,
                                         .value_bytes = value_bytes,
                                         .frame_ops_max = ops_max,
                                         .requests_in_flight_max = in_flight_max,
                                         .capacity_slots = 1000,
                                         .occupied_max = 850};
    return sw_fake_reply(fd, &reply, NULL, 0);
}

struct sw_reply sw_fake_ok(const struct sw_request *request)
{
    return (struct sw_reply){.request_id = request->request_id,
                             .count = request->count,
                             .key_bytes = request->key_bytes,
                             .value_bytes = request->value_bytes,
                             .has_values = request->want_values,
                             .lacks_found = request->declines_found};
}
