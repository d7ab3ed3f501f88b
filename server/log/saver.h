/* SPDX-License-Identifier: MIT
 *
 * saver.h - the thread that loads the newest snapshot at the start and writes snapshots afterwards:
 * when it is asked to, when a save point is due, and at the end.
 *
 * A snapshot begins with an image of the table (table/image.h), for which writes wait as long as
 * copying the arrays takes; then it is written while they go on. One is written at a time.
 *
 * Threads: create, start, stop and destroy belong to the owner's; all else may be called from any.
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

struct sw_table;

struct sw_saver;

/* What the saver tells the server. Called from the saver's thread. */
struct sw_saver_owner {
    void *server;
    void (*moves)(void *server);       /* loading or saving goes on: called every few seconds */
    void (*cannot_load)(void *server); /* the server must stop; the reason was logged */
    /* Everything is loaded, and nothing is served yet. Returns 0; or -1, and the server must stop,
     * with the reason logged. */
    int (*loaded)(void *server);
    void (*held)(void *server, uint64_t us); /* writes waited for an image for this time */
    /* The path now names another, empty data directory: the server writes the other modules' files
     * again. Returns 0; or -1 and an error in `reason`: the saver then calls again later. */
    int (*moved)(void *server, char *reason, size_t reason_bytes);
    struct sw_wal *wal; /* the log: begins when all is loaded, and forgets what snapshots stand for;
                           NULL: there is none. Borrowed */
};

/* Opens and locks data-dir of `config`, which is borrowed, as is `table`. Returns 0; or -1 with a
 * sentence logged. */
int sw_saver_create(const struct sw_config *config, struct sw_table *table,
                    const struct sw_saver_owner *owner, struct sw_saver **out);
/* Starts the thread, which loads first. Returns 0; or -1 with a sentence logged. */
int sw_saver_start(struct sw_saver *saver);

/* Returns true while the data directory is being loaded: the server refuses requests on the table.
 */
bool sw_saver_is_loading(const struct sw_saver *saver);
/* Returns true if writes must be refused: the last snapshot failed, there are save points, and
 * stop-writes-on-bgsave-error is on. */
bool sw_saver_refuses_writes(const struct sw_saver *saver);

/* Requests a snapshot. Returns its number for sw_saver_outcome; 0: one is being written already. */
uint64_t sw_saver_ask(struct sw_saver *saver);
enum sw_saved { SW_SAVED_PENDING, SW_SAVED_OK, SW_SAVED_FAILED };
/* Returns the outcome of a requested snapshot. Writes an error to `reason` if it failed. */
enum sw_saved sw_saver_outcome(struct sw_saver *saver, uint64_t number, char *reason,
                               size_t reason_bytes);

/* Takes over other save points (the option `save`, which has been checked), and whether writes are
 * refused after a failure. */
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

/* Keeps the files, as they are, in a directory discarded-HISTORY-WRITE below the data directory
 * (archived_files.h), whose name it writes to `name`. Nobody writes to the files: the saver is
 * held. Returns 0; or -1 with a sentence in `reason`, if they cannot be kept or ha-discarded-max
 * such directories exist. */
int sw_saver_archive(struct sw_saver *saver, uint64_t sequence, char name[SW_ASIDE_NAME_MAX],
                     char reason[SW_HISTORY_REASON_BYTES]);

/* Begins no snapshot from now on, because the table is to be emptied and filled. Returns false
 * while a snapshot is being written: call again. */
bool sw_saver_hold(struct sw_saver *saver);
/* Ends the hold. The table has not changed. */
void sw_saver_let_go(struct sw_saver *saver);
/* Ends the hold. The table now has the writes up to `sequence` of another history. Removes the
 * files. A new snapshot and log replace them later; until then sw_saver_is_replacing returns true,
 * and no write may be added to the log. `aside`: the directory that keeps the old files
 * (archived_files.h), or NULL. Returns 0; or -1 and an error in `reason`: call again. */
int sw_saver_replace(struct sw_saver *saver, const struct sw_history *history, uint64_t sequence,
                     const char *aside, char reason[SW_HISTORY_REASON_BYTES]);
bool sw_saver_is_replacing(struct sw_saver *saver);

void sw_saver_status(struct sw_saver *saver, struct sw_persistence *facts);

/* Ends the thread. Call it when no batch is in flight or will be submitted. `save`: writes a last
 * snapshot from the table itself, without a copy, unless the newest file has the same contents.
 * Returns 0; or logs an error and returns -1 if that failed. */
int sw_saver_stop(struct sw_saver *saver, bool save);
/* Closes the directory. NULL is allowed. */
void sw_saver_destroy(struct sw_saver *saver);

#endif
