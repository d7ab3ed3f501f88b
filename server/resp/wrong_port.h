/* SPDX-License-Identifier: MIT
 *
 * wrong_port.h - detects connections that do not speak RESP.
 */
#ifndef SHERWOOD_SERVER_RESP_WRONG_PORT_H
#define SHERWOOD_SERVER_RESP_WRONG_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"

struct sw_conn;

/* Return true if an HTTP request begins with this word, or a TLS handshake with these bytes. */
bool sw_begins_http(const struct sw_resp_argument *name);
bool sw_begins_tls(const uint8_t *bytes, size_t size);
/* Closes such a connection, and logs it. */
void sw_close_wrong(struct sw_conn *conn, const char *speaks);

#endif
