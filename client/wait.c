/* SPDX-License-Identifier: MIT
 *
 * wait.c - the blocking loop: both directions at once, so that a server that answers while a large
 * frame is still being sent never waits for us while we wait for it.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "client/internal.h"

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int timed_out(struct sherwood *client, int timeout_ms)
{
    if (!client->received_any) {
        return sw_client_break(client, SHERWOOD_E_TIMEOUT,
                               "%s: connected, but nothing answered within %d ms: is it a Sherwood "
                               "server, or is it overloaded?",
                               client->address, timeout_ms);
    }
    return sw_client_break(client, SHERWOOD_E_TIMEOUT,
                           "%s: no byte moved for %d ms, unanswered requests: %u: the connection "
                           "is given up, and whether those requests took effect is unknown",
                           client->address, timeout_ms, client->in_flight);
}

int sw_client_step(struct sherwood *client, int timeout_ms)
{
    int64_t deadline = now_ms() + timeout_ms;
    struct pollfd ready = {.fd = client->fd};
    for (;;) {
        bool sending = client->queue_count > 0 && client->send_errno == 0;
        ready.events = (short)(POLLIN | (sending ? POLLOUT : 0));
        int64_t left = deadline - now_ms();
        if (left <= 0) {
            return timed_out(client, timeout_ms);
        }
        int n = poll(&ready, 1, (int)left);
        if (n > 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            return sw_client_break(client, SHERWOOD_E_CONNECTION, "poll: %s", strerror(errno));
        }
    }
    if ((ready.revents & POLLOUT) != 0) {
        sw_client_send(client);
    }
    return (ready.revents & ~POLLOUT) != 0 ? sw_client_receive(client) : SHERWOOD_OK;
}

int sw_client_finish_call(struct sherwood *client, struct sw_client_call *call, int timeout_ms)
{
    sw_client_send(client);
    while (call->flights > 0) {
        (void)sw_client_step(client, timeout_ms);
    }
    return call->status;
}

/* Takes a request out of the list of the answered. */
static void unlink_done(struct sherwood *client, struct sherwood_request *request)
{
    struct sherwood_request *before = NULL;
    for (struct sherwood_request *r = client->done_first; r != request; r = r->_next) {
        before = r;
    }
    if (before == NULL) {
        client->done_first = request->_next;
    } else {
        before->_next = request->_next;
    }
    if (client->done_last == request) {
        client->done_last = before;
    }
    request->_next = NULL;
    request->_state = 0;
}

int sherwood_wait(struct sherwood *client, struct sherwood_request *request)
{
    if (client == NULL || request == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (request->_state != SW_REQUEST_DONE && request->_state != SW_REQUEST_FLYING) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "wait: the request was not submitted, or was already waited for");
    }
    sw_client_send(client);
    /* A broken connection ends every request. */
    while (request->_state == SW_REQUEST_FLYING) {
        (void)sw_client_step(client, client->request_timeout_ms);
    }
    unlink_done(client, request);
    return request->status;
}

int sherwood_wait_any(struct sherwood *client, struct sherwood_request **out)
{
    if (client == NULL || out == NULL) {
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    sw_client_send(client);
    while (client->done_first == NULL && client->in_flight > 0) {
        (void)sw_client_step(client, client->request_timeout_ms);
    }
    if (client->done_first == NULL) {
        return client->broken;
    }
    *out = client->done_first;
    unlink_done(client, *out);
    return (*out)->status;
}
