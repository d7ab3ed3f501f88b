/* SPDX-License-Identifier: MIT
 *
 * log_scan.h - a scan of the segments of a data directory, and a replay of their writes in order.
 *
 * The scan changes nothing. It reads the written part of each segment (segment_file.h) once. Up to
 * SW_WAL_KEPT_BYTES of the newest segments stay in memory for the replay, which reads older ones
 * again. Threads: one.
 */
#ifndef SHERWOOD_SERVER_LOG_LOG_SCAN_H
#define SHERWOOD_SERVER_LOG_LOG_SCAN_H

#include "proto/wal_plan.h"
#include "server/log/segment_file.h"

#define SW_WAL_KEPT_BYTES (256ULL << 20)
#define SW_WAL_REASON_BYTES 1024 /* a path and a sentence */

/* Where a replay puts the records of a segment. */
struct sw_wal_memory {
    /* NULL: the heap is used. Returns NULL if there is no memory */
    void *(*take)(void *context, size_t bytes);
    void (*give)(void *context, void *memory, size_t bytes);
    void *context;
};
/* Returns the heap as memory of a replay. */
const struct sw_wal_memory *sw_wal_heap(void);

struct sw_log_scan {
    struct sw_wal_found *found;   /* segments, by number */
    struct sw_segment_file *file; /* bytes of each segment, if they were kept in memory */
    size_t count;
    struct sw_wal_plan plan;
};

/* Reads all segments and decides what is to be replayed on top of a snapshot of sequence `base`;
 * see sw_wal_plan. Returns 0; or -1 and an error in `reason`. In both cases the caller frees the
 * result with sw_log_scan_free. */
int sw_log_scan(struct sw_log_scan *scan, const struct sw_directory *directory, uint64_t base,
                uint64_t named, const struct sw_wal_beside *beside,
                const struct sw_wal_shape *shape, char reason[SW_WAL_REASON_BYTES]);
void sw_log_scan_free(struct sw_log_scan *scan);

/* Removes segments that no later start may read, if no new segment follows: segments that begin
 * after a gap, whose sequences will be reused, and aliases of other segments. Keeps empty ones,
 * because the segment before may name them as its follower. Does not sync the directory. Returns 0,
 * or -1 and an error in `reason`. */
int sw_wal_remove_unreachable(const struct sw_log_scan *scan, const struct sw_directory *directory,
                              char reason[SW_WAL_REASON_BYTES]);
/* Returns true if the segment is an alias, begins after a gap, or is empty. It may be removed once
 * a newer segment exists.
 */
static inline bool sw_wal_is_superfluous(const struct sw_wal_found *found)
{
    return found->is_alias || found->is_passed || found->run.first == 0;
}

/* The consumer of a replay. `columns` are the keys, operands and operations (see sw_wal_columns).
 * They stay valid until `end` returns. The consumer may change them if they lie in memory from
 * `take` of its sw_wal_memory. Both functions return 0, or -1 and an error in `reason`, which ends
 * the replay. */
struct sw_wal_taker {
    int (*write)(void *context, const struct sw_wal_record *record, uint8_t *columns,
                 char reason[SW_WAL_REASON_BYTES]);
    int (*end)(void *context, char reason[SW_WAL_REASON_BYTES]); /* of a segment */
    void *context;
};

/* Passes the writes with sequences above `after` to the taker, in order. Returns 0; or -1 and an
 * error in `reason`. */
int sw_wal_replay(const struct sw_log_scan *scan, const struct sw_directory *directory,
                  uint64_t after, const struct sw_wal_memory *memory,
                  const struct sw_wal_taker *taker, char reason[SW_WAL_REASON_BYTES]);

#endif
