/* SPDX-License-Identifier: MIT
 *
 * wal_parts.h - internals of the log, shared by wal.c, writer.c, segments.c and log_restart.c.
 *
 * | thread | does                                                                  | file     |
 * | writer | writes records, begins syncs, does short ones, goes on to the next    | writer.c |
 * | syncer | syncs, oldest segment first, and closes segments that are full       | writer.c |
 * | keeper | makes the next segment, removes segments that a snapshot stands for  | segments.c |
 *
 * While the log is broken, the writer waits in log_restart.c for the restart.
 */
#ifndef SHERWOOD_SERVER_LOG_WAL_PARTS_H
#define SHERWOOD_SERVER_LOG_WAL_PARTS_H

#include <pthread.h>

#include "server/log/wal.h"

#define SW_WAL_RING 65536U        /* capacity for added, unwritten writes */
#define SW_WAL_RECORDS_MAX 32768U /* queue length at which the log stops accepting writes */
#define SW_WAL_UNSYNCED_MAX 2U    /* full segments that are not synced */
/* The last pages of a segment are for a MARK, which follows the last write, and the SEAL. */
#define SW_WAL_ENDING_BYTES (2ULL * SW_WAL_PAGE)
#define SW_WAL_NEW_NAME "new-log"     /* a segment that is being made */
#define SW_WAL_STAGE_BYTES (4U << 20) /* aligned copy buffer of direct writes */

/* A segment that is being written, or was. */
struct sw_wal_file {
    int fd; /* -1: none */
    uint64_t number;
    uint64_t salt;
    uint64_t size;
    uint64_t at;   /* where the next record goes */
    uint64_t last; /* sequence of the last write in it, or before it */
    uint64_t told; /* the durable number in its last record, or in its header */
    bool direct;   /* it is written past the page cache */
};

/* A segment that is not written any more. */
struct sw_wal_old {
    uint64_t number;
    uint64_t last;
    uint64_t bytes;
};

/* A request of the saver to the writer, while the log is broken. */
struct sw_wal_restart {
    bool asked;
    uint64_t through; /* a durable snapshot has the writes up to here */
    bool replaces; /* the table has other writes up to here, and a snapshot of them will follow */
    bool done;     /* out, when `asked` is false again: the log continues after `through` */
};

/* A write in the ring. */
struct sw_wal_slot {
    uint64_t ready; /* atomic: the sequence, when the rest is there */
    struct sw_wal_write write;
    uint64_t salt; /* seed of columns_check */
    uint64_t columns_check;
    uint64_t wall_us;
};

struct sw_wal {
    struct sw_wal_config config;
    const struct sw_directory *directory;
    const struct sw_io *io;
    uint8_t log_id[16];
    struct sw_wal_slot *ring;
    uint64_t incarnation; /* atomic */
    bool has_begun;       /* atomic: its threads run, or have run */
    pthread_t writer, syncer, keeper;

    /* Atomic; the first three never fall, but in sw_wal_replace. */
    uint64_t written;
    uint64_t durable;
    uint64_t wanted;        /* to be durable soon */
    uint64_t since_ns;      /* when the oldest write that is not durable was written; 0: none */
    uint64_t backlog_bytes; /* handed in and not written */
    uint64_t salt;          /* of the current segment */
    uint64_t current_bytes; /* written in it */
    uint64_t appended; /* bytes of log that a start would have had to read, and written since */
    uint64_t handed;   /* the highest sequence that was handed in */
    uint64_t taken;    /* how many writes were handed in */
    bool is_hopeless;  /* .. and those that wait for an answer get none */
    enum sw_wal_state state;
    bool writer_sleeps;

    /* The writer's. */
    struct sw_wal_file current;
    void *stage;       /* ALWAYS: SW_WAL_STAGE_BYTES; else NULL */
    uint64_t wrote_ns; /* when it wrote last */
    uint64_t broke_ns; /* when the log broke, or the write was stuck that broke it */
    uint64_t
        stuck_ns; /* since when a write waits for a segment that cannot be made; 0: none does */

    /* Only the keeper uses these: totals when it last made a segment, and its conclusion. */
    uint64_t counted_bytes, counted_syncs;
    bool syncs_are_large;

    /* Room in the current segment below which writes are refused while the next cannot be made. */
    uint64_t margin_bytes;
    uint64_t begun_at; /* the last write that was recovered: those of this life are behind it */

    pthread_mutex_t lock;
    pthread_cond_t work;      /* for the writer */
    pthread_cond_t sync_work; /* .. the syncer */
    pthread_cond_t keep_work; /* .. the keeper */
    pthread_cond_t moved;     /* for those who wait for the writer or the keeper in log_restart.c */

