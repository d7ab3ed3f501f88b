/* SPDX-License-Identifier: MIT
 *
 * saver_parts.h - internals of the saver. saver.c loads and decides when to save, saver_write.c
 * writes a snapshot, saver_ask.c has the functions for other threads, and saver_replace.c replaces
 * the files by those of another history.
 */
#ifndef SHERWOOD_SERVER_LOG_SAVER_PARTS_H
#define SHERWOOD_SERVER_LOG_SAVER_PARTS_H

#include <pthread.h>

#include "server/config/save_points.h"
#include "server/log/clock.h"
#include "server/log/history_file.h"
#include "server/log/saver.h"
#include "server/log/snapshot_load.h"
#include "server/log/snapshot_write.h"

struct sw_saver {
    const struct sw_config *config;
    struct sw_table *table;
    struct sw_saver_owner owner;
    struct sw_directory directory;
    struct sw_save_point points[SW_SAVE_POINTS_MAX];
    int point_count;
    uint64_t incarnation;
    pthread_t thread;
    bool started;

    /* Held while a thread writes `history` or `role` to disk. Locked before the mutex. */
    pthread_mutex_t history_file;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* when the fields below change */
    uint64_t requested;     /* number of the last requested snapshot */
    uint64_t finished;      /* number of the last snapshot that was written, or failed */
    bool stopping;          /* the thread must end */
    bool save_at_end;
    bool held;                 /* no snapshot begins: the contents of the table are incomplete */
    struct sw_history history; /* contents of the file `history` */
    struct sw_role role;       /* contents of the file `role`. The owner's until a thread starts;
                                  later changed only under the lock of roles (server/repl/role.h)
                                  and `history_file` */
    bool end_failed;
    struct sw_persistence facts;
    char reason[SW_SNAPSHOT_REASON_BYTES]; /* why the last failed snapshot failed */

    bool loading; /* atomic, like the next two */
    bool refuses_writes;
    bool stop_loading;
    bool lacks_files;         /* only the thread's: its new directory has no `history` yet */
    struct sw_load load;      /* only the thread's, except its progress, which is atomic */
    uint64_t base_changes;    /* atomic: the table's count of changes at the last snapshot */
    uint64_t base_sequence;   /* last write of the table that the files have */
    uint64_t saved_ms;        /* monotonic: begin of the last snapshot, or end of loading */
    uint64_t tried_ms;        /* monotonic: when the last snapshot failed; 0: it did not fail */
    uint64_t base_log;        /* bytes of log that had been written by the last snapshot */
    uint64_t restart_ms;      /* monotonic: time of the next attempt to restart a broken log */
    uint64_t restart_wait_ms; /* delay after that attempt, if it fails */
    uint64_t moved_ms;        /* monotonic: when owner.moves was last called */
    uint64_t logged_ms;
};

static inline uint64_t sw_saver_now_ms(void)
{
    return sw_log_now_ns() / 1000000U;
}

/* The result of writing a snapshot. */
struct sw_saved_file {
    struct sw_snapshot_write write;
    uint64_t hold_us;  /* time that writes waited for the image */
    uint64_t began_ms; /* monotonic: begin of the attempt; 0: an earlier step failed */
};

/* Writes a snapshot to the directory that the path names, and removes files that it replaces.
 * Returns 0; or -1 and an error in `reason`. Threads: the saver's. */
int sw_saver_write(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                   char reason[SW_SNAPSHOT_REASON_BYTES]);
bool sw_saver_log_is_broken(const struct sw_saver *saver);
/* Calls owner.moves, at most every few seconds. */
void sw_saver_notify_owner(struct sw_saver *saver);

/* Ends a replacement of the files (sw_saver_replace) by marking `history` as whole. Call it when a
 * snapshot of the new contents is durable, and the log has restarted after it. Returns 0, or -1 and
 * an error in `reason`. */
int sw_saver_finish_replacing(struct sw_saver *saver, char reason[SW_HISTORY_REASON_BYTES]);

/* Fills in the fields of a snapshot's header about the log. Call it before the image is taken. */
void sw_saver_note_beside(struct sw_saver *saver, struct sw_snapshot_header *header);

/* Returns the number of changes of the table since its start that a snapshot would have. */
uint64_t sw_saver_changes(const struct sw_table *table);

#endif
