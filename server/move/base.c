/* SPDX-License-Identifier: MIT
 *
 * base.c - what the source and the target of a move share: status, waiting, connections.
 */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/move/mover_parts.h"
#include "table/image.h"

int sw_mover_fail(struct sw_mover *mover, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(mover->reason, sizeof(mover->reason), format, arguments);
    va_end(arguments);
    return -1;
}

bool sw_mover_is_stopping(struct sw_mover *mover)
{
    pthread_mutex_lock(&mover->lock);
    bool stopping = mover->stopping;
    pthread_mutex_unlock(&mover->lock);
    return stopping;
}

bool sw_mover_is_over(struct sw_mover *mover)
{
    pthread_mutex_lock(&mover->lock);
    bool over = mover->stopping || mover->cancelled;
    pthread_mutex_unlock(&mover->lock);
    return over;
}

bool sw_mover_is_loading(const struct sw_mover *mover)
{
    return mover->parts.saver != NULL && sw_saver_is_loading(mover->parts.saver);
}

void sw_mover_wake(struct sw_mover *mover)
{
    const uint64_t one = 1;
    ssize_t written = write(mover->wake_fd, &one, sizeof(one));
    (void)written; /* if the counter is full, it is readable already */
    pthread_cond_signal(&mover->changed);
}

void sw_mover_phase(struct sw_mover *mover, enum sw_move_phase phase)
{
    pthread_mutex_lock(&mover->lock);
    mover->facts.phase = phase;
    pthread_mutex_unlock(&mover->lock);
}

void sw_mover_count(struct sw_mover *mover, uint64_t keys, uint64_t bytes)
{
    pthread_mutex_lock(&mover->lock);
    mover->facts.keys += keys;
    mover->facts.bytes += bytes;
    pthread_mutex_unlock(&mover->lock);
}

void sw_mover_pause_ms(struct sw_mover *mover, unsigned ms)
{
    struct pollfd woken = {.fd = mover->wake_fd, .events = POLLIN};
    (void)poll(&woken, 1, (int)ms);
}

uint64_t sw_mover_format(const struct sw_mover *mover)
{
    const struct sw_config *config = mover->parts.config;
    return (uint64_t)sw_config_value_format(config) +
           SW_MOVE_TYPE * (uint64_t)sw_config_value_type(config);
}

int sw_mover_settle(struct sw_mover *mover, uint64_t number)
{
    const struct timespec rest = {.tv_nsec = 200000};
    while (!sw_cluster_is_settled(mover->parts.cluster, number)) {
        if (sw_mover_is_stopping(mover)) {
            return sw_mover_fail(mover, "the server stops");
        }
        nanosleep(&rest, NULL);
    }
    return 0;
}

/* --- connections --------------------------------------------------------------------------------
 */

/* Returns true if another caller claims the image that the mover holds. The mover then stops
 * waiting for the other node. */
static bool gives_way(const void *context)
{
    const struct sw_mover *mover = context;
    return mover->has_image && sw_image_is_claimed(mover->parts.table);
}

struct sw_peer_connection sw_mover_connection(const struct sw_mover *mover)
{
    return (struct sw_peer_connection){.socket = {.fd = -1},
                                       .is_over = gives_way,
                                       .context = mover,
                                       .wake_fd = mover->wake_fd,
                                       .timeout_ms = mover->parts.config->repl_timeout * 1000};
}

int sw_mover_connect(struct sw_mover *mover, struct sw_peer_connection *connection, const char *id)
{
    char ip[SW_TOPOLOGY_IP_MAX + 1];
    uint16_t port = 0;
    if (!sw_cluster_find(mover->parts.cluster, id, ip, &port)) {
        return sw_mover_fail(mover, "%s is not a primary in the topology", id);
    }
    return sw_mover_connect_at(mover, connection, ip, port);
}

int sw_mover_connect_at(struct sw_mover *mover, struct sw_peer_connection *connection,
                        const char *ip, uint16_t port)
{
    if (sw_peer_connection_open(connection, ip, port) != 0) {
        return sw_mover_fail(mover, "%s:%u: %s", ip, port, connection->reason);
    }
    return sw_login_secure(connection, mover->parts.config, ip, port) == 0 &&
                   sw_login_send(connection, mover->parts.config) == 0
               ? 0
               : sw_mover_fail(mover, "%s:%u: %s", ip, port, connection->reason);
}
