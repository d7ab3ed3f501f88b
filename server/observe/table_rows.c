/* SPDX-License-Identifier: MIT
 *
 * table_rows.c - collects the figures of each table.
 */
#include "server/observe/table_rows.h"

#include <stdlib.h>
#include <string.h>

#include "server/tables/ledger.h"
#include "server/tables/tables.h"

struct collection {
    struct sw_table_rows *rows;
    bool failed;
};

static struct sw_table_row *add(struct collection *collection)
{
    struct sw_table_rows *rows = collection->rows;
    struct sw_table_row *grown = realloc(rows->at, (rows->count + 1) * sizeof(*rows->at));
    if (grown == NULL) {
        collection->failed = true;
        return NULL;
    }
    rows->at = grown;
    return &grown[rows->count++];
}

static void collect(void *context, const struct sw_place *place, const struct sw_served *served)
{
    struct sw_table_row *row = place == NULL ? NULL : add(context);
    if (row != NULL) {
        memcpy(row->name, place->name, sizeof(row->name));
        row->number = place->number;
        row->id = served->id;
        row->log_bytes = 0;
        sw_table_info(served->table, &row->info);
        if (served->account != NULL) {
            row->log_bytes = __atomic_load_n(&served->account->log_bytes, __ATOMIC_RELAXED);
            row->info.max_capacity_slots = sw_account_slots_max(served->account, &row->info);
        }
        sw_table_stats(served->table, &row->stats);
    }
}

static int by_memory(const void *a, const void *b)
{
    const uint64_t one = ((const struct sw_table_row *)a)->info.bytes_reserved;
    const uint64_t other = ((const struct sw_table_row *)b)->info.bytes_reserved;
    return (one < other) - (one > other);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t one = ((const struct sw_table_row *)a)->number;
    const uint32_t other = ((const struct sw_table_row *)b)->number;
    return (one > other) - (one < other);
}

int sw_table_rows_collect(const struct sw_server_stats *snapshot, struct sw_table_rows *rows)
{
    struct collection collection = {.rows = rows};
    *rows = (struct sw_table_rows){.count = 0};
    if (snapshot->tables != NULL) {
        sw_tables_each(snapshot->tables, collect, &collection);
    } else {
        struct sw_table_row *row = add(&collection);
        if (row != NULL) {
            *row = (struct sw_table_row){
                .name = SW_PLACE_DEFAULT, .info = snapshot->info, .stats = snapshot->stats};
        }
    }
    if (collection.failed) {
        sw_table_rows_free(rows);
        return -1;
    }
    return 0;
}

void sw_table_rows_limit(struct sw_table_rows *rows, uint32_t most)
{
    if (rows->count > most) {
        qsort(rows->at, rows->count, sizeof(*rows->at), by_memory);
        rows->left_out = rows->count - most;
        rows->count = most;
        qsort(rows->at, rows->count, sizeof(*rows->at), by_number);
    }
}

void sw_table_rows_free(struct sw_table_rows *rows)
{
    free(rows->at);
    *rows = (struct sw_table_rows){.count = 0};
}

double sw_table_row_full(const struct sw_table_row *row)
{
    const struct sw_table_info *info = &row->info;
    const double most = (double)info->occupied_max * (double)info->max_capacity_slots;
    return info->engine == SW_ENGINE_CACHE || most <= 0
               ? 0
               : (double)row->stats.occupied * (double)info->capacity_slots / most;
}

const struct sw_table_row *sw_table_rows_fullest(const struct sw_table_rows *rows)
{
    const struct sw_table_row *fullest = NULL;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (fullest == NULL || sw_table_row_full(&rows->at[i]) > sw_table_row_full(fullest)) {
            fullest = &rows->at[i];
        }
    }
    return fullest;
}
