/* SPDX-License-Identifier: MIT
 *
 * resp.c - the load by RESP: one epoll loop a thread over its connections.
 *
 * Connections without a unit in flight wait in a queue. The first of them takes the next unit. If
 * the unit is not due yet, the connection is the armed one until a timer fires. In closed loop the
 * connection sends at once.
 */
#include "bench/load/connect.h"
#include "bench/load/resp_client.h"
#include "proto/plural.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 64

struct resp {
    int epoll;
    struct sw_load_secure secure;
    uint32_t count;
    uint32_t unit_keys;
    struct sw_load_resp_client *clients;
    struct sw_load_resp_client **idle; /* the queue: a ring of `count` elements */
    uint32_t idle_first;
    uint32_t idle_count;
    struct sw_load_resp_client *armed; /* the connection with a unit that is not due yet */
    uint32_t busy;                     /* clients with a unit in flight */
    int timer;                         /* fires when the armed unit is due; -1 in closed loop */
};

static void resp_destroy(void *context)
{
    struct resp *resp = context;
    if (!resp) {
        return;
    }
    for (uint32_t i = 0; i < resp->count; i++) {
        sw_load_resp_fini(&resp->clients[i]);
    }
    sw_load_secure_fini(&resp->secure);
    if (resp->epoll >= 0) {
        close(resp->epoll);
    }
    if (resp->timer >= 0) {
        close(resp->timer);
    }
    free(resp->idle);
    free(resp->clients);
    free(resp);
}

static int watch(struct resp *resp, struct sw_load_resp_client *client, int operation)
{
    struct epoll_event event = {
        .events = EPOLLIN | (client->wants_write ? (uint32_t)EPOLLOUT : 0U),
        .data.ptr = client,
    };
    client->polls_write = client->wants_write;
    return epoll_ctl(resp->epoll, operation, client->link.fd, &event);
}

/* Events without a client are the timer's. */
static int open_timer(struct resp *resp)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    resp->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return resp->timer < 0 ? -1 : epoll_ctl(resp->epoll, EPOLL_CTL_ADD, resp->timer, &event);
}

static int resp_connect(const struct sw_load_options *options, uint32_t count, void **out,
                        struct sw_load_server *server, char *error)
{
    int status = SW_LOAD_E_NOMEM;
    *out = NULL;
    snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for %u connection%s", count,
             sw_plural_s(count));
    struct resp *resp = calloc(1, sizeof(*resp));
    if (!resp) {
        return status;
    }
    resp->unit_keys = options->depth * (options->operation == SW_LOAD_MGET ? options->mget : 1);
    resp->timer = -1;
    resp->epoll = epoll_create1(EPOLL_CLOEXEC);
    resp->clients = calloc(count, sizeof(*resp->clients));
    resp->idle = calloc(count, sizeof(struct sw_load_resp_client *));
    if (resp->epoll < 0 || !resp->clients || !resp->idle) {
        goto fail;
    }
    if (options->rate && open_timer(resp)) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "timer: %s", strerror(errno));
        goto fail;
    }
    status = sw_load_secure_init(&resp->secure, options, error);
    if (status) {
        goto fail;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct sw_load_resp_client *client = &resp->clients[i];
        status = sw_load_link_open(&client->link, &resp->secure, options->address, error);
        if (status == SW_LOAD_OK) {
            resp->count++;
            status = sw_load_link_login(&client->link, options, error);
        }
        if (status) {
            goto fail;
        }
        status = SW_LOAD_E_NOMEM;
        if (watch(resp, client, EPOLL_CTL_ADD)) {
            snprintf(error, SW_LOAD_ERROR_BYTES, "epoll: %s", strerror(errno));
            goto fail;
        }
    }
    server->key_bytes = options->key_bits / 8;
    server->format = options->value_bytes ? SW_LOAD_VALUES_FIXED : SW_LOAD_VALUES_INTEGER;
    server->value_bytes = options->value_bytes ? options->value_bytes : options->key_bits / 8;
    server->content_bytes = options->value_bytes;
    error[0] = '\0';
    *out = resp;
    return SW_LOAD_OK;
fail:
    resp_destroy(resp);
    return status;
}

static int resp_prepare(void *context, const struct sw_load_setup *setup, uint32_t first,
                        char *error)
{
    struct resp *resp = context;
    for (uint32_t i = 0; i < resp->count; i++) {
        if (sw_load_resp_prepare(&resp->clients[i], setup, resp->unit_keys, first + i)) {
            snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for pipelines of %u key%s",
                     resp->unit_keys, sw_plural_s(resp->unit_keys));
            return SW_LOAD_E_NOMEM;
        }
    }
    return SW_LOAD_OK;
}

static void put_idle(struct resp *resp, struct sw_load_resp_client *client)
{
    resp->idle[(resp->idle_first + resp->idle_count) % resp->count] = client;
    resp->idle_count++;
}

