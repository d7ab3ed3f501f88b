/* SPDX-License-Identifier: MIT
 *
 * batches.h - how one loop accesses the table: its queues, its batches in flight, its I/O memory.
 *
 * RESP batches have a queue of their own, and a loop has one of them in flight. The same holds for
 * commands that hold the write gate (gate.h). Frames and control commands share the third queue.
 * There each connection is a stream: its batches take effect in the order of their submission, and
 * batches of other connections may overtake them. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_BATCHES_H
#define SHERWOOD_SERVER_BATCH_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/flight.h"
#include "server/batch/io_arena.h"
#include "server/batch/obstacles.h"
#include "server/batch/shape.h"
#include "server/log/wal.h"
#include "server/observe/counters.h"
#include "server/tables/ledger.h"
#include "server/tables/places.h"

#define SW_FULL_BYTES 320

struct sw_batches {
    struct sw_list active;         /* link in *active_tables, while the table may have work */
    struct sw_list *active_tables; /* the loop's list of active tables; borrowed (seat.h) */
    struct sw_table *table;
    struct sw_table_shape shape;
    const struct sw_config *config; /* the options of the table, and the server's */
    struct sw_loop_counters *counters;
    struct sw_submitter submitter;   /* of frames and control commands */
    struct sw_flights flights;       /* batches of `submitter` that read: GET, SCAN */
    struct sw_flights write_flights; /* batches of `submitter` that write, also CLEAR and RESIZE */
    struct sw_submitter resp_submitter; /* of RESP batches */
    struct sw_flights resp_flights;
    struct sw_submitter rmw_submitter; /* of the holder of the gate: passes no gate */
    struct sw_flights rmw_flights;
    struct sw_obstacles obstacles; /* all zero: the log is the only obstacle */
    struct sw_gate_side gate; /* this loop's side of the write gate; its gate is NULL: no gate */
    struct sw_wal *wal;       /* borrowed; NULL: writes are not logged */
    bool reads_wait;    /* reads are answered once the writes that they may show are answerable */
    uint64_t log_waits; /* atomic: the log must wake the loop when it has advanced */
    uint64_t *waits_for_log;    /* `log_waits` of the loop's first seat, which the log reads */
    struct sw_io_arena arena;   /* memory of frames: requests and replies; used by `io` alone */
    struct sw_io_arena *io;     /* `arena`, or that of the loop's first seat */
    struct sw_account *account; /* of the table's memory and log; NULL: none (in tests) */
    char place[SW_PLACE_NAME_BYTES]; /* name of the place of the table */
    char full[SW_FULL_BYTES];        /* error line of sw_batches_full_line */
};

/* Borrows the table, the counters, the list and `io` until sw_batches_fini. `active_tables`: the
 * loop's list of active tables. `io`: the arena of the loop's first seat; NULL: allocates an arena.
 * Then the queues are created now, otherwise with their first batches.
 * `thread`: number of the loop's thread for sw_queue_create_for. Returns 0, or -1 if there is no
 * memory; sw_batches_fini may be called after either, once no batch is in flight. */
int sw_batches_init(struct sw_batches *batches, struct sw_table *table,
                    const struct sw_config *config, struct sw_loop_counters *counters,
                    struct sw_list *active_tables, struct sw_io_arena *io, uint32_t thread);
void sw_batches_fini(struct sw_batches *batches);

/* Sends writes to this log from now on. A write is answered when the log reports it as answerable.
 * With `reads_wait` reads wait for the writes that they may show. Borrows the log until
 * sw_batches_fini. Call this before the first batch. */
void sw_batches_set_log(struct sw_batches *batches, struct sw_wal *wal, bool reads_wait);
/* Sets the id of the table, which its records in the log have. 0: the only table. */
void sw_batches_set_table(struct sw_batches *batches, uint32_t table);

/* Adds writes to the backlog of `repl` from now on. The saver and `repl` are obstacles of requests
 * (obstacles.h). Borrows both until sw_batches_fini. NULL: the server has no such part. Call this
 * before the first batch. */
void sw_batches_set_owner(struct sw_batches *batches, const struct sw_saver *saver,
                          const struct sw_repl *repl);

/* Adds the table to the loop's list of active tables, unless it is there. Every function that gives
 * the loop work for this table calls it: the loop visits no other tables. */
static inline void sw_batches_activate(struct sw_batches *batches)
{
    if (!sw_list_is_linked(&batches->active)) {
        sw_list_push(batches->active_tables, &batches->active);
    }
}

