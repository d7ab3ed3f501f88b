/* SPDX-License-Identifier: MIT
 *
 * resp.c - the load by RESP: one epoll loop a thread over its connections.
 */
#include "bench/load/dial.h"
#include "bench/load/resp_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 64

struct resp {
    int epoll;
    uint32_t count;
    uint32_t unit_keys;
    struct sw_load_resp_client *clients;
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
    if (resp->epoll >= 0) {
        close(resp->epoll);
    }
    free(resp->clients);
    free(resp);
}

static int watch(struct resp *resp, struct sw_load_resp_client *client, int operation)
{
    struct epoll_event event = {
        .events = EPOLLIN | (client->wants_write ? (uint32_t)EPOLLOUT : 0U),
        .data.ptr = client,
    };
    return epoll_ctl(resp->epoll, operation, client->fd, &event);
}

static int resp_connect(const struct sw_load_options *options, uint32_t count, void **out,
                        struct sw_load_server *server, char *error)
{
    int status = SW_LOAD_E_NOMEM;
    *out = NULL;
    snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for %u connections", count);
    struct resp *resp = calloc(1, sizeof *resp);
    if (!resp) {
        return status;
    }
    resp->unit_keys = options->depth * (options->operation == SW_LOAD_MGET ? options->mget : 1);
    resp->epoll = epoll_create1(EPOLL_CLOEXEC);
    resp->clients = calloc(count, sizeof *resp->clients);
    if (resp->epoll < 0 || !resp->clients) {
        goto fail;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct sw_load_resp_client *client = &resp->clients[i];
        client->fd = sw_load_dial(options->address, SW_LOAD_CONNECT_MS, error, SW_LOAD_ERROR_BYTES);
        if (client->fd < 0) {
            status = SW_LOAD_E_PEER;
            goto fail;
        }
        resp->count++;
        if (watch(resp, client, EPOLL_CTL_ADD)) {
            snprintf(error, SW_LOAD_ERROR_BYTES, "epoll: %s", strerror(errno));
            goto fail;
        }
    }
    server->key_bytes = options->key_bits / 8;
    server->value_bytes = options->key_bits / 8;
    error[0] = '\0';
    *out = resp;
    return SW_LOAD_OK;
fail:
    resp_destroy(resp);
    return status;
}

static int resp_prepare(void *context, const struct sw_load_workload *workload, char *error)
{
    struct resp *resp = context;
    for (uint32_t i = 0; i < resp->count; i++) {
        if (sw_load_resp_prepare(&resp->clients[i], resp->unit_keys, workload->key_bytes)) {
            snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for pipelines of %u keys",
                     resp->unit_keys);
            return SW_LOAD_E_NOMEM;
        }
    }
    return SW_LOAD_OK;
}

/* What an event says about one connection. *busy counts connections with a unit in flight. */
static int handle(struct sw_load_worker *worker, struct sw_load_resp_client *client,
                  uint32_t events, bool *more, uint32_t *busy)
{
    struct resp *resp = worker->connections;
    const bool wanted_write = client->wants_write, was_busy = client->keys_count != 0;
    int status = SW_LOAD_OK;
    if (events & EPOLLOUT) {
        status = sw_load_resp_flush(client, worker);
    }
    if (status == SW_LOAD_OK && (events & ~(uint32_t)EPOLLOUT)) {
        status = sw_load_resp_read(client, worker);
    }
    if (status == SW_LOAD_OK && was_busy && client->keys_count == 0) {
        if (*more) {
            status = sw_load_resp_submit(client, worker, more);
        }
        *busy -= client->keys_count == 0;
    }
    if (status == SW_LOAD_OK && client->wants_write != wanted_write &&
        watch(resp, client, EPOLL_CTL_MOD)) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "epoll: %s", strerror(errno));
    }
    return status;
}

static int start_all(struct sw_load_worker *worker, bool *more, uint32_t *busy)
{
    struct resp *resp = worker->connections;
    for (uint32_t i = 0; i < resp->count && *more; i++) {
        struct sw_load_resp_client *client = &resp->clients[i];
        int status = sw_load_resp_submit(client, worker, more);
        if (status) {
            return status;
        }
        *busy += client->keys_count != 0;
        if (client->wants_write && watch(resp, client, EPOLL_CTL_MOD)) {
            return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "epoll: %s", strerror(errno));
        }
    }
    return SW_LOAD_OK;
}

static int resp_run(struct sw_load_worker *worker)
{
    struct resp *resp = worker->connections;
    struct epoll_event events[EVENTS_MAX];
    bool more = true;
    uint32_t busy = 0;
    int status = start_all(worker, &more, &busy);
    while (status == SW_LOAD_OK && busy) {
        int ready = epoll_wait(resp->epoll, events, EVENTS_MAX, SW_LOAD_SILENCE_MS);
        if (ready == 0) {
            return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "no answer within %d s",
                                       SW_LOAD_SILENCE_MS / 1000);
        }
        if (ready < 0 && errno != EINTR) {
            return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "epoll: %s", strerror(errno));
        }
        for (int i = 0; i < ready && status == SW_LOAD_OK; i++) {
            status = handle(worker, events[i].data.ptr, events[i].events, &more, &busy);
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
