/* SPDX-License-Identifier: MIT
 *
 * wal.h - the write-ahead log of a daemon: applied writes go to files, in order, before clients get
 * their replies.
 *
 * The table numbers writes 1, 2, 3, .. (write_sequence of struct sw_batch). The loop that completes
 * a write adds it with sw_wal_add, and replies once sw_wal_answerable has reached its number. The
 * writer thread writes added writes, many at a time. The syncer syncs them meanwhile. The segmenter
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
    SW_WAL_NO        /* it is written; the kernel decides when to sync */
};

enum sw_wal_state {
    SW_WAL_OK,
    SW_WAL_FULL, /* the segment is full, and another one cannot be made now */
    /* a write or a sync has failed: the log writes nothing until a snapshot has all applied writes
     * (sw_wal_restart) */
    SW_WAL_BROKEN
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
    /* Called after each sync, with its duration, by the thread that synced: the syncer or the
     * writer. May be NULL. */
    void (*synced)(void *context, uint64_t us);
    void *context;
};

/* A write that was applied. Each column is readable up to a multiple of SW_WAL_ALIGN; the bytes
 * after its data may be anything. The log reads the columns until sw_wal_written has reached the
 * write, or the log is hopeless. */
struct sw_wal_write {
    uint64_t sequence;
    enum sw_wal_kind kind;
    uint8_t operation;
    uint16_t flags;
    uint32_t count;
    uint32_t expired_keys;
    uint32_t table;                           /* id of the table; 0: the first one */
    struct iovec columns[SW_WAL_COLUMNS_MAX]; /* the used ones come first */
    /* memory that the log frees when the write is written; or NULL */
    void *owned;
};

/* Describes a record that was read as a write. Its columns lie one behind the other. */
struct sw_wal_write sw_wal_write_of(const struct sw_wal_record *record, uint8_t *columns);

struct sw_wal;

/* Creates a log. No write may be added before sw_wal_open. Returns NULL if there is no memory. */
struct sw_wal *sw_wal_create(const struct sw_wal_config *config);
/* Frees the log. If sw_wal_open succeeded, sw_wal_close must have returned. No other thread may use
 * the log any more. NULL is allowed.
 */
void sw_wal_destroy(struct sw_wal *wal);

/* Begins the log after the recovered writes, with the directory's `log_id`. Makes a new segment,
 * and copies recovered writes to it that may never have been synced: then all writes up to
 * scan->plan.end are durable. Removes segments that no later start may read. If the segment cannot
 * be written now, logs that, and begins the log without one: FULL, or BROKEN if some recovered
 * writes may not be durable. Returns 0; or -1 and an error in `reason`. Only reads the scan.
 * Borrows the directory until sw_wal_close. */
int sw_wal_open(struct sw_wal *wal, const struct sw_directory *directory,
                const struct sw_log_scan *scan, char reason[SW_WAL_REASON_BYTES]);

/* Writes and syncs all added writes, and ends the log, if it has begun. Returns 0. Logs an error
 * and returns -1 if the log was broken, an added write is not durable, or the files were removed.
 */
int sw_wal_close(struct sw_wal *wal);

/* Adds a write. Each write is added once. If there is no room, does nothing and returns false: call
 * again when an earlier write is written. A broken log drops the write, because the snapshot that
 * restarts the log has it. */
bool sw_wal_add(struct sw_wal *wal, const struct sw_wal_write *write);
/* Sets the catalog that each segment begins with whose first write is `sequence` or a later one.
 * Copies `bytes` bytes; 0: the server has one table, and segments have no catalog. Returns 0, or -1
 * if there is no memory. */
int sw_wal_set_catalog(struct sw_wal *wal, uint64_t sequence, const uint8_t *message, size_t bytes);
/* Lets records have up to this many bytes of columns. Returns false if they do not fit into the
 * segments. */
bool sw_wal_takes(struct sw_wal *wal, uint64_t columns_bytes);
/* Replaces sw_wal_add if memory for the write is short. Breaks the log. */
void sw_wal_skip(struct sw_wal *wal, uint64_t sequence);

/* Returns the highest write up to which all writes may be answered now. */
uint64_t sw_wal_answerable(const struct sw_wal *wal);
uint64_t sw_wal_durable(const struct sw_wal *wal);
/* Returns the highest write that was added. */
uint64_t sw_wal_handed(const struct sw_wal *wal);
/* Returns the highest write up to which all were written: the log no longer reads their memory. */
uint64_t sw_wal_written(const struct sw_wal *wal);
enum sw_wal_state sw_wal_state(const struct sw_wal *wal);

/* Returns true if new writes may go to the table. If not, they wait while the state is OK, and are
 * refused in any other state. */
bool sw_wal_has_room(const struct sw_wal *wal);

/* Returns the bytes of the log after the loaded snapshot, plus the bytes written since the start.
 */
uint64_t sw_wal_appended(const struct sw_wal *wal);

/* Requests a sync if this write is not durable. */
void sw_wal_want_durable(struct sw_wal *wal, uint64_t sequence);

/* Waits until the writes up to `sequence` are durable. Returns 0; or -1 if the log is broken or has
 * ended, or *stop becomes true (atomic; NULL: never). */
int sw_wal_wait_durable(struct sw_wal *wal, uint64_t sequence, const bool *stop);

/* Returns the incarnation: random, never 0, new at each start and after sw_wal_replace. A sequence
 * only has a meaning within one incarnation. A caller that compares a sequence first reads
 * sw_wal_durable, then checks that the incarnation is still the sequence's. */
uint64_t sw_wal_incarnation(const struct sw_wal *wal);

/* Returns true if waiting writes get no reply: the log has been broken for longer than patience_ms,
 * or was given up. */
bool sw_wal_is_hopeless(const struct sw_wal *wal);

/* Gives the log up: the state soon becomes BROKEN, and the log does not restart. Waiting writes
 * then get no reply (sw_wal_is_hopeless). */
void sw_wal_abandon(struct sw_wal *wal);

/* Restarts a broken log in a new segment. A durable snapshot has the writes up to `sequence`, which
 * thereby become durable. Waits until all of them were added. Returns 0; or -1 if a later write was
 * added, so that another snapshot is needed, or the log is not broken, or was given up or closed.
 * One thread at a time. */
int sw_wal_restart(struct sw_wal *wal, uint64_t sequence);

/* Call this when the table has another history, with writes up to `sequence`. The log drops its own
 * writes, closes its files, and is broken until sw_wal_restart. Its threads do not use the
 * directory until sw_wal_let_keep. Meanwhile no thread may call sw_wal_add or sw_wal_restart.
 * Returns 0, or -1 if the log was given up or closed. */
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
    uint64_t log_bytes; /* bytes written in all segments */
    uint64_t segments;
    uint64_t records;
    uint64_t syncs;
    uint64_t breaks;                          /* times that the log broke */
    uint64_t restarts;                        /* times that the log restarted after it broke */
    uint64_t sync_us;                         /* duration of all syncs together */
    uint64_t sync_took[SW_HISTOGRAM_BUCKETS]; /* syncs by duration in us */
    bool has_begun;
    int error; /* errno of the last failure; 0: none */
};
void sw_wal_stats(struct sw_wal *wal, struct sw_wal_stats *stats);

#endif
