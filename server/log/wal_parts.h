/* SPDX-License-Identifier: MIT
 *
 * wal_parts.h - internals of the log, shared by wal.c, writer.c, segments.c and log_restart.c.
 *
 * | thread    | does                                                             | file       |
 * | ---       | ---                                                              | ---        |
 * | writer    | writes records, begins syncs, does short ones, switches segments | writer.c   |
 * | syncer    | syncs, oldest segment first, and closes segments that are full   | writer.c   |
 * | segmenter | makes the next segment, removes segments that no start needs     | segments.c |
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

/* A segment that is open for writing, or full and not yet synced. */
struct sw_wal_file {
    int fd; /* -1: none */
    uint64_t number;
    uint64_t salt;
    uint64_t size;
    uint64_t at;   /* where the next record goes */
    uint64_t last; /* sequence of its last write; if it has none, of the write before it */
    uint64_t told; /* durable number that its last record, or its header, states */
    bool direct;   /* written past the page cache */
};

/* A segment that is closed. */
struct sw_wal_old {
    uint64_t number;
    uint64_t last;
    uint64_t bytes;
};

/* A request of the saver to the writer, while the log is broken. */
struct sw_wal_restart {
    bool pending;
    uint64_t through; /* a durable snapshot has the writes up to here */
    bool replaces; /* the table has other writes up to here, and a snapshot of them will follow */
    bool done;     /* out, when `pending` is false again: the log continues after `through` */
};

/* A write in the ring. */
struct sw_wal_slot {
    uint64_t ready; /* atomic: the sequence, once the other fields are set */
    struct sw_wal_write write;
    uint64_t salt; /* seed of columns_check */
    uint64_t columns_check;
    uint64_t wall_us;
};

/* The catalog that segments begin with. */
struct sw_wal_catalog {
    uint8_t *message; /* owned, with zeros up to a multiple of SW_WAL_ALIGN; NULL: none */
    size_t bytes;
    uint64_t sequence; /* segments whose first write is this one, or a later one, begin with it */
};

struct sw_wal {
    struct sw_wal_config config;
    const struct sw_directory *directory;
    const struct sw_io *io;
    uint8_t log_id[16];
    struct sw_wal_slot *ring;
    uint64_t incarnation; /* atomic */
    bool has_begun;       /* atomic: its threads run, or have run */
    pthread_t writer, syncer, segmenter;

    /* Atomic. The first three never decrease, except in sw_wal_replace. */
    uint64_t written;
    uint64_t durable;
    uint64_t wanted;        /* highest write that sw_wal_want_durable requested */
    uint64_t since_ns;      /* when the oldest write that is not durable was written; 0: none */
    uint64_t backlog_bytes; /* added and not written */
    uint64_t salt;          /* of the current segment */
    uint64_t current_bytes; /* bytes written in the current segment */
    uint64_t appended; /* bytes after the loaded snapshot, plus bytes written since the start */
    uint64_t handed;   /* the highest sequence that was added */
    uint64_t taken;    /* number of writes that were added */
    bool is_hopeless;  /* see sw_wal_is_hopeless */
    enum sw_wal_state state;
    bool writer_sleeps;

    struct sw_wal_catalog catalog;      /* under `lock` and the writer's: both to change it */
    struct sw_wal_catalog next_catalog; /* under `lock` */
    uint64_t longest_bytes; /* under `lock`: of the columns of tables beside the first one */

    /* Only the writer changes these. */
    struct sw_wal_file current;
    void *stage;       /* ALWAYS: SW_WAL_STAGE_BYTES; else NULL */
    uint64_t wrote_ns; /* time of its last write */
    uint64_t broke_ns; /* when the log broke, or the write was stuck that broke it */
    /* since when a write waits for a next segment that cannot be made; 0: no write waits */
    uint64_t stuck_ns;

    /* Only the segmenter uses these: totals when it last made a segment, and its conclusion. */
    uint64_t counted_bytes, counted_syncs;
    bool syncs_are_large;

    /* If the next segment cannot be made, writes are refused once the current one has fewer bytes
     * left. */
    uint64_t margin_bytes;
    uint64_t begun_at; /* last recovered write: the writes of this process come after it */

    pthread_mutex_t lock;
    pthread_cond_t work;         /* for the writer */
    pthread_cond_t sync_work;    /* for the syncer */
    pthread_cond_t segment_work; /* for the segmenter */
    /* for threads in log_restart.c that wait for the writer or the segmenter */
    pthread_cond_t moved;

