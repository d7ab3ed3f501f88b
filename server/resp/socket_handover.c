/* SPDX-License-Identifier: MIT
 *
 * socket_handover.c - taking the socket of a connection.
 */
#include "server/resp/socket_handover.h"

#include <fcntl.h>

bool sw_socket_hand_over(struct sw_conn *conn, struct sw_wire *wire)
{
    struct sw_transport *transport = &conn->transport;
    uv_os_fd_t fd = -1;
    *wire = (struct sw_wire){.fd = -1};
    if (uv_fileno(&transport->uv.handle, &fd) != 0) {
        return false;
    }
    wire->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    wire->tls = transport->tls == NULL ? NULL : sw_wire_tls_new();
    if (wire->fd < 0 || (transport->tls != NULL && wire->tls == NULL)) {
        sw_wire_close(wire);
        return false;
    }
    if (wire->tls != NULL) {
        sw_tls_hand_over(transport, &wire->tls->stream, wire->fd, &wire->tls->scratch);
    }
    return true;
}

void sw_socket_take_back(struct sw_conn *conn, struct sw_wire *wire)
{
    if (wire->tls != NULL) {
        sw_tls_take_back(&conn->transport, &wire->tls->stream);
    }
    sw_wire_close(wire);
}
