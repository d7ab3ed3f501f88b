/* SPDX-License-Identifier: MIT
 *
 * files.c - raw.csv and summary.csv of what a search has stored.
 */
#include "bench/tune/analyze/files.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/tune/analyze/export.h"
#include "bench/tune/analyze/show.h"
#include "bench/tune/build.h"

#define TOP_USUAL 5
#define COLUMNS_MAX 32

/* The run-time axes of all kernels, each once: columns of raw.csv. */
struct columns {
    const char *names[COLUMNS_MAX];
    uint32_t count;
};

/* A variant's rows. */
struct rows {
    FILE *out;
    const struct columns *columns;
    const struct sw_tune_results *of;
    const struct sw_tune_result *result;
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

static bool write_row(void *context, const char *point, double median, const double *samples,
                      uint32_t count)
{
    const struct rows *rows = context;
    struct sw_tune_samples kept = {.count = count};
    struct sw_tune_summary summary;
    memcpy(kept.seconds, samples, count * sizeof(samples[0]));
    sw_tune_summarize(&kept, &summary);
    fprintf(rows->out, "%s,%s,%s,%s", rows->of->about.kernel, rows->of->about.workload,
            rows->result->variant, rows->result->state);
    for (uint32_t c = 0; c < rows->columns->count; c++) {
        fprintf(rows->out, ",");
        write_value(rows->out, point, rows->columns->names[c]);
    }
    fprintf(rows->out, ",%.6g,%.6g,%.6g,%" PRIu32 "\n", median, summary.low, summary.high, count);
    return true;
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
    fprintf(out, ",median_s,low_s,high_s,samples\n");
    for (uint32_t i = 0; i < loaded->count && good; i++) {
        for (uint32_t r = 0; r < loaded->list[i].count && good; r++) {
            struct rows rows = {out, &columns, &loaded->list[i], &loaded->list[i].list[r]};
            good = sw_tune_store_points(store, rows.result->id, write_row, &rows);
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

static void write_summary_row(FILE *out, const struct sw_tune_results *results, const char *library,
                              const char *metric, double value)
{
    char operation[SW_TUNE_TEXT_MAX];
    char bits[SW_TUNE_NAME_MAX];
    name_operation(results, operation, bits);
    fprintf(out, "tune,%s,%s,%s,,,%s,%.6f,1\n", library, operation, bits, metric, value);
}

static void write_variant(FILE *out, const struct sw_tune_results *results,
                          const struct sw_tune_result *result)
{
    write_summary_row(out, results, result->variant, "score", result->score.score);
    write_summary_row(out, results, result->variant, "speed_up_min", result->score.min);
    write_summary_row(out, results, result->variant, "speed_up_mean", result->score.mean);
    write_summary_row(out, results, result->variant, "speed_up_max", result->score.max);
}

static void write_summary(FILE *out, const struct sw_tune_loaded *loaded,
                          const struct sw_tune_analyze_options *options)
{
    const uint32_t top = options->top > 0 ? options->top : TOP_USUAL;
    fprintf(out, "study,library,operation,slot_bits,F,batch,metric,value,unit\n");
    for (uint32_t i = 0; i < loaded->count; i++) {
        const struct sw_tune_results *results = &loaded->list[i];
        const struct sw_tune_result *choice = NULL;
        struct sw_tune_reason none = {""};
        write_summary_row(out, results, "sherwood", "coverage", sw_tune_coverage(results));
        for (uint32_t r = 0; r < results->count && r < top && results->list[r].has_score; r++) {
            write_variant(out, results, &results->list[r]);
        }
        /* without base there is no choice, which is no failure here */
        if (sw_tune_choose(results, options, false, &choice, &none)) {
            choice = choice != NULL ? choice : results->base;
            write_summary_row(out, results, choice->variant, "choice", choice->score.score);
            write_summary_row(out, results, results->base->variant, "base",
                              results->base->score.score);
        }
    }
}

static FILE *open_file(const struct sw_tune_analyze_options *options, const char *name,
                       struct sw_tune_reason *reason)
{
    char path[SW_TUNE_PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", options->files, name) >= (int)sizeof(path)) {
        (void)sw_tune_refuse(reason, "the name of the folder %s is too long", options->files);
        return NULL;
    }
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        (void)sw_tune_refuse(reason, "%s cannot be written: %s", path, strerror(errno));
    }
    return out;
}

static bool close_file(FILE *out, const struct sw_tune_analyze_options *options,
                       struct sw_tune_reason *reason)
{
    bool good = ferror(out) == 0;
    good = fclose(out) == 0 && good;
    return good || sw_tune_refuse(reason, "the files in %s cannot be written", options->files);
}

bool sw_tune_write_files(struct sw_tune_store *store, const struct sw_tune_loaded *loaded,
                         const struct sw_tune_analyze_options *options,
                         struct sw_tune_reason *reason)
{
    if (!sw_tune_make_folder(options->files, reason)) {
        return false;
    }
    FILE *raw = open_file(options, "raw.csv", reason);
    if (raw == NULL) {
        return false;
    }
    if (!write_raw(raw, store, loaded)) {
        (void)fclose(raw);
        sw_tune_store_failure(store, reason);
        return false;
    }
    FILE *summary =
        close_file(raw, options, reason) ? open_file(options, "summary.csv", reason) : NULL;
    if (summary == NULL) {
        return false;
    }
    write_summary(summary, loaded, options);
    return close_file(summary, options, reason);
}
