/* SPDX-License-Identifier: MIT
 *
 * metrics_tables.c - metrics of each table, with the label `table`. Families without that label
 * are sums over all tables.
 */
#include <stddef.h>

#include "server/observe/metrics_page.h"
#include "server/observe/table_rows.h"

/* Families of one figure a table. */
static const struct {
    const char *name, *type, *help;
    size_t offset; /* of the figure in struct sw_table_row */
} figures[] = {
#define ROW(field) offsetof(struct sw_table_row, field)
    {"sherwood_table_keys", "gauge", "Keys in the table.", ROW(stats.occupied)},
    {"sherwood_table_expiring_keys", "gauge", "Keys of the table with an expiry time.",
     ROW(stats.expires)},
    {"sherwood_table_slots", "gauge", "Slots of the table now.", ROW(info.capacity_slots)},
    {"sherwood_table_slots_max", "gauge", "Limit of the slots of the table.",
     ROW(info.max_capacity_slots)},
    {"sherwood_table_memory_bytes", "gauge", "Memory of the table.", ROW(info.bytes_reserved)},
    {"sherwood_table_inserted", "counter", "Keys inserted into the table.",
     ROW(stats.counters.inserted)},
    {"sherwood_table_deleted", "counter", "Keys removed from the table.",
     ROW(stats.counters.deleted)},
    {"sherwood_table_expired", "counter", "Keys removed from the table because they had expired.",
     ROW(stats.expired)},
    {"sherwood_table_evicted", "counter", "Keys evicted from the table.",
     ROW(stats.counters.evicted)},
    {"sherwood_table_refused", "counter",
     "Operations refused because the table would have passed its maximum load.",
     ROW(stats.counters.refused)},
    {"sherwood_table_grown", "counter", "Times the table grew by itself.", ROW(stats.grown)},
    {"sherwood_table_growth_failures", "counter",
     "Growths and resizes of the table that failed; the table stayed as it was.",
     ROW(stats.resize_failed)},
    {"sherwood_table_log_bytes", "counter",
     "Bytes of the table's writes that clients caused in the log.", ROW(log_bytes)},
#undef ROW
};

static void put_figure(struct page *page, const struct sw_table_rows *rows, size_t at)
{
    family(page, figures[at].name, figures[at].type, figures[at].help);
    for (uint32_t i = 0; i < rows->count; i++) {
        const char *row = (const char *)&rows->at[i];
        sw_text_printf(page->text, "%s%s{", figures[at].name,
                       figures[at].type[0] == 'c' ? "_total" : "");
        label(page, "table", rows->at[i].name, "} ");
        sw_text_printf(page->text, "%" PRIu64 "\n",
                       *(const uint64_t *)(const void *)(row + figures[at].offset));
    }
}

/* Writes the operations, or the hits, of each class. */
static void put_classes(struct page *page, const struct sw_table_rows *rows, const char *name,
                        const char *help, size_t offset)
{
    static const char *const classes[SW_CLASS_COUNT] = {
        [SW_CLASS_GET] = "get", [SW_CLASS_UPSERT] = "upsert", [SW_CLASS_DELETE] = "delete"};
    family(page, name, "counter", help);
    for (uint32_t i = 0; i < rows->count; i++) {
        for (unsigned c = 0; c < SW_CLASS_COUNT; c++) {
            const char *base = (const char *)&rows->at[i].stats.counters.by_class[c];
            sw_text_printf(page->text, "%s_total{", name);
            label(page, "table", rows->at[i].name, ",");
            label(page, "operation", classes[c], "} ");
            sw_text_printf(page->text, "%" PRIu64 "\n",
                           *(const uint64_t *)(const void *)(base + offset));
        }
    }
}

static void put_full(struct page *page, const struct sw_table_rows *rows)
{
    family(page, "sherwood_table_full_ratio", "gauge",
           "Keys of the table divided by those that it holds at max-capacity; 0 of a cache.");
    for (uint32_t i = 0; i < rows->count; i++) {
        sw_text_printf(page->text, "sherwood_table_full_ratio{");
        label(page, "table", rows->at[i].name, "} ");
        sw_text_printf(page->text, "%.9g\n", sw_table_row_full(&rows->at[i]));
    }
}

void sw_metrics_put_tables(struct page *page, const struct sw_server_stats *snapshot)
{
    struct sw_table_rows rows;
    if (sw_table_rows_collect(snapshot, &rows) != 0) {
        page->text->failed = true;
        return;
    }
    const struct sw_table_row *fullest = sw_table_rows_fullest(&rows);
    gauge(page, "sherwood_tables", "Tables of the server.", rows.count);
    gauge_ratio(
        page, "sherwood_tables_fullest_ratio",
        "The largest sherwood_table_full_ratio of all tables, also of those without series.",
        fullest == NULL ? 0 : sw_table_row_full(fullest));
    sw_table_rows_limit(&rows, snapshot->config->metrics_tables_max);
    gauge(page, "sherwood_tables_without_series",
          "Tables beyond metrics-tables-max, which have no series with the label table.",
          rows.left_out);
    for (size_t at = 0; at < sizeof(figures) / sizeof(figures[0]); at++) {
        put_figure(page, &rows, at);
    }
    put_classes(page, &rows, "sherwood_table_operations", "Operations carried out on the table.",
                offsetof(struct sw_op_counters, operations));
    put_classes(page, &rows, "sherwood_table_hits",
                "Operations on the table whose key was present before them.",
                offsetof(struct sw_op_counters, hits));
    put_full(page, &rows);
    sw_table_rows_free(&rows);
}
