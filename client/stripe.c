/* SPDX-License-Identifier: MIT
 *
 * stripe.c - the state of the connections of a handle: which one takes a frame, what the descriptor
 * waits for, and how one ends.
 */
#include "client/stripe.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "client/error.h"
#include "client/handle.h"
#include "client/memory.h"

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

uint32_t sherwood_stripes(const struct sherwood *client)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; client != NULL && i < client->stripes_count; i++) {
        alive += client->stripes[i]->broken == 0;
    }
    return alive;
}

int sw_client_break(struct sw_client_stripe *stripe, int status, const char *format, ...)
{
    struct sherwood *client = stripe->client;
    assert(status != SHERWOOD_OK);
    if (stripe->broken != 0) {
        return stripe->broken;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(client->error, sizeof(client->error), format, arguments);
    va_end(arguments);
    stripe->broken = status;
    if (stripe->ring.in_flight > 0 && !sw_client_regions_part(stripe)) {
        const size_t size = strlen(client->error);
        snprintf(client->error + size, sizeof(client->error) - size,
                 "; the server may still write to arrays of these requests in regions: %s",
                 strerror(errno));
    }
    client->lost_writes |= stripe->has_written;
    stripe->queue_count = 0;
    stripe->receiving = NULL;
    for (uint32_t i = 0; i < SW_CLIENT_FLIGHTS_MAX; i++) {
        if (stripe->flights[i].id != 0) {
            sw_client_flight_finish(stripe, &stripe->flights[i], status, NULL);
        }
    }
    assert(stripe->in_flight == 0 && stripe->direct == 0 && stripe->ring.in_flight == 0);
    sw_client_stripe_watch(stripe);
    if (sherwood_stripes(client) == 0 && client->cluster == NULL) {
        client->broken = status;
    }
    return status;
}
