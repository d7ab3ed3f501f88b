/* SPDX-License-Identifier: MIT
 *
 * control_request.c - sends a request without keys to one server, and waits for its reply.
 */
#include "client/control_request.h"

#include "client/error.h"
#include "client/send.h"
#include "client/step.h"

int sw_client_control_request_once(struct sherwood *client, struct sw_client_connection *only,
                                   struct sw_client_frame *frame, struct sw_client_call *call)
{
    struct sw_client_connection *connection = NULL;
    for (;;) {
        int ended = only != NULL ? only->broken : client->broken;
        if (only == NULL) {
            int rc = sw_client_connection_for(client, frame, &connection);
            if (rc != SHERWOOD_OK) {
                return rc;
            }
        } else {
            connection = sw_client_connection_is_free(only) ? only : NULL;
        }
        if (ended != 0 || connection != NULL) {
            break;
        }
        sw_client_send_all(client);
        sw_client_step(client, -1);
    }
    if (connection == NULL) {
        return only != NULL ? only->broken : client->broken;
    }
    frame->done = sw_client_call_done;
    frame->owner = call;
    if (sw_client_queue(connection, frame) == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "the frame cannot be encoded");
    }
    call->flights++;
    return sw_client_finish_call(client, call);
}

int sw_client_control_request(struct sw_client_connection *connection,
                              const struct sw_request *header, void *first, void *second,
                              struct sw_reply *reply)
{
    struct sw_client_call call = {.reply = reply, .refused_from = SW_CLIENT_NOT_REFUSED};
    struct sw_client_frame frame = {.header = *header, .first = first, .second = second};
    return sw_client_control_request_once(connection->client, connection, &frame, &call);
}

/* The longest wait of one request in ms. */
#define WAIT_MS 1000

int sw_client_wait_once_ms(const struct sherwood *client, int left_ms)
{
    const int half = client->request_timeout_ms / 2;
    const int most = half < 1 ? 1 : half < WAIT_MS ? half : WAIT_MS;
    return left_ms < 0 || left_ms > most ? most : left_ms;
}
