/* SPDX-License-Identifier: MIT
 *
 * tables.h - the tables of the server, and the places in which they lie.
 *
 * A view is the catalog at one moment, with the table in each place. It never changes: a change
 * publishes the next view. Each loop adopts the newest view between two requests
 * (sw_tables_follow). So every request sees one view, and a change is complete for all clients when
 * all loops have adopted its view. A change returns only then.
 *
 * A dropped table is closed when every loop has reported that it uses no table outside its view
 * (sw_tables_settle): its requests are over, and its connections have left.
 *
 * Threads: any. One change runs at a time, on the thread of its caller, which waits for the loops:
 * never a loop's thread. A handle belongs to its loop.
 */
#ifndef SHERWOOD_SERVER_TABLES_TABLES_H
#define SHERWOOD_SERVER_TABLES_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/list.h"
#include "server/tables/places.h"

/* The error of RESP for a name without a table. Bulk frames have it without its code. */
#define SW_NO_SUCH_TABLE "ERR no such table: TABLE LIST shows the tables"

#define SW_TABLES_ERROR_BYTES 512

struct sw_account;
struct sw_bulk;
struct sw_bulk_table;
struct sw_gate;
struct sw_resp;
struct sw_seat;
struct sw_table;
struct sw_tables;

/* The parts of a loop that belong to one table. */
struct sw_served_loop {
    struct sw_seat *seat;
    struct sw_resp *resp;         /* of the seat */
    struct sw_bulk_table *frames; /* likewise */
};

/* A table of the server. Constant, except the table's contents. */
struct sw_served {
    uint32_t id;
    uint32_t pins;     /* sw_tables_pin; under the lock of the tables */
    bool leaves;       /* atomic: it was dropped */
    bool begins_small; /* `open` gives it few slots at first, if it can grow */
    struct sw_table *table;
    struct sw_gate *gate;           /* of its writes */
    struct sw_account *account;     /* of its memory; NULL: none (in tests) */
    const struct sw_config *config; /* its options, and the server's */
    struct sw_served_loop *loops;   /* by the number of the loop */
};

struct sw_tables_view {
    uint64_t number; /* 1, 2, .. */
    struct sw_places catalog;
    struct sw_served **served; /* served[i] lies in catalog.places[i] */
    uint32_t altered;          /* id of the table to which this change gave options; 0: none */
    const struct sw_config *started; /* the options that the server started with; constant */
};

/* A loop's access to the tables. */
struct sw_tables_handle {
    struct sw_tables *tables;          /* NULL: there is one table (in tests) */
    const struct sw_tables_view *view; /* NULL likewise */
    uint64_t number;                   /* of the view; 0: none */
    uint32_t loop;                     /* the number of the loop */
    bool is_settled;                   /* sw_tables_settle was called for this view */
    struct sw_list link;               /* in the list of handles; under the mutex */
    uint64_t followed, settled;        /* numbers of views; under the mutex */
};