    /* Under `lock`. */
    struct sw_wal_file prepared; /* the next segment; its fd is -1 until it is ready */
    struct sw_wal_file unsynced[SW_WAL_UNSYNCED_MAX]; /* full segments, oldest first */
    uint32_t unsynced_count;
    bool syncing;
    bool writer_syncs; /* the writer does the running sync itself */
    /* time of the first write after the begin of the running sync; 0: none */
    uint64_t since_next_ns;
    int sync_fds[SW_WAL_UNSYNCED_MAX + 1];
    uint32_t sync_old; /* number of full segments in the running sync */
    uint64_t sync_upto;
    struct sw_wal_old *old; /* by number */
    size_t old_count, old_room;
    uint64_t forget;      /* a durable snapshot has the writes up to here */
    uint64_t forget_from; /* no start needs a segment with a lower number */
    uint64_t follows;     /* `previous` in the header of the next segment */
    uint64_t next_number;
    bool preparing_fails;
    uint64_t first;      /* the first segment of this run with a durable name; 0: none yet */
    bool first_is_noted; /* the file first-segment has `first` */
    uint64_t begun_us;   /* latest wall clock in a recovered segment; 0: there is none */
    bool needs_segment;  /* the writer waits for the next one */
    const char *trouble; /* a failure for which the writer must break the log; or NULL */
    bool gives_up;
    struct sw_wal_restart restart;
    bool writer_ended;
    bool segmenting;  /* the segmenter uses the directory */
    bool must_wait;   /* the segmenter must not use it: the directory changes */
    uint64_t *ghosts; /* segments that exist and that no later start may read */
    size_t ghost_count;
    bool ghosts_may_go; /* a segment of this run, newer than the ghosts, has a durable name */
    bool stopping;      /* the writer must end when all is durable */
    bool stopped;       /* the writer has ended; the other threads must end */
    int error;
    uint64_t records, syncs, sync_us, breaks, restarts;
    uint64_t sync_took[SW_HISTOGRAM_BUCKETS];
};

/* record.c: writes a record without columns (SEAL, END, MARK) at the beginning of the next page.
 * Returns 0, or -1 with errno. */
int sw_wal_put_mark(struct sw_wal *wal, struct sw_wal_file *file, enum sw_wal_kind kind);
/* Writes all pieces, and changes the array. Returns 0, or -1 with errno. */
int sw_wal_write_pieces(const struct sw_io *io, int fd, struct iovec *pieces, int count,
                        uint64_t at);
/* Does the same past the page cache. Copies the bytes to the stage first. `at`: the beginning of a
 * page. Fills the last page with zeros. */
int sw_wal_write_direct(const struct sw_io *io, int fd, void *stage, const struct iovec *pieces,
                        int count, uint64_t at);
/* Returns the bytes of the columns that fit into a segment with this many bytes left. */
static inline uint64_t sw_wal_room(uint64_t left)
{
    const uint64_t other = SW_WAL_RECORD_BYTES + SW_WAL_ENDING_BYTES + SW_WAL_PAGE;
    return left > other ? left - other : 0;
}
/* Writes the catalog at the begin of a segment, if there is one and room for it. Returns 0, or -1
 * with errno. */
int sw_wal_put_catalog(struct sw_wal *wal, struct sw_wal_file *file);
/* Lets the next catalog be the current one if the writes before its change are written. The caller
 * holds `lock`. */
void sw_wal_take_catalog(struct sw_wal *wal, uint64_t written);
/* Fills in the header of a record of a segment. */
void sw_wal_put_header(const struct sw_wal_slot *slot, uint64_t synced, uint64_t salt,
                       uint8_t header[SW_WAL_RECORD_BYTES]);
/* Return the bytes of the columns of a write with their padding, and their checksum. */
uint64_t sw_wal_write_bytes(const struct sw_wal_write *write);
uint64_t sw_wal_write_check(const struct sw_wal_write *write, uint64_t salt);

/* writer.c: the threads. */
void *sw_wal_run_writer(void *wal);
void *sw_wal_run_syncer(void *wal);

/* log_restart.c: waits until a broken log has restarted. Returns false if the log must end. */
bool sw_wal_wait_for_restart(struct sw_wal *wal);

/* segments.c */
void *sw_wal_run_segmenter(void *wal);
/* Makes a segment of `bytes` bytes under SW_WAL_NEW_NAME: a header with `through`, then zeros. Does
 * not sync it. Returns 0, or -1 with errno and no file. */
int sw_wal_make_segment(struct sw_wal *wal, struct sw_wal_file *file, uint64_t number,
                        uint64_t bytes, uint64_t through);
/* Renames the synced segment to its name, durably; then it may take writes. Returns 0, or -1 with
 * errno. */
int sw_wal_name_segment(struct sw_wal *wal, struct sw_wal_file *file);
/* Closes and removes an unfinished segment, under either of its names. */
void sw_wal_drop_segment(struct sw_wal *wal, struct sw_wal_file *file);
/* Returns the size of a segment, in which the longest record fits. */
uint64_t sw_wal_segment_bytes(const struct sw_wal *wal);
/* Closes a named segment without removing it: the segments before it may have been removed. */
void sw_wal_leave_segment(struct sw_wal *wal, struct sw_wal_file *file);
/* Removes the ghosts, and syncs the directory. Call it only when a newer segment's name is durable:
 * a sealed segment must not become the last one. Returns 0, or -1 with errno.
 */
int sw_wal_remove_ghosts(struct sw_wal *wal);
/* Writes the number of the first segment of this run, whose name is durable, to the file
 * first-segment. Logs a failure; the segmenter tries again. Threads: the segmenter, or the only
 * thread.
 */
void sw_wal_note_first(struct sw_wal *wal, uint64_t first);
/* Returns the newest segment that may have writes, or SW_WAL_NO_PREVIOUS. The caller holds `lock`,
 * or is the only thread. */
uint64_t sw_wal_newest(const struct sw_wal *wal);
/* Adds a segment to the closed ones. Returns 0; or -1 if there is no memory. The caller holds
 * `lock`, or is the only thread. */
int sw_wal_add_old(struct sw_wal *wal, uint64_t number, uint64_t last, uint64_t bytes);

#endif
