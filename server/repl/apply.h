/* SPDX-License-Identifier: MIT
 *
 * apply.h - applies what a replica receives to its table: a snapshot, then records.
 *
 * The bytes are not trusted: lengths are bounded before memory is touched, and every part has a
 * checksum. Threads: one, the only one that writes to the table.
 */
#ifndef SHERWOOD_SERVER_REPL_APPLY_H
#define SHERWOOD_SERVER_REPL_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log/wal.h"
#include "server/repl/backlog.h"
#include "server/repl/peer_connection.h"
#include "server/repl/replica_files.h"
#include "table/info.h"

/* Source of the bytes, with the contract of sw_peer_connection_receive. Tests use another source.
 */
struct sw_source {
    int64_t (*receive)(void *context, void *out, size_t least, size_t room);
    void *context;
};

struct sw_apply {
    struct sw_table *table;
    struct sw_table_info info;
    uint32_t value_format;
    uint32_t value_type;
    struct sw_source source;
    struct sw_replica_files *files; /* logs applied writes; NULL: no log */
    struct sw_backlog *backlog;     /* gets applied writes; NULL: no backlog */
    uint64_t salt;
    uint64_t applied;    /* sequence of the last applied write */
    uint64_t primary_at; /* sequence of the primary's last write, as the primary reports it */
    /* Called when `applied`, or `applied` and `primary_at`, have changed. Returns 0, or -1 to end
     * the connection. */
    int (*moved)(void *context);
    void (*loaded)(void *context, uint64_t bytes); /* bytes of a snapshot were received */
    void *context;
    bool lacks_room; /* the snapshot has more entries than the table takes */
    char *reason;    /* SW_REPL_REASON_BYTES; written if the bytes are wrong */
};

/* Empties the table and fills it with the snapshot that is received. The table's sequence is then
 * `applied`. Returns 0. Returns -1 if it fails; the table then has no meaningful contents. */
int sw_apply_snapshot(struct sw_apply *apply);

/* Applies the records after `applied`, which is the table's sequence, until the connection ends.
 * Returns -1. *is_whole: the table still holds exactly the writes up to `applied`. */
int sw_apply_records(struct sw_apply *apply, bool *is_whole);

#endif
