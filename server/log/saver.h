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
#include "server/log/aside.h"
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
    void (*held)(void *server, uint64_t us); /* writes waited so long for an image */
    /* The data directory is another one by now, which is empty: what others keep there is to be
     * written again. Returns 0; or -1 with a sentence in `reason`, and it is called again. */
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

/* Whether the newest snapshot is still being loaded: requests on the table are to be refused. */
bool sw_saver_is_loading(const struct sw_saver *saver);
/* Whether writes are to be refused, because a snapshot failed and the operator wants to know. */
bool sw_saver_refuses_writes(const struct sw_saver *saver);

/* Asks for a snapshot. Returns its number, to be asked about; 0: one is being written already. */
uint64_t sw_saver_ask(struct sw_saver *saver);
enum sw_saved { SW_SAVED_PENDING, SW_SAVED_OK, SW_SAVED_FAILED };
/* What became of it. `reason` receives a sentence if it failed. */
enum sw_saved sw_saver_outcome(struct sw_saver *saver, uint64_t number, char *reason,
                               size_t reason_bytes);

/* Takes over other save points (the option `save`, which has been checked), and whether writes are
 * refused after a failure. */
void sw_saver_set(struct sw_saver *saver, const char *points, bool stops_writes);

/* Whose writes the files are. What they say of themselves, and have it say. A replacement goes on
 * under the new name. Returns 0, or -1 with a sentence in `reason`, and nothing changed. */
void sw_saver_history(struct sw_saver *saver, struct sw_history *history);
int sw_saver_set_history(struct sw_saver *saver, const struct sw_history *history,
                         char reason[SW_HISTORY_REASON_BYTES]);

/* The role that REPLICAOF set, and setting it, durably. By one thread at a time. Returns 0, or -1
 * with a sentence in `reason`, and nothing changed. */
const struct sw_role *sw_saver_role(const struct sw_saver *saver);
int sw_saver_set_role(struct sw_saver *saver, const struct sw_role *role,
                      char reason[SW_ROLE_REASON_BYTES]);

/* Keeps the files, as they are, in a directory discarded-HISTORY-WRITE below the data directory
 * (aside.h), whose name it writes to `name`. Nobody writes to the files: the saver is held. Returns
 * 0; or -1 with a sentence in `reason`, if they cannot be kept or ha-discarded-max such directories
 * exist. */
int sw_saver_keep_aside(struct sw_saver *saver, uint64_t sequence, char name[SW_ASIDE_NAME_MAX],
                        char reason[SW_HISTORY_REASON_BYTES]);

/* The table is to be emptied and filled: no snapshot begins any more. Returns false while one is
 * being written: ask again. */
bool sw_saver_hold(struct sw_saver *saver);
/* .. and has not changed after all. */
void sw_saver_let_go(struct sw_saver *saver);
/* It has: what it holds are the writes up to `sequence` of another history. The files are removed,
 * and a snapshot and a log of these take their place, soon: sw_saver_is_replacing. Until then
 * nobody hands a write in. `aside`: a directory in which they stay (aside.h), or NULL. Returns 0,
 * or -1 with a sentence in `reason`: try again. */
int sw_saver_replace(struct sw_saver *saver, const struct sw_history *history, uint64_t sequence,
                     const char *aside, char reason[SW_HISTORY_REASON_BYTES]);
bool sw_saver_is_replacing(struct sw_saver *saver);

void sw_saver_facts(struct sw_saver *saver, struct sw_persistence *facts);

/* Ends the thread. No batch is in flight, and none is submitted any more. `save`: a last snapshot
 * is written of the table itself, without a copy, unless the newest one is the same. Returns 0; or
 * -1 with a sentence logged, if that failed. */
int sw_saver_stop(struct sw_saver *saver, bool save);
/* Closes the directory. NULL is allowed. */
void sw_saver_destroy(struct sw_saver *saver);

#endif
