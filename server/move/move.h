/* SPDX-License-Identifier: MIT
 *
 * move.h - slots on their way with their keys, between this node and another one: one thread that
 * takes them, or sends them, or removes what is left of them.
 *
 * What is remembered, and who serves what when, is server/cluster/moving.h. Here is what carries it
 * out: the keys of the slots at one instant, then the writes since then, as server/repl keeps them
 * for replicas. A connection that ends is the end of an attempt; the target begins another one.
 *
 * Threads: any, but for create, start, stop and destroy.
 */
#ifndef SHERWOOD_SERVER_MOVE_MOVE_H
#define SHERWOOD_SERVER_MOVE_MOVE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/cluster/moving.h"
#include "server/log/saver.h"
#include "server/log/wal.h"
#include "server/move/facts.h"
#include "server/move/stream.h"
#include "server/repl/repl.h"
#include "server/repl/wire.h"

struct sw_mover;

struct sw_mover_parts {
    const struct sw_config *config; /* borrowed, as all of these */
    struct sw_table *table;
    struct sw_cluster *cluster;
    struct sw_repl *repl;
    struct sw_saver *saver; /* NULL: there is no data directory */
    struct sw_wal *wal;     /* NULL: writes are not logged */
};

/* *out is NULL where there is no cluster. Returns 0; or -1 with a sentence logged, and *out is to
 * be destroyed. */
int sw_mover_create(const struct sw_mover_parts *parts, struct sw_mover **out);
/* Goes on with what the state file says. `mover` may be NULL, as below. Returns 0, or -1 with a
 * sentence logged. */
int sw_mover_start(struct sw_mover *mover);
/* The loops have ended. */
void sw_mover_stop(struct sw_mover *mover);
void sw_mover_destroy(struct sw_mover *mover);

/* Begins to take slots from the node of this id. Returns false with a sentence. */
bool sw_mover_take(struct sw_mover *mover, const char *source, const struct sw_slot_set *slots,
                   char error[SW_CLUSTER_ERROR_BYTES]);
/* Takes them no more, unless that is decided. */
bool sw_mover_cancel(struct sw_mover *mover, char error[SW_CLUSTER_ERROR_BYTES]);
/* Sends slots by a wire, which is taken over. Returns false with a sentence, and it is the
 * caller's; *for_good: it would be refused again. */
bool sw_mover_send(struct sw_mover *mover, const struct sw_wire *wire,
                   const struct sw_move_hello *hello, bool *for_good,
                   char error[SW_CLUSTER_ERROR_BYTES]);

/* The topology is another one: what is under way begins anew by that. Does not block. */
void sw_mover_nudge(struct sw_mover *mover);
/* Is no batch of the mover on its way? One that begins later finds out that this is a replica. */
bool sw_mover_is_quiet(struct sw_mover *mover);

/* `mover` may be NULL: all zero. */
void sw_mover_facts(struct sw_mover *mover, struct sw_move_facts *facts);
/* Lines of "name:value". Returns their length. */
size_t sw_mover_status(struct sw_mover *mover, char *text, size_t bytes);

#endif
