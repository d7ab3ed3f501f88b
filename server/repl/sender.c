/* SPDX-License-Identifier: MIT
 *
 * sender.c - sends a snapshot if the replica needs one, then the records of the backlog.
 */
#include "server/repl/sender_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/config/live.h"
#include "server/log/clock.h"
#include "server/log/snapshot_take.h"
#include "server/observe/log.h"
#include "server/repl/snapshot_send.h"
#include "table/image.h"

#define AT_ONCE 64
#define AT_ONCE_BYTES (4U << 20)
#define MARK_NS 1000000000ULL
#define LAST_WORDS_NS 2000000000ULL /* for the rest of the backlog at a stop */

static void count(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static int sender_failed(struct sw_sender *sender, uint64_t *counter, const char *reason)
{
    if (sender->reason[0] == '\0') {
        snprintf(sender->reason, sizeof(sender->reason), "%s", reason);
        count(counter, 1);
    }
    return -1;
}

/* --- the socket ------------------------------------------------------------------------------- */

/* Reads the acknowledgements that have arrived. */
static int take_acks(struct sw_sender *sender)
{
    struct sw_senders *senders = sender->senders;
    for (;;) {
        ssize_t got = sw_peer_socket_receive(&sender->socket, sender->ack + sender->ack_size,
                                             sizeof(sender->ack) - sender->ack_size);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return 0;
        }
        if (got <= 0) {
            return sender_failed(sender, &senders->dropped,
                                 got == 0 ? "the replica has closed the connection"
                                          : sw_peer_socket_trouble(&sender->socket, errno));
        }
        sender->ack_size += (size_t)got;
        if (sender->ack_size < sizeof(sender->ack)) {
            continue;
        }
        uint64_t applied = 0, incarnation = 0;
        sender->ack_size = 0;
        if (!sw_repl_ack_parse(sender->ack, sw_backlog_salt(senders->parts.backlog), &applied,
                               &incarnation) ||
            applied > sender->sent || applied < sender->acknowledged ||
            (sender->incarnation != 0 && incarnation != sender->incarnation)) {
            return sender_failed(sender, &senders->errors,
                                 "the replica sent bytes that are not an acknowledgement");
        }
        __atomic_store_n(&sender->acknowledged, applied, __ATOMIC_SEQ_CST);
        __atomic_store_n(&sender->incarnation, incarnation, __ATOMIC_SEQ_CST);
        __atomic_store_n(&sender->heard_ns, sw_log_now_ns(), __ATOMIC_RELAXED);
        senders->parts.wake(senders->parts.context);
    }
}

static int refuse_if_cut(struct sw_sender *sender)
{
    return __atomic_load_n(&sender->is_cut, __ATOMIC_ACQUIRE)
               ? sender_failed(sender, &sender->senders->dropped,
                               "this server is no longer the replica's primary")
           : sw_sender_has_right(sender)
               ? 0
               : sender_failed(sender, &sender->senders->dropped,
                               "its user lost the right to run REPLICATE");
}

/* Waits for POLLOUT or, if `events` is 0, for a wake-up. Reads acknowledgements that arrived. */
static int wait_for(struct sw_sender *sender, short events, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = sender->socket.fd, .events = (short)(events | POLLIN)},
                            {.fd = sender->reader.fd, .events = POLLIN}};
    uint64_t told;
    int ready = poll(fds, events == 0 ? 2 : 1, timeout_ms);
    if (ready < 0 && errno != EINTR) {
        return sender_failed(sender, &sender->senders->errors, strerror(errno));
    }
    if (ready > 0 && fds[1].revents != 0 && read(sender->reader.fd, &told, sizeof(told)) < 0 &&
        errno != EAGAIN) {
        return sender_failed(sender, &sender->senders->errors, strerror(errno));
    }
    if (refuse_if_cut(sender) != 0) {
        return -1;
    }
    return ready > 0 && (fds[0].revents & ~POLLOUT) != 0 ? take_acks(sender) : 0;
}

/* Returns true if the server stops. The first time, also sets the deadline of every wait. */
static bool is_stopping(struct sw_sender *sender)
{
    bool stopping = __atomic_load_n(&sender->senders->stopping, __ATOMIC_ACQUIRE);
    if (stopping && sender->until_ns == 0) {
        sender->until_ns = sw_log_now_ns() + LAST_WORDS_NS;
    }
    return stopping;
}

static bool is_late(struct sw_sender *sender)
{
    (void)is_stopping(sender);
    uint64_t now = sw_log_now_ns();
    uint64_t limit = sender->senders->parts.config->repl_timeout * 1000000000ULL;
    return now - sender->moved_ns > limit || (sender->until_ns != 0 && now > sender->until_ns) ||
           now - __atomic_load_n(&sender->heard_ns, __ATOMIC_RELAXED) > limit;
}

