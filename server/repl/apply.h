/* SPDX-License-Identifier: MIT
 *
 * apply.h - what a replica receives becomes the contents of its table: a snapshot, and records.
 *
 * Nothing is believed: lengths are bounded before memory is touched, and every part has a check.
 * One thread; nobody else writes to the table.
 */
#ifndef SHERWOOD_SERVER_REPL_APPLY_H
#define SHERWOOD_SERVER_REPL_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log/wal.h"
#include "server/repl/feed.h"
#include "server/repl/keep.h"
#include "server/repl/link.h"
#include "table/info.h"

/* Where the bytes come from: as sw_link_receive. Tests have another one. */
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
    struct sw_keep *keep; /* logs what was carried out; NULL: nobody does */
    struct sw_feed *feed; /* gets what was carried out; NULL: nobody does */
    uint64_t salt;
    uint64_t applied;    /* the last write that was carried out */
    uint64_t primary_at; /* .. that the primary has */
    /* Called when the first of them, or both, have changed. Returns 0; -1 ends it. */
    int (*moved)(void *context);
    void (*loaded)(void *context, uint64_t bytes); /* so many of a snapshot */
    void *context;
    bool lacks_room; /* the snapshot has more entries than the table takes */
    char *reason;    /* SW_REPL_REASON_BYTES; written where something is wrong with the bytes */
};

/* Empties the table, and fills it with the snapshot that comes. Its sequence is `applied` then.
 * Returns 0; or -1, and what the table holds is nothing. */
int sw_apply_snapshot(struct sw_apply *apply);

/* Carries out the records that come behind `applied`, which is the table's sequence, until there is
 * an end. Returns -1; *is_whole: what the table holds is still that of `applied`. */
int sw_apply_records(struct sw_apply *apply, bool *is_whole);

#endif
