/* SPDX-License-Identifier: MIT
 *
 * saver_parts.h - internals of the saver. saver.c decides when to load and to save; saver_load.c
 * loads the tables of a catalog; saver_write.c chooses the directory; saver_tables.c saves the
 * tables; saver_files.c names files and writes catalogs; saver_ask.c has the functions for other
 * threads; saver_replace.c replaces the files by those of another history.
 */
#ifndef SHERWOOD_SERVER_LOG_SAVER_PARTS_H
#define SHERWOOD_SERVER_LOG_SAVER_PARTS_H

#include <pthread.h>

#include "server/config/save_points.h"
#include "server/log/catalog_file.h"
#include "server/log/clock.h"
#include "server/log/history_file.h"
#include "server/log/replay.h"
#include "server/log/saver.h"
#include "server/log/snapshot_load.h"
#include "server/log/snapshot_write.h"
#include "server/tables/tables.h"
#include "table/sequencer.h"

#define SW_SAVER_ONLY_MAX 2 /* tables of a SWAP */

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

    struct sw_tables *tables; /* NULL: the server has one table (in tests) */
    /* Held while a thread gives a snapshot or a catalog its name. Locked after
     * sw_tables_hold, and before the mutex. */
    pthread_mutex_t names;
    bool is_several; /* under `names`: catalogs name the tables */

    /* Held while a thread writes `history` or `role` to disk. Locked before the mutex. */
    pthread_mutex_t history_file;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* when the fields below change */
    uint64_t requested;     /* number of the last requested snapshot */
    uint64_t finished;      /* number of the last snapshot that was written, or failed */
    bool stopping;          /* the thread must end */
    bool save_at_end;
    bool held;                 /* no snapshot begins: the contents of the table are incomplete */
    bool lost_position;        /* atomic: a write failed that has a number. Also `held`, until
                                  sw_saver_replace */
    struct sw_history history; /* contents of the file `history` */
    struct sw_role role;       /* contents of the file `role`. The owner's until a thread starts;
                                  later changed only under the lock of roles (server/repl/role.h)
                                  and `history_file` */
    bool end_failed;
    struct sw_persistence facts;
    pthread_mutex_t asking; /* locked by the thread whose save of some tables is under way; taken
                               before the mutex */
    uint64_t only_number;   /* its number among the requests */
    char only_reason[SW_SNAPSHOT_REASON_BYTES]; /* why the last save of some tables failed, or "" */
    struct sw_saved_table *saved; /* what the files have of each table: `saved_count` of them */
    size_t saved_count, saved_room;
    uint32_t only[SW_SAVER_ONLY_MAX];      /* tables that the next save is about: `only_count` */
    uint32_t only_count;                   /* 0: all of them */
    char reason[SW_SNAPSHOT_REASON_BYTES]; /* why the last failed snapshot failed */

    uint64_t last_change; /* atomic: its number in the log */
    uint64_t change_of;   /* atomic: the incarnation of the log that has it */
    bool has_replayed; /* under `names`, or the thread's while it loads: tables have writes of a log
                          that their files lack */
    const struct sw_served *saving; /* only the thread's: the table that it writes; NULL: none */
    uint32_t saving_id;             /* atomic: id of the table that is being written; 0: none */
    bool loading;                   /* atomic, like the next two */
    bool refuses_writes;
    bool stop_loading;
    bool lacks_files;         /* only the thread's: its new directory has no `history` yet */
    struct sw_load load;      /* only the thread's, except its progress, which is atomic */
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

/* The result of saving. */
struct sw_saved_file {
    struct sw_snapshot_write write; /* of the last table */
    uint64_t sequence;              /* number in the name of the snapshot or catalog */
    uint64_t segments_from;         /* first segment that a start with it can need */
    uint64_t entries, bytes;        /* of all files that were written */
    uint32_t files;                 /* tables that were written */
    bool is_catalog;
    uint64_t hold_us;  /* longest time that writes waited for an image */
    uint64_t began_ms; /* monotonic: begin of the attempt; 0: an earlier step failed */
};

/* Writes a snapshot to the directory that the path names, and removes files that it replaces.
 * Returns 0; or -1 and an error in `reason`. Threads: the saver's. */
int sw_saver_write(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                   char reason[SW_SNAPSHOT_REASON_BYTES]);
bool sw_saver_log_is_broken(const struct sw_saver *saver);
static inline bool sw_saver_has_lost_position(const struct sw_saver *saver)
{
    return __atomic_load_n(&saver->lost_position, __ATOMIC_ACQUIRE);
}
/* Calls owner.moves, at most every few seconds. */
void sw_saver_notify_owner(struct sw_saver *saver);

