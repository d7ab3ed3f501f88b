/* SPDX-License-Identifier: MIT
 *
 * socket_handover.c - hands the socket of a connection over to another thread.
 */
#include "server/resp/socket_handover.h"

#include <fcntl.h>

bool sw_socket_hand_over(struct sw_conn *conn, struct sw_peer_socket *socket)
{
    struct sw_transport *transport = &conn->transport;
    uv_os_fd_t fd = -1;
    *socket = (struct sw_peer_socket){.fd = -1};
    if (uv_fileno(&transport->uv.handle, &fd) != 0) {
        return false;
    }
    socket->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    socket->tls = transport->tls == NULL ? NULL : sw_peer_tls_new();
    if (socket->fd < 0 || (transport->tls != NULL && socket->tls == NULL)) {
        sw_peer_socket_close(socket);
        return false;
    }
    if (socket->tls != NULL) {
        sw_tls_hand_over(transport, &socket->tls->stream, socket->fd, &socket->tls->scratch);
    }
    return true;
}

void sw_socket_take_back(struct sw_conn *conn, struct sw_peer_socket *socket)
{
    if (socket->tls != NULL) {
        sw_tls_take_back(&conn->transport, &socket->tls->stream);
    }
    sw_peer_socket_close(socket);
}
