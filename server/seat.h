/* SPDX-License-Identifier: MIT
 *
 * seat.h - what a loop has of one table: its batches, the RESP commands on it, its sweeps.
 *
 * A loop has one seat for each table. The first seat exists as long as the loop. It owns what the
 * seats of a loop share: the I/O memory of frames, the buffers of RESP, the connections of MONITOR.
 *
 * A loop has a list of all its seats, the first seat first, and a list of the active ones.
 * Invariant: a seat with work is active. A seat has work if one of its batches or commands is in
 * flight, or must be submitted, or waits for the log, a gate or a reader. It becomes active where
 * the work arrives (sw_batches_activate). So an iteration costs nothing for a table without work.
 * The seats of a list are visited in its order.
 *
 * Everything belongs to the loop's thread, except sw_seat_init and sw_seat_fini of a seat that is
 * in no list.
 */
#ifndef SHERWOOD_SERVER_SEAT_H
#define SHERWOOD_SERVER_SEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/batches.h"
#include "server/batch/sweeper.h"
#include "server/bulk/frame_table.h"
#include "server/list.h"
#include "server/resp/resp.h"
#include "server/tables/tables.h"

struct sw_seat {
    struct sw_list link;  /* in the loop's list of seats */
    struct sw_list swept; /* in sw_sweeps.seats, if sweeps visit the table */
    struct sw_batches batches;
    struct sw_resp resp;
    struct sw_bulk_table frames;
    struct sw_sweeper *sweeper; /* NULL: another loop sweeps the table */
    bool tidies;                /* this loop tidies the table while it is idle */
    bool is_read_long;          /* the table was held for writes alone, in the last settle */
    uint64_t view_number;       /* of the last view of the tables that had this one; 0: none */
    uint64_t batches_before;    /* RESP batches begun when the loop saw CLIENT PAUSE */
};

/* The tables that the sweeps of a loop visit: those that may have expired keys or holes, which are
 * few of many. Only the first loop has some.
 * Invariant: if entries of a table have expiry times, the table is in the list, or `expiring` or
 * `view_number` is old: then the next sweep searches for such tables. */
struct sw_sweeps {
    struct sw_list seats;
    uint64_t expiring;    /* sw_table_expiring_tables before the last search */
    uint64_t view_number; /* of the tables in the last search */
};

/* The parts of a loop, and of the server, that a seat uses. Borrowed, except `owner`, which is
 * copied. */
struct sw_seat_parts {
    struct sw_net *net;
    struct sw_list *active; /* the loop's active seats */
    struct sw_table *table;
    const struct sw_config *config; /* the options of the table, and the server's */
    struct sw_loop_counters *counters;
    struct sw_resp_owner owner;
    struct sw_wal *wal;                  /* NULL: writes are not logged */
    struct sw_gate *gate;                /* of the table; NULL: no command needs one (in tests) */
    struct sw_account *account;          /* of the table; NULL: none (in tests) */
    void (*check_lease)(void *context);  /* NULL: there is no lease */
    enum sw_sweeping (*may)(void *loop); /* NULL: another loop removes expired keys, and tidies */
    void *context;                       /* argument of both */
    uint64_t seed;                       /* starts the random numbers of RANDOMKEY */
    uint32_t thread;                     /* number of the loop's thread, at least 1 */
};

/* Opens a seat, which must not move afterwards. `first`: the first seat of the loop, which must
 * outlive this one; NULL: this is the first. Returns 0, or -1 if there is no memory; sw_seat_fini
 * may be called after either. */
int sw_seat_init(struct sw_seat *seat, const struct sw_seat_parts *parts, struct sw_seat *first);
/* Closes a seat that has nothing in flight. May also be called for a seat that is all zeros. */
void sw_seat_fini(struct sw_seat *seat);

/* Do replies of some seat wait for the log? */
bool sw_seats_are_held(const struct sw_list *active);
/* Has some seat batches in flight, RESP requests that run or wait in a RESP batch, or commands that
 * wait for a gate or hold one? `held`: also replies that wait for the log. */
bool sw_seats_have_requests(const struct sw_list *active, bool held);

/* The parts of an iteration. They return true if there was anything to do. */
bool sw_seats_submit(struct sw_list *active);
bool sw_seats_poll(struct sw_list *active, bool waits);
bool sw_seats_poll_commands(struct sw_list *active);
/* Sends the replies that the log has released. `leaves`: see sw_flights_release. */
bool sw_seats_follow_log(struct sw_list *active, bool leaves);
/* Has a batch failed because the device failed? Returns true only once. */
bool sw_seats_lost_device(struct sw_list *active);
/* When must the loop poll the batches of its seats? */
enum sw_polling {
    SW_POLLS_NOT,  /* there are none */
    SW_POLLS_SOON, /* in SW_HELD_POLL_MS: their tables are held (table/batch.h:sw_table_is_held) */
    SW_POLLS_NOW   /* a seat has batches to poll, or a command that waits for a gate or holds one */
};
/* Removes the seats without work from the list. Call it at the end of an iteration. */
enum sw_polling sw_seats_settle(struct sw_list *active);
/* Is the loop inside a submit to this table, which may take long? Threads: any. */
bool sw_seat_is_submitting(const struct sw_seat *seat);
/* Searches for expired keys, and tidies idle tables (table/idle.h). `view_number`: of the tables
 * that the loop has adopted. The loop calls it every SW_SWEEP_MS. */
void sw_seats_sweep(struct sw_list *seats, struct sw_sweeps *sweeps, uint64_t view_number);

/* Notes what CLIENT PAUSE holds back from now on, and how many RESP batches have begun. */
void sw_seats_pause(struct sw_list *seats, bool writes, bool all);
/* Are all requests over that the pause holds back and that began before? `all`: also reads. */
bool sw_seats_have_paused(const struct sw_list *active, bool all);

/* Adopts the newest view of the tables, if there is one, and leaves the tables that it lacks: their
 * requests end, and their idle connections move. The first seat stays in the list all the same.
 * Returns true if it adopted a view. */
bool sw_seats_follow(struct sw_list *seats, struct sw_seat *first, struct sw_tables_handle *tables,
                     struct sw_bulk *bulk);

/* Asserts the invariants that hold between two iterations. */
void sw_seats_check(const struct sw_list *seats, const struct sw_sweeps *sweeps,
                    uint64_t view_number);

#endif