static struct sw_load_resp_client *take_idle(struct resp *resp)
{
    struct sw_load_resp_client *client = resp->idle[resp->idle_first];
    resp->idle_first = (resp->idle_first + 1) % resp->count;
    resp->idle_count--;
    return client;
}

static int poll_for_room(struct sw_load_worker *worker, struct sw_load_resp_client *client)
{
    if (client->wants_write != client->polls_write &&
        watch(worker->connections, client, EPOLL_CTL_MOD)) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "epoll: %s", strerror(errno));
    }
    return SW_LOAD_OK;
}

/* Makes the first client of the queue that gets a unit the armed one. Clients without a unit leave
 * the queue. */
static void arm(struct sw_load_worker *worker)
{
    struct resp *resp = worker->connections;
    while (!resp->armed && resp->idle_count) {
        struct sw_load_resp_client *client = take_idle(resp);
        if (sw_load_resp_take(client, worker)) {
            resp->armed = client;
        }
    }
}

/* Sends the units that are due, and sets the timer for the armed one. */
static int send_due(struct sw_load_worker *worker)
{
    struct resp *resp = worker->connections;
    arm(worker);
    while (resp->armed) {
        struct sw_load_resp_client *client = resp->armed;
        uint64_t due = client->unit.due_ns;
        if (due && due > sw_load_now_ns()) {
            const struct itimerspec time = {.it_value.tv_sec = (time_t)(due / 1000000000U),
                                            .it_value.tv_nsec = (long)(due % 1000000000U)};
            timerfd_settime(resp->timer, TFD_TIMER_ABSTIME, &time, NULL);
            return SW_LOAD_OK;
        }
        int status = sw_load_resp_send(client, worker);
        if (status == SW_LOAD_OK) {
            status = poll_for_room(worker, client);
        }
        if (status) {
            return status;
        }
        resp->armed = NULL;
        resp->busy++;
        arm(worker);
    }
    return SW_LOAD_OK;
}

/* Handles the events of one connection: sends, receives, and returns an idle connection to the
 * queue. */
static int handle(struct sw_load_worker *worker, struct sw_load_resp_client *client,
                  uint32_t events)
{
    struct resp *resp = worker->connections;
    const bool was_busy = client->unit.count != 0 && client != resp->armed;
    int status = SW_LOAD_OK;
    if (events & EPOLLOUT) {
        status = sw_load_resp_flush(client, worker);
    }
    if (status == SW_LOAD_OK && (events & ~(uint32_t)EPOLLOUT)) {
        status = sw_load_resp_read(client, worker);
    }
    if (status) {
        return status;
    }
    if (was_busy && client->unit.count == 0) {
        resp->busy--;
        put_idle(resp, client);
    }
    return poll_for_room(worker, client);
}

static void start_all(struct sw_load_worker *worker)
{
    struct resp *resp = worker->connections;
    resp->idle_first = resp->idle_count = resp->busy = 0;
    resp->armed = NULL;
    for (uint32_t i = 0; i < resp->count; i++) {
        struct sw_load_resp_client *client = &resp->clients[i];
        client->unit.count = 0;
        sw_load_partition_rewind(&client->partition);
        put_idle(resp, client);
    }
}

/* Waits for events and handles them. */
static int turn(struct sw_load_worker *worker)
{
    struct resp *resp = worker->connections;
    struct epoll_event events[EVENTS_MAX];
    int limit = resp->busy ? SW_LOAD_SILENCE_MS : SW_LOAD_SLEEP_NS / 1000000;
    worker->traffic.polls++;
    int ready = epoll_wait(resp->epoll, events, EVENTS_MAX, limit);
    if (ready == 0 && resp->busy) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER,
                                   "no reply within %d s: see the server's log",
                                   SW_LOAD_SILENCE_MS / 1000);
    }
    if (ready < 0 && errno != EINTR) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "epoll: %s", strerror(errno));
    }
    int status = SW_LOAD_OK;
    for (int i = 0; i < ready && status == SW_LOAD_OK; i++) {
        uint64_t expirations;
        if (!events[i].data.ptr) {
            (void)!read(resp->timer, &expirations, sizeof(expirations));
        } else {
            status = handle(worker, events[i].data.ptr, events[i].events);
        }
        if (status == SW_LOAD_OK) {
            status = send_due(worker);
        }
    }
    return status;
}

static int resp_run(struct sw_load_worker *worker)
{
    struct resp *resp = worker->connections;
    start_all(worker);
    int status = send_due(worker);
    while (status == SW_LOAD_OK && (resp->busy || resp->armed)) {
        status = turn(worker);
        if (resp->armed && atomic_load_explicit(&worker->phase->stop, memory_order_relaxed)) {
            resp->armed = NULL;
        }
    }
    return status;
}

const struct sw_load_transport sw_load_resp_transport = {
    .connect = resp_connect,
    .prepare = resp_prepare,
    .run = resp_run,
    .destroy = resp_destroy,
};
