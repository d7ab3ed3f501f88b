/* SPDX-License-Identifier: MIT
 *
 * notify_replicas.c - a primary sends its state of moves to its replicas, and waits until they have
 * it and all earlier writes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/cluster/replicas.h"
#include "server/limits.h"
#include "server/log/clock.h"
#include "server/move/mover_parts.h"

struct notification {
    struct sw_mover *mover;
    char *state;
    uint64_t sequence;
    uint64_t until_ns;
};

/* Sends the state to a replica. Returns 1 if the replica has it and the earlier writes, 0 if the
 * replica is behind, -1 on an error. Leaves the connection open. */
static int send_state(const struct notification *notification,
                      struct sw_peer_connection *connection)
{
    char line[SW_MOVE_LINE_BYTES], number[24], head[160];
    const size_t size = strlen(notification->state);
    snprintf(number, sizeof(number), "%" PRIu64, notification->sequence);
    snprintf(head, sizeof(head),
             "*5\r\n$7\r\nCLUSTER\r\n$4\r\nMOVE\r\n$6\r\nFOLLOW\r\n$%zu\r\n%s\r\n$%zu\r\n",
             strlen(number), number, size);
    if (sw_peer_connection_send(connection, head, strlen(head)) != 0 ||
        sw_peer_connection_send(connection, notification->state, size) != 0 ||
        sw_peer_connection_send(connection, "\r\n", 2) != 0 ||
        sw_peer_connection_read_line(connection, line, sizeof(line)) != 0) {
        return sw_mover_fail(notification->mover, "a replica of this node: %s", connection->reason);
    }
    if (strcmp(line, "+OK") == 0) {
        return 1;
    }
    return strcmp(line, "+BEHIND") == 0
               ? 0
               : sw_mover_fail(notification->mover, "a replica of this node: %.300s", line + 1);
}

static int notify_replica(const struct notification *notification, const char *ip, uint16_t port)
{
    struct sw_mover *mover = notification->mover;
    struct sw_peer_connection connection = sw_mover_connection(mover);
    int status = sw_mover_connect_at(mover, &connection, ip, port) == 0 ? 0 : -1;
    while (status == 0 && (status = send_state(notification, &connection)) == 0) {
        if (sw_mover_is_over(mover) || sw_log_now_ns() > notification->until_ns) {
            status = sw_mover_fail(mover, "the replica %s:%u does not have the writes of the move",
                                   ip, port);
        } else {
            sw_mover_pause_ms(mover, 2);
        }
    }
    sw_peer_connection_close(&connection);
    return status > 0 ? 0 : -1;
}

int sw_mover_notify_replicas(struct sw_mover *mover, uint64_t sequence)
{
    char ip[SW_TOPOLOGY_IP_MAX + 1];
    uint16_t port = 0;
    if (!sw_cluster_replica(mover->parts.cluster, 0, ip, &port)) {
        return 0;
    }
    struct notification notification = {.mover = mover,
                                        .state = sw_cluster_print_all(mover->parts.cluster),
                                        .sequence = sequence,
                                        .until_ns = sw_log_now_ns() + SW_MOVE_STEP_MS * 1000000ULL};
    int status = notification.state == NULL ? sw_mover_fail(mover, "not enough memory") : 0;
    for (unsigned i = 0; status == 0 && sw_cluster_replica(mover->parts.cluster, i, ip, &port);
         i++) {
        status = notify_replica(&notification, ip, port);
    }
    free(notification.state);
    return status;
}

/* Receives the topology of a replica, which the caller frees. NULL: the replica has none, or does
 * not reply. */
static char *receive_topology(struct sw_peer_connection *connection, size_t *size)
{
    static const char words[] = "*2\r\n$7\r\nCLUSTER\r\n$8\r\nTOPOLOGY\r\n";
    char line[SW_MOVE_LINE_BYTES], end;
    if (sw_peer_connection_send(connection, words, sizeof(words) - 1) != 0 ||
        sw_peer_connection_read_line(connection, line, sizeof(line)) != 0 ||
        sscanf(line, "$%zu%c", size, &end) != 1 || *size == 0 || *size > SW_TOPOLOGY_BYTES_MAX) {
        return NULL;
    }
    char *text = malloc(*size);
    if (text != NULL && sw_peer_connection_receive(connection, text, *size, *size) < 0) {
        free(text);
        text = NULL;
    }
    return text;
}

bool sw_mover_decide_anew(struct sw_mover *mover)
{
    char ip[SW_TOPOLOGY_IP_MAX + 1], error[SW_CLUSTER_ERROR_BYTES];
    uint16_t port = 0;
    bool done = false;
    for (unsigned i = 0; sw_cluster_replica(mover->parts.cluster, i, ip, &port); i++) {
        struct sw_peer_connection connection = sw_mover_connection(mover);
        size_t size = 0;
        char *text = sw_mover_connect_at(mover, &connection, ip, port) == 0
                         ? receive_topology(&connection, &size)
                         : NULL;
        sw_peer_connection_close(&connection);
        done |= text != NULL && sw_cluster_decide_anew(mover->parts.cluster, text, size, error);
        free(text);
    }
    return done;
}
