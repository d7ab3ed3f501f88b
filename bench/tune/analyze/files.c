/* SPDX-License-Identifier: MIT
 *
 * files.c - raw.csv and summary.csv of what a search has stored.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/study/report.h"
#include "bench/tune/analyze/analyze.h"

#define TOP_USUAL 5
#define COLUMNS_MAX 32

/* --- raw.csv ---------------------------------------------------------------------------------- */

/* The run-time axes of all kernels, each once. */
struct columns {
    const char *names[COLUMNS_MAX];
    uint32_t count;
};

static void add_column(struct columns *columns, const char *name)
{
    for (uint32_t c = 0; c < columns->count; c++) {
        if (strcmp(columns->names[c], name) == 0) {
            return;
        }
    }
    if (columns->count < COLUMNS_MAX) {
        columns->names[columns->count++] = name;
    }
}

static void find_columns(const struct sw_tune_loaded *loaded, struct columns *columns)
{
    columns->count = 0;
    for (uint32_t i = 0; i < loaded->count; i++) {
        const struct sw_tune_space *space = loaded->list[i].space;
        for (uint32_t a = 0; a < space->axis_count; a++) {
            if (space->axes[a].kind != SW_TUNE_COMPILED) {
                add_column(columns, space->axes[a].name);
            }
        }
    }
}

/* The value of an axis in "Load=0.5 Batch=2^20"; nothing if it is not there. */
static void write_value(FILE *out, const char *point, const char *axis)
{
    size_t length = strlen(axis);
    for (const char *at = point; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, axis, length) == 0 && at[length] == '=') {
            at += length + 1;
            fprintf(out, "%.*s", (int)strcspn(at, " "), at);
            return;
        }
    }
}

static bool write_rows(FILE *out, struct sw_tune_store *store, const struct columns *columns,
                       const struct sw_tune_workload *about, const struct sw_tune_result *result)
{
    sqlite3_stmt *rows = sw_tune_prepare(
        store,
        "SELECT point, median, low, high, count, bytes FROM point WHERE id = ? ORDER BY rowid", "i",
        result->id);
    while (sw_tune_next(rows)) {
        char point[SW_TUNE_TEXT_MAX];
        sw_tune_column(rows, 0, point, sizeof(point));
        fprintf(out, "%s,%s,%s,%s", about->kernel, about->workload, result->variant, result->state);
        for (uint32_t c = 0; c < columns->count; c++) {
            fprintf(out, ",");
            write_value(out, point, columns->names[c]);
        }
        const double median = sqlite3_column_double(rows, 1);
        const double bytes = sqlite3_column_double(rows, 5);
        fprintf(out, ",%.6g,%.6g,%.6g,%d,", median, sqlite3_column_double(rows, 2),
                sqlite3_column_double(rows, 3), sqlite3_column_int(rows, 4));
        if (bytes > 0) {
            fprintf(out, "%.0f,%.6g", bytes, bytes / median);
        } else {
            fprintf(out, ",");
        }
        fprintf(out, "\n");
    }
    return sw_tune_end(rows);
}

static bool write_raw(FILE *out, struct sw_tune_store *store, const struct sw_tune_loaded *loaded)
{
    struct columns columns;
    bool good = true;
    find_columns(loaded, &columns);
    fprintf(out, "kernel,workload,variant,state");
    for (uint32_t c = 0; c < columns.count; c++) {
        fprintf(out, ",");
        for (const char *at = columns.names[c]; *at != '\0'; at++) {
            (void)fputc(tolower((unsigned char)*at), out);
        }
    }
    fprintf(out, ",median_s,low_s,high_s,samples,bytes,bytes_per_second\n");
    for (uint32_t i = 0; i < loaded->count; i++) {
        const struct sw_tune_results *results = &loaded->list[i];
        for (uint32_t r = 0; r < results->count && good; r++) {
            good = write_rows(out, store, &columns, &results->about, &results->list[r]);
        }
    }
    return good;
}

/* --- summary.csv ------------------------------------------------------------------------------ */