/* The functions of the server that a change calls, on its thread. */
struct sw_tables_owner {
    void *server; /* argument of the functions */
    /* Opens an empty table with the options of `config`, which it copies, and a seat on every loop.
     * Sets everything of *served except its id. Returns 0, or -1 with an error and nothing left. */
    int (*open)(void *server, const struct sw_config *config, struct sw_served *served, char *error,
                size_t error_bytes);
    /* Closes a table that no loop uses. The table in place 0 at the start is emptied instead: other
     * parts of the server use its memory. */
    void (*close)(void *server, struct sw_served *served);
    /* Lets the table in place 0 at the start be used again, after `close`. NULL: not called. */
    void (*reopen)(void *server, struct sw_served *served);
    /* Keeps the counters of a table that is about to be closed. Brief; called under a lock. */
    void (*retire)(void *server, const struct sw_served *served);
    /* Called before a change, without a lock. `ids`: the tables that a SWAP will exchange; `count`
     * 0: another change. Returns 0, or -1 with an error: the change is refused. NULL: not called.
     */
    int (*prepare)(void *server, const uint32_t *ids, uint32_t count, char *error,
                   size_t error_bytes);
    /* Called before a change of a client, with the lock of changes. Returns 0, or -1 with an error:
     * this server takes no change now. NULL: not called. */
    int (*admit)(void *server, char *error, size_t error_bytes);
    /* Gives a change its number, unless *sequence has the primary's; writes it to the files, and to
     * the replicas. *sequence receives the number. Returns 0, or -1 with an error. It is called
     * before the view `next` is published, and may then refuse the change. If `logs`, it is called
     * behind the publication of a DROP. NULL: changes have no number. */
    int (*commit)(void *server, const struct sw_tables_view *before,
                  const struct sw_tables_view *next, uint64_t *sequence, char *error,
                  size_t error_bytes);
    bool logs; /* changes are records of a log; otherwise those of a start have no number */
    /* Returns why a SWAP must not give place 0 a table of another shape than the command line's: an
     * error line; or NULL: it may. The member NULL: it may. */
    const char *(*keeps_shape)(void *server);
    /* Waits until the last change is durable. Returns 0, or -1 with an error: its outcome is
     * unknown. NULL: a change is durable behind `commit`. */
    int (*settle)(void *server, char *error, size_t error_bytes);
    /* Writes a snapshot of the table if it has writes that its file lacks, and waits for it. Called
     * without a lock. Returns 0, or -1 with an error. NULL: the server has no data directory. */
    int (*save)(void *server, uint32_t id, char *error, size_t error_bytes);
    /* Makes each loop run an iteration. */
    void (*wake)(void *server);
    /* Gives the table the options `alters` (bits of enum sw_alterable) of `config`. Loops follow
     * them with the next view. `is_made`: the primary, or this server before its restart, has
     * accepted the change, so a table that has passed a limit does not refuse it. Returns 0, or -1
     * with an error and nothing changed. */
    int (*alter)(void *server, struct sw_served *served, const struct sw_config *config,
                 uint32_t alters, bool is_made, char *error, size_t error_bytes);
    /* Lets the rights to the table `name` hold for `to` as well; with `to` NULL they end for
     * `name`. If there is no memory, they stay as they are, which it logs. */
    void (*rename)(void *server, const char *name, const char *to);
    /* Why this server has one table: an error line; NULL: it may have several. */
    const char *one_table;
};

/* Creates the catalog of place 0 with the table `first`, which the caller owns until
 * sw_tables_destroy. At most `most` places. Returns NULL if there is no memory. */
struct sw_tables *sw_tables_create(uint32_t most, const struct sw_served *first,
                                   const struct sw_tables_owner *owner);
/* Closes all tables except the first. Every loop has ended. NULL is allowed. */
void sw_tables_destroy(struct sw_tables *tables);

/* --- loops ------------------------------------------------------------------------------------ */

/* Registers a loop, which adopts the newest view in its first iteration. Call it before the loop's
 * thread starts. */
void sw_tables_join(struct sw_tables *tables, struct sw_tables_handle *handle, uint32_t loop);
/* The loop has ended: changes no longer wait for it. The handle may have no tables. */
void sw_tables_leave(struct sw_tables_handle *handle);
/* Returns whether there is a newer view. */
bool sw_tables_is_behind(const struct sw_tables_handle *handle);
/* Adopts the newest view. */
void sw_tables_follow(struct sw_tables_handle *handle);
/* Reports that the loop uses no table outside its view. */
void sw_tables_settle(struct sw_tables_handle *handle);

/* Return the place that clients name, by its name or its decimal number, and the table in a place;
 * NULL: there is none. */
const struct sw_place *sw_tables_find(const struct sw_tables_view *view, const void *text,
                                      size_t bytes);
struct sw_served *sw_tables_at(const struct sw_tables_view *view, uint32_t number);

/* --- changes ---------------------------------------------------------------------------------- */

enum sw_change_kind {
    SW_CHANGE_CREATE,
    SW_CHANGE_DROP,
    SW_CHANGE_RENAME,
    SW_CHANGE_SWAP,
    SW_CHANGE_ALTER,
    SW_CHANGE_SAVE /* writes a snapshot of the table, and changes nothing */
};

