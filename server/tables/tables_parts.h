/* SPDX-License-Identifier: MIT
 *
 * tables_parts.h - internals of the tables. tables.c has the views and the loops, change.c the
 * changes, publish.c makes a view the newest, restore.c has the places of a data directory.
 */
#ifndef SHERWOOD_SERVER_TABLES_TABLES_PARTS_H
#define SHERWOOD_SERVER_TABLES_TABLES_PARTS_H

#include <pthread.h>

#include "server/tables/tables.h"

struct sw_tables {
    struct sw_tables_owner owner;
    pthread_mutex_t change; /* locked during a change; taken before `held` */
    pthread_mutex_t held;   /* locked while `view` may not be replaced; taken before `lock` */
    pthread_mutex_t lock;   /* protects the fields below */
    pthread_cond_t moved;   /* a loop has followed or settled */
    struct sw_tables_view *view;
    struct sw_list handles;
    uint64_t newest;  /* atomic, set under `lock`: the number of `view` */
    bool is_taken;    /* atomic: a change has the turn */
    bool is_changing; /* atomic: sw_tables_are_changing */
    struct sw_served *first;
    bool begins_small;        /* sw_tables_begin_small; of the thread that restores */
    struct sw_config started; /* its options, before any ALTER */
    bool was_dropped[SW_PLACE_NUMBERS_FREE]; /* by number: a table there was dropped */
    const struct sw_served *leaving; /* the table that a DROP is about to close; NULL: none */
};

/* Returns a copy with the next number, or NULL. */
struct sw_tables_view *sw_tables_next_view(const struct sw_tables_view *view);
void sw_tables_free_view(struct sw_tables_view *view);

/* Returns where a place with this number is in the view, or UINT32_MAX. */
uint32_t sw_tables_index(const struct sw_tables_view *view, uint32_t number);

/* Makes `view` the newest one. `dropped`: the table that the view lacks; NULL: none. The caller has
 * locked `change` and `held`. (publish.c) */
void sw_tables_publish(struct sw_tables *tables, struct sw_tables_view *view,
                       struct sw_served *dropped);
/* Waits until every loop has adopted the newest view, and until no loop and no save uses the table
 * that it lacks. Requests on that table may wait for the log, and a broken log for the catalog that
 * mends it: so the caller has locked `change` alone. (publish.c) */
void sw_tables_wait_for_loops(struct sw_tables *tables, struct sw_served *dropped);
/* Publishes a view, waits for the loops, frees the view before, and closes the table that `view`
 * lacks; `dropped` NULL: none. The caller has locked `change`. (publish.c) */
void sw_tables_replace_view(struct sw_tables *tables, struct sw_tables_view *view,
                            struct sw_served *dropped);
/* Closes a table that no loop uses, and frees it. NULL is allowed. (publish.c) */
void sw_tables_close(struct sw_tables *tables, struct sw_served *served);

/* Changes options of a table. change->config receives those of before. The first table of a server
 * has, in place 0, the options of the command line after a restart and on a replica, so its change
 * is in no record: then next->altered is 0. (change_alter.c) */
enum sw_places_status sw_tables_alter(struct sw_tables *tables, struct sw_tables_view *next,
                                      struct sw_change *change, char *error, size_t error_bytes);
/* Gives a table its options of before, if the ALTER could not be saved. */
void sw_tables_alter_back(struct sw_tables *tables, const struct sw_change *change);

#endif
