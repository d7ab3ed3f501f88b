/* SPDX-License-Identifier: MIT
 *
 * saver.h - the thread that loads the newest snapshot at the start. Afterwards it writes snapshots:
 * on request, when a save point is due, when the log has grown or is broken, and at the end.
 *
 * A snapshot begins with an image of the table (table/image.h). Writes wait while the image copies
 * the arrays, and continue while the file is written. The saver writes one snapshot at a time.
 *
 * Threads: any. Create, start, stop and destroy are the exceptions: only the owner calls them.
 */
#ifndef SHERWOOD_SERVER_LOG_SAVER_H
#define SHERWOOD_SERVER_LOG_SAVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/log/archived_files.h"
#include "server/log/history_file.h"
#include "server/log/role_file.h"
#include "server/log/wal.h"
#include "server/observe/persistence.h"

struct sw_sequencer;
struct sw_table;
struct sw_tables;
struct sw_tables_view;

struct sw_saver;

/* Callbacks to the server. The saver's thread calls them. */
struct sw_saver_owner {
    void *server;
    void (*moves)(void *server);       /* called every few seconds while it loads or saves */
    void (*cannot_load)(void *server); /* loading failed and was logged: the server must stop */
    /* Called when everything is loaded, before requests are served. Returns 0; or logs an error and
     * returns -1: the server must stop. */
    int (*loaded)(void *server);
    void (*held)(void *server, uint64_t us); /* writes waited this long for an image */
    /* Called when data-dir names another, empty directory: the server writes the files of its other
     * parts there. Returns 0; or -1 and an error in `reason`: the saver then calls again later. */
    int (*moved)(void *server, char *reason, size_t reason_bytes);
    /* the log, which begins when all is loaded, and removes segments whose writes a snapshot has;
     * borrowed; NULL: no log */
    struct sw_wal *wal;
    struct sw_sequencer *sequencer; /* of all tables; borrowed; NULL: there is one table */
};

/* Opens and locks data-dir of `config`. Borrows `config` and `table`. Returns 0; or logs an error
 * and returns -1. */
int sw_saver_create(const struct sw_config *config, struct sw_table *table,
                    const struct sw_saver_owner *owner, struct sw_saver **out);
/* Sets the tables of the server, which are borrowed. Call it before sw_saver_start. */
void sw_saver_set_tables(struct sw_saver *saver, struct sw_tables *tables);
/* Starts the thread, which loads first. Returns 0; or logs an error and returns -1. */
int sw_saver_start(struct sw_saver *saver);

/* Returns true while the data directory is being loaded: the server refuses requests on the table.
 */
bool sw_saver_is_loading(const struct sw_saver *saver);
/* Returns true if writes must be refused: the last snapshot failed, there are save points, and
 * stop-writes-on-bgsave-error is on. */
bool sw_saver_refuses_writes(const struct sw_saver *saver);

/* Returns whether a start finds all tables at one position. Without a log each of several tables is
 * saved at its own. */
bool sw_saver_keeps_position(struct sw_saver *saver);

/* Requests a snapshot. Returns its number for sw_saver_outcome; 0: one is being written already. */
uint64_t sw_saver_ask(struct sw_saver *saver);
enum sw_saved { SW_SAVED_PENDING, SW_SAVED_OK, SW_SAVED_FAILED };
/* Returns the outcome of a requested snapshot. Writes an error to `reason` if it failed. */
enum sw_saved sw_saver_outcome(struct sw_saver *saver, uint64_t number, char *reason,
                               size_t reason_bytes);
/* Returns whether a stop needs a snapshot, and the last attempt to write one failed. Writes that
 * error to `reason`. */
bool sw_saver_would_lose(struct sw_saver *saver, char *reason, size_t reason_bytes);
/* Returns whether no snapshot begins before a primary has sent all of its data, which may never
 * happen, and writes that to `reason`. */
bool sw_saver_is_held(struct sw_saver *saver, char *reason, size_t reason_bytes);

/* Checks that a change can be made. Without a log saves what is unsaved of some tables, and waits
 * for that; `count` 0: none. Behind a start that replayed writes of an earlier log it first
 * saves all tables. Returns 0; or -1 and an error in `reason`. Threads: not a loop's.
 */
int sw_saver_prepare(struct sw_saver *saver, const uint32_t *ids, uint32_t count, char *reason,
                     size_t reason_bytes);
/* Writes a snapshot of the table if it has writes that its file lacks, and waits for it, behind a
 * save that is under way. Saves all tables if the log is broken, because only that mends it. Fails
 * while the saver is held. Returns 0; or -1 and an error in `reason`. Threads: not a loop's. */
