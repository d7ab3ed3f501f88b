/* SPDX-License-Identifier: MIT
 *
 * roster.c - the list of all connections.
 */
#include "server/net/roster.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/net/conn.h"

void sw_roster_init(struct sw_roster *roster)
{
    pthread_mutex_init(&roster->lock, NULL);
    sw_list_init(&roster->entries);
    roster->count = 0;
    sw_pause_init(&roster->pause);
}

void sw_roster_fini(struct sw_roster *roster)
{
    assert(roster->count == 0);
    sw_pause_fini(&roster->pause);
    pthread_mutex_destroy(&roster->lock);
}

void sw_roster_enter(struct sw_roster *roster, struct sw_roster_entry *entry)
{
    pthread_mutex_lock(&roster->lock);
    sw_list_push(&roster->entries, &entry->link);
    roster->count++;
    pthread_mutex_unlock(&roster->lock);
}

void sw_roster_leave(struct sw_roster *roster, struct sw_roster_entry *entry)
{
    if (roster == NULL) {
        return;
    }
    pthread_mutex_lock(&roster->lock); /* neighbours of other loops also write to its link */
    if (sw_list_is_linked(&entry->link)) {
        sw_list_remove(&entry->link);
        roster->count--;
    }
    pthread_mutex_unlock(&roster->lock);
}

static struct sw_roster_entry *entry_at(struct sw_list *link)
{
    return SW_CONTAINER(link, struct sw_roster_entry, link);
}

void sw_roster_copy_entry(const struct sw_roster_entry *from, struct sw_roster_entry *to)
{
    const struct sw_roster_figures *figures = &from->figures;
    to->id = from->id;
    to->open_at_ms = from->open_at_ms;
    memcpy(to->peer, from->peer, sizeof(to->peer));
    memcpy(to->own, from->own, sizeof(to->own));
    memcpy(to->user, from->user, sizeof(to->user));
    memcpy(to->name, from->name, sizeof(to->name));
    memcpy(to->library_name, from->library_name, sizeof(to->library_name));
    memcpy(to->library_version, from->library_version, sizeof(to->library_version));
    to->resp_version = __atomic_load_n(&from->resp_version, __ATOMIC_RELAXED);
    to->waits = __atomic_load_n(&from->waits, __ATOMIC_RELAXED);
    to->figures = (struct sw_roster_figures){
        .active_ms = __atomic_load_n(&figures->active_ms, __ATOMIC_RELAXED),
        .input_bytes = __atomic_load_n(&figures->input_bytes, __ATOMIC_RELAXED),
        .output_bytes = __atomic_load_n(&figures->output_bytes, __ATOMIC_RELAXED),
        .memory_bytes = __atomic_load_n(&figures->memory_bytes, __ATOMIC_RELAXED),
        .last_request = __atomic_load_n(&figures->last_request, __ATOMIC_RELAXED),
        .queued = __atomic_load_n(&figures->queued, __ATOMIC_RELAXED),
        .is_paused = __atomic_load_n(&figures->is_paused, __ATOMIC_RELAXED),
        .is_monitor = __atomic_load_n(&figures->is_monitor, __ATOMIC_RELAXED),
    };
}

struct sw_roster_entry *sw_roster_copy(struct sw_roster *roster, sw_roster_is_meant *is_meant,
                                       void *context, size_t *count)
{
    *count = 0;
    pthread_mutex_lock(&roster->lock);
    struct sw_roster_entry *copies = malloc((roster->count + 1) * sizeof(*copies));
    if (copies != NULL) {
        SW_LIST_EACH(&roster->entries, link)
        {
            if (is_meant(context, entry_at(link))) {
                memset(&copies[*count], 0, sizeof(*copies));
                sw_roster_copy_entry(entry_at(link), &copies[(*count)++]);
            }
        }
    }
    pthread_mutex_unlock(&roster->lock);
    return copies;
}

/* A loop does not end while a connection of it is in the roster, so it can be woken. */
size_t sw_roster_kill(struct sw_roster *roster, sw_roster_is_meant *is_meant, void *context)
{
    size_t killed = 0;
    pthread_mutex_lock(&roster->lock);
    SW_LIST_EACH(&roster->entries, link)
    {
        struct sw_roster_entry *entry = entry_at(link);
        if (is_meant(context, entry)) {
            __atomic_store_n(&entry->kill, true, __ATOMIC_RELAXED);
            __atomic_store_n(entry->kill_some, true, __ATOMIC_RELEASE);
            uv_async_send(entry->wake);
            killed++;
        }
    }
    pthread_mutex_unlock(&roster->lock);
    return killed;
}

bool sw_roster_unblock(struct sw_roster *roster, uint64_t id, bool with_error)
{
    bool ended = false;
    pthread_mutex_lock(&roster->lock);
    SW_LIST_EACH(&roster->entries, link)
    {
        struct sw_roster_entry *entry = entry_at(link);
        uint8_t waits = SW_ROSTER_WAITS;
        if (entry->id == id &&
            __atomic_compare_exchange_n(&entry->waits, &waits,
                                        with_error ? SW_ROSTER_UNBLOCKED : SW_ROSTER_ENDED, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            uv_async_send(entry->wake);
            ended = true;
        }
    }
    pthread_mutex_unlock(&roster->lock);
    return ended;
}

static void put(uint64_t *figure, uint64_t value)
{
    __atomic_store_n(figure, value, __ATOMIC_RELAXED);
}

void sw_roster_set_text(struct sw_conn *conn, char *field, const uint8_t *text, size_t size)
{
    struct sw_roster *roster = conn->net->roster;
    if (roster != NULL) {
        pthread_mutex_lock(&roster->lock);
    }
    if (size > 0) {
        memcpy(field, text, size);
    }
    field[size] = '\0';
    if (roster != NULL) {
        pthread_mutex_unlock(&roster->lock);
    }
}

void sw_roster_publish_user(struct sw_conn *conn)
{
    const char *user = conn->login.user != NULL ? conn->login.user->name : "default";
    if (strcmp(user, conn->shown.user) != 0) {
        sw_roster_set_text(conn, conn->shown.user, (const uint8_t *)user, strlen(user));
    }
}

void sw_roster_publish(struct sw_conn *conn)
{
    sw_roster_publish_user(conn);
    struct sw_roster_figures *figures = &conn->shown.figures;
    uint64_t unsent = sw_conn_unsent_bytes(conn);
    put(&figures->active_ms, conn->times.input_at);
    put(&figures->input_bytes, sw_input_held(&conn->input));
    put(&figures->output_bytes, unsent);
    put(&figures->memory_bytes,
        sizeof(*conn) + conn->net->state_bytes + conn->input.capacity + unsent);
    put(&figures->last_request, conn->last_request);
    put(&figures->is_paused, conn->stall == SW_STALL_PAUSED);
    put(&figures->is_monitor, conn->is_shown_commands);
    __atomic_store_n(&figures->queued, conn->queued_commands, __ATOMIC_RELAXED);
}
