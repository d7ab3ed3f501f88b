/* SPDX-License-Identifier: MIT
 *
 * replay.h - the writes of a log become the contents of a table, by ordinary batches.
 */
#ifndef SHERWOOD_SERVER_LOG_REPLAY_H
#define SHERWOOD_SERVER_LOG_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "server/log/survey.h"

struct sw_table;
struct sw_batch;

struct sw_replayed {
    uint64_t writes; /* records */
    uint64_t operations;
    uint64_t bytes; /* of segments that were read for it */
};

/* Who replays. `stop`, atomic, ends it once it is true; `progress` is called after each segment.
 * Both may be NULL. */
struct sw_replay_owner {
    const bool *stop;
    void (*progress)(void *context);
    void *context;
};

/* Carries out what the survey found behind its snapshot, which the table holds; nobody else writes
 * to it. The table's sequence is then survey->plan.end.
 * Returns 0; or -1 with a sentence in `reason`. */
int sw_wal_replay_to_table(const struct sw_wal_survey *survey, const struct sw_directory *directory,
                           struct sw_table *table, const struct sw_wal_shape *shape,
                           const struct sw_replay_owner *owner, struct sw_replayed *replayed,
                           char reason[SW_WAL_REASON_BYTES]);

/* The batch of a record of operations, `columns` of which lie in I/O memory. Clears in them what
 * stands behind strings. One that only removed
 * keys whose time had come is a sweep; one that did nothing has no operations, and no buried keys.
 */
void sw_wal_batch_of(const struct sw_wal_record *record, const struct sw_wal_shape *shape,
                     uint8_t *columns, struct sw_batch *batch);
/* Has the record what only tables know in which keys expire? */
static inline bool sw_wal_needs_expiry(const struct sw_wal_record *record)
{
    return (record->flags & (SW_WAL_HAS_TIMES | SW_WAL_HAS_TIME | SW_WAL_HAS_BURIED)) != 0;
}

/* Memory that batches of the table may point into. */
struct sw_wal_memory sw_wal_table_memory(struct sw_table *table);

#endif
