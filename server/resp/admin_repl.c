/* SPDX-License-Identifier: MIT
 *
 * admin_repl.c - ROLE and REPLICATE. A replica sends REPLICATE to connect.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/net/conn.h"
#include "server/net/tls.h"
#include "server/repl/repl.h"
#include "server/resp/admin_call.h"
#include "server/resp/place.h"
#include "server/resp/socket_handover.h"

static void put_number(struct sw_text *text, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    sw_text_bulk_string(text, digits);
}

/* An address is "ip:port", "[ip6]:port" or "unix:0". */
static void put_address(struct sw_text *text, const char *address)
{
    const char *split = strrchr(address, ':');
    sw_text_bulk(text, (const uint8_t *)address, (size_t)(split - address));
    sw_text_bulk_string(text, split + 1);
}

static void put_primary(struct sw_text *text, const struct sw_repl_status *facts)
{
    sw_text_array(text, 3);
    sw_text_bulk_string(text, "master");
    sw_text_integer(text, (int64_t)facts->position);
    sw_text_array(text, facts->senders.replicas);
    for (unsigned i = 0; i < facts->senders.replicas; i++) {
        sw_text_array(text, 3);
        put_address(text, facts->senders.shown[i].address);
        put_number(text, facts->senders.shown[i].acknowledged);
    }
}

/* Replies for a node that the topology makes a replica, and whose engine has no replication. It has
 * no connection to its primary. */
static bool put_role_of_replica(struct sw_call *call)
{
    const struct sw_cluster_view *view = call->admin->cluster->view;
    const struct sw_topology_node *me = view == NULL ? NULL : sw_cluster_me(view);
    if (me == NULL || me->is_primary) {
        return false;
    }
    const struct sw_topology *topology = view->topology;
    const struct sw_topology_node *primary = &topology->nodes[topology->shards[me->shard].primary];
    sw_text_array(call->reply, 5);
    sw_text_bulk_string(call->reply, "slave");
    sw_text_bulk_string(call->reply, primary->ip);
    sw_text_integer(call->reply, primary->port);
    sw_text_bulk_string(call->reply, "none");
    sw_text_integer(call->reply, 0);
    return true;
}

void sw_call_role(struct sw_call *call)
{
    static const char *const links[] = {[SW_LINK_NONE] = "none",
                                        [SW_LINK_CONNECT] = "connect",
                                        [SW_LINK_HANDSHAKE] = "connecting",
                                        [SW_LINK_SYNC] = "sync",
                                        [SW_LINK_CONNECTED] = "connected"};
    struct sw_repl_status facts = {.is_replica = false};
    if (call->admin->repl != NULL) {
        sw_repl_status(call->admin->repl, &facts);
    }
    if (!facts.is_replica && put_role_of_replica(call)) {
        return;
    }
    if (!facts.is_replica) {
        put_primary(call->reply, &facts);
        return;
    }
    sw_text_array(call->reply, 5);
    sw_text_bulk_string(call->reply, "slave");
    sw_text_bulk_string(call->reply, facts.host);
    sw_text_integer(call->reply, facts.port);
    sw_text_bulk_string(call->reply, links[facts.link]);
    sw_text_integer(call->reply, facts.lacks_data ? -1 : (int64_t)facts.position);
}

void sw_call_replicate(struct sw_call *call)
{
    struct sw_conn *conn = call->session->conn;
    struct sw_repl_hello hello;
    char reason[SW_REPL_REASON_BYTES] = "";
    const uint8_t *words[SW_REPL_MEMBER_WORDS];
    uint32_t sizes[SW_REPL_MEMBER_WORDS];
    struct sw_peer_socket socket;
    for (uint32_t i = 0; i < SW_REPL_MEMBER_WORDS && i + 1 < call->count; i++) {
        words[i] = call->arguments[1 + i].text;
        sizes[i] = call->arguments[1 + i].size;
    }
    if (!sw_repl_hello_parse(&hello, words, sizes, call->count - 1)) {
        sw_call_error(call, "ERR syntax error: REPLICATE is sent by a replica");
        return;
    }
    const struct sw_repl_peer peer = {conn->peer.address, conn->net->users, &conn->login,
                                      (uint32_t)call->command->id};
    if (call->admin->repl == NULL || !sw_socket_hand_over(conn, &socket)) {
        sw_call_error(call, "ERR cannot serve a replica: no file descriptor or no memory");
    } else if (sw_repl_serve(call->admin->repl, &socket, &peer, &hello, reason, sizeof(reason)) !=
               0) {
        sw_socket_take_back(conn, &socket);
        sw_call_error(call, "ERR %s", reason);
    } else {
        call->session->handed_over = true;
    }
}