/* The kernel and the words of the workload, "get_plain", and its first number, "64". */
static void name_operation(const struct sw_tune_results *results, char operation[SW_TUNE_TEXT_MAX],
                           char bits[SW_TUNE_NAME_MAX])
{
    const char *at = results->about.workload;
    int used = snprintf(operation, SW_TUNE_TEXT_MAX, "%s", results->about.kernel);
    bits[0] = '\0';
    while ((at = strchr(at, '=')) != NULL) {
        int length = (int)strcspn(++at, " ");
        if (!isdigit((unsigned char)*at) && used < SW_TUNE_TEXT_MAX) {
            used +=
                snprintf(operation + used, SW_TUNE_TEXT_MAX - (size_t)used, "_%.*s", length, at);
        } else if (bits[0] == '\0') {
            snprintf(bits, SW_TUNE_NAME_MAX, "%.*s", length, at);
        }
    }
}

static void write_metric(FILE *out, const struct sw_tune_results *results, const char *library,
                         const char *metric, double value, const char *unit)
{
    char operation[SW_TUNE_TEXT_MAX];
    char bits[SW_TUNE_NAME_MAX];
    name_operation(results, operation, bits);
    fprintf(out, "tune,%s,%s,%s,,,%s,%.6f,%s\n", library, operation, bits, metric, value, unit);
}

static void write_variant(FILE *out, const struct sw_tune_results *results,
                          const struct sw_tune_result *result)
{
    write_metric(out, results, result->variant, "score", result->score.score, "1");
    if (result->bandwidth > 0) {
        write_metric(out, results, result->variant, "bandwidth", result->bandwidth * 1e-9, "GB/s");
    }
    write_metric(out, results, result->variant, "speed_up_min", result->score.min, "1");
    write_metric(out, results, result->variant, "speed_up_mean", result->score.mean, "1");
    write_metric(out, results, result->variant, "speed_up_max", result->score.max, "1");
}

static void write_summary(FILE *out, const struct sw_tune_loaded *loaded,
                          const struct sw_tune_analyze_options *options)
{
    const uint32_t top = options->top > 0 ? options->top : TOP_USUAL;
    for (uint32_t i = 0; i < loaded->count; i++) {
        const struct sw_tune_results *results = &loaded->list[i];
        const struct sw_tune_result *choice = NULL;
        struct sw_tune_reason none = {""};
        write_metric(out, results, "sherwood", "coverage", sw_tune_coverage(results), "1");
        for (uint32_t r = 0; r < results->count && r < top && results->list[r].has_score; r++) {
            write_variant(out, results, &results->list[r]);
        }
        /* without base there is no choice, which is no failure here */
        if (sw_tune_choose(results, options, false, &choice, &none)) {
            choice = choice != NULL ? choice : results->base;
            write_metric(out, results, choice->variant, "choice", choice->score.score, "1");
            write_metric(out, results, results->base->variant, "base", results->base->score.score,
                         "1");
        }
    }
}

/* --- both ------------------------------------------------------------------------------------- */

struct files {
    FILE *raw;
    FILE *summary;
};

static const struct sw_study_file files[] = {
    {offsetof(struct files, raw), "raw.csv", ""},
    {offsetof(struct files, summary), "summary.csv", SW_STUDY_SUMMARY_HEADER},
    {0, NULL, NULL},
};

bool sw_tune_write_files(struct sw_tune_store *store, const struct sw_tune_loaded *loaded,
                         const struct sw_tune_analyze_options *options,
                         struct sw_tune_reason *reason)
{
    struct files open;
    if (!sw_study_files_open(&open, files, "analyze", options->files)) {
        return sw_tune_refuse(reason, "nothing was written");
    }
    bool read = write_raw(open.raw, store, loaded);
    if (read) {
        write_summary(open.summary, loaded, options);
    } else {
        sw_tune_store_failure(store, reason);
    }
    if (!sw_study_files_close(&open, files, "analyze")) {
        return sw_tune_refuse(reason, "the files in %s cannot be written", options->files);
    }
    return read;
}
