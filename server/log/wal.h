/* SPDX-License-Identifier: MIT
 *
 * wal.h - the write-ahead log of a daemon: what was applied goes to files, in its order, before
 * clients hear of it.
 *
 * The table numbers writes 1, 2, 3, .. (write_sequence of struct sw_batch). Whoever sees one done
 * hands it in by sw_wal_add, and answers it once sw_wal_answerable has reached its number. One
 * thread writes what was handed in, many writes at a time, another one syncs what was written while
 * the first goes on, and a third makes the next segment before the current one is full.
 *
 * Three numbers, each "all writes up to here": handed in without a gap >= written (the kernel has
 * it: a kill loses nothing) >= durable (storage has it).
 *
 * Threads: functions may be called from any, but for open and close, which are the owner's.
 */
#ifndef SHERWOOD_SERVER_LOG_WAL_H
#define SHERWOOD_SERVER_LOG_WAL_H

#include <sys/uio.h>

#include "server/log/survey.h"
#include "server/observe/counters.h"

/* When an answer may go out. */
enum sw_wal_level {
    SW_WAL_ALWAYS,   /* its write is durable */
    SW_WAL_EVERYSEC, /* it is written, and the oldest write that is not durable is younger than a
                        second */
    SW_WAL_NO        /* it is written; the kernel syncs when it likes */
};

enum sw_wal_state {
    SW_WAL_OK,
    SW_WAL_FULL,  /* the segment is full, and another one cannot be made now */
    SW_WAL_BROKEN /* a write or a sync has failed, so nothing more is written until a snapshot
                     stands for everything that was applied: see sw_wal_mend */
};

struct sw_wal_config {
    enum sw_wal_level level;
    uint64_t segment_bytes;
    uint64_t backlog_bytes;     /* applied and not written, at which writes have to wait */
    uint64_t columns_bytes_max; /* of the longest record */
    uint64_t patience_ms;       /* so long answers wait for a broken log to be mended */
    uint32_t key_form;          /* sw_key_form_told() */
    struct sw_wal_shape shape;
    /* Called by any thread of the log when answerable or the state may have changed, and when
     * writes that had to wait may go on. Must not block. */
    void (*wake)(void *context);
    /* Called by the syncer after a sync, which took so long; NULL: nobody wants to know. */
    void (*synced)(void *context, uint64_t us);
    void *context;
};

/* A write that was applied. Columns are padded with anything up to multiples of SW_WAL_ALIGN; they
 * are borrowed until it is written, or durable, or the log is hopeless. */
struct sw_wal_write {
    uint64_t sequence;
    enum sw_wal_kind kind;
    uint8_t operation;
    uint16_t flags;
    uint32_t count;
    uint32_t buried;
    struct iovec columns[SW_WAL_COLUMNS_MAX]; /* those that there are come first */
    void *owned;                              /* given to free() once it is written; or NULL */
};

struct sw_wal;

/* Makes a log that has not begun: until then no write is handed in. Returns NULL if there is no
 * memory. */
struct sw_wal *sw_wal_create(const struct sw_wal_config *config);
/* Frees it. No function of it is called any more; if it had begun it was closed. NULL is allowed.
 */
void sw_wal_destroy(struct sw_wal *wal);

/* Begins the log behind what was recovered: makes a new segment with a copy of what may never have
 * been synced, and removes what is not to be read again. `log_id` is the directory's. Everything up
 * to survey->plan.end is durable then. If that cannot be written now, the log begins without a
 * segment: FULL, or BROKEN where something may never have been synced. That has been logged.
 * Returns 0; or -1 with a sentence in `reason`. The survey is only read. The directory is borrowed
 * until sw_wal_close. */
int sw_wal_open(struct sw_wal *wal, const struct sw_directory *directory,
                const struct sw_wal_survey *survey, char reason[SW_WAL_REASON_BYTES]);

/* Writes what was handed in, syncs it, and ends the log, if it has begun. Returns 0, or -1 if it
 * was broken, something that was handed in is not durable, or its files were removed: that has been
 * logged. */
int sw_wal_close(struct sw_wal *wal);

