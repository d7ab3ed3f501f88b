/* SPDX-License-Identifier: MIT
 *
 * sender_socket.c - the socket of a replica: bytes to it, acknowledgements from it, and when to
 * give it up.
 */
#include "server/repl/sender_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/check.h"
#include "server/iovec.h"
#include "server/log/clock.h"
#include "table/image.h"

#define DROPPED_NS 1000000000ULL /* a DROP waits this long for a replica that reads nothing */
#define AT_ONCE 64
#define AT_ONCE_BYTES (4U << 20)
#define LAST_WORDS_NS 2000000000ULL /* for the rest of the backlog at a stop */

int sw_sender_failed(struct sw_sender *sender, uint64_t *counter, const char *reason)
{
    if (sender->reason[0] == '\0') {
        snprintf(sender->reason, sizeof(sender->reason), "%s", reason);
        sw_sender_count(counter, 1);
    }
    return -1;
}

int sw_sender_take_acks(struct sw_sender *sender)
{
    struct sw_senders *senders = sender->senders;
    for (;;) {
        ssize_t got = sw_peer_socket_receive(&sender->socket, sender->ack + sender->ack_size,
                                             sizeof(sender->ack) - sender->ack_size);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return 0;
        }
        if (got <= 0) {
            return sw_sender_failed(sender, &senders->dropped,
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
            return sw_sender_failed(sender, &senders->errors,
                                    "the replica sent bytes that are not an acknowledgement");
        }
        __atomic_store_n(&sender->acknowledged, applied, __ATOMIC_SEQ_CST);
        __atomic_store_n(&sender->incarnation, incarnation, __ATOMIC_SEQ_CST);
        __atomic_store_n(&sender->heard_ns, sw_log_now_ns(), __ATOMIC_RELAXED);
        senders->parts.wake(senders->parts.context);
    }
}

int sw_sender_refuse_if_cut(struct sw_sender *sender)
{
    return __atomic_load_n(&sender->is_cut, __ATOMIC_ACQUIRE)
               ? sw_sender_failed(sender, &sender->senders->dropped,
                                  "this server is no longer the replica's primary")
           : sw_sender_has_right(sender)
               ? 0
               : sw_sender_failed(sender, &sender->senders->dropped,
                                  "its user lost the right to run REPLICATE");
}

int sw_sender_wait_for(struct sw_sender *sender, short events, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = sender->socket.fd, .events = (short)(events | POLLIN)},
                            {.fd = sender->reader.fd, .events = POLLIN}};
    uint64_t told;
    int ready = poll(fds, events == 0 ? 2 : 1, timeout_ms);
    if (ready < 0 && errno != EINTR) {
        return sw_sender_failed(sender, &sender->senders->errors, strerror(errno));
    }
    if (ready > 0 && fds[1].revents != 0 && read(sender->reader.fd, &told, sizeof(told)) < 0 &&
        errno != EAGAIN) {
        return sw_sender_failed(sender, &sender->senders->errors, strerror(errno));
    }
    if (sw_sender_refuse_if_cut(sender) != 0) {
        return -1;
    }
    return ready > 0 && (fds[0].revents & ~POLLOUT) != 0 ? sw_sender_take_acks(sender) : 0;
}

bool sw_sender_is_stopping(struct sw_sender *sender)
{
    bool stopping = __atomic_load_n(&sender->senders->stopping, __ATOMIC_ACQUIRE);
    if (stopping && sender->until_ns == 0) {
        sender->until_ns = sw_log_now_ns() + LAST_WORDS_NS;
    }
    return stopping;
}

bool sw_sender_is_late(struct sw_sender *sender)
{
    (void)sw_sender_is_stopping(sender);
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
    if (sender->snapshot_ns == 0 || (!is_late && !sw_image_is_claimed(sender->table))) {
        return 0;
    }
    return sw_sender_failed(
        sender, &sender->senders->dropped,
        is_late ? "the snapshot took longer than repl-snapshot-timeout"
                : "the snapshot that repairs the log comes before that of a replica");
}

/* Ends the connection if a replica that reads nothing holds up the DROP of the table that it is
 * sent. */
