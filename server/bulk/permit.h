/* SPDX-License-Identifier: MIT
 *
 * permit.h - the rights to send frames. A frame needs the rights of the RESP command that does the
 * same, so that no user can do by frames what the rules of commands forbid. If the command needs
 * all keys, the operation needs them as well. A request for evicted keys also needs all keys.
 * Everything runs on the loop.
 */
#ifndef SHERWOOD_SERVER_BULK_PERMIT_H
#define SHERWOOD_SERVER_BULK_PERMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/net/conn_login.h"

struct sw_bulk;
struct sw_bulk_frame;

/* The rows of the users' catalog that each operation needs. */
struct sw_bulk_rights {
    int16_t row[SW_OPERATION_NUMBERS]; /* -1: users with limited rights do not have it */
};
/* Fills the rights in. Without users it does nothing. */
void sw_bulk_rights_init(struct sw_bulk_rights *rights, const struct sw_users *users);

/* Returns true if the connection may send this request, whose header is at `header`. A HELLO with a
 * login logs in. Otherwise sets the error status and `message`, and sets *closes if the
 * connection has to be closed after the reply. */
bool sw_bulk_permits(struct sw_conn *conn, const struct sw_request *request, const uint8_t *header,
                     size_t header_bytes, enum sw_reply_status *status, char *message,
                     size_t message_bytes, bool *closes);

/* Returns true if all keys of a frame lie in the ranges of its user. Otherwise adds an entry to ACL
 * LOG. Call it only if the user has ranges. */
bool sw_bulk_permits_keys(struct sw_conn *conn, const struct sw_request *request, const void *keys);

#endif
