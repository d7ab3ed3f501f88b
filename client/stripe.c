/* SPDX-License-Identifier: MIT
 *
 * stripe.c - one connection of a handle: dial, greet, choose, close.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/dial.h"
#include "client/internal.h"

static void set_buffer(int fd, int name, int force, uint32_t bytes)
{
    int size = (int)bytes;
    if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof size) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, name, &size, sizeof size);
    }
}

/* A Unix socket does not tune itself, and what it holds is bounded by its sending side. */
static void set_buffers(struct sw_stripe *stripe, const struct sherwood_options *options)
{
    uint32_t send_bytes = options == NULL ? 0 : options->send_buffer_bytes;
    uint32_t receive_bytes = options == NULL ? 0 : options->receive_buffer_bytes;
    if (send_bytes == 0 && !stripe->is_tcp) {
        send_bytes = SW_CLIENT_UNIX_SEND_BYTES;
    }
    if (send_bytes != 0) {
        set_buffer(stripe->fd, SO_SNDBUF, SO_SNDBUFFORCE, send_bytes);
    }
    if (receive_bytes != 0) {
        set_buffer(stripe->fd, SO_RCVBUF, SO_RCVBUFFORCE, receive_bytes);
    }
}

/* The first exchange: what is the server? */
static int greet(struct sw_stripe *stripe, struct sw_reply *greeting)
{
    struct sw_client_call call = {.flights = 1, .reply = greeting};
    const struct sw_client_frame frame = {.header = {.operation = SW_OPERATION_HELLO}};
    struct sw_client_flight *flight = sw_client_flight_queue(stripe, &frame);
    if (flight == NULL) {
        return sw_client_fail(stripe->client, SHERWOOD_E_INVALID, "the greeting is not encoded");
    }
    flight->call = &call;
    return sw_client_finish_call(stripe->client, &call);
}

struct sw_stripe *sw_stripe_open(struct sherwood *client, const char *address,
                                 const struct sherwood_options *options, struct sw_reply *greeting,
                                 int *status, char *text, size_t text_bytes)
{
    int connect_ms = options == NULL || options->connect_timeout_ms <= 0
                         ? SW_CLIENT_CONNECT_TIMEOUT_MS
                         : options->connect_timeout_ms;
    struct sw_stripe *stripe = calloc(1, sizeof *stripe);
    if (stripe == NULL) {
        snprintf(text, text_bytes, "not enough memory for a connection (%zu bytes)",
                 sizeof *stripe);
        *status = SHERWOOD_E_NOMEM;
        return NULL;
    }
    stripe->client = client;
    stripe->fd = stripe->pipe[0] = stripe->pipe[1] = -1;
    stripe->lowat = 1;
    *status = sw_client_dial(address, connect_ms, &stripe->fd, text, text_bytes);
    if (*status != SHERWOOD_OK) {
        sw_stripe_close(stripe);
        return NULL;
    }
    int domain = AF_UNIX;
    socklen_t size = sizeof domain;
    (void)getsockopt(stripe->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    stripe->is_tcp = domain != AF_UNIX;
    set_buffers(stripe, options);
    client->stripes[client->stripes_count++] = stripe;
    int request_ms = client->request_timeout_ms;
    client->request_timeout_ms = connect_ms;
    *status = greet(stripe, greeting);
    client->request_timeout_ms = request_ms;
    if (*status == SHERWOOD_OK) {
        return stripe;
    }
    snprintf(text, text_bytes, "%s", client->error);
    client->stripes_count--;
    sw_stripe_close(stripe);
    return NULL;
}

void sw_stripe_close(struct sw_stripe *stripe)
{
    if (stripe == NULL) {
        return;
    }
    if (stripe->fd >= 0) {
        close(stripe->fd);
    }
    for (int i = 0; i < 2; ++i) {
        if (stripe->pipe[i] >= 0) {
            close(stripe->pipe[i]);
        }
    }
    free(stripe);
}

bool sw_stripe_is_free(const struct sw_stripe *stripe)
{
    return stripe->broken == 0 && stripe->in_flight < stripe->client->flights_max;
}

struct sw_stripe *sw_stripe_pick(struct sherwood *client)
{
    struct sw_stripe *best = NULL;
    uint32_t at = client->next;
    for (uint32_t i = 0; i < client->stripes_count; ++i) {
        uint32_t n = (at + i) % client->stripes_count;
        struct sw_stripe *stripe = client->stripes[n];
        if (sw_stripe_is_free(stripe) && (best == NULL || stripe->in_flight < best->in_flight)) {
            best = stripe;
            client->next = (n + 1) % client->stripes_count;
        }
    }
    return best;
}

void sw_stripe_watch(struct sw_stripe *stripe)
{
    bool wants_write = stripe->queue_count > 0 && stripe->send_errno == 0;
    if (stripe->client->epoll < 0) {
        return;
    }
    if (stripe->broken != 0) {
        (void)epoll_ctl(stripe->client->epoll, EPOLL_CTL_DEL, stripe->fd, NULL);
    } else if (wants_write != stripe->watches_write) {
        struct epoll_event event = {.events = EPOLLIN | (wants_write ? (uint32_t)EPOLLOUT : 0U)};
        (void)epoll_ctl(stripe->client->epoll, EPOLL_CTL_MOD, stripe->fd, &event);
        stripe->watches_write = wants_write;
    }
}
