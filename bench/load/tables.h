/* SPDX-License-Identifier: MIT
 *
 * tables.h - a load on several tables (--tables), by bulk frames.
 *
 * Table t has the t-th range of keys / tables keys of the run. A frame has keys of one table. With
 * segments a frame of gets has frame / tables keys of each table. The number of keys is a multiple
 * of tables times frame, so all frames are full. Used by the thread of a worker.
 */
#ifndef SHERWOOD_LOAD_TABLES_H
#define SHERWOOD_LOAD_TABLES_H

#include "bench/load/worker.h"
#include "client/sherwood-tables.h"

/* The handles of a thread's connections: one for each table; NULL: the run has the default table
 * alone. */
struct sw_load_tables {
    struct sherwood **handles;
    uint32_t count;
};

/* A frame of gets by segments. */
struct sw_load_segments {
    uint8_t room[SHERWOOD_SEGMENTS_ROOM];
    struct sherwood_segment each[SHERWOOD_SEGMENTS_MAX];
};

/* Creates the tables load0, load1, .. that do not exist, and opens all on the connections of
 * `client`. Returns a status with the reason in `error`. sw_load_tables_close may be called after
 * either. */
int sw_load_tables_open(struct sw_load_tables *tables, const struct sw_load_options *options,
                        struct sherwood *client, char *error);
/* Closes the handles. `client` must still be open. */
void sw_load_tables_close(struct sw_load_tables *tables);

/* Does the phase read by segments? */
static inline bool sw_load_by_segments(const struct sw_load_options *options,
                                       enum sw_load_operation operation)
{
    return options->segments && operation == SW_LOAD_GET;
}

/* Sets the table of a unit, and fills its keys: in order, or drawn. */
void sw_load_tables_fill(struct sw_load_worker *worker, struct sw_load_unit *unit);

/* Submits the request of a unit to its table, or by segments with the values in `got`. Returns
 * libsherwood's status. */
int sw_load_tables_submit(const struct sw_load_tables *tables, struct sherwood *client,
                          const struct sw_load_worker *worker, const struct sw_load_unit *unit,
                          struct sherwood_request *request, struct sw_load_segments *segments,
                          void *got);

#endif
