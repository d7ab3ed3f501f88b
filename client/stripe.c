/* SPDX-License-Identifier: MIT
 *
 * stripe.c - the connections of a handle: opening, exchanging HELLO, choosing one, closing.
 */
#include "client/stripe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "client/error.h"
#include "client/handle.h"
#include "client/send.h"
#include "client/wait.h"

/* Copies the login of the options. Returns false if it is too long. */
static bool take_login(const struct sherwood_options *options, struct sw_frame_login *login)
{
    *login =
        (struct sw_frame_login){.is_there = options->user != NULL || options->password != NULL};
    size_t user = options->user != NULL ? strlen(options->user) : 0;
    size_t password = options->password != NULL ? strlen(options->password) : 0;
    if (user >= sizeof(login->user) || password > sizeof(login->password)) {
        return false;
    }
    memcpy(login->user, options->user != NULL ? options->user : "", user);
    memcpy(login->password, options->password != NULL ? options->password : "", password);
    login->password_bytes = (uint32_t)password;
    return true;
}

/* Waits for the greeting, for the whole of which there is one limit: a peer that sends a byte now
 * and then does not hold a program that connects. */
static int await_greeting(struct sw_client_stripe *stripe, struct sw_client_call *call)
{
    struct sherwood *client = stripe->client;
    const uint64_t begin = client->clock;
    const uint64_t limit = (uint64_t)client->request_timeout_ms;
    sw_client_send(stripe);
    while (call->flights > 0) {
        const uint64_t passed = client->clock - begin;
        if (passed >= limit) {
            sw_client_break(stripe, SHERWOOD_E_TIMEOUT,
                            "%s: connected, but the greeting was not complete within %d ms: is it "
                            "a Sherwood server, or is it overloaded?",
                            stripe->address, client->request_timeout_ms);
            break;
        }
        sw_client_step(client, (int)(limit - passed));
    }
    return call->status;
}

/* Sends HELLO, with the login if there is one, and waits for the reply, which has the facts of the
 * server. */
static int greet(struct sw_client_stripe *stripe, const struct sherwood_options *options,
                 struct sw_reply *greeting)
{
    struct sw_client_call call = {.flights = 1, .reply = greeting};
    struct sw_frame_login login;
    uint8_t login_head[SW_FRAME_HEAD_BYTES_MAX];
    if (!take_login(options, &login)) {
        return sw_client_fail(stripe->client, SHERWOOD_E_INVALID,
                              "connect: a user has at most %d bytes, a password %d",
                              SW_FRAME_USER_BYTES - 1, SW_FRAME_PASSWORD_BYTES);
    }
    const struct sw_client_frame frame = {.header = {.operation = SW_OPERATION_HELLO},
                                          .login = login.is_there ? &login : NULL,
                                          .login_head = login_head};
    struct sw_client_flight *flight = sw_client_flight_queue(stripe, &frame);
    if (flight == NULL) {
        return sw_client_fail(stripe->client, SHERWOOD_E_INVALID, "the greeting is not encoded");
    }
    flight->call = &call;
    int status = await_greeting(stripe, &call);
    explicit_bzero(&login, sizeof(login));
    explicit_bzero(login_head, sizeof(login_head));
    return status;
}

struct sw_client_stripe *
sw_client_stripe_open(struct sherwood *client, const struct sw_client_dialer *dialer,
                      const char *address, const struct sherwood_options *options,
                      struct sw_reply *greeting, int *status, char *text, size_t text_bytes)
{
    int connect_ms = options->connect_timeout_ms <= 0 ? SW_CLIENT_CONNECT_TIMEOUT_MS
                                                      : options->connect_timeout_ms;
    struct sw_client_stripe *stripe = calloc(1, sizeof(*stripe));
    if (stripe == NULL) {
        snprintf(text, text_bytes, "not enough memory for a connection (%zu bytes)",
                 sizeof(*stripe));
        *status = SHERWOOD_E_NOMEM;
        return NULL;
    }
    stripe->client = client;
    stripe->number = ++client->stripes_made;
    stripe->low_water = 1;
    sw_client_clean(address, strlen(address), stripe->address, sizeof(stripe->address));
    stripe->transport =
        dialer->open(dialer, address, options, connect_ms, status, text, text_bytes);
    if (stripe->transport == NULL) {
        sw_client_stripe_close(stripe);
        return NULL;
    }
    stripe->transport->traffic = &client->traffic;
    client->stripes[client->stripes_count++] = stripe;
    int request_ms = client->request_timeout_ms;
    client->request_timeout_ms = connect_ms;
    *status = greet(stripe, options, greeting);
    client->request_timeout_ms = request_ms;
    if (*status == SHERWOOD_OK) {
        return stripe;
    }
    snprintf(text, text_bytes, "%s", client->error);
    client->stripes_count--;
    sw_client_stripe_close(stripe);
    return NULL;
}

void sw_client_stripe_close(struct sw_client_stripe *stripe)
{
    if (stripe == NULL) {
        return;
    }
    if (stripe->transport != NULL) {
        stripe->transport->calls->close(stripe->transport);
    }
    sw_client_ring_close(&stripe->ring);
    free(stripe);
}

bool sw_client_stripe_is_free(const struct sw_client_stripe *stripe)
{
    return stripe->broken == 0 && stripe->in_flight < stripe->client->flights_max;
}

int sw_client_stripe_for(struct sherwood *client, struct sw_client_frame *frame,
                         struct sw_client_stripe **out)
{
    const int status = sw_client_ring_place(client, frame);
    *out = NULL;
    if (status == SHERWOOD_OK && !frame->by_ring) {
        *out = sw_client_stripe_pick(client);
    } else if (status == SHERWOOD_OK && sw_client_stripe_is_free(client->stripes[0])) {
        *out = client->stripes[0];
    }
    return status;
}

struct sw_client_stripe *sw_client_stripe_pick(struct sherwood *client)
{
    struct sw_client_stripe *best = NULL;
    uint32_t at = client->next;
    for (uint32_t i = 0; i < client->stripes_count; i++) {
        uint32_t n = (at + i) % client->stripes_count;
        struct sw_client_stripe *stripe = client->stripes[n];
        if (sw_client_stripe_is_free(stripe) &&
            (best == NULL || stripe->in_flight < best->in_flight)) {
            best = stripe;
            client->next = (n + 1) % client->stripes_count;
        }
    }
    return best;
}

void sw_client_stripe_watch(struct sw_client_stripe *stripe)
{
    bool wants_write = stripe->queue_count > 0 && stripe->send_errno == 0;
    if (stripe->client->epoll < 0) {
        return;
    }
    const struct sw_client_transport *transport = stripe->transport;
    if (stripe->broken != 0) {
        (void)epoll_ctl(stripe->client->epoll, EPOLL_CTL_DEL, transport->fd, NULL);
    } else if (wants_write != stripe->watches_write) {
        int events = transport->read_events | (wants_write ? transport->write_events : 0);
        struct epoll_event event = {.events = (uint32_t)events};
        (void)epoll_ctl(stripe->client->epoll, EPOLL_CTL_MOD, transport->fd, &event);
        stripe->watches_write = wants_write;
    }
}
