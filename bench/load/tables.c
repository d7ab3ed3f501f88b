/* SPDX-License-Identifier: MIT
 *
 * tables.c - opens the tables of a run, and spreads its keys over them (see tables.h).
 */
#include "bench/load/tables.h"

#include "bench/load/random.h"

#include <stdio.h>
#include <stdlib.h>

/* --- opening ---------------------------------------------------------------------------------- */

/* Creates table number t if it does not exist, and opens it. */
static int open_table(struct sw_load_tables *tables, struct sherwood *client, uint32_t t,
                      char *error)
{
    static const char *const options[] = {"IF", "NOT", "EXISTS"};
    const struct sherwood_server *facts = sherwood_server(client);
    char name[32];
    snprintf(name, sizeof(name), "load%u", t);
    if (sherwood_table_create(client, name, options, 3) != SHERWOOD_OK ||
        sherwood_table_open(client, name, &tables->handles[t]) != SHERWOOD_OK) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "table %s: %s", name, sherwood_error(client));
        return SW_LOAD_E_PEER;
    }
    const struct sherwood_server *own = sherwood_server(tables->handles[t]);
    if (own->key_bytes != facts->key_bytes || own->value_bytes != facts->value_bytes ||
        own->value_format != facts->value_format) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "table %s has other widths than the default table: drop it (TABLE DROP %s)", name,
                 name);
        return SW_LOAD_E_USAGE;
    }
    return SW_LOAD_OK;
}

int sw_load_tables_open(struct sw_load_tables *tables, const struct sw_load_options *options,
                        struct sherwood *client, char *error)
{
    int status = SW_LOAD_OK;
    if (options->tables == 0) {
        return SW_LOAD_OK;
    }
    tables->handles = calloc(options->tables, sizeof(struct sherwood *));
    if (!tables->handles) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for the tables (%u)",
                 options->tables);
        return SW_LOAD_E_NOMEM;
    }
    tables->count = options->tables;
    for (uint32_t t = 0; t < tables->count && status == SW_LOAD_OK; t++) {
        status = open_table(tables, client, t, error);
    }
    return status;
}

void sw_load_tables_close(struct sw_load_tables *tables)
{
    for (uint32_t t = 0; t < tables->count; t++) {
        sherwood_close(tables->handles[t]);
    }
    free(tables->handles);
    *tables = (struct sw_load_tables){.handles = NULL};
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Fills `count` keys of table t, in order from key `first` of this table on, or drawn. */
static void fill(struct sw_load_worker *worker, uint32_t t, uint64_t first, uint32_t count,
                 void *keys)
{
    const struct sw_load_phase *phase = worker->phase;
    const struct sw_load_workload own =
        sw_load_workload_of_table(worker->workload, worker->options->tables, t);
    if (!(phase->seconds > 0) || phase->distribution->kind == SW_LOAD_SEQUENTIAL) {
        sw_load_fill_range(&own, first % own.keys, count, keys);
    } else {
        sw_load_fill_drawn(&own, phase->distribution, &worker->random, count, keys);
    }
}

void sw_load_tables_fill(struct sw_load_worker *worker, struct sw_load_unit *unit)
{
    const uint32_t tables = worker->options->tables;
    if (!sw_load_by_segments(worker->options, worker->phase->operation)) {
        unit->table = (uint32_t)(unit->number % tables); /* units that follow go to other tables */
        fill(worker, unit->table, unit->number / tables * unit->count, unit->count, unit->keys);
        return;
    }
    const uint32_t each = unit->count / tables;
    for (uint32_t t = 0; t < tables; t++) {
        fill(worker, t, unit->number * each, each,
             (char *)unit->keys + (size_t)t * each * worker->workload->key_bytes);
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

int sw_load_tables_submit(const struct sw_load_tables *tables, struct sherwood *client,
                          const struct sw_load_worker *worker, const struct sw_load_unit *unit,
                          struct sherwood_request *request, struct sw_load_segments *segments,
                          void *got)
{
    const struct sw_load_workload *workload = worker->workload;
    if (!sw_load_by_segments(worker->options, worker->phase->operation)) {
        return sherwood_submit(tables->count == 0 ? client : tables->handles[unit->table], request);
    }
    const uint32_t each = unit->count / tables->count;
    const bool discards = (request->flags & SHERWOOD_DISCARD) != 0;
    for (uint32_t t = 0; t < tables->count; t++) {
        segments->each[t] = (struct sherwood_segment){
            .table = tables->handles[t],
            .keys = (const char *)unit->keys + (size_t)t * each * workload->key_bytes,
            .values = discards ? NULL : (char *)got + (size_t)t * each * workload->value_bytes,
            .count = each,
        };
    }
    request->keys = NULL;
    request->previous = NULL;
    return sherwood_submit_segments(client, request, segments->each, tables->count, segments->room);
}
