/* SPDX-License-Identifier: MIT
 *
 * admit.h - checks whether a request may begin: the rights of its user, the request itself, and the
 * state of the server. Requests in frames and through rings get the same checks. Everything is
 * called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_BULK_ADMIT_H
#define SHERWOOD_SERVER_BULK_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/bulk/frame_table.h"
#include "server/net/conn.h"

struct sw_bulk;

/* A request that has arrived. */
struct sw_bulk_candidate {
    const struct sw_request *request;
    const struct sw_bulk_target *target; /* its table */
    const uint8_t *header;               /* of a HELLO */
    size_t header_bytes;
    uint64_t body_bytes;  /* of the arrays that come with the request */
    uint64_t reply_bytes; /* of the body of the reply, and of scratch memory */
};

/* Does CLIENT PAUSE hold the request back? */
bool sw_bulk_is_held_back(struct sw_conn *conn, const struct sw_request *request);

/* Stalls the connection, and returns true, if the request must wait. */
bool sw_bulk_must_wait(struct sw_conn *conn, const struct sw_request *request);

/* Returns SW_REPLY_OK, or the status of the refusal, with its sentence in `message`; *closes is set
 * if the connection has to be closed after it. */
enum sw_reply_status sw_bulk_admit(struct sw_conn *conn, const struct sw_bulk_candidate *candidate,
                                   char *message, size_t message_bytes, bool *closes);

/* The obstacles that may arise between a frame's head and its body: the role of the server. Returns
 * SW_REPLY_OK, or the status of the refusal, with its sentence in `message`. */
enum sw_reply_status sw_bulk_role_refuses(const struct sw_bulk *bulk,
                                          const struct sw_request *request, char *message,
                                          size_t message_bytes);

#endif
