/* SPDX-License-Identifier: MIT
 *
 * sender_parts.h - internals of the senders. Only for sender.c and sender_*.c.
 */
#ifndef SHERWOOD_SERVER_REPL_SENDER_PARTS_H
#define SHERWOOD_SERVER_REPL_SENDER_PARTS_H

#include <pthread.h>

#include "server/repl/sender.h"
#include "server/tables/tables.h"

struct sw_sender {
    struct sw_sender *next;
    struct sw_senders *senders;
    pthread_t thread;
    struct sw_peer_socket socket;
    struct sw_backlog_reader reader;
    char address[64];
    struct sw_users *users; /* borrowed; NULL: the server has no users */
    struct sw_login login;  /* of the replica; only the thread uses it, until the thread ends */
    uint32_t command;       /* REPLICATE, which the login must be allowed to run */
    struct sw_repl_hello hello;
    struct sw_repl_ack who; /* with the term in which it is served */
    bool joined;            /* under the lock of `senders`: the thread may be joined */
    /* Atomic. */
    bool is_cut;
    bool is_online;
    uint64_t acknowledged;
    uint64_t incarnation; /* from its acknowledgements */
    uint64_t heard_ns;
    /* Only the thread uses the fields below. */
    uint64_t sent;                  /* last write that was sent */
    struct sw_table *table;         /* whose snapshot it sends; NULL: none */
    const struct sw_served *served; /* the same table, pinned; NULL: the replica has one table */
    uint64_t moved_ns;
    bool sends_snapshot;
    uint64_t snapshot_ns; /* begin of the snapshot; 0: it waits for an image, or sends none */
    uint64_t until_ns;    /* deadline for the end of the thread; 0: none */
    uint8_t ack[SW_REPL_ACK_BYTES];
    size_t ack_size;
    char reason[SW_REPL_REASON_BYTES];
};

/* Copies the replica's login. */
void sw_sender_take_right(struct sw_sender *sender, const struct sw_repl_peer *peer);
/* Returns true if the current rules of its user still allow REPLICATE. Threads: the sender's. */
bool sw_sender_has_right(struct sw_sender *sender);
/* Wakes the thread. The caller holds the lock. */
void sw_sender_nudge(struct sw_sender *sender);
/* Frees a sender without a thread, and without a socket. */
void sw_sender_free(struct sw_sender *sender);

/* Why a replica of version SW_REPL_ONE_TABLE is refused. */
#define SW_SENDER_ONE_TABLE \
    "this server has, or had, several tables, and the replica has one: upgrade the replica"

/* --- sender_socket.c --- */

/* Ends the connection for this reason, unless it has one. Raises *counter. Returns -1. */
int sw_sender_failed(struct sw_sender *sender, uint64_t *counter, const char *reason);
/* Reads the acknowledgements that have arrived. Like the following ones returns 0; or -1 if the
 * connection must end. */
int sw_sender_take_acks(struct sw_sender *sender);
/* Refuses a replica that is cut off, or whose user has lost the right. */
int sw_sender_refuse_if_cut(struct sw_sender *sender);
/* Waits for POLLOUT or, if `events` is 0, for a wake-up. Reads acknowledgements that arrived. */
int sw_sender_wait_for(struct sw_sender *sender, short events, int timeout_ms);
/* Returns true if the server stops. The first time, also sets the deadline of every wait. */
bool sw_sender_is_stopping(struct sw_sender *sender);
/* Sends all bytes. Changes the pieces. */
int sw_sender_send_pieces(struct sw_sender *sender, struct iovec *pieces, int n);
/* Sends bytes of the begin. */
int sw_sender_send(struct sw_sender *sender, const void *bytes, size_t size);
/* Has the replica been silent, or read nothing, for repl-timeout? */
bool sw_sender_is_late(struct sw_sender *sender);
/* Sends the next records of the backlog. Returns their number, or -1 if the connection must end. */
int sw_sender_send_records(struct sw_sender *sender);
/* Encodes the header of a record that is no write. `message` has zeros behind its bytes. */
void sw_sender_encode(const struct sw_sender *sender, enum sw_wal_kind kind, uint64_t sequence,
                      const uint8_t *message, size_t bytes, uint8_t out[SW_WAL_RECORD_BYTES]);
static inline void sw_sender_count(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

/* --- sender_sync.c --- */

/* Sends the welcome and, unless the replica continues, snapshots. Returns 0, or -1. */
int sw_sender_begin(struct sw_sender *sender);

struct sw_senders {
    struct sw_senders_parts parts;
    pthread_mutex_t lock;
    struct sw_sender *list;
    bool stopping;                                            /* atomic */
    uint64_t snapshots, resumes, dropped, errors, sent_bytes; /* atomic */
};

/* Returns true if this server has the history of the replica's writes. */
bool sw_sender_is_known(const struct sw_sender *sender);

#endif
