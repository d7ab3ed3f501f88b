/* SPDX-License-Identifier: MIT
 *
 * apply_parts.h - the tables that records are applied to. Only for apply_*.c.
 */
#ifndef SHERWOOD_SERVER_REPL_APPLY_PARTS_H
#define SHERWOOD_SERVER_REPL_APPLY_PARTS_H

#include "server/repl/apply.h"

/* A table, opened by its first record. */
struct sw_apply_target {
    uint32_t id;
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    struct sw_wal_shape shape;
    const struct sw_account *account; /* of its memory; NULL: none */
    size_t record_max;
    uint64_t through; /* its snapshot has its writes up to here */
    bool expires;     /* it has EXPIRE */
};

struct sw_apply_targets {
    const struct sw_apply *apply;
    struct sw_apply_target **of; /* the last one that was found comes first */
    size_t count, room;
};

/* Returns 1 and the table of this id, which belongs to `targets`; 0 if it was dropped; or -1 with
 * an error in apply->reason. */
int sw_apply_target_of(struct sw_apply_targets *targets, uint32_t id, struct sw_apply_target **out);
/* Receives the snapshot of one table, and loads it. No batch is in flight. Returns 0, or -1 and an
 * error in apply->reason. (apply_snapshot.c) */
int sw_apply_table(struct sw_apply *apply, const struct sw_source *source);
/* Closes all tables. They have no batch in flight. */
void sw_apply_targets_close(struct sw_apply_targets *targets);

#endif
