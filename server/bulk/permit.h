/* SPDX-License-Identifier: MIT
 *
 * permit.h - who may send which frames. The rights are those of the command by RESP that does the
 * same, so that nobody can do by frames what commands forbid. An operation whose command needs all
 * keys needs them as well, and so does a request for evicted keys. Everything runs on the loop.
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
    int16_t row[SW_OPERATION_NUMBERS]; /* -1: nobody whose rights are limited has it */
};
/* Fills the rights in. Without users it does nothing. */
void sw_bulk_rights_init(struct sw_bulk_rights *rights, const struct sw_users *users);

/* May the connection send this request, whose header is at `header`? A HELLO logs in, if it says
 * whom. If not, writes the status and the sentence of the refusal; *closes is set if the connection
 * has to be closed after it. */
bool sw_bulk_permits(struct sw_conn *conn, const struct sw_request *request, const uint8_t *header,
                     size_t header_bytes, enum sw_reply_status *status, char *message,
                     size_t message_bytes, bool *closes);

/* Do all keys of a frame lie in the ranges of its user? To be called if there are ranges. If not,
 * it is noted in ACL LOG. */
bool sw_bulk_permits_keys(struct sw_conn *conn, const struct sw_request *request, const void *keys);

#endif
