/* SPDX-License-Identifier: MIT
 *
 * history_file.h - the file `history`: the replication history of the files of a data directory.
 *
 * Sequences count the writes of one history (server/repl/state.h). Only a replica, and a primary
 * that was one, have the file: they recover a position of that history. Before a replica replaces
 * its files by those of another history, it marks the file as replaced. All other files then have
 * no meaning, until the first snapshot of the new contents.
 *
 * Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_LOG_HISTORY_FILE_H
#define SHERWOOD_SERVER_LOG_HISTORY_FILE_H

#include "proto/random_id.h"
#include "server/log/directory.h"
#include "server/log/history_terms.h"

#define SW_HISTORY_TEXT SW_RANDOM_ID_BYTES /* 40 hexadecimal digits */
#define SW_HISTORY_NAME "history"
#define SW_HISTORY_NEW "new-history"
#define SW_HISTORY_REASON_BYTES 320

enum sw_history_kind {
    SW_HISTORY_NONE,    /* no file: the history ends with the process */
    SW_HISTORY_WHOLE,   /* the files belong to this history */
    SW_HISTORY_REPLACED /* the files have no meaning: those of another history were to follow */
};

struct sw_history {
    enum sw_history_kind kind;
    char id[SW_HISTORY_TEXT];
    char before[SW_HISTORY_TEXT]; /* the history that this one continues, or zeros */
    uint64_t before_through;
    uint64_t own_from;     /* see SW_OWNS_NOTHING */
    struct sw_terms terms; /* of a member of a shard */
};

/* Reads the file. Returns 0; or -1 and an error in `reason` if it cannot be read or is not valid.
 */
int sw_history_read(const struct sw_directory *directory, struct sw_history *history,
                    char reason[SW_HISTORY_REASON_BYTES]);
/* Writes a new file, syncs it, renames it over the old one and syncs the directory. Returns 0, or
 * -1 and an error in `reason`. */
int sw_history_write(const struct sw_directory *directory, const struct sw_history *history,
                     char reason[SW_HISTORY_REASON_BYTES]);
/* Removes first-segment, then all snapshots and segments, and syncs the directory. Returns 0, or -1
 * with a sentence. */
int sw_history_remove_files(const struct sw_directory *directory,
                            char reason[SW_HISTORY_REASON_BYTES]);

#endif
