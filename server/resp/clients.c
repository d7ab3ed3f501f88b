/* SPDX-License-Identifier: MIT
 *
 * clients.c - the list of sessions.
 */
#include "server/resp/clients.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sw_clients_init(struct sw_clients *clients)
{
    pthread_mutex_init(&clients->lock, NULL);
    sw_list_init(&clients->sessions);
    clients->count = 0;
}

void sw_clients_fini(struct sw_clients *clients)
{
    assert(clients->count == 0);
    pthread_mutex_destroy(&clients->lock);
}

void sw_clients_lock(struct sw_clients *clients)
{
    pthread_mutex_lock(&clients->lock);
}

void sw_clients_unlock(struct sw_clients *clients)
{
    pthread_mutex_unlock(&clients->lock);
}

void sw_clients_enter(struct sw_clients *clients, struct sw_session *session)
{
    sw_clients_lock(clients);
    sw_list_init(&session->link);
    sw_list_push(&clients->sessions, &session->link);
    clients->count++;
    sw_clients_unlock(clients);
}

void sw_clients_leave(struct sw_clients *clients, struct sw_session *session)
{
    sw_clients_lock(clients);
    sw_list_remove(&session->link);
    clients->count--;
    sw_clients_unlock(clients);
}

struct sw_session *sw_clients_copy(struct sw_clients *clients, size_t *count)
{
    sw_clients_lock(clients);
    struct sw_session *copies = calloc(clients->count, sizeof(*copies));
    *count = 0;
    if (copies != NULL) {
        SW_LIST_EACH(&clients->sessions, link)
        {
            const struct sw_session *session = SW_CONTAINER(link, struct sw_session, link);
            struct sw_session *copy = &copies[(*count)++];
            copy->id = session->id;
            copy->resp3 = session->resp3;
            memcpy(copy->name, session->name, sizeof(copy->name));
            memcpy(copy->library_name, session->library_name, sizeof(copy->library_name));
            memcpy(copy->library_version, session->library_version, sizeof(copy->library_version));
            memcpy(copy->address, session->address, sizeof(copy->address));
            memcpy(copy->user, session->user, sizeof(copy->user));
            copy->connected_at_ms = session->connected_at_ms;
        }
    }
    sw_clients_unlock(clients);
    return copies;
}