int sw_saver_save_table(struct sw_saver *saver, uint32_t id, char *reason, size_t reason_bytes);
/* The saves of a table. */
struct sw_table_saved {
    uint64_t changes;  /* changes that its file lacks */
    uint64_t saved_at; /* wall clock in seconds: end of its last save since the start; 0: none */
    bool saving;       /* its snapshot is being written */
};
void sw_saver_table(struct sw_saver *saver, uint32_t id, struct sw_table *table,
                    struct sw_table_saved *out);
/* Saves the tables if a start without a log has replayed writes that their files lack, since the
 * catalog of a change would hide them. For a change in owner.loaded. Returns 0; or -1 and an error
 * in `reason`. Threads: the saver's. */
int sw_saver_save_replayed(struct sw_saver *saver, char *reason, size_t reason_bytes);
/* Gives the change from `before` to `next` the next number, unless *sequence has that of a primary.
 * Without a log writes a catalog of `next`, which is durable if this returns 0. With a log adds a
 * record, and cannot fail unless memory is short. The caller has locked changes. *sequence receives
 * the number. Returns 0; or -1 and an error in `reason`. */
int sw_saver_commit(struct sw_saver *saver, const struct sw_tables_view *before,
                    const struct sw_tables_view *next, uint64_t *sequence, char *reason,
                    size_t reason_bytes);
/* Waits until the last change is durable in the log. Returns 0; or -1 and an error in `reason`: its
 * outcome is unknown. */
int sw_saver_settle(struct sw_saver *saver, char *reason, size_t reason_bytes);
/* Adds a record without an effect to the log, for a write of the server itself: numbers have no
 * gaps. */
void sw_saver_log_nothing(struct sw_saver *saver, uint64_t sequence);

/* Replaces the save points (the option `save`, which has been checked), and sets whether writes are
 * refused after a failed snapshot. */
void sw_saver_set(struct sw_saver *saver, const char *points, bool stops_writes);

/* Read and write the file `history`. A replacement that is under way continues with the new
 * history. The second returns 0; or changes nothing and returns -1 with an error in `reason`. */
void sw_saver_history(struct sw_saver *saver, struct sw_history *history);
int sw_saver_set_history(struct sw_saver *saver, const struct sw_history *history,
                         char reason[SW_HISTORY_REASON_BYTES]);

/* Read and durably set the role that REPLICAOF gave the server. One thread at a time. The second
 * returns 0; or changes nothing and returns -1 with an error in `reason`. */
const struct sw_role *sw_saver_role(const struct sw_saver *saver);
int sw_saver_set_role(struct sw_saver *saver, const struct sw_role *role,
                      char reason[SW_ROLE_REASON_BYTES]);

/* Links the files into a directory discarded-HISTORY-WRITE below the data directory
 * (archived_files.h), and writes its name to `name`. Call it while the saver is held, so that the
 * files do not change. Returns 0; or -1 and an error in `reason` if a link fails or
 * ha-discarded-max of these directories exist. */
int sw_saver_archive(struct sw_saver *saver, uint64_t sequence, char name[SW_ARCHIVE_NAME_MAX],
                     char reason[SW_HISTORY_REASON_BYTES]);

/* Begins no snapshot from now on, because the table will be emptied and filled. Returns false while
 * a snapshot is being written: call again. */
bool sw_saver_hold(struct sw_saver *saver);
/* Holds as well, and lets a snapshot that is being written fail: the table lacks a write whose
 * number it has, so that a start from the snapshot would miss this write. Ends with
 * sw_saver_replace. Does not wait. */
void sw_saver_lose_position(struct sw_saver *saver);
/* Ends the hold. The table has not changed. */
void sw_saver_release(struct sw_saver *saver);
/* Ends the hold. The table now has the writes up to `sequence` of another history. Removes the
 * files. A new snapshot and log replace them later; until then sw_saver_is_replacing returns true,
 * and no write may be added to the log. `archive`: the directory that keeps the old files
 * (archived_files.h), or NULL. Returns 0; or -1 and an error in `reason`: call again. */
int sw_saver_replace(struct sw_saver *saver, const struct sw_history *history, uint64_t sequence,
                     const char *archive, char reason[SW_HISTORY_REASON_BYTES]);
bool sw_saver_is_replacing(struct sw_saver *saver);

void sw_saver_status(struct sw_saver *saver, struct sw_persistence *facts);

/* Ends the thread. Call it when no batch is in flight or will be submitted. `save`: writes a last
 * snapshot from the table itself, without a copy, unless the newest file has the same contents.
 * Returns 0; or logs an error and returns -1 if that failed. */
int sw_saver_stop(struct sw_saver *saver, bool save);
/* Closes the directory. NULL is allowed. */
void sw_saver_destroy(struct sw_saver *saver);

#endif
