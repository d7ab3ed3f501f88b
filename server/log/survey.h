/* SPDX-License-Identifier: MIT
 *
 * survey.h - reading the segments of a data directory: what is there, and its writes in order.
 *
 * Nothing is changed. Of each segment what was written is read (segment_file.h), once: up to
 * SW_WAL_KEPT_BYTES of the newest segments stay in memory for the replay. Older ones are read again
 * by it. To be called by one thread.
 */
#ifndef SHERWOOD_SERVER_LOG_SURVEY_H
#define SHERWOOD_SERVER_LOG_SURVEY_H

#include "proto/wal_plan.h"
#include "server/log/segment_file.h"

#define SW_WAL_KEPT_BYTES (256ULL << 20)
#define SW_WAL_REASON_BYTES 1024 /* a path and a sentence */

/* Where a replay has its records. */
struct sw_wal_memory {
    void *(*take)(void *context, size_t bytes); /* NULL: on the heap. Returns NULL: there is none */
    void (*give)(void *context, void *memory, size_t bytes);
    void *context;
};
/* The heap. */
const struct sw_wal_memory *sw_wal_heap(void);

struct sw_wal_survey {
    struct sw_wal_found *found;   /* segments, by number */
    struct sw_segment_file *file; /* of each, if it is kept */
    size_t count;
    struct sw_wal_plan plan;
};

/* Reads all segments and decides what is to be replayed on top of a snapshot of sequence `base`;
 * see sw_wal_plan. Returns 0; or -1 with a sentence in `reason`. What was found is there in either
 * case, and the caller gives it back by sw_wal_survey_free. */
int sw_wal_survey(struct sw_wal_survey *survey, const struct sw_directory *directory, uint64_t base,
                  uint64_t named, const struct sw_wal_beside *beside,
                  const struct sw_wal_shape *shape, char reason[SW_WAL_REASON_BYTES]);
void sw_wal_survey_free(struct sw_wal_survey *survey);

/* Removes what no start is to read again, where no new segment follows: segments that begin behind
 * a gap, whose sequences will be given again, and those that are another one. Empty ones stay, for
 * the one before may say that another one follows. The directory is not synced. Returns 0, or -1
 * with a sentence in `reason`. */
int sw_wal_remove_unreachable(const struct sw_wal_survey *survey,
                              const struct sw_directory *directory,
                              char reason[SW_WAL_REASON_BYTES]);
/* Is the segment one of those, or empty? Once there is a newer one it may go. */
static inline bool sw_wal_is_superfluous(const struct sw_wal_found *found)
{
    return found->is_alias || found->is_passed || found->run.first == 0;
}

/* What takes writes. `columns` are the keys, operands and operations, as sw_wal_columns says. They
 * stay where they are until `end` returns. The taker may change them if they lie in memory that
 * `take` of its sw_wal_memory has given. Both return 0, or -1 with a sentence in `reason`, which
 * ends the replay. */
struct sw_wal_taker {
    int (*write)(void *context, const struct sw_wal_record *record, uint8_t *columns,
                 char reason[SW_WAL_REASON_BYTES]);
    int (*end)(void *context, char reason[SW_WAL_REASON_BYTES]); /* of a segment */
    void *context;
};

/* Hands out the writes with sequences above `after`, in order. Returns 0; or -1 with a sentence in
 * `reason`. */
int sw_wal_replay(const struct sw_wal_survey *survey, const struct sw_directory *directory,
                  uint64_t after, const struct sw_wal_memory *memory,
                  const struct sw_wal_taker *taker, char reason[SW_WAL_REASON_BYTES]);

#endif
