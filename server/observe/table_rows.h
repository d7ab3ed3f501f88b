/* SPDX-License-Identifier: MIT
 *
 * table_rows.h - the figures of each table, for /metrics, the status page and the problems.
 *
 * Threads: any. The caller owns the rows.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_TABLE_ROWS_H
#define SHERWOOD_SERVER_OBSERVE_TABLE_ROWS_H

#include "server/observe/server_stats.h"
#include "server/tables/places.h"

struct sw_table_row {
    char name[SW_PLACE_NAME_BYTES];
    uint32_t number;
    uint32_t id;
    uint64_t log_bytes;        /* of the table's writes that loops have added to the log */
    struct sw_table_info info; /* max_capacity_slots: as TABLE ALTER has set it */
    struct sw_table_stats stats;
};

struct sw_table_rows {
    struct sw_table_row *at; /* ascending by number; owned */
    uint32_t count;
    uint32_t left_out; /* smaller tables that have no row */
};

/* Collects all tables of the server. Returns 0; or -1 if there is no memory, and no rows. */
int sw_table_rows_collect(const struct sw_server_stats *snapshot, struct sw_table_rows *rows);
/* Leaves the `most` tables with the most memory. */
void sw_table_rows_limit(struct sw_table_rows *rows, uint32_t most);
void sw_table_rows_free(struct sw_table_rows *rows);

/* Returns the keys of the table divided by those that it holds at max-capacity; 0 of a cache, which
 * evicts. */
double sw_table_row_full(const struct sw_table_row *row);
/* Returns the row that is full most, or NULL. */
const struct sw_table_row *sw_table_rows_fullest(const struct sw_table_rows *rows);

#endif