/* Ends a replacement of the files (sw_saver_replace) by marking `history` as whole. Call it when a
 * snapshot of the new contents is durable, and the log has restarted after it. Returns 0, or -1 and
 * an error in `reason`. */
int sw_saver_finish_replacing(struct sw_saver *saver, char reason[SW_HISTORY_REASON_BYTES]);

/* Saves the unsaved tables, and writes a catalog if the server has several. Returns 0; or -1 and an
 * error in `reason`. Threads: the saver's. */
int sw_saver_save_tables(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                         char reason[SW_SNAPSHOT_REASON_BYTES]);
/* Returns true if the log broke and has a write that this image lacks: the snapshot cannot restart
 * the log. Returns false if there are several tables: a second pass saves what their files lack. */
bool sw_saver_lacks_writes(const struct sw_snapshot_write *write);
/* Returns whether catalogs name the tables. */
bool sw_saver_is_several(struct sw_saver *saver);
/* Writes a catalog of the view. *from receives the first segment that a start with it can need. The
 * caller has locked `names`, and changes. Returns 0; or -1 and an error in `reason`. */
int sw_saver_store_catalog(struct sw_saver *saver, const struct sw_tables_view *view,
                           uint64_t sequence, uint64_t *from, char *reason, size_t reason_bytes);
/* Lets catalogs name the tables from now on. */
void sw_saver_become_several(struct sw_saver *saver);
/* Gives the snapshot of the first table the name that catalogs have for it. The caller has locked
 * `names`. Returns 0; or -1 with errno. */
int sw_saver_link_first(struct sw_saver *saver);
/* Removes old catalogs and snapshots, and the files that only they name. The caller has locked
 * `names`. */
void sw_saver_remove_named(struct sw_saver *saver);
/* Gives the written file its name, and notes in *row that the table is in it. Returns 0; or -1 and
 * an error in `reason`. */
int sw_saver_name_file(struct sw_saver *saver, struct sw_snapshot_write *write,
                       const struct sw_saved_table *row, char reason[SW_SNAPSHOT_REASON_BYTES]);
/* Removes old snapshots and catalogs, and the files that only they name. */
void sw_saver_remove_old(struct sw_saver *saver);
/* Notes that no file has any table: the directory is another one, or a catalog was damaged. */
void sw_saver_forget_tables(struct sw_saver *saver);
/* Returns the changes of all tables that the files lack. The caller holds the mutex. */
uint64_t sw_saver_unsaved_changes(const struct sw_saver *saver);
/* Returns whether the files have every write of every table. A cache is never saved: the times of
 * its last uses change. */
bool sw_saver_all_saved(struct sw_saver *saver);

/* The functions of struct sw_load for catalogs (saver_load.c). */
enum sw_load_outcome sw_saver_load_catalog(struct sw_load *load, uint64_t number,
                                           char reason[SW_LOAD_REASON_BYTES]);
int sw_saver_reset(struct sw_load *load);
/* Notes what was loaded, before the log is replayed; and, for a replay, the tables by their ids. */
int sw_saver_note_found(struct sw_saver *saver, char reason[SW_LOAD_REASON_BYTES]);
void sw_saver_replay_tables(struct sw_saver *saver, struct sw_replay_tables *tables);
/* Lets the segments of the log begin with the catalog of a view. Returns 0, or -1. */
int sw_saver_give_catalog(struct sw_saver *saver, const struct sw_tables_view *view);
/* Notes what was loaded and replayed. */
void sw_saver_note_loaded(struct sw_saver *saver);

/* Copies the row of a table. Returns false, and zeros, if no file has anything of it. */
bool sw_saver_copy_row(struct sw_saver *saver, uint32_t id, struct sw_saved_table *out);
/* Return the row of a table, or NULL; set a row, or return -1 if there is no memory. The caller
 * holds the mutex. */
struct sw_saved_table *sw_saver_row(const struct sw_saver *saver, uint32_t id);
int sw_saver_set_row(struct sw_saver *saver, const struct sw_saved_table *row);

/* Fills in the fields of a snapshot's header about the log. Call it before the image is taken. */
void sw_saver_note_beside(struct sw_saver *saver, struct sw_snapshot_header *header);

/* Returns the number of changes of the table since its start that a snapshot would have. */
uint64_t sw_saver_changes(const struct sw_table *table);
/* Returns the last number that a table of the server has taken. */
static inline uint64_t sw_saver_last_number(const struct sw_saver *saver)
{
    return saver->owner.sequencer == NULL ? 0 : sw_sequencer_last(saver->owner.sequencer);
}

#endif
