/* SPDX-License-Identifier: MIT
 *
 * history_file.h - whose writes the files of a data directory are: the file `history`.
 *
 * Sequences count the writes of one history (server/repl/state.h). Only a replica, and a primary
 * that was one, have the file: what they recover is a position of that history. A replica that
 * takes the place of what its directory held says so in it first: whatever else is there means
 * nothing then, up to the snapshot that stands for the new contents.
 *
 * Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_LOG_HISTORY_FILE_H
#define SHERWOOD_SERVER_LOG_HISTORY_FILE_H

#include "server/log/directory.h"
#include "server/log/history_terms.h"
#include "server/random_id.h"

#define SW_HISTORY_TEXT SW_RANDOM_ID_BYTES /* 40 hexadecimal digits */
#define SW_HISTORY_NAME "history"
#define SW_HISTORY_NEW "new-history"
#define SW_HISTORY_REASON_BYTES 320

enum sw_history_kind {
    SW_HISTORY_NONE,    /* there is no file: of a history that ends with the process */
    SW_HISTORY_WHOLE,   /* the files are of this one */
    SW_HISTORY_REPLACED /* they mean nothing: those of another history were to come */
};

struct sw_history {
    enum sw_history_kind kind;
    char id[SW_HISTORY_TEXT];
    char before[SW_HISTORY_TEXT]; /* the one that it came from, or zeros */
    uint64_t before_through;
    uint64_t own_from;     /* see SW_OWNS_NOTHING */
    struct sw_terms terms; /* of a member of a shard */
};

/* Reads the file. Returns 0; or -1, with a sentence in `reason`, if it cannot be read or is none.
 */
int sw_history_read(const struct sw_directory *directory, struct sw_history *history,
                    char reason[SW_HISTORY_REASON_BYTES]);
/* Writes it beside the old one, syncs it, puts it in its place and syncs the directory. Returns 0,
 * or -1 with a sentence in `reason`. */
int sw_history_write(const struct sw_directory *directory, const struct sw_history *history,
                     char reason[SW_HISTORY_REASON_BYTES]);
/* Removes all snapshots and segments, and syncs the directory. Returns 0, or -1 with a sentence. */
int sw_history_remove_files(const struct sw_directory *directory,
                            char reason[SW_HISTORY_REASON_BYTES]);

#endif
