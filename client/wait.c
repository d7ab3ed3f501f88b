/* SPDX-License-Identifier: MIT
 *
 * wait.c - the calls that wait for submitted requests.
 */
#include "client/cluster.h"

#include "client/error.h"
#include "client/send.h"
#include "client/step.h"
#include <assert.h>

/* Removes a request from the list of those whose reply has been received. */
static void unlink_done(struct sherwood *client, struct sherwood_request *request)
{
    struct sherwood_request *before = NULL;
    assert(request->_state == SW_CLIENT_REQUEST_DONE && client->done_last != NULL);
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
    request->_state = SW_CLIENT_REQUEST_IDLE;
}

static bool is_busy(const struct sherwood *client)
{
    return client->in_flight > 0 || (client->cluster != NULL && client->cluster->requests > 0);
}

/* Runs steps until `request` (NULL: any request) is done, nothing is in flight, or the time is
 * over. */
static void wait_until(struct sherwood *client, const struct sherwood_request *request,
                       int timeout_ms)
{
    uint64_t end = timeout_ms > 0 ? sw_client_now_ms() + (uint64_t)timeout_ms : 0;
    bool is_last = false, is_first = true;
    while (!is_last && is_busy(client) &&
           (request != NULL ? request->_state == SW_CLIENT_REQUEST_FLYING
                            : client->done_first == NULL)) {
        if (is_first) {
            sw_client_send_all(client);
            is_first = false;
        }
        int left = timeout_ms;
        if (timeout_ms > 0) {
            uint64_t now = sw_client_now_ms();
            left = now < end ? (int)(end - now) : 0;
        }
        is_last = left == 0;
        if (client->cluster != NULL) {
            sw_client_cluster_turn(client, left);
        } else {
            sw_client_step(client, left);
        }
    }
}

int sherwood_wait_for(struct sherwood *client, struct sherwood_request *request, int timeout_ms)
{
    client = sw_client_enter(client);
    if (client == NULL || request == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (request->_state != SW_CLIENT_REQUEST_DONE && request->_state != SW_CLIENT_REQUEST_FLYING) {
        return sw_client_fail(
            client, SHERWOOD_E_INVALID,
            "wait: the request was not submitted, or a wait has returned it already");
    }
    /* This ends even if the connection fails: a connection that ends finishes its requests. */
    wait_until(client, request, timeout_ms);
    if (request->_state == SW_CLIENT_REQUEST_FLYING) {
        return SHERWOOD_E_PENDING;
    }
    unlink_done(client, request);
    return request->status;
}

int sherwood_wait(struct sherwood *client, struct sherwood_request *request)
{
    return sherwood_wait_for(client, request, -1);
}

int sherwood_wait_any_for(struct sherwood *client, struct sherwood_request **out, int timeout_ms)
{
    client = sw_client_enter(client);
    if (client == NULL || out == NULL) {
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    wait_until(client, NULL, timeout_ms);
    if (client->done_first == NULL) {
        return is_busy(client) ? SHERWOOD_E_PENDING : client->broken;
    }
    *out = client->done_first;
    unlink_done(client, *out);
    return (*out)->status;
}

int sherwood_wait_any(struct sherwood *client, struct sherwood_request **out)
{
    return sherwood_wait_any_for(client, out, -1);
}
