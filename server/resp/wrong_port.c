/* SPDX-License-Identifier: MIT
 *
 * wrong_port.c - connections that do not speak RESP: HTTP, and TLS.
 */
#include "server/resp/wrong_port.h"

#include "server/net/conn.h"
#include "server/observe/log.h"
#include "server/resp/command.h"

/* Is this the beginning of an HTTP request (a browser, or a cross-protocol attack)? Like redis, the
 * server closes the connection then. */
bool sw_begins_http(const struct sw_resp_argument *name)
{
    return sw_argument_is(name, "POST") || sw_argument_is(name, "HOST:");
}

/* Does a TLS handshake begin here? No command begins with these bytes. The peer would wait for a
 * TLS reply. */
bool sw_begins_tls(const uint8_t *bytes, size_t size)
{
    return size >= 2 && bytes[0] == 0x16 && bytes[1] == 0x03;
}

/* Closes a connection that came to the wrong port. */
void sw_close_wrong(struct sw_conn *conn, const char *speaks)
{
    sw_log_limited(SW_LOG_WRONG_PORT, SW_LOG_WARNING, "%s speaks %s to the RESP port: closed",
                   conn->peer.address, speaks);
    SW_COUNT(conn->net->counters, resp_protocol_errors, 1);
    sw_conn_abort(conn);
}
