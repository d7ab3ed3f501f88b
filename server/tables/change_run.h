/* SPDX-License-Identifier: MIT
 *
 * change_run.h - a change of the places on a thread of its own.
 *
 * The memory of a table may take long. A change also waits for all loops, and for work of libuv's
 * threads on a table that it drops (DIGEST). One change has the turn at a time. A save needs no
 * turn.
 *
 * Threads: the loop's, which owns the run.
 */
#ifndef SHERWOOD_SERVER_TABLES_CHANGE_RUN_H
#define SHERWOOD_SERVER_TABLES_CHANGE_RUN_H

#include <pthread.h>
#include <stdbool.h>

#include "server/tables/tables.h"

struct sw_change_run {
    struct sw_tables *tables; /* borrowed */
    struct sw_change change;
    char error[SW_TABLES_ERROR_BYTES]; /* a RESP error line; "": the change was carried out */
    pthread_t thread;
    bool has_thread;
    bool has_begun;
    bool is_done; /* atomic: the thread has ended its work */
};

/* Returns a run without a change, or NULL if there is no memory. The caller sets `change`. */
struct sw_change_run *sw_change_run_create(struct sw_tables *tables);
/* Starts the thread when the change gets the turn. Returns true when the change is over: then
 * `error` is set. All loops are woken before. Call it in each iteration until then, also if nobody
 * waits for the change any more. */
bool sw_change_run_poll(struct sw_change_run *run);
/* Frees a run whose change is over, or was never polled. NULL is allowed. */
void sw_change_run_free(struct sw_change_run *run);

#endif
