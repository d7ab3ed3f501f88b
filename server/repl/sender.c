/* SPDX-License-Identifier: MIT
 *
 * sender.c - the threads of the senders: each sends what its replica begins with, then the records
 * of the backlog.
 */
#include "server/repl/sender_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "server/config/live.h"
#include "server/log/clock.h"
#include "server/observe/log.h"

#define MARK_NS 1000000000ULL

/* --- what is sent ----------------------------------------------------------------------------- */

static int send_mark(struct sw_sender *sender)
{
    uint8_t bytes[SW_WAL_RECORD_BYTES];
    struct sw_backlog_stats stats;
    sw_backlog_stats(sender->senders->parts.backlog, &stats);
    sw_sender_encode(sender, SW_WAL_MARK, stats.last, NULL, 0, bytes);
    struct iovec piece = {bytes, sizeof(bytes)};
    return sw_sender_send_pieces(sender, &piece, 1);
}

static void serve(struct sw_sender *sender)
{
    struct sw_senders *senders = sender->senders;
    uint64_t marked_ns = 0;
    if (sw_sender_begin(sender) != 0) {
        return;
    }
    __atomic_store_n(&sender->is_online, true, __ATOMIC_RELEASE);
    for (;;) {
        uint64_t now = sw_log_now_ns();
        bool stopping = sw_sender_is_stopping(sender);
        int sent = sw_sender_send_records(sender);
        if (sent < 0 || (sent == 0 && stopping)) {
            return;
        }
        if (now - marked_ns >= MARK_NS) {
            marked_ns = now;
            if (send_mark(sender) != 0) {
                return;
            }
        }
        sender->moved_ns = now;
        if (sw_sender_is_late(sender)) {
            sw_sender_failed(sender, &senders->dropped,
                             "no acknowledgement arrived within repl-timeout");
            return;
        }
        bool rests =
            sent == 0 && sw_backlog_ask(senders->parts.backlog, &sender->reader, sender->sent);
        if (sw_sender_wait_for(sender, 0, rests ? 200 : 0) != 0) {
            return;
        }
    }
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *run_sender(void *context)
{
    struct sw_sender *sender = context;
    struct sw_senders *senders = sender->senders;
    sw_log(SW_LOG_NOTICE, "%s: a replica has connected", sender->address);
    sw_backlog_join(senders->parts.backlog, &sender->reader);
    serve(sender);
    sw_backlog_leave(senders->parts.backlog, &sender->reader);
    sw_log(sender->reason[0] == '\0' ? SW_LOG_NOTICE : SW_LOG_WARNING,
           "%s: the connection to the replica ended: %s", sender->address,
           sender->reason[0] == '\0' ? "the server stops" : sender->reason);
    sw_peer_socket_close(&sender->socket);
    pthread_mutex_lock(&senders->lock);
    sender->joined = true;
    pthread_mutex_unlock(&senders->lock);
    return NULL;
}

/* Joins and frees the senders whose threads have ended. `all`: waits for every thread. */
static void reap(struct sw_senders *senders, bool all)
{
    struct sw_sender *gone = NULL;
    pthread_mutex_lock(&senders->lock);
    for (struct sw_sender **link = &senders->list; *link != NULL;) {
        struct sw_sender *sender = *link;
        if (all || sender->joined) {
            *link = sender->next;
            sender->next = gone;
            gone = sender;
        } else {
            link = &sender->next;
        }
    }
    pthread_mutex_unlock(&senders->lock);
    while (gone != NULL) {
        struct sw_sender *sender = gone;
        gone = sender->next;
        pthread_join(sender->thread, NULL);
        sw_sender_free(sender);
    }
}

struct sw_senders *sw_senders_create(const struct sw_senders_parts *parts)
{
    struct sw_senders *senders = calloc(1, sizeof(*senders));
    if (senders != NULL) {
        senders->parts = *parts;
        pthread_mutex_init(&senders->lock, NULL);
    }
    return senders;
}

void sw_senders_set_tables(struct sw_senders *senders, struct sw_tables *tables,
                           struct sw_sequencer *sequencer)
{
    senders->parts.tables = tables;
    senders->parts.sequencer = sequencer;
}

void sw_senders_stop(struct sw_senders *senders)
{
    __atomic_store_n(&senders->stopping, true, __ATOMIC_RELEASE);
    pthread_mutex_lock(&senders->lock);
    for (struct sw_sender *sender = senders->list; sender != NULL; sender = sender->next) {
        sw_sender_nudge(sender);
    }
    pthread_mutex_unlock(&senders->lock);
    reap(senders, true);
}

void sw_senders_destroy(struct sw_senders *senders)
{
    if (senders != NULL) {
        reap(senders, true);
        pthread_mutex_destroy(&senders->lock);
        free(senders);
    }
}

static unsigned length(const struct sw_senders *senders)
{
    unsigned n = 0;
    for (const struct sw_sender *sender = senders->list; sender != NULL; sender = sender->next) {
        n += !sender->joined;
    }
    return n;
}

int sw_senders_add(struct sw_senders *senders, const struct sw_peer_socket *socket,
                   const struct sw_repl_peer *peer, const struct sw_repl_hello *hello,
                   const struct sw_repl_ack *who, char *reason, size_t reason_bytes)
{
    reap(senders, false);
    struct sw_sender *sender = calloc(1, sizeof(*sender));
    int event = sender == NULL ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) {
        free(sender);
        snprintf(reason, reason_bytes,
                 "cannot serve another replica: no memory or no file descriptor");
        return -1;
    }
    sender->senders = senders;
    sender->socket = *socket;
    sender->reader.fd = event;
    sender->hello = *hello;
    sender->who = *who;
    sender->heard_ns = sender->moved_ns = sw_log_now_ns();
    snprintf(sender->address, sizeof(sender->address), "%s", peer->address);
    sw_sender_take_right(sender, peer);
    pthread_mutex_lock(&senders->lock);
    bool full = length(senders) >= senders->parts.config->replicas_max;
    bool started = !full && pthread_create(&sender->thread, NULL, run_sender, sender) == 0;
    if (started) {
        sender->next = senders->list;
        senders->list = sender;
    }
    pthread_mutex_unlock(&senders->lock);
    if (!started) {
        sw_sender_free(sender);
        snprintf(reason, reason_bytes, "%s",
                 full ? "the server has replicas-max replicas already: raise --replicas-max"
                      : "cannot serve another replica: no thread");
        return -1;
    }
    return 0;
}

void sw_senders_cut(struct sw_senders *senders)
{
    pthread_mutex_lock(&senders->lock);
    for (struct sw_sender *sender = senders->list; sender != NULL; sender = sender->next) {
        __atomic_store_n(&sender->is_cut, true, __ATOMIC_RELEASE);
        sw_sender_nudge(sender);
    }
    pthread_mutex_unlock(&senders->lock);
}
