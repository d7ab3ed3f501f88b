/* SPDX-License-Identifier: MIT
 *
 * apply.h - applies what a replica receives to its tables: snapshots, then records.
 *
 * The bytes are not trusted: lengths are bounded before memory is touched, and every part has a
 * checksum. Threads: one, the only one that writes to the tables.
 */
#ifndef SHERWOOD_SERVER_REPL_APPLY_H
#define SHERWOOD_SERVER_REPL_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log/replay.h"
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

/* The tables of a replica. Each function returns -1 with an error in `reason` if it fails. */
struct sw_apply_tables {
    /* Gives the server the tables of a catalog, which are empty except the first. Returns 0. */
    int (*begin)(void *context, const uint8_t *catalog, size_t bytes,
                 char reason[SW_REPL_REASON_BYTES]);
    /* Finds a table by its id. Returns 1; 0 if it was dropped. */
    int (*find)(void *context, uint32_t id, struct sw_replay_table *out,
                char reason[SW_REPL_REASON_BYTES]);
    /* Carries out a change. No batch is in flight, and tables are found anew. Returns 0. */
    int (*change)(void *context, uint64_t sequence, const uint8_t *message, size_t bytes,
                  char reason[SW_REPL_REASON_BYTES]);
    struct sw_sequencer *sequencer; /* of all tables */
    void *context;
};

#define SW_APPLY_NOT_KNOWN UINT64_MAX

struct sw_apply {
    struct sw_table *table; /* the first one */
    struct sw_table_info info;
    const struct sw_apply_tables *tables; /* NULL: there is one table (in tests) */
    uint32_t value_format;
    uint32_t value_type;
    struct sw_source source;
    struct sw_replica_files *files; /* logs applied writes; NULL: no log */
    struct sw_backlog *backlog;     /* gets applied writes; NULL: no backlog */
    uint64_t salt;
    /* The tables are at one position when this write is applied. SW_APPLY_NOT_KNOWN: not all
     * snapshots have arrived. */
    uint64_t whole_at;
    uint32_t last_table; /* id of the table of the last snapshot */
    bool is_settled;     /* they are: files and backlog get the writes from now on */
    /* Called when the tables get to one position, which `applied` is. Returns 0, or -1 to end the
     * connection. */
    int (*settled)(void *context);
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
/* Replaces all tables by those of the catalog that is received. `applied` is then the catalog's
 * number; the snapshots follow among the records (stream.h). Returns 0, or -1 likewise. */
int sw_apply_catalog(struct sw_apply *apply);

/* Applies the records after `applied`, until the connection ends, and loads the snapshots among
 * them. Calls `settled` as soon as `applied` has reached `whole_at`, unless is_settled. Returns -1.
 * *is_whole: the tables still hold exactly the writes up to `applied`. */
int sw_apply_records(struct sw_apply *apply, bool *is_whole);

#endif
