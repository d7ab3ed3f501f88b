/* SPDX-License-Identifier: MIT
 *
 * client_list.c - the list of all connections.
 */
#include "server/net/client_list.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/net/conn.h"

void sw_clients_init(struct sw_clients *clients)
{
    pthread_mutex_init(&clients->lock, NULL);
    sw_list_init(&clients->entries);
    clients->count = 0;
    sw_pause_init(&clients->pause);
}

void sw_clients_fini(struct sw_clients *clients)
{
    assert(clients->count == 0);
    sw_pause_fini(&clients->pause);
    pthread_mutex_destroy(&clients->lock);
}

void sw_clients_enter(struct sw_clients *clients, struct sw_clients_entry *entry)
{
    pthread_mutex_lock(&clients->lock);
    sw_list_push(&clients->entries, &entry->link);
    clients->count++;
    pthread_mutex_unlock(&clients->lock);
}

void sw_clients_leave(struct sw_clients *clients, struct sw_clients_entry *entry)
{
    if (clients == NULL) {
        return;
    }
    pthread_mutex_lock(&clients->lock); /* neighbours of other loops also write to its link */
    if (sw_list_is_linked(&entry->link)) {
        sw_list_remove(&entry->link);
        clients->count--;
    }
    pthread_mutex_unlock(&clients->lock);
}

static struct sw_clients_entry *entry_at(struct sw_list *link)
{
    return SW_CONTAINER(link, struct sw_clients_entry, link);
}

void sw_clients_copy_entry(const struct sw_clients_entry *from, struct sw_clients_entry *to)
{
    const struct sw_clients_stats *stats = &from->stats;
    to->id = from->id;
    to->open_at_ms = from->open_at_ms;
    memcpy(to->peer, from->peer, sizeof(to->peer));
    memcpy(to->own, from->own, sizeof(to->own));
    memcpy(to->user, from->user, sizeof(to->user));
    memcpy(to->name, from->name, sizeof(to->name));
    memcpy(to->library_name, from->library_name, sizeof(to->library_name));
    memcpy(to->library_version, from->library_version, sizeof(to->library_version));
    to->place = __atomic_load_n(&from->place, __ATOMIC_RELAXED);
    to->resp_version = __atomic_load_n(&from->resp_version, __ATOMIC_RELAXED);
    to->waits = __atomic_load_n(&from->waits, __ATOMIC_RELAXED);
    to->stats = (struct sw_clients_stats){
        .active_ms = __atomic_load_n(&stats->active_ms, __ATOMIC_RELAXED),
        .input_bytes = __atomic_load_n(&stats->input_bytes, __ATOMIC_RELAXED),
        .output_bytes = __atomic_load_n(&stats->output_bytes, __ATOMIC_RELAXED),
        .memory_bytes = __atomic_load_n(&stats->memory_bytes, __ATOMIC_RELAXED),
        .last_request = __atomic_load_n(&stats->last_request, __ATOMIC_RELAXED),
        .queued = __atomic_load_n(&stats->queued, __ATOMIC_RELAXED),
        .is_paused = __atomic_load_n(&stats->is_paused, __ATOMIC_RELAXED),
        .is_monitor = __atomic_load_n(&stats->is_monitor, __ATOMIC_RELAXED),
    };
}

struct sw_clients_entry *sw_clients_copy(struct sw_clients *clients, sw_clients_is_meant *is_meant,
                                         void *context, size_t *count)
{
    *count = 0;
    pthread_mutex_lock(&clients->lock);
    struct sw_clients_entry *copies = malloc((clients->count + 1) * sizeof(*copies));
    if (copies != NULL) {
        SW_LIST_EACH(&clients->entries, link)
        {
            if (is_meant(context, entry_at(link))) {
                memset(&copies[*count], 0, sizeof(*copies));
                sw_clients_copy_entry(entry_at(link), &copies[(*count)++]);
            }
        }
    }
    pthread_mutex_unlock(&clients->lock);
    return copies;
}

/* A loop does not end while a connection of it is in the client list, so it can be woken. */
size_t sw_clients_kill(struct sw_clients *clients, sw_clients_is_meant *is_meant, void *context)
{
    size_t killed = 0;
    pthread_mutex_lock(&clients->lock);
    SW_LIST_EACH(&clients->entries, link)
    {
        struct sw_clients_entry *entry = entry_at(link);
        if (is_meant(context, entry)) {
            __atomic_store_n(&entry->kill, true, __ATOMIC_RELAXED);
            __atomic_store_n(entry->kill_some, true, __ATOMIC_RELEASE);
            uv_async_send(entry->wake);
            killed++;
        }
    }
    pthread_mutex_unlock(&clients->lock);
    return killed;
}

bool sw_clients_unblock(struct sw_clients *clients, uint64_t id, bool with_error)
{
    bool ended = false;
    pthread_mutex_lock(&clients->lock);
    SW_LIST_EACH(&clients->entries, link)
    {
        struct sw_clients_entry *entry = entry_at(link);
        uint8_t waits = SW_CLIENTS_WAITS;
        if (entry->id == id &&
            __atomic_compare_exchange_n(&entry->waits, &waits,
                                        with_error ? SW_CLIENTS_UNBLOCKED : SW_CLIENTS_ENDED, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            uv_async_send(entry->wake);
            ended = true;
        }
    }
    pthread_mutex_unlock(&clients->lock);
    return ended;
}

static void publish_stat(uint64_t *stat, uint64_t value)
{
    __atomic_store_n(stat, value, __ATOMIC_RELAXED);
}

void sw_clients_set_text(struct sw_conn *conn, char *field, const uint8_t *text, size_t size)
{
    struct sw_clients *clients = conn->net->clients;
    if (clients != NULL) {
        pthread_mutex_lock(&clients->lock);
    }
    if (size > 0) {
        memcpy(field, text, size);
    }
    field[size] = '\0';
    if (clients != NULL) {
        pthread_mutex_unlock(&clients->lock);
    }
}

void sw_clients_publish_user(struct sw_conn *conn)
{
    const char *user = conn->login.user != NULL ? conn->login.user->name : "default";
    if (strcmp(user, conn->shown.user) != 0) {
        sw_clients_set_text(conn, conn->shown.user, (const uint8_t *)user, strlen(user));
    }
}

void sw_clients_publish(struct sw_conn *conn)
{
    sw_clients_publish_user(conn);
    struct sw_clients_stats *stats = &conn->shown.stats;
    uint64_t unsent = sw_conn_unsent_bytes(conn);
    publish_stat(&stats->active_ms, conn->times.input_at);
    publish_stat(&stats->input_bytes, sw_input_held(&conn->input));
    publish_stat(&stats->output_bytes, unsent);
    publish_stat(&stats->memory_bytes,
                 sizeof(*conn) + conn->net->state_bytes + conn->input.capacity + unsent);
    publish_stat(&stats->last_request, conn->last_request);
    publish_stat(&stats->is_paused, conn->stall == SW_STALL_PAUSED);
    publish_stat(&stats->is_monitor, conn->is_shown_commands);
    __atomic_store_n(&stats->queued, conn->queued_commands, __ATOMIC_RELAXED);
}
