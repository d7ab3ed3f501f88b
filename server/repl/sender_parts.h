/* SPDX-License-Identifier: MIT
 *
 * sender_parts.h - internals of the senders. Only for sender.c, sender_right.c and
 * sender_stats.c.
 */
#ifndef SHERWOOD_SERVER_REPL_SENDER_PARTS_H
#define SHERWOOD_SERVER_REPL_SENDER_PARTS_H

#include <pthread.h>

#include "server/repl/sender.h"

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
    uint64_t sent; /* last write that was sent */
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