/* A change. A name is a name or a number in decimal, except a name that CREATE or RENAME gives. */
struct sw_change {
    enum sw_change_kind kind;
    bool is_lenient;  /* CREATE: the place may exist; DROP: it may not exist */
    bool is_of_start; /* the server makes it before it serves requests: see sw_tables_owner.logs */
    bool
        needs_shape; /* CREATE: a table that exists must have the shape of `config`, and `number` */
    bool is_forced;  /* SWAP: the tables may have different shapes */
    bool has_number; /* CREATE: the caller chooses the number */
    uint32_t number; /* the number it chooses */
    char name[SW_PLACE_NAME_BYTES];
    char other[SW_PLACE_NAME_BYTES]; /* RENAME: the new name; SWAP: the other place */
    uint32_t alters;                 /* ALTER: the options, bits of enum sw_alterable */
    uint64_t sequence;               /* receives the number of the change; 0: none */
    struct sw_config config;         /* CREATE, ALTER: options of the table */
};

/* Carries out a change, and returns when every loop has adopted it. Blocks for long. Returns 0, or
 * -1 and a RESP error line in `error`: then nothing has changed. */
int sw_tables_change(struct sw_tables *tables, struct sw_change *change, char *error,
                     size_t error_bytes);

/* Take and end the turn of a change by a command. Only the owner of the turn has a thread.
 * sw_tables_take_turn returns false if another change has the turn. All loops are woken when that
 * ends. */
bool sw_tables_take_turn(struct sw_tables *tables);
void sw_tables_end_turn(struct sw_tables *tables);
void sw_tables_wake(struct sw_tables *tables);

/* Returns whether no change runs. It may have been over for some time. */
bool sw_tables_rest(struct sw_tables *tables);
/* Returns whether a client's change runs that sw_tables_owner.admit may have admitted. So a server
 * that has set what `admit` refuses waits until this is false. */
bool sw_tables_are_changing(const struct sw_tables *tables);

/* --- files ------------------------------------------------------------------------------------ */

/* Returns the table with the lowest id above `after` that lies in a place, or NULL. A DROP does not
 * close it until sw_tables_unpin, which returns whether it was dropped meanwhile. */
struct sw_served *sw_tables_pin(struct sw_tables *tables, uint32_t after);
bool sw_tables_unpin(struct sw_tables *tables, struct sw_served *served);
/* Was the table dropped? Its users end soon. */
static inline bool sw_tables_leaves(const struct sw_served *served)
{
    return __atomic_load_n(&served->leaves, __ATOMIC_RELAXED);
}

/* Returns the newest view, and lets no change get its number or publish another view until
 * sw_tables_release. A DROP that waits for the requests of its table has published its view and has
 * no number yet. */
const struct sw_tables_view *sw_tables_hold(struct sw_tables *tables);
void sw_tables_release(struct sw_tables *tables);

/* Replaces the places by those of a data directory or of a primary, while no request is served. The
 * tables are made, with configs[i] for place i, and are empty. If configs[0] is NULL, the table
 * that the server started with lies in place 0 afterwards, with its keys and its options, and gets
 * the id that `catalog` has for it. `catalog` NULL: place 0 alone. Returns 0, or -1 with an error.
 */
int sw_tables_restore(struct sw_tables *tables, const struct sw_places *catalog,
                      const struct sw_config *const *configs, char *error, size_t error_bytes);
/* From now on sw_tables_restore makes tables with few slots, also of the table in place 0 at the
 * start, or with those of their options. No file has a RESIZE. So tables that shared
 * tables-memory-max may find no room with the slots that they were created with. */
void sw_tables_begin_small(struct sw_tables *tables, bool small);

/* A change that another server has made. */
struct sw_tables_applied {
    uint64_t sequence; /* it is committed with this number; 0: it is not committed */
};
/* Replaces the places likewise, but keeps the tables with the same ids, and closes those that
 * `catalog` lacks, at most one. A table that exists gets the options of configs[i] that TABLE ALTER
 * can change; NULL: it keeps its own. Requests may be served. `applied`: a change of the primary,
 * so the rights of users follow a RENAME; NULL: a change of the server's own log. */
int sw_tables_apply(struct sw_tables *tables, const struct sw_places *catalog,
                    const struct sw_config *const *configs, const struct sw_tables_applied *applied,
                    char *error, size_t error_bytes);

/* --- reading ---------------------------------------------------------------------------------- */

/* Calls `show` for each place, ascending by number, then for the table that a DROP is about to
 * close, with the place NULL. Before all it calls `show` with two NULLs. No table is closed or
 * retired meanwhile. `show` must be brief and must not call functions of this header. */
void sw_tables_each(struct sw_tables *tables,
                    void (*show)(void *context, const struct sw_place *place,
                                 const struct sw_served *served),
                    void *context);

#endif
