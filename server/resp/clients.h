/* SPDX-License-Identifier: MIT
 *
 * clients.h - the RESP connections of all loops, for CLIENT LIST.
 *
 * A session is entered when its connection first speaks RESP, and leaves when the connection's
 * memory is given back. Its loop is the only one to change it, and does so under the lock where
 * CLIENT LIST shows what changes; requests on keys take no lock. Any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_CLIENTS_H
#define SHERWOOD_SERVER_RESP_CLIENTS_H

#include <pthread.h>
#include <stddef.h>

#include "server/list.h"
#include "server/resp/session.h"

struct sw_clients {
    pthread_mutex_t lock;
    struct sw_list sessions; /* in the order of their entering */
    size_t count;
};

void sw_clients_init(struct sw_clients *clients);
/* Every session has left. */
void sw_clients_fini(struct sw_clients *clients);

void sw_clients_enter(struct sw_clients *clients, struct sw_session *session);
void sw_clients_leave(struct sw_clients *clients, struct sw_session *session);

/* Around a change of what is shown of a session. */
void sw_clients_lock(struct sw_clients *clients);
void sw_clients_unlock(struct sw_clients *clients);

/* Copies of all sessions as they are now, which the caller frees; NULL if there is no memory, or no
 * session. The lock is held for the copying alone. */
struct sw_session *sw_clients_copy(struct sw_clients *clients, size_t *count);

#endif