/* Ends a snapshot that is too slow, because it holds the table's image: DIGEST, BGSAVE and other
 * replicas wait for it. Also ends it if a snapshot that restarts the log claims the image. */
static int refuse_if_slow(struct sw_sender *sender)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    const uint64_t limit = parts->config->repl_snapshot_timeout * 1000000000ULL;
    const bool is_late = sw_log_now_ns() - sender->snapshot_ns > limit;
    if (sender->snapshot_ns == 0 || (!is_late && !sw_image_is_claimed(parts->table))) {
        return 0;
    }
    return sender_failed(sender, &sender->senders->dropped,
                         is_late
                             ? "the snapshot took longer than repl-snapshot-timeout"
                             : "the snapshot that repairs the log comes before that of a replica");
}

static int send_pieces(struct sw_sender *sender, struct iovec *pieces, int n)
{
    sender->moved_ns = sw_log_now_ns();
    while (n > 0) {
        ssize_t took = sw_peer_socket_send(&sender->socket, pieces, n);
        if (took < 0 && errno != EAGAIN && errno != EINTR) {
            return sender_failed(sender, &sender->senders->dropped,
                                 sw_peer_socket_trouble(&sender->socket, errno));
        }
        if (took <= 0) {
            if (is_late(sender)) {
                return sender_failed(sender, &sender->senders->dropped,
                                     "the replica read no byte within repl-timeout");
            }
            if (refuse_if_slow(sender) != 0 || wait_for(sender, POLLOUT, 100) != 0) {
                return -1;
            }
            continue;
        }
        sender->moved_ns = sw_log_now_ns();
        count(&sender->senders->sent_bytes, (uint64_t)took);
        for (; n > 0 && (size_t)took >= pieces->iov_len; pieces++, n--) {
            took -= (ssize_t)pieces->iov_len;
        }
        if (n > 0) {
            pieces->iov_base = (uint8_t *)pieces->iov_base + took;
            pieces->iov_len -= (size_t)took;
        }
    }
    return 0;
}

static int send_bytes(void *context, const void *bytes, size_t size)
{
    struct sw_sender *sender = context;
    struct iovec piece = {(void *)(uintptr_t)bytes, size};
    if (refuse_if_cut(sender) != 0) { /* the bytes may be those of another history */
        return -1;
    }
    if (__atomic_load_n(&sender->senders->stopping, __ATOMIC_ACQUIRE)) {
        return sender_failed(sender, &sender->senders->dropped,
                             "the server stops before the replica has a snapshot");
    }
    if (sender->sends_snapshot && sender->snapshot_ns == 0) {
        sender->snapshot_ns = sw_log_now_ns();
    }
    if (refuse_if_slow(sender) != 0) {
        return -1;
    }
    /* a replica that loads a snapshot sends nothing: do not time it out */
    __atomic_store_n(&sender->heard_ns, sw_log_now_ns(), __ATOMIC_RELAXED);
    return send_pieces(sender, &piece, 1);
}

/* --- what is sent ----------------------------------------------------------------------------- */

static int send_welcome(struct sw_sender *sender, bool resumes)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    struct sw_repl_welcome welcome = {.resumes = resumes,
                                      .sequence =
                                          sw_sender_is_known(sender) ? sender->hello.sequence : 0,
                                      .salt = sw_backlog_salt(parts->backlog),
                                      .term = sender->who.term};
    const struct sw_repl_terms *terms = parts->state->terms;
    char line[SW_REPL_LINE_BYTES];
    pthread_mutex_lock(&parts->state->lock);
    memcpy(welcome.history, parts->state->history.id, sizeof(welcome.history));
    pthread_mutex_unlock(&parts->state->lock);
    welcome.start = terms == NULL ? 0 : terms->start(terms->context, welcome.term);
    if (terms != NULL && welcome.start == 0) {
        return sender_failed(sender, &sender->senders->dropped, "the term has ended");
    }
    return send_bytes(sender, line, sw_repl_welcome_write(&welcome, line, sizeof(line)));
}

/* Returns true if this server has the replica's history, and the backlog has its next write. */
static bool can_resume(const struct sw_sender *sender)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    struct sw_backlog_record *record;
    int got = sw_sender_is_known(sender)
                  ? sw_backlog_take(parts->backlog, sender->hello.sequence, &record, 1, 1)
                  : -1;
    if (got > 0) {
        sw_backlog_release(&record, got);
    }
    return got >= 0;
}

