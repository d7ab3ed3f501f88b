/* SPDX-License-Identifier: MIT
 *
 * test_metrics.c - both text formats, line by line, and the choice between them.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "server/observe/http.h"
#include "tests/server/distinct_stats.h"

#define LINES_MAX 1024

static struct sw_config config;
static struct sw_server_stats snapshot;

static void begin(void)
{
    fill_distinct_stats(&config, &snapshot);
}

TestSuite(metrics, .init = begin);

/* What was rendered last. */
static struct {
    struct sw_text text;
    const char *lines[LINES_MAX];
    size_t count;
} page;

static void render(bool openmetrics)
{
    struct sw_text *text = &page.text;
    sw_text_fini(text);
    sw_text_init(text, 1 << 20);
    sw_metrics_render(&snapshot, openmetrics, text);
    cr_assert_not(text->failed);
    cr_assert_eq(text->data[text->size - 1], '\n');
    sw_text_append(text, "", 1);
    page.count = 0;
    for (char *line = strtok(text->data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        cr_assert_lt(page.count, LINES_MAX);
        page.lines[page.count++] = line;
    }
}

/* The value of the one sample with this name and labels. */
static double sample(const char *series)
{
    size_t size = strlen(series), found = 0;
    double value = 0;
    for (size_t i = 0; i < page.count; i++) {
        if (strncmp(page.lines[i], series, size) == 0 && page.lines[i][size] == ' ') {
            value = strtod(page.lines[i] + size + 1, NULL);
            found++;
        }
    }
    cr_assert_eq(found, 1, "%zu samples of %s", found, series);
    return value;
}

Test(metrics, no_series_twice)
{
    for (int openmetrics = 0; openmetrics < 2; openmetrics++) {
        render(openmetrics == 1);
        for (size_t i = 0; i < page.count; i++) {
            const char *line = page.lines[i];
            if (line[0] == '#') {
                continue;
            }
            size_t size = strlen(line);
            while (line[size - 1] != ' ') {
                size--;
            }
            for (size_t j = i + 1; j < page.count; j++) {
                cr_assert_neq(strncmp(line, page.lines[j], size), 0, "twice: %s", line);
            }
        }
    }
}

static bool ends_with(const char *text, size_t size, const char *end)
{
    size_t end_size = strlen(end);
    return size >= end_size && memcmp(text + size - end_size, end, end_size) == 0;
}

/* Does a sample's name belong to a family of that name and type? */
static bool belongs(const char *name, size_t size, const char *family, const char *type,
                    bool openmetrics)
{
    size_t base = strlen(family);
    if (size < base || memcmp(name, family, base) != 0) {
        return false;
    }
    const char *suffix = name + base;
    size_t suffix_size = size - base;
    if (strcmp(type, "histogram") == 0) {
        return ends_with(suffix, suffix_size, "_bucket") ||
               ends_with(suffix, suffix_size, "_sum") || ends_with(suffix, suffix_size, "_count");
    }
    if (strcmp(type, "counter") == 0 && openmetrics) {
        return suffix_size == 6 && memcmp(suffix, "_total", 6) == 0;
    }
    return suffix_size == 0;
}

/* HELP, TYPE, then the family's samples, and no family in two places. */
Test(metrics, families_stand_together)
{
    for (int openmetrics = 0; openmetrics < 2; openmetrics++) {
        char families[LINES_MAX][96];
        char type[16] = "";
        size_t family_count = 0, samples = 0;
        render(openmetrics == 1);
        size_t count = page.count - (openmetrics == 1);
        for (size_t i = 0; i < count; i++) {
            const char *line = page.lines[i];
            if (strncmp(line, "# HELP ", 7) == 0) {
                cr_assert(i == 0 || samples > 0, "a family without samples before %s", line);
                cr_assert_eq(sscanf(line, "# HELP %95s", families[family_count]), 1);
                for (size_t j = 0; j < family_count; j++) {
                    cr_assert_str_neq(families[j], families[family_count]);
                }
                char prefix[128];
                snprintf(prefix, sizeof(prefix), "# TYPE %s ", families[family_count++]);
                cr_assert_eq(strncmp(page.lines[++i], prefix, strlen(prefix)), 0, "%s after %s",
                             page.lines[i], line);
                snprintf(type, sizeof(type), "%s", page.lines[i] + strlen(prefix));
                samples = 0;
                continue;
            }
            cr_assert_neq(line[0], '#', "%s", line);
            cr_assert(belongs(line, strcspn(line, "{ "), families[family_count - 1], type,
                              openmetrics == 1),
                      "%s is no sample of %s %s", line, type, families[family_count - 1]);
            samples++;
        }
        cr_assert_gt(family_count, 40);
        cr_assert_eq(strcmp(page.lines[page.count - 1], "# EOF") == 0, openmetrics == 1);
    }
}

Test(metrics, names_follow_the_conventions)
{
    render(false);
    for (size_t i = 0; i < page.count; i++) {
        const char *line = page.lines[i];
        char name[96], type[16];
        if (sscanf(line, "# TYPE %95s %15s", name, type) != 2) {
            continue;
        }
        cr_assert(strncmp(name, "sherwood_", 9) == 0 || strncmp(name, "process_", 8) == 0, "%s",
                  name);
        cr_assert_eq(ends_with(name, strlen(name), "_total"), strcmp(type, "counter") == 0, "%s",
                     line);
        for (const char *c = name; *c != '\0'; c++) {
            cr_assert(islower((unsigned char)*c) || *c == '_', "%s", name);
        }
    }
}

Test(metrics, every_counter_has_its_value)
{
    render(false);
#define CHECK_COUNTER(name, help) \
    cr_assert_eq(sample("sherwood_" #name "_total"), (double)snapshot.counters.name);
    SW_COUNTER_MAP(CHECK_COUNTER)
#undef CHECK_COUNTER
#define CHECK_GAUGE(name, help) \
    cr_assert_eq(sample("sherwood_" #name), (double)snapshot.counters.name);
    SW_GAUGE_MAP(CHECK_GAUGE)
#undef CHECK_GAUGE
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        char series[96];
        snprintf(series, sizeof(series), "sherwood_commands_total{cmd=\"%s\"}",
                 sw_command_at((enum sw_command_id)id)->name);
        cr_assert_eq(sample(series), (double)snapshot.counters.commands[id]);
    }
    const struct sw_counters *table = &snapshot.stats.counters;
    static const char *const classes[] = {"get", "upsert", "delete"};
    for (unsigned i = 0; i < SW_CLASS_COUNT; i++) {
        static const char *const names[] = {"operations", "probes", "hits", "misses"};
        const uint64_t values[] = {table->by_class[i].operations, table->by_class[i].probes,
                                   table->by_class[i].hits, table->by_class[i].misses};
        for (unsigned j = 0; j < 4; j++) {
            char series[96];
            snprintf(series, sizeof(series), "sherwood_%s_total{operation=\"%s\"}", names[j],
                     classes[i]);
            cr_assert_eq(sample(series), (double)values[j], "%s", series);
        }
    }
#define CHECK_WRITE_PATH(path, name)                                              \
    cr_assert_eq(sample("sherwood_table_way_batches_total{way=\"" name "\"}"),    \
                 (double)snapshot.stats.write_paths[path].batches);               \
    cr_assert_eq(sample("sherwood_table_way_operations_total{way=\"" name "\"}"), \
                 (double)snapshot.stats.write_paths[path].operations);
    SW_WRITE_PATH_MAP(CHECK_WRITE_PATH)
#undef CHECK_WRITE_PATH
    cr_assert_eq(sample("sherwood_keyspace_hits_total"), (double)table->by_class[0].hits);
    cr_assert_eq(sample("sherwood_keyspace_misses_total"), (double)table->by_class[0].misses);
    cr_assert_eq(sample("sherwood_inserted_total"), (double)table->inserted);
    cr_assert_eq(sample("sherwood_updated_total"), (double)table->updated);
    cr_assert_eq(sample("sherwood_deleted_total"), (double)table->deleted);
    cr_assert_eq(sample("sherwood_failures_total"), (double)table->failures);
    cr_assert_eq(sample("sherwood_refused_operations_total"), (double)table->refused);
    cr_assert_eq(sample("sherwood_evictions_total"), (double)table->evicted);
    cr_assert_eq(sample("sherwood_cache_refused_total"), (double)table->not_admitted);
    cr_assert_eq(sample("sherwood_db_keys"), 256);
    cr_assert_eq(sample("sherwood_expiring_keys"), 31);
    cr_assert_eq(sample("sherwood_expired_total"), 32);
    cr_assert_eq(sample("sherwood_clock_steps_total"), 33);
    cr_assert_eq(sample("sherwood_table_load_ratio"), 0.25);
    cr_assert_eq(sample("sherwood_table_max_load_ratio"), 0.875);
    cr_assert_eq(sample("sherwood_table_capacity_slots"), 1024);
    cr_assert_eq(sample("sherwood_table_max_capacity_slots"), 65536);
    cr_assert_eq(sample("sherwood_table_occupied_max"), 870);
    cr_assert_eq(sample("sherwood_table_bytes"), 3 << 20);
    cr_assert_eq(sample("sherwood_table_unused_bytes"), 5 << 20);
    cr_assert_eq(sample("sherwood_table_growths_total"), 6);
    cr_assert_eq(sample("sherwood_table_resizes_total"), 8);
    cr_assert_eq(sample("sherwood_table_resize_failures_total"), 9);
    cr_assert_eq(sample("sherwood_connected_clients"), 5);
    cr_assert_eq(sample("process_cpu_seconds_total"), 1.75);
}

Test(metrics, series_are_there_from_the_start)
{
    render(false);
    const size_t full = page.count;
    memset(&snapshot.counters, 0, sizeof(snapshot.counters));
    memset(&snapshot.stats, 0, sizeof(snapshot.stats));
    render(false);
    cr_assert_eq(page.count, full);
}

Test(metrics, labels_are_escaped)
{
    render(false);
    cr_assert_eq(sample("sherwood_build_info{version=\"" SHERWOOD_VERSION "\",backend=\"cpu\","
                        "backend_reason=\"a \\\"quoted\\\\reason\\\"\\nof two lines\","
                        "engine=\"robin_hood\",key_bits=\"64\"}"),
                 1);
}

/* Buckets ascend and accumulate; +Inf is the count. */
static void check_histogram(const char *name, double scale)
{
    char prefix[96], series[128];
    double bound_before = -1, value_before = 0;
    unsigned buckets = 0;
    snprintf(prefix, sizeof(prefix), "%s_bucket{le=\"", name);
    for (size_t i = 0; i < page.count; i++) {
        if (strncmp(page.lines[i], prefix, strlen(prefix)) != 0) {
            continue;
        }
        const char *bound = page.lines[i] + strlen(prefix);
        double value = strtod(strchr(bound, ' '), NULL);
        cr_assert_geq(value, value_before);
        cr_assert_gt(strtod(bound, NULL), bound_before); /* strtod reads +Inf */
        if (buckets < SW_HISTOGRAM_BUCKETS - 1) {
            double wanted = (double)(1ULL << buckets) * scale;
            cr_assert_float_eq(strtod(bound, NULL), wanted, wanted * 1e-9);
        }
        bound_before = strtod(bound, NULL);
        value_before = value;
        buckets++;
    }
    cr_assert_eq(buckets, SW_HISTOGRAM_BUCKETS);
    snprintf(series, sizeof(series), "%s_bucket{le=\"+Inf\"}", name);
    cr_assert_eq(sample(series), value_before);
    snprintf(series, sizeof(series), "%s_count", name);
    cr_assert_eq(sample(series), value_before);
}

Test(metrics, histograms_add_up)
{
    snapshot.counters.batch_us_sum = 12000034;
    for (int openmetrics = 0; openmetrics < 2; openmetrics++) {
        render(openmetrics == 1);
        check_histogram("sherwood_batch_size", 1);
        check_histogram("sherwood_batch_duration_seconds", 1e-6);
        cr_assert_eq(sample("sherwood_batch_size_sum"), (double)snapshot.counters.batch_operations);
        cr_assert_float_eq(sample("sherwood_batch_duration_seconds_sum"), 12.000034, 1e-9);
    }
}

/* A value is counted in the first bucket whose bound it does not pass. */
Test(metrics, buckets_hold_what_their_bounds_say)
{
    for (unsigned i = 0; i < SW_HISTOGRAM_BUCKETS - 1; i++) {
        cr_assert_eq(sw_histogram_bucket(1ULL << i), i);
        cr_assert_eq(sw_histogram_bucket((1ULL << i) + 1), i + 1);
    }
    cr_assert_eq(sw_histogram_bucket(0), 0);
    cr_assert_eq(sw_histogram_bucket(UINT64_MAX), SW_HISTOGRAM_BUCKETS - 1);
}

Test(metrics, counters_are_added)
{
    struct sw_loop_counters sum = {0};
    const uint64_t *from = (const uint64_t *)&snapshot.counters;
    sw_loop_counters_add(&sum, &snapshot.counters);
    sw_loop_counters_add(&sum, &snapshot.counters);
    for (size_t i = 0; i < sizeof(sum) / sizeof(uint64_t); i++) {
        cr_assert_eq(((const uint64_t *)&sum)[i], 2 * from[i]);
    }
}

Test(metrics, promtool_finds_nothing)
{
    struct sw_text text;
    if (system("command -v promtool >/dev/null") != 0) {
        cr_skip_test("promtool is not installed");
    }
    sw_text_init(&text, 1 << 20);
    sw_metrics_render(&snapshot, false, &text);
    FILE *promtool = popen("promtool check metrics", "w");
    cr_assert_not_null(promtool);
    cr_assert_eq(fwrite(text.data, 1, text.size, promtool), text.size);
    cr_assert_eq(pclose(promtool), 0);
    sw_text_fini(&text);
}

Test(metrics, accept)
{
    static const struct {
        const char *accept;
        bool openmetrics;
    } rows[] = {
        {"", false},
        {"*/*", false},
        {"text/plain", false},
        {"text/html", false},
        {"garbage;;;=,,\"", false},
        {",,,", false},
        {"application/openmetrics-text", true},
        {"APPLICATION/OpenMetrics-Text", true},
        {"application/openmetrics-text; version=1.0.0", true},
        {"application/openmetrics-text;version=\"1.0.0\"", true},
        {"application/openmetrics-text; version=0.0.1", false},
        {"application/openmetrics-text; version=2.0.0", false},
        {"application/openmetrics-text; charset=utf-8; version=1.0.0; q=0.1", true},
        {"application/openmetrics-text;q=0", false},
        {"application/openmetrics-text;q=0,*/*;q=0", false},
        {"application/openmetrics-text,*/*", true},
        {"application/openmetrics-text,text/*", true},
        {"application/openmetrics-text,text/plain", false},
        {"text/plain,application/openmetrics-text", false},
        {"text/plain;q=0.5,application/openmetrics-text;q=0.6", true},
        {"text/plain;q=0.6 , application/openmetrics-text ; q=0.5", false},
        {"*/*;q=0.9,text/plain;q=0.1,application/openmetrics-text;q=0.5", true},
        {"text/plain;q=0.10,application/openmetrics-text;q=0.1", false},
        /* Prometheus 2.42 and 3.x */
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
         "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         true},
        {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
         "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
         "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_assert_eq(sw_http_wants_openmetrics(rows[i].accept), rows[i].openmetrics, "%s",
                     rows[i].accept);
    }
}

Test(metrics, accept_of_any_bytes_ends)
{
    char accept[24];
    unsigned seed = 7;
    for (unsigned round = 0; round < 200000; round++) {
        static const char bytes[] = ",;=\" /*qv1.0\tatext";
        size_t size = 0;
        for (; size < sizeof(accept) - 1; size++) {
            seed = seed * 1103515245U + 12345U;
            accept[size] = bytes[(seed >> 16) % (sizeof(bytes) - 1)];
        }
        accept[size] = '\0';
        (void)sw_http_wants_openmetrics(accept);
    }
}
