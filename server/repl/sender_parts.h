/* SPDX-License-Identifier: MIT
 *
 * sender_parts.h - what sender.c sends by, with sender_right.c, and sender_figures.c tells of. For
 * these alone.
 */
#ifndef SHERWOOD_SERVER_REPL_SENDER_PARTS_H
#define SHERWOOD_SERVER_REPL_SENDER_PARTS_H

#include <pthread.h>

#include "server/repl/sender.h"

struct sw_sender {
    struct sw_sender *next;
    struct sw_senders *senders;
    pthread_t thread;
    struct sw_wire wire;
    struct sw_feed_reader reader;
    char address[64];
    struct sw_users *users; /* NULL: the server has none; borrowed */
    struct sw_login login;  /* of the replica; the thread's, until it ends */
    uint32_t command;       /* REPLICATE, which the login must be allowed to run */
    struct sw_repl_hello hello;
    struct sw_repl_ack who; /* with the term in which it is served */
    bool joined;            /* under the lock of `senders`: the thread may be */
    /* Atomic. */
    bool is_cut;
    bool is_online;
    uint64_t acknowledged;
    uint64_t incarnation; /* as its acknowledgements say */
    uint64_t heard_ns;
    /* The thread's. */
    uint64_t sent; /* last write that was sent */
    uint64_t moved_ns;
    bool sends_snapshot;
    uint64_t snapshot_ns; /* since when; 0: it waits for an image, or sends none */
    uint64_t until_ns;    /* when it must be over; 0: it need not */
    uint8_t ack[SW_REPL_ACK_BYTES];
    size_t ack_size;
    char reason[SW_REPL_REASON_BYTES];
};

/* Notes who the replica is. */
void sw_sender_take_right(struct sw_sender *sender, const struct sw_repl_peer *peer);
/* May the replica still be sent the table, as the rules of its user are now? By the thread. */
bool sw_sender_has_right(struct sw_sender *sender);
/* Wakes the thread; with the lock held. */
void sw_sender_nudge(struct sw_sender *sender);
/* Frees a sender without a thread, and without a wire. */
void sw_sender_free(struct sw_sender *sender);

struct sw_senders {
    struct sw_senders_parts parts;
    pthread_mutex_t lock;
    struct sw_sender *list;
    bool stopping;                                            /* atomic */
    uint64_t snapshots, resumes, dropped, errors, sent_bytes; /* atomic */
};

/* Is what the replica has of a history that this server has? */
bool sw_sender_is_known(const struct sw_sender *sender);

#endif
