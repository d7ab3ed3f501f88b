/* SPDX-License-Identifier: MIT
 *
 * keep.h - what a replica keeps on disk: the writes that it has carried out, as its primary numbers
 * them, in the log and the snapshots of its data directory; and whose writes they are.
 *
 * Threads: the replica's, but for sw_keep_log_moved.
 */
#ifndef SHERWOOD_SERVER_REPL_KEEP_H
#define SHERWOOD_SERVER_REPL_KEEP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/log/saver.h"
#include "server/repl/state.h"

struct sw_keep {
    struct sw_saver *saver;         /* NULL: nothing is kept */
    struct sw_wal *wal;             /* NULL: snapshots only */
    bool (*is_over)(void *context); /* ends every wait */
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool waits;     /* atomic: for the log */
    uint64_t asked; /* number of a snapshot */
};

void sw_keep_init(struct sw_keep *keep, struct sw_saver *saver, struct sw_wal *wal,
                  bool (*is_over)(void *context), void *context);
void sw_keep_fini(struct sw_keep *keep);
/* The log has moved, or was mended. Any thread; does not block. */
void sw_keep_log_moved(struct sw_keep *keep);

/* Waits until everything is loaded. Returns false if it is over, as what follows does. */
bool sw_keep_wait_for_loading(struct sw_keep *keep);
/* The table will be emptied: no snapshot is taken of it. */
bool sw_keep_hold(struct sw_keep *keep);
/* The table has writes up to `sequence`, which another server may lack. Keeps the files aside, once
 * they have all of these: with a log as soon as they are durable, without one by a snapshot. Then
 * no snapshot is taken any more. Returns 0; or -1, with a sentence in `reason` unless it is over.
 */
int sw_keep_aside(struct sw_keep *keep, uint64_t sequence, char name[SW_ASIDE_NAME_MAX],
                  char reason[SW_REPL_REASON_BYTES]);
/* The table is that of this history, and has its writes up to `sequence`: what is on disk goes, and
 * is replaced, and stays in `aside` if that is not NULL. Calls `beat` twice a second, until that is
 * done or it returns another value than 0. Returns 0, or -1; `reason` has a sentence then if files
 * were the cause. */
int sw_keep_replace(struct sw_keep *keep, const struct sw_lineage *history, uint64_t sequence,
                    const char *aside, int (*beat)(void *context),
                    char reason[SW_REPL_REASON_BYTES]);
/* What follows is of this history, which has everything that the table has. Returns 0, or -1 with a
 * sentence. */
int sw_keep_history(struct sw_keep *keep, const struct sw_lineage *history,
                    char reason[SW_REPL_REASON_BYTES]);
/* The files are loaded, up to `sequence`: they are of the history that they name, or of one that
 * comes from it if this server is a primary. Returns 0; or -1 with a sentence. */
int sw_keep_loaded(struct sw_keep *keep, struct sw_repl_state *state, uint64_t sequence,
                   char reason[SW_REPL_REASON_BYTES]);

/* Waits until the log has written everything up to here, or is broken. */
bool sw_keep_wait_until_written(struct sw_keep *keep, uint64_t sequence);
/* Waits until the log takes writes. */
bool sw_keep_wait_for_room(struct sw_keep *keep);
/* Hands in a write, whose columns are copied. */
bool sw_keep_add(struct sw_keep *keep, const struct sw_wal_write *write);
/* Waits until the writes up to here are as safe as `appendfsync` has it. */
bool sw_keep_wait_until_safe(struct sw_keep *keep, uint64_t sequence);

#endif