/* Called while the sender waits for the table's image. Returns false if the connection must end. */
static bool goes_on(void *context)
{
    struct sw_sender *sender = context;
    if (__atomic_load_n(&sender->senders->stopping, __ATOMIC_ACQUIRE)) {
        return sender_failed(sender, &sender->senders->dropped,
                             "the server stops before the replica has a snapshot") == 0;
    }
    /* the replica sends nothing meanwhile: do not time it out */
    __atomic_store_n(&sender->heard_ns, sw_log_now_ns(), __ATOMIC_RELAXED);
    return refuse_if_cut(sender) == 0 && take_acks(sender) == 0;
}

/* The snapshot may have a write that a loop has completed but not yet added to the backlog. Waits
 * until the backlog has it: otherwise the replica would be ahead of the backlog. */
static int wait_for_backlog(struct sw_sender *sender)
{
    struct sw_senders *senders = sender->senders;
    sender->moved_ns = sw_log_now_ns();
    while (!sw_backlog_has(senders->parts.backlog, sender->sent)) {
        if (is_late(sender)) {
            return sender_failed(
                sender, &senders->dropped,
                "the backlog lacks the last write of the snapshot after repl-timeout");
        }
        if (wait_for(sender, 0, 2) != 0) {
            return -1;
        }
    }
    return 0;
}

static int begin_to_send(struct sw_sender *sender)
{
    struct sw_senders *senders = sender->senders;
    bool was_on = sw_backlog_is_on(senders->parts.backlog);
    sw_backlog_enable(senders->parts.backlog, senders->parts.table);
    if (was_on && can_resume(sender)) {
        count(&senders->resumes, 1);
        sender->sent = sender->hello.sequence;
        __atomic_store_n(&sender->acknowledged, sender->sent, __ATOMIC_RELAXED);
        return send_welcome(sender, true);
    }
    count(&senders->snapshots, 1);
    if (send_welcome(sender, false) != 0) {
        return -1;
    }
    char reason[SW_SNAPSHOT_REASON_BYTES] = "";
    sender->sends_snapshot = true;
    if (sw_snapshot_send(senders->parts.table, senders->parts.config, goes_on, send_bytes, sender,
                         &sender->sent, reason) != 0) {
        return sender_failed(sender, &senders->errors, reason);
    }
    sender->sends_snapshot = false;
    sender->snapshot_ns = 0;
    return wait_for_backlog(sender);
}

static int send_mark(struct sw_sender *sender)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    uint8_t bytes[SW_WAL_RECORD_BYTES];
    struct sw_backlog_stats stats;
    sw_backlog_stats(parts->backlog, &stats);
    const struct sw_wal_record mark = {.kind = SW_WAL_MARK,
                                       .sequence = stats.last,
                                       .wall_us = sw_log_wall_us(),
                                       .units = SW_WAL_RECORD_BYTES / SW_WAL_ALIGN,
                                       .columns_check = 0};
    sw_wal_record_encode(&mark, sw_backlog_salt(parts->backlog), bytes);
    struct iovec piece = {bytes, sizeof(bytes)};
    return send_pieces(sender, &piece, 1);
}

/* Sends the next records of the backlog. Returns their number, or -1 if the connection must end. */
static int send_records(struct sw_sender *sender)
{
    struct sw_backlog_record *records[AT_ONCE];
    struct iovec pieces[AT_ONCE];
    int n = sw_backlog_take(sender->senders->parts.backlog, sender->sent, records, AT_ONCE,
                            AT_ONCE_BYTES);
    if (n < 0) {
        return sender_failed(
            sender, &sender->senders->dropped,
            "the replica is behind by more than repl-backlog-bytes and must begin again");
    }
    for (int i = 0; i < n; i++) {
        pieces[i] = (struct iovec){records[i]->bytes, records[i]->size};
    }
    if (n > 0) {
        sender->sent = records[n - 1]->sequence; /* acknowledgements arrive while it sends */
        if (refuse_if_cut(sender) != 0 || send_pieces(sender, pieces, n) != 0) {
            sw_backlog_release(records, n);
            return -1;
        }
        sw_backlog_release(records, n);
    }
    return n;
}

static void serve(struct sw_sender *sender)
{
    struct sw_senders *senders = sender->senders;
    uint64_t marked_ns = 0;
    if (begin_to_send(sender) != 0) {
        return;
    }
    __atomic_store_n(&sender->is_online, true, __ATOMIC_RELEASE);
    for (;;) {
        uint64_t now = sw_log_now_ns();
        bool stopping = is_stopping(sender);
        int sent = send_records(sender);
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
        if (is_late(sender)) {
            sender_failed(sender, &senders->dropped,
                          "no acknowledgement arrived within repl-timeout");
            return;
        }
        bool rests =
            sent == 0 && sw_backlog_ask(senders->parts.backlog, &sender->reader, sender->sent);
        if (wait_for(sender, 0, rests ? 200 : 0) != 0) {
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
