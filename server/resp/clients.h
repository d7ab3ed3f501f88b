/* SPDX-License-Identifier: MIT
 *
 * clients.h - the RESP connections of all loops, for CLIENT LIST.
 *
 * A session enters the list when its connection selects RESP, and leaves it when the connection's
 * memory is freed. Only its own loop changes a session, and holds the lock while it changes a field
 * that CLIENT LIST shows. Requests on keys take no lock. Functions may be called from any thread,
 * and none fails unless its comment says so.
 */
#ifndef SHERWOOD_SERVER_RESP_CLIENTS_H
#define SHERWOOD_SERVER_RESP_CLIENTS_H

#include <pthread.h>
#include <stddef.h>

#include "server/list.h"
#include "server/resp/session.h"

struct sw_clients {
    pthread_mutex_t lock;
    struct sw_list sessions; /* in the order in which they entered */
    size_t count;            /* length of `sessions` */
};

void sw_clients_init(struct sw_clients *clients);
/* To be called when every session has left. */
void sw_clients_fini(struct sw_clients *clients);

void sw_clients_enter(struct sw_clients *clients, struct sw_session *session);
void sw_clients_leave(struct sw_clients *clients, struct sw_session *session);

/* To be called before and after a change of a field that CLIENT LIST shows. */
void sw_clients_lock(struct sw_clients *clients);
void sw_clients_unlock(struct sw_clients *clients);

/* Returns copies of all sessions, which the caller frees, or NULL if there is no memory or no
 * session. The lock is held only while it copies. */
struct sw_session *sw_clients_copy(struct sw_clients *clients, size_t *count);

#endif
