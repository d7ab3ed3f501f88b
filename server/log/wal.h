/* SPDX-License-Identifier: MIT
 *
 * wal.h - the write-ahead log of a daemon: applied writes go to files, in order, before clients get
 * their replies.
 *
 * The table numbers writes 1, 2, 3, .. (write_sequence of struct sw_batch). The loop that completes
 * a write adds it with sw_wal_add, and replies once sw_wal_answerable has reached its number. The
 * writer thread writes added writes, many at a time. The syncer syncs them meanwhile. The keeper
 * makes the next segment before the current one is full.
 *
 * Three numbers each mean "all writes up to here": added without a gap >= written (the kernel has
 * them, so a kill loses nothing) >= durable (storage has them).
 *
 * Threads: any. Only the owner calls open and close.
 */
#ifndef SHERWOOD_SERVER_LOG_WAL_H
#define SHERWOOD_SERVER_LOG_WAL_H

#include <sys/uio.h>

#include "server/log/log_scan.h"
#include "server/observe/counters.h"

/* When a reply may be sent. */
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
                     stands for everything that was applied: see sw_wal_restart */
};

struct sw_wal_config {
    enum sw_wal_level level;
    uint64_t segment_bytes;
    uint64_t backlog_bytes;     /* limit of applied but unwritten bytes: further writes wait */
    uint64_t columns_bytes_max; /* of the longest record */
    uint64_t patience_ms;       /* longest time that replies wait for a broken log to restart */
    uint32_t key_form;          /* sw_key_form_told() */
    struct sw_wal_shape shape;
    /* Called by any thread of the log when answerable or the state may have changed, and when
     * writes that had to wait may go on. Must not block. */
    void (*wake)(void *context);
    /* Called by the syncer after a sync, with its duration; NULL: not called. */
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
    uint32_t expired_keys;
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
 * to scan->plan.end is durable then. If that cannot be written now, the log begins without a
 * segment: FULL, or BROKEN where something may never have been synced. That has been logged.
 * Returns 0; or -1 with a sentence in `reason`. The scan is only read. The directory is borrowed
 * until sw_wal_close. */
int sw_wal_open(struct sw_wal *wal, const struct sw_directory *directory,
                const struct sw_log_scan *scan, char reason[SW_WAL_REASON_BYTES]);

/* Writes what was handed in, syncs it, and ends the log, if it has begun. Returns 0, or -1 if it
 * was broken, something that was handed in is not durable, or its files were removed: that has been
 * logged. */
int sw_wal_close(struct sw_wal *wal);

/* Adds a write. Each write is added once. If there is no room, does nothing and returns false: call
 * again when an earlier write is written. A broken log drops the write, because the snapshot that
 * restarts the log has it. */
bool sw_wal_add(struct sw_wal *wal, const struct sw_wal_write *write);
/* Replaces sw_wal_add if memory for the write is short. Breaks the log. */
void sw_wal_skip(struct sw_wal *wal, uint64_t sequence);

/* The writes up to here may be answered now. */
uint64_t sw_wal_answerable(const struct sw_wal *wal);
uint64_t sw_wal_durable(const struct sw_wal *wal);
/* The highest write that was handed in. */
uint64_t sw_wal_handed(const struct sw_wal *wal);
/* The memory of writes up to here is not read any more. */
uint64_t sw_wal_written(const struct sw_wal *wal);
enum sw_wal_state sw_wal_state(const struct sw_wal *wal);

/* Returns true if new writes may go to the table. If not, they wait while the state is OK, and are
 * refused in any other state. */
bool sw_wal_has_room(const struct sw_wal *wal);

/* Bytes of the log behind the snapshot that was loaded, and written since then. */
uint64_t sw_wal_appended(const struct sw_wal *wal);

/* Begins a sync soon, if this write is not durable. */
void sw_wal_want_durable(struct sw_wal *wal, uint64_t sequence);

/* Returns the incarnation: random, never 0, new at each start and after sw_wal_replace. A sequence
 * only has a meaning within one incarnation. A caller that compares a sequence first reads
 * sw_wal_durable, then checks that the incarnation is still the sequence's. */
uint64_t sw_wal_incarnation(const struct sw_wal *wal);

/* Returns true if waiting writes get no reply: the log has been broken for longer than patience_ms,
 * or was given up. */
bool sw_wal_is_hopeless(const struct sw_wal *wal);

/* Gives the log up: the state soon becomes BROKEN, and the log does not restart. Waiting writes
 * then get no reply (sw_wal_is_hopeless). */
void sw_wal_give_up(struct sw_wal *wal);

/* Restarts a broken log in a new segment. A durable snapshot has the writes up to `sequence`, which
 * thereby become durable. Waits until all of them were added. Returns 0; or -1 if a later write was
 * added, so that another snapshot is needed, or the log is not broken, or was given up or closed.
 * One thread at a time. */
int sw_wal_restart(struct sw_wal *wal, uint64_t sequence);

/* The table has other writes than the log, up to `sequence`. The log drops its own writes, closes
 * its files, and is broken until sw_wal_restart. Its threads do not use the directory until
 * sw_wal_let_keep. Meanwhile no thread may call sw_wal_add or sw_wal_restart. Returns 0, or -1 if
 * the log was given up or closed. */
int sw_wal_replace(struct sw_wal *wal, uint64_t sequence);
void sw_wal_let_keep(struct sw_wal *wal);

/* Calls sw_directory_follow for the directory of a broken or closed log, whose segments stay in the
 * old directory. `directory`: the argument of sw_wal_open. The caller is the only thread that
 * changes it. */
int sw_wal_follow(struct sw_wal *wal, struct sw_directory *directory, char *reason,
                  size_t reason_bytes);

/* Removes segments whose writes are all in a durable snapshot of `sequence`, and whose number is
 * below `from`. A thread of the log does this later. */
void sw_wal_forget(struct sw_wal *wal, uint64_t sequence, uint64_t from);
/* Fills in the log's fields of a snapshot's header. Call it before the image is taken. */
void sw_wal_beside(struct sw_wal *wal, struct sw_wal_beside *beside);

struct sw_wal_stats {
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
void sw_wal_stats(struct sw_wal *wal, struct sw_wal_stats *figures);

#endif