/* Hands in a write. Each one is handed in once. Returns false, with nothing done, if there is no
 * room: try again when one that was handed in before is written. A broken log takes writes and
 * forgets them, for the snapshot that mends it has them. */
bool sw_wal_add(struct sw_wal *wal, const struct sw_wal_write *write);
/* Instead of that, where there is no memory for the write: the log breaks. */
void sw_wal_skip(struct sw_wal *wal, uint64_t sequence);

/* The writes up to here may be answered now. */
uint64_t sw_wal_answerable(const struct sw_wal *wal);
uint64_t sw_wal_durable(const struct sw_wal *wal);
/* The highest write that was handed in. */
uint64_t sw_wal_handed(const struct sw_wal *wal);
/* The memory of writes up to here is not read any more. */
uint64_t sw_wal_written(const struct sw_wal *wal);
enum sw_wal_state sw_wal_state(const struct sw_wal *wal);

/* May new writes go to the table? If not they wait, unless the state is not OK: then they are
 * refused. */
bool sw_wal_has_room(const struct sw_wal *wal);

/* Bytes of the log behind the snapshot that was loaded, and written since then. */
uint64_t sw_wal_appended(const struct sw_wal *wal);

/* Begins a sync soon, if this write is not durable. */
void sw_wal_want_durable(struct sw_wal *wal, uint64_t sequence);

/* Random, and never 0; another one at each start, and after sw_wal_replace: sequences mean nothing
 * to a log of another one. A caller that compares a sequence with sw_wal_durable reads that first,
 * and then looks whether the incarnation is still that of the sequence. */
uint64_t sw_wal_incarnation(const struct sw_wal *wal);

/* Whether writes that are not answerable get no answer: the log is broken for longer than
 * patience_ms, or was given up. */
bool sw_wal_is_hopeless(const struct sw_wal *wal);

/* Ends writing: the state becomes BROKEN, soon, and is not mended; what waits can be told. */
void sw_wal_give_up(struct sw_wal *wal);

/* A snapshot that is durable stands for the writes up to `sequence`: a broken log goes on behind
 * them, in a new segment, and they are durable. Waits until those of them that are on their way
 * were handed in. Returns 0; or -1 if a later write was handed in, so that another snapshot is
 * needed, or the log was not broken, given up or closed. By one thread at a time. */
int sw_wal_mend(struct sw_wal *wal, uint64_t sequence);

/* What the table holds is not what was logged: it has other writes, up to `sequence`. The log
 * forgets its own, closes its files, and is broken until sw_wal_mend. Its threads leave the
 * directory alone until sw_wal_let_keep. Nobody hands in a write meanwhile, and nobody mends.
 * Returns 0, or -1 if it was given up or closed. */
int sw_wal_replace(struct sw_wal *wal, uint64_t sequence);
void sw_wal_let_keep(struct sw_wal *wal);

/* sw_directory_follow for the directory of a log that is broken, or closed: its segments stay in
 * the one that is gone. `directory` is the one that was given to sw_wal_open, of which this is the
 * only thread that changes it. */
int sw_wal_follow(struct sw_wal *wal, struct sw_directory *directory, char *reason,
                  size_t reason_bytes);

/* Removes segments all of whose writes are up to `sequence`, which a snapshot that is durable
 * holds. Done later, by a thread of the log. */
void sw_wal_forget(struct sw_wal *wal, uint64_t sequence, uint64_t from);
/* What a snapshot tells of the log beside it whose image is taken afterwards. */
void sw_wal_beside(struct sw_wal *wal, struct sw_wal_beside *beside);

struct sw_wal_figures {
    enum sw_wal_state state;
    uint64_t written;
    uint64_t durable;
    uint64_t backlog_bytes;
    uint64_t log_bytes; /* of all segments, as far as they are written */
    uint64_t segments;
    uint64_t records;
    uint64_t syncs;
    uint64_t breaks;                          /* how often it broke */
    uint64_t mends;                           /* .. and was mended */
    uint64_t sync_us;                         /* that these took */
    uint64_t sync_took[SW_HISTOGRAM_BUCKETS]; /* .. each, in us */
    bool has_begun;
    int error; /* errno of the last failure; 0: none */
};
void sw_wal_figures(struct sw_wal *wal, struct sw_wal_figures *figures);

#endif
