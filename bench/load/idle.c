/* SPDX-License-Identifier: MIT
 *
 * idle.c - opens silent connections (see idle.h).
 */
#include "bench/load/idle.h"

#include "bench/load/connect.h"
#include "bench/load/worker.h"
#include "client/error.h"
#include "proto/plural.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors that the run needs beside the idle connections. */
#define DESCRIPTORS_MORE 8192
#define ANSWER_BYTES 128

static void raise_limit(uint32_t count)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        rlim_t wanted = (rlim_t)count + DESCRIPTORS_MORE;
        rlim_t most = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        if (limit.rlim_cur < most) {
            limit.rlim_cur = most;
            (void)setrlimit(RLIMIT_NOFILE, &limit);
        }
    }
}

/* Sends a PING and reads the reply. Returns false with a sentence. */
static bool greet(int fd, char *error)
{
    static const char ping[] = "PING\r\n", pong[] = "+PONG\r\n";
    char answer[ANSWER_BYTES] = "";
    size_t have = 0;
    if (send(fd, ping, sizeof(ping) - 1, MSG_NOSIGNAL) != (ssize_t)(sizeof(ping) - 1)) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "idle connection: %s", strerror(errno));
        return false;
    }
    while (!strchr(answer, '\n') && have < sizeof(answer) - 1) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, SW_LOAD_CONNECT_MS) <= 0) {
            snprintf(error, SW_LOAD_ERROR_BYTES, "idle connection: no reply to PING");
            return false;
        }
        ssize_t got = recv(fd, answer + have, sizeof(answer) - 1 - have, 0);
        if (got <= 0) {
            snprintf(error, SW_LOAD_ERROR_BYTES, "idle connection: the server closed it");
            return false;
        }
        have += (size_t)got;
    }
    if (strcmp(answer, pong) != 0) {
        char said[sizeof(answer)];
        sw_client_clean(answer, strcspn(answer, "\r\n"), said, sizeof(said));
        snprintf(error, SW_LOAD_ERROR_BYTES, "idle connection: the reply to PING was: %s", said);
        return false;
    }
    return true;
}

int sw_load_idle_open(struct sw_load_idle *idle, const char *address, uint32_t count, char *error)
{
    char text[SW_LOAD_ERROR_BYTES / 2];
    *idle = (struct sw_load_idle){.count = 0};
    if (count == 0) {
        return SW_LOAD_OK;
    }
    raise_limit(count);
    idle->sockets = calloc(count, sizeof(*idle->sockets));
    if (!idle->sockets) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for %u connection%s", count,
                 sw_plural_s(count));
        return SW_LOAD_E_NOMEM;
    }
    while (idle->count < count) {
        int fd = sw_load_connect(address, SW_LOAD_CONNECT_MS, text, sizeof(text));
        if (fd < 0) {
            snprintf(error, SW_LOAD_ERROR_BYTES, "idle connection %u of %u: %s", idle->count + 1,
                     count, text);
            return SW_LOAD_E_PEER;
        }
        idle->sockets[idle->count++] = fd;
        if (!greet(fd, error)) {
            return SW_LOAD_E_PEER;
        }
    }
    return SW_LOAD_OK;
}

uint32_t sw_load_idle_alive(const struct sw_load_idle *idle)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; i < idle->count; i++) {
        char byte;
        ssize_t got = recv(idle->sockets[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK);
        alive += got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }
    return alive;
}

void sw_load_idle_fini(struct sw_load_idle *idle)
{
    for (uint32_t i = 0; i < idle->count; i++) {
        close(idle->sockets[i]);
    }
    free(idle->sockets);
    *idle = (struct sw_load_idle){.count = 0};
}
