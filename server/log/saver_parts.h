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
    pthread_cond_t changed; /* of what follows */
    uint64_t asked;         /* number of the last snapshot asked for */
    uint64_t finished;      /* and of the last that was written, or failed */
    bool stopping;          /* the thread is to end */
    bool save_at_end;
    bool held;                 /* no snapshot begins: the contents of the table are incomplete */
    struct sw_history history; /* contents of the file `history` */
    struct sw_role role;       /* contents of the file `role`. The owner's until a thread starts;
                                  later changed only under the lock of roles (server/repl/role.h)
                                  and `history_file` */
    bool end_failed;
    struct sw_persistence facts;
    char reason[SW_SNAPSHOT_REASON_BYTES]; /* why the last one failed */

    bool loading; /* atomic, as the next two */
    bool refuses_writes;
    bool stop_loading;
    bool lacks_files;      /* the thread's: the directory that it went on in has no `history` yet */
    struct sw_load load;   /* the thread's; its progress is atomic */
    uint64_t base_changes; /* atomic: changes that the table had counted by the last snapshot */
    uint64_t base_sequence;   /* the table's last write that the files hold */
    uint64_t saved_ms;        /* monotonic: when that began, or the start */
    uint64_t tried_ms;        /* monotonic: when the last one failed; 0: it did not */
    uint64_t base_log;        /* bytes of log that had been written by the last snapshot */
    uint64_t restart_ms;      /* monotonic: when the log, if it is broken, is to be mended */
    uint64_t restart_wait_ms; /* how long before the next try, if this one fails */
    uint64_t moved_ms;        /* monotonic: when owner.moves was last called */
    uint64_t logged_ms;
};

static inline uint64_t sw_saver_now_ms(void)
{
    return sw_log_now_ns() / 1000000U;
}

/* A snapshot that was written, or tried. */
struct sw_saved_file {
    struct sw_snapshot_write write;
    uint64_t hold_us;  /* writes waited for the image */
    uint64_t began_ms; /* monotonic; 0: no image was asked for */
};

/* Writes a snapshot to the directory that the path names, and removes files that it replaces.
 * Returns 0; or -1 and an error in `reason`. Threads: the saver's. */
int sw_saver_write(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                   char reason[SW_SNAPSHOT_REASON_BYTES]);
bool sw_saver_log_is_broken(const struct sw_saver *saver);
/* Calls owner.moves, at most every few seconds. */
void sw_saver_tell_owner(struct sw_saver *saver);

/* A snapshot of the contents that were to come is durable, and the log goes on behind it. Returns
 * 0, or -1 with a sentence in `reason`. */
int sw_saver_finish_replacing(struct sw_saver *saver, char reason[SW_HISTORY_REASON_BYTES]);

/* Notes in the header of a snapshot, whose image is taken afterwards, what it tells of the log. */
void sw_saver_note_beside(struct sw_saver *saver, struct sw_snapshot_header *header);

/* Changes since the start of what a snapshot holds. */
uint64_t sw_saver_changes(const struct sw_table *table);

#endif
