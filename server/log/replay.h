/* SPDX-License-Identifier: MIT
 *
 * replay.h - applies the writes of a log to a table, by ordinary batches.
 */
#ifndef SHERWOOD_SERVER_LOG_REPLAY_H
#define SHERWOOD_SERVER_LOG_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "server/log/log_scan.h"
#include "server/tables/places.h"

struct sw_account;
struct sw_table;
struct sw_batch;

struct sw_replayed {
    uint64_t writes; /* records */
    uint64_t operations;
    uint64_t bytes; /* of segments that were read for it */
};

/* The caller of a replay. `stop` (atomic) ends the replay once it is true. `progress` is called
 * after each segment. Both may be NULL. */
struct sw_replay_owner {
    const bool *stop;
    void (*progress)(void *context);
    void *context;
};

/* A table of a replay. */
struct sw_replay_table {
    struct sw_table *table;
    struct sw_wal_shape shape;
    uint64_t through;               /* the table has its writes up to here */
    struct sw_account *account;     /* of its memory; NULL: none */
    char name[SW_PLACE_NAME_BYTES]; /* of its place; "": the server has one table */
};

/* Several tables of a replay. */
struct sw_replay_tables {
    /* Finds a table by its id. Returns 1; 0 if it was dropped; or -1 and an error in `reason`. */
    int (*find)(void *context, uint32_t id, struct sw_replay_table *out,
                char reason[SW_WAL_REASON_BYTES]);
    /* Carries out a change. No batch is in flight, and tables are found anew afterwards. Returns 0,
     * or -1 and an error in `reason`. */
    int (*change)(void *context, uint64_t sequence, const uint8_t *message, size_t bytes,
                  char reason[SW_WAL_REASON_BYTES]);
    /* Called after the last write, before a log begins. Returns 0, or -1 and an error. */
    int (*end)(void *context, uint64_t sequence, char reason[SW_WAL_REASON_BYTES]);
    void *context;
};

/* Applies the writes that the scan found after its snapshot. The table holds the snapshot and has
 * no other writer. Its sequence is then scan->plan.end. `tables`: the tables by their ids, instead
 * of `table`, whose I/O memory is used; NULL: there is one. Returns 0; or -1 and an error in
 * `reason`. */
int sw_wal_replay_to_table(const struct sw_log_scan *scan, const struct sw_directory *directory,
                           struct sw_table *table, const struct sw_wal_shape *shape,
                           const struct sw_replay_tables *tables,
                           const struct sw_replay_owner *owner, struct sw_replayed *replayed,
                           char reason[SW_WAL_REASON_BYTES]);

/* Fills in the batch of a record of operations, whose `columns` lie in I/O memory. Clears the bytes
 * after strings in them. A record that only removed expired keys becomes a sweep. A record that did
 * nothing becomes a batch without operations and without removed keys. */
void sw_wal_batch_of(const struct sw_wal_record *record, const struct sw_wal_shape *shape,
                     uint8_t *columns, struct sw_batch *batch);
/* Returns true if the record needs a table in which keys can expire. */
static inline bool sw_wal_needs_expiry(const struct sw_wal_record *record)
{
    return (record->flags & (SW_WAL_HAS_TIMES | SW_WAL_HAS_TIME | SW_WAL_HAS_EXPIRED_KEYS)) != 0;
}

/* Memory that batches of the table may point into. */
struct sw_wal_memory sw_wal_table_memory(struct sw_table *table);

#endif