static int refuse_if_dropped(struct sw_sender *sender)
{
    if (sender->served == NULL || !sw_tables_leaves(sender->served) ||
        sw_log_now_ns() - sender->moved_ns < DROPPED_NS) {
        return 0;
    }
    return sw_sender_failed(sender, &sender->senders->dropped,
                            "a table was dropped while the replica did not read its snapshot");
}

int sw_sender_send_pieces(struct sw_sender *sender, struct iovec *pieces, int n)
{
    sender->moved_ns = sw_log_now_ns();
    while (n > 0) {
        ssize_t took = sw_peer_socket_send(&sender->socket, pieces, n);
        if (took < 0 && errno != EAGAIN && errno != EINTR) {
            return sw_sender_failed(sender, &sender->senders->dropped,
                                    sw_peer_socket_trouble(&sender->socket, errno));
        }
        if (took <= 0) {
            if (sw_sender_is_late(sender)) {
                return sw_sender_failed(sender, &sender->senders->dropped,
                                        "the replica read no byte within repl-timeout");
            }
            if (refuse_if_slow(sender) != 0 || refuse_if_dropped(sender) != 0 ||
                sw_sender_wait_for(sender, POLLOUT, 100) != 0) {
                return -1;
            }
            continue;
        }
        sender->moved_ns = sw_log_now_ns();
        sw_sender_count(&sender->senders->sent_bytes, (uint64_t)took);
        sw_iovec_skip(&pieces, &n, (size_t)took);
    }
    return 0;
}

int sw_sender_send(struct sw_sender *sender, const void *bytes, size_t size)
{
    struct iovec piece = {(void *)(uintptr_t)bytes, size};
    if (sw_sender_refuse_if_cut(sender) != 0) { /* the bytes may be those of another history */
        return -1;
    }
    if (__atomic_load_n(&sender->senders->stopping, __ATOMIC_ACQUIRE)) {
        return sw_sender_failed(sender, &sender->senders->dropped,
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
    return sw_sender_send_pieces(sender, &piece, 1);
}

void sw_sender_encode(const struct sw_sender *sender, enum sw_wal_kind kind, uint64_t sequence,
                      const uint8_t *message, size_t bytes, uint8_t out[SW_WAL_RECORD_BYTES])
{
    const uint64_t salt = sw_backlog_salt(sender->senders->parts.backlog);
    const uint64_t padded = sw_wal_align(bytes, SW_WAL_ALIGN);
    const struct sw_wal_record record = {
        .kind = kind,
        .sequence = sequence,
        .wall_us = sw_log_wall_us(),
        .count = (uint32_t)bytes,
        .units = (uint32_t)((SW_WAL_RECORD_BYTES + padded) / SW_WAL_ALIGN),
        .columns_check = bytes == 0 ? 0 : sw_check64(message, (size_t)padded, salt)};
    sw_wal_record_encode(&record, salt, out);
}

int sw_sender_send_records(struct sw_sender *sender)
{
    struct sw_backlog_record *records[AT_ONCE];
    struct iovec pieces[AT_ONCE];
    int n = sw_backlog_take(sender->senders->parts.backlog, sender->sent, records, AT_ONCE,
                            AT_ONCE_BYTES);
    if (n < 0) {
        return sw_sender_failed(
            sender, &sender->senders->dropped,
            "the replica is behind by more than repl-backlog-bytes and must begin again");
    }
    for (int i = 0; i < n; i++) {
        if (records[i]->needs_tables && sender->hello.version == SW_REPL_ONE_TABLE) {
            sw_backlog_release(records, n);
            return sw_sender_failed(sender, &sender->senders->dropped, SW_SENDER_ONE_TABLE);
        }
        pieces[i] = (struct iovec){records[i]->bytes, records[i]->size};
    }
    if (n > 0) {
        sender->sent = records[n - 1]->sequence; /* acknowledgements arrive while it sends */
        if (sw_sender_refuse_if_cut(sender) != 0 || sw_sender_send_pieces(sender, pieces, n) != 0) {
            sw_backlog_release(records, n);
            return -1;
        }
        sw_backlog_release(records, n);
    }
    return n;
}