/* Returns true if the log or replicas read the writes. */
static inline bool sw_batches_are_followed(const struct sw_batches *batches)
{
    const struct sw_backlog *backlog = batches->write_flights.backlog;
    return batches->wal != NULL || (backlog != NULL && sw_backlog_is_on(backlog));
}

/* Returns the error text of a write that the table has no room for: for the reply to a frame, and
 * as the error line of a command ("-OOM ..\r\n"). The text is valid until the next call. */
const char *sw_batches_full(struct sw_batches *batches);
const char *sw_batches_full_line(struct sw_batches *batches);
/* Returns the error text of a RESIZE that failed; `line`: with the code of RESP. The text is valid
 * until the next call. */
const char *sw_batches_resize_failed(struct sw_batches *batches, bool line);

/* Lets writes pass this gate from now on, and mark the watchers of the keys that they change.
 * Borrows the gate until sw_batches_fini. Call this before the first batch. */
void sw_batches_set_gate(struct sw_batches *batches, struct sw_gate *gate);
/* Borrows the account of the table; NULL: none. Call it before the first batch. */
void sw_batches_set_account(struct sw_batches *batches, struct sw_account *account);

/* Returns the write that must be answerable before the results of a batch that has read may leave;
 * 0: none. */
static inline uint64_t sw_batches_shown(const struct sw_batches *batches)
{
    return batches->reads_wait ? sw_table_last_sequence(batches->table) : 0;
}

/* Returns when a key expires that is written now without an expiry time (default-ttl); 0: never. */
uint64_t sw_batches_default_time(const struct sw_batches *batches);

/* Sets the function that is called before the results of a batch leave (before_done of struct
 * sw_flights). */
void sw_batches_set_lease(struct sw_batches *batches, void (*check_lease)(void *context),
                          void *context);
/* Records submits in which the table grows from now on. Borrows `timings` until sw_batches_fini.
 * NULL: does not time submits. */
void sw_batches_set_timings(struct sw_batches *batches, struct sw_timings *timings);

/* Result of the admission check for writes. LATER: writes stall (SW_STALL_LOG) until the log has
 * room. REJECT: writes are rejected, because the log cannot be written. */
enum sw_batches_admission { SW_ADMIT_NOW, SW_ADMIT_LATER, SW_ADMIT_REJECT };
enum sw_batches_admission sw_batches_admit(struct sw_batches *batches);

/* Calls `done` of the held flights that may be answered now; `leaves`: see sw_flights_release.
 * Returns true if it called any. */
bool sw_batches_release(struct sw_batches *batches, bool leaves);

/* Returns true if flights wait for the log. They need no polling. */
static inline bool sw_batches_are_held(const struct sw_batches *batches)
{
    return batches->write_flights.held_count + batches->flights.held_count > 0;
}

/* Returns true if the loop has batches to poll. */
static inline bool sw_batches_in_flight(const struct sw_batches *batches)
{
    return batches->flights.count + batches->write_flights.count + batches->resp_flights.count +
               batches->rmw_flights.count >
           0;
}

/* Begins a new generation for the batches that are started from now on. All others count as the
 * generation before it. */
void sw_batches_begin_generation(struct sw_batches *batches);
/* Have all batches taken effect that were started before this generation began? */
bool sw_batches_are_of_one_generation(const struct sw_batches *batches);

/* Must a request that needs `bytes` of the arena leave them to requests for other tables? It must
 * if its table is held, and half of the arena is in use: while it waits it keeps its memory. A
 * write that must leave comes before further searches of the table. */
bool sw_batches_must_leave(const struct sw_batches *batches, bool reads, uint64_t bytes);

/* Submits the batch of a frame or of a control command, as sw_flight_start does. Batches of one
 * stream take effect in the order of these calls. Their `done` functions are called in any order.
 */
void sw_batches_start(struct sw_batches *batches, struct sw_flight *flight, uint32_t stream);

/* Calls `done` of every flight whose batch is done, RESP batches first. While no batch is done and
 * `waits` is set, it polls up to SW_POLLS_PER_ITERATION times. Returns true if any was done. */
bool sw_batches_poll(struct sw_batches *batches, bool waits);

/* Has a batch failed because the device failed? Returns true only once. */
bool sw_batches_lost_device(struct sw_batches *batches);

/* Is the loop inside a submit, which may take long? May be called from any thread. */
bool sw_batches_is_submitting(const struct sw_batches *batches);

#endif
