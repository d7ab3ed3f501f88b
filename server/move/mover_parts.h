/* SPDX-License-Identifier: MIT
 *
 * mover_parts.h - internals of the mover, shared by the files of this folder.
 */
#ifndef SHERWOOD_SERVER_MOVE_MOVER_PARTS_H
#define SHERWOOD_SERVER_MOVE_MOVER_PARTS_H

#include <pthread.h>

#include "server/move/move.h"
#include "server/repl/digest.h"
#include "server/repl/login.h"
#include "server/repl/peer_connection.h"
#include "table/expiring.h"
#include "table/info.h"

/* Limits of the entries that are read, sent or removed at once. */
#define SW_MOVE_ENTRIES_AT_ONCE 16384U
#define SW_MOVE_BYTES_AT_ONCE (4U << 20)

struct sw_mover {
    struct sw_mover_parts parts;
    struct sw_table_info info;
    uint32_t raw_bytes; /* bytes of a key if resp-keys is raw, else 0 */
    uint32_t at_once;   /* entries */
    pthread_t thread;
    bool has_thread;
    int wake_fd;             /* an eventfd: ends the waits of a connection */
    pthread_mutex_t writing; /* held while a batch of the mover is in flight */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping, cancelled;     /* protected by the lock, like the fields below */
    struct sw_peer_socket socket; /* the target's connection; its fd is -1: none */
    struct sw_move_hello hello;
    bool is_sending;
    bool has_order; /* the thread must read the state again */
    bool is_stale;  /* the replicas may lack the current state, which is sent to them later */
    struct sw_move_status facts;

    /* Only the thread uses the fields below. */
    struct sw_queue *queue;
    uint8_t *keys, *values, *ops; /* I/O memory of at_once each */
    uint64_t *times;              /* likewise: when entries expire, 0: never */
    bool has_image;               /* the mover holds an image of the table */
    uint64_t failed;              /* number of the attempt that has failed */
    bool gives_up;                /* another attempt would also fail */
    char reason[SW_MOVE_REASON_BYTES];
};

/* --- base.c --- */
__attribute__((format(printf, 2, 3))) int sw_mover_fail(struct sw_mover *mover, const char *format,
                                                        ...);
bool sw_mover_is_over(struct sw_mover *mover); /* stop, or cancel */
bool sw_mover_is_stopping(struct sw_mover *mover);
bool sw_mover_is_loading(const struct sw_mover *mover);
/* Ends a wait of the thread. Call it with the lock held. */
void sw_mover_wake(struct sw_mover *mover);
void sw_mover_phase(struct sw_mover *mover, enum sw_move_phase phase);
void sw_mover_count(struct sw_mover *mover, uint64_t keys, uint64_t bytes);
void sw_mover_pause_ms(struct sw_mover *mover, unsigned ms);
/* Returns true if keys that arrive with slots may expire. */
static inline bool sw_mover_expires(const struct sw_mover *mover)
{
    return (mover->info.operations >> SW_EXPIRE & 1) != 0;
}
/* Returns value_format of EXPORTSLOTS: the format and the type of values. */
uint64_t sw_mover_format(const struct sw_mover *mover);
/* Waits until every loop uses the view `number` or a newer one. */
int sw_mover_settle(struct sw_mover *mover, uint64_t number);
/* Returns a connection that is closed. */
struct sw_peer_connection sw_mover_connection(const struct sw_mover *mover);
/* Connects to the primary of this id, or to an address, and logs in. */
int sw_mover_connect(struct sw_mover *mover, struct sw_peer_connection *connection, const char *id);
int sw_mover_connect_at(struct sw_mover *mover, struct sw_peer_connection *connection,
                        const char *ip, uint16_t port);

/* --- keys.c --- */
/* Runs a batch without expiring any key by the clock, and adds it to the log and the backlog. */
int sw_mover_run(struct sw_mover *mover, struct sw_batch *batch);
/* Takes an image of the table. Waits while others have one, at most `within_ms` (0: no limit). */
int sw_mover_image(struct sw_mover *mover, uint64_t within_ms, struct sw_image **image);
/* Calls `visit` for the entries of these slots in an image. The entries are in mover->keys,
 * ->values and ->times. Drops the image. */
int sw_mover_each_in(struct sw_mover *mover, struct sw_image *image,
                     const struct sw_slot_set *slots,
                     int (*visit)(struct sw_mover *mover, uint32_t count, void *user), void *user);
/* Takes an image and calls `visit` as above. Sets *sequence to the write sequence of the image. */
int sw_mover_each(struct sw_mover *mover, const struct sw_slot_set *slots, uint64_t within_ms,
                  int (*visit)(struct sw_mover *mover, uint32_t count, void *user), void *user,
                  uint64_t *sequence);
int sw_mover_remove(struct sw_mover *mover, const struct sw_slot_set *slots);
/* Computes the digest of the slots. Call it while no node serves them. */
int sw_mover_digest(struct sw_mover *mover, const struct sw_slot_set *slots,
                    struct sw_digest *digest);
/* Adds entries [first, end) that lie in the mover's memory. */
void sw_mover_add(const struct sw_mover *mover, struct sw_digest *digest, uint32_t first,
                  uint32_t end);
bool sw_mover_has(const struct sw_mover *mover, const struct sw_slot_set *slots, const void *keys,
                  uint32_t at);
bool sw_mover_has_key(const struct sw_mover *mover, const struct sw_slot_set *slots, uint64_t key);
/* Waits until every write of the table is as durable as the options allow, at most `within_ms` (0:
 * no limit). */
int sw_mover_secure(struct sw_mover *mover, uint64_t within_ms);

/* --- notify_replicas.c --- */
/* Sends the state of this node to all replicas. Returns 0 once they have it, and have the writes up
 * to `sequence`. */
int sw_mover_notify_replicas(struct sw_mover *mover, uint64_t sequence);
/* Asks the replicas for a newer topology that lacks this node's decision, and decides again in it.
 * Returns true if a replica had one. */
bool sw_mover_decide_anew(struct sw_mover *mover);

/* --- target.c, source.c --- */
/* Runs one attempt of the target. Returns 0 if it is decided, else -1. *for_good: another attempt
 * would also fail. */
int sw_mover_attempt(struct sw_mover *mover, const struct sw_cluster_move *move, bool *for_good);
/* Serves the slots of a decided move, once the replicas know the decision. */
int sw_mover_serve(struct sw_mover *mover);
/* Sends slots to the target. The outcome is in the state. */
void sw_mover_run_source(struct sw_mover *mover, struct sw_peer_socket socket,
                         const struct sw_move_hello *hello);
/* Asks the target for the outcome of an attempt in which slots were handed over. */
void sw_mover_ask(struct sw_mover *mover, const struct sw_cluster_move *move);

#endif