    /* Under `lock`. */
    struct sw_wal_file prepared; /* the next segment; its fd is -1 until it is there */
    struct sw_wal_file unsynced[SW_WAL_UNSYNCED_MAX]; /* full ones, oldest first */
    uint32_t unsynced_count;
    bool syncing;
    bool writer_syncs;      /* .. and it is not the syncer */
    uint64_t since_next_ns; /* when the first write behind the running sync was written; 0: none */
    int sync_fds[SW_WAL_UNSYNCED_MAX + 1];
    uint32_t sync_count;
    uint32_t sync_old; /* of them, full segments */
    uint64_t sync_upto;
    struct sw_wal_old *old; /* by number */
    size_t old_count, old_room;
    uint64_t forget;      /* a snapshot stands for the writes up to here */
    uint64_t forget_from; /* .. and no start needs a segment of a lower number */
    uint64_t follows;     /* `previous` of the segment that is made next */
    uint64_t next_number;
    bool preparing_fails;
    uint64_t first;      /* the first segment of this run with a durable name; 0: none yet */
    bool first_is_noted; /* .. and the file first-segment has it */
    bool needs_segment;  /* the writer waits for the next one */
    const char *trouble; /* what has failed, so that the log must be broken; or NULL */
    bool gives_up;
    struct sw_wal_restart restart;
    bool writer_ended;
    bool keeping;     /* the keeper uses the directory */
    bool must_rest;   /* .. and is not to begin: the directory changes */
    uint64_t *ghosts; /* segments that no start is to read again, and that are still there */
    size_t ghost_count;
    bool stopping; /* the writer is to end, when all is durable */
    bool stopped;  /* .. it has ended, and the other threads are to */
    int error;
    uint64_t records, syncs, sync_us, breaks, mends;
    uint64_t sync_took[SW_HISTOGRAM_BUCKETS];
};

/* record.c: writes a record without columns (SEAL, END, MARK) at the beginning of the next page.
 * Returns 0, or -1 with errno. */
int sw_wal_put_mark(struct sw_wal *wal, struct sw_wal_file *file, enum sw_wal_kind kind);
/* Writes all of the pieces, which it uses up. Returns 0, or -1 with errno. */
int sw_wal_write_pieces(const struct sw_io *io, int fd, struct iovec *pieces, int count,
                        uint64_t at);
/* The same past the page cache, by way of the stage; `at` is the beginning of a page. Zeros follow
 * up to the end of the last page. */
int sw_wal_write_direct(const struct sw_io *io, int fd, void *stage, const struct iovec *pieces,
                        int count, uint64_t at);
/* Fills in the header of a record of a segment. */
void sw_wal_put_header(const struct sw_wal_slot *slot, uint64_t synced, uint64_t salt,
                       uint8_t header[SW_WAL_RECORD_BYTES]);
/* Bytes of the columns of a write, with their padding; and the check of them. */
uint64_t sw_wal_write_bytes(const struct sw_wal_write *write);
uint64_t sw_wal_write_check(const struct sw_wal_write *write, uint64_t salt);

/* writer.c: the threads. */
void *sw_wal_run_writer(void *wal);
void *sw_wal_run_syncer(void *wal);

/* log_restart.c: waits until the log that is broken goes on, which returns true, or is to end. */
bool sw_wal_wait_for_restart(struct sw_wal *wal);

/* segments.c */
void *sw_wal_run_segment_thread(void *wal);
/* Makes a segment of `bytes` bytes under SW_WAL_NEW_NAME: a header with `through`, then zeros. Does
 * not sync it. Returns 0, or -1 with errno and no file. */
int sw_wal_make_segment(struct sw_wal *wal, struct sw_wal_file *file, uint64_t number,
                        uint64_t bytes, uint64_t through);
/* Gives the segment, which is synced, its name; then it may take writes. Returns 0, or -1 with
 * errno. */
int sw_wal_name_segment(struct sw_wal *wal, struct sw_wal_file *file);
/* Closes and removes a segment that was being made, whichever name it has by then. */
void sw_wal_drop_segment(struct sw_wal *wal, struct sw_wal_file *file);
/* Bytes that a segment has, so that the longest record fits. */
uint64_t sw_wal_segment_bytes(const struct sw_wal *wal);
/* Closes a named segment without removing it: the segments before it may have been removed. */
void sw_wal_leave_segment(struct sw_wal *wal, struct sw_wal_file *file);
/* Removes the ghosts, and syncs the directory. Only behind a segment whose name is durable: a
 * segment that says that another one follows must not become the last. Returns 0, or -1 with errno.
 */
int sw_wal_remove_ghosts(struct sw_wal *wal);
/* Notes the first segment of this run, which has a durable name, in the file first-segment. Logs a
 * failure; the keeper tries again. Only the keeper calls it, or there is no other thread. */
void sw_wal_note_first(struct sw_wal *wal, uint64_t first);
/* The newest segment that may have writes, or SW_WAL_NO_PREVIOUS. `lock` is held, or there is no
 * other thread. */
uint64_t sw_wal_newest(const struct sw_wal *wal);
/* Adds a segment to the old ones; `lock` is held, or there is no other thread. */
int sw_wal_add_old(struct sw_wal *wal, uint64_t number, uint64_t last, uint64_t bytes);

#endif
