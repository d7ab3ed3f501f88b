/* SPDX-License-Identifier: MIT
 *
 * metrics_page.h - the lines of /metrics. Only metrics*.c include it.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_METRICS_PAGE_H
#define SHERWOOD_SERVER_OBSERVE_METRICS_PAGE_H

#include <inttypes.h>

#include "server/observe/server_stats.h"
#include "server/observe/text.h"

struct page {
    struct sw_text *text;
    bool openmetrics;
};

/* Writes HELP and TYPE of a family. The `name` of a counter comes without _total. OpenMetrics
 * requires that name in both lines. The older format requires the name of the samples. */
static inline void family(struct page *page, const char *name, const char *type, const char *help)
{
    const char *suffix = !page->openmetrics && type[0] == 'c' ? "_total" : "";
    sw_text_printf(page->text, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix,
                   type);
}

static inline void counter(struct page *page, const char *name, const char *help, uint64_t value)
{
    family(page, name, "counter", help);
    sw_text_printf(page->text, "%s_total %" PRIu64 "\n", name, value);
}

static inline void counter_seconds(struct page *page, const char *name, const char *help,
                                   double value)
{
    family(page, name, "counter", help);
    sw_text_printf(page->text, "%s_total %.6f\n", name, value);
}

static inline void gauge(struct page *page, const char *name, const char *help, uint64_t value)
{
    family(page, name, "gauge", help);
    sw_text_printf(page->text, "%s %" PRIu64 "\n", name, value);
}

static inline void gauge_ratio(struct page *page, const char *name, const char *help, double value)
{
    family(page, name, "gauge", help);
    sw_text_printf(page->text, "%s %.9g\n", name, value);
}

/* Writes a label and its value, escaped. */
static inline void label(struct page *page, const char *name, const char *value, const char *after)
{
    sw_text_printf(page->text, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            sw_text_append(page->text, "\\n", 2);
        } else {
            if (*value == '\\' || *value == '"') {
                sw_text_append(page->text, "\\", 1);
            }
            sw_text_append(page->text, value, 1);
        }
    }
    sw_text_printf(page->text, "\"%s", after);
}

/* Writes the metrics of a cluster (metrics_cluster.c). */
void sw_metrics_put_cluster(struct page *page, const struct sw_server_stats *snapshot);
/* Writes the metrics of each table (metrics_tables.c). */
void sw_metrics_put_tables(struct page *page, const struct sw_server_stats *snapshot);

#endif
