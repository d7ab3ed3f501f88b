/* SPDX-License-Identifier: MIT
 *
 * admin_move.c - EXPORTSLOTS: a node that takes slots connects with this command.
 */
#include "server/move/move.h"
#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/socket_handover.h"

void sw_call_exportslots(struct sw_call *call)
{
    struct sw_conn *conn = call->session->conn;
    struct sw_move_hello hello;
    char error[SW_CLUSTER_ERROR_BYTES];
    const uint8_t *words[SW_MOVE_HELLO_WORDS];
    uint32_t sizes[SW_MOVE_HELLO_WORDS];
    struct sw_peer_socket socket;
    bool for_good = false;
    for (int i = 0; i < SW_MOVE_HELLO_WORDS; i++) {
        words[i] = call->arguments[1 + i].text;
        sizes[i] = call->arguments[1 + i].size;
    }
    if (call->admin->mover == NULL) {
        sw_call_error(call, "ERR This instance has cluster support disabled");
        return;
    }
    if (!sw_move_hello_parse(&hello, words, sizes)) {
        sw_call_error(call, "ERR syntax error: EXPORTSLOTS is sent by a node that receives slots");
        return;
    }
    if (!sw_socket_hand_over(conn, &socket)) {
        sw_call_error(call, "ERR cannot send slots: no file descriptor or no memory");
    } else if (!sw_mover_send(call->admin->mover, &socket, &hello, &for_good, error)) {
        sw_socket_take_back(conn, &socket);
        sw_call_error(call, "%s %s", for_good ? "NOFIT" : "ERR", error);
    } else {
        call->session->handed_over = true;
    }
}
