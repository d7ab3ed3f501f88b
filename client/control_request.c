/* SPDX-License-Identifier: MIT
 *
 * control_request.c - sends a request without keys to one server, and waits for its reply.
 */
#include "client/control_request.h"

#include "client/step.h"

int sw_client_control_request_once(struct sherwood *client, struct sw_client_connection *only,
                                   struct sw_client_frame *frame, struct sw_client_call *call)
{
    const int status = sw_client_queue_for_call(client, only, frame, call);
    return status != SHERWOOD_OK ? status : sw_client_finish_call(client, call);
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
