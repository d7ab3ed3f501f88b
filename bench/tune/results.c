/* SPDX-License-Identifier: MIT
 *
 * results.c - loads, scores and sorts.
 */
#include "bench/tune/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- scores ----------------------------------------------------------------------------------- */

double sw_tune_point_weight(const struct sw_tune_space *space, uint32_t point)
{
    double weight = 1;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        if (space->axes[a].kind == SW_TUNE_ORDERED) {
            weight *= sw_tune_point_value(space, false, point, a) + 1;
        }
    }
    return weight;
}

bool sw_tune_score(const struct sw_tune_space *space, const double *base, const double *variant,
                   struct sw_tune_score *out)
{
    double weights = 0;
    memset(out, 0, sizeof(*out));
    for (uint32_t p = 0; p < sw_tune_point_count(space, false); p++) {
        if (base[p] <= 0 || variant[p] <= 0) {
            continue;
        }
        double speed_up = base[p] / variant[p];
        double weight = sw_tune_point_weight(space, p);
        weights += weight;
        out->score += weight * speed_up;
        out->mean += speed_up;
        out->min = out->points == 0 || speed_up < out->min ? speed_up : out->min;
        out->max = speed_up > out->max ? speed_up : out->max;
        out->points++;
    }
    if (out->points == 0) {
        return false;
    }
    out->score /= weights;
    out->mean /= out->points;
    return true;
}

void sw_tune_worst_point(const struct sw_tune_results *results, const struct sw_tune_result *result,
                         char text[SW_TUNE_TEXT_MAX])
{
    uint32_t worst = 0;
    double least = -1;
    for (uint32_t p = 0; p < results->points && results->base != NULL; p++) {
        double base = results->base->medians[p];
        if (result->medians[p] > 0 && base > 0 &&
            (least < 0 || base / result->medians[p] < least)) {
            least = base / result->medians[p];
            worst = p;
        }
    }
    sw_tune_point_text(results->space, false, worst, text);
}

/* --- a workload ------------------------------------------------------------------------------- */

/* Room for one more of `size` bytes, all zero; NULL: there is none. */
static void *grow(void **list, uint32_t count, size_t size)
{
    void *grown = realloc(*list, (count + 1) * size);
    if (grown == NULL) {
        return NULL;
    }
    *list = grown;
    return memset((char *)grown + count * size, 0, size);
}

static bool load_variants(struct sw_tune_store *store, struct sw_tune_results *results)
{
    const struct sw_tune_workload *about = &results->about;
    bool good = true;
    sqlite3_stmt *rows = sw_tune_prepare(
        store,
        "SELECT id, variant, state, date FROM variant WHERE kernel = ? AND workload = ? AND"
        " sources = ? AND device = ? ORDER BY id",
        "tttt", about->kernel, about->workload, about->sources, about->device);
    while (good && sw_tune_next(rows)) {
        struct sw_tune_result *result =
            grow((void **)&results->list, results->count, sizeof(*result));
        good = result != NULL &&
               (result->medians = calloc(results->points, sizeof(result->medians[0]))) != NULL;
        if (good) {
            results->count++;
            result->id = sqlite3_column_int64(rows, 0);
            sw_tune_column(rows, 1, result->variant, sizeof(result->variant));
            sw_tune_column(rows, 2, result->state, sizeof(result->state));
            sw_tune_column(rows, 3, result->date, sizeof(result->date));
        }
    }
    return sw_tune_end(rows) && good;
}

static bool load_points(struct sw_tune_store *store, const struct sw_tune_results *results,
                        struct sw_tune_result *result)
{
    char point[SW_TUNE_TEXT_MAX];
    char text[SW_TUNE_TEXT_MAX];
    sqlite3_stmt *rows = sw_tune_prepare(
        store, "SELECT point, median, bytes FROM point WHERE id = ?", "i", result->id);
    while (sw_tune_next(rows)) {
        double bandwidth = sqlite3_column_double(rows, 2) / sqlite3_column_double(rows, 1);
        sw_tune_column(rows, 0, point, sizeof(point));
        result->bandwidth = bandwidth > result->bandwidth ? bandwidth : result->bandwidth;
        for (uint32_t p = 0; p < results->points; p++) {
            sw_tune_point_text(results->space, false, p, text);
            if (strcmp(text, point) == 0) {
                result->measured += result->medians[p] <= 0;
                result->medians[p] = sqlite3_column_double(rows, 1);
            }
        }
    }
    return sw_tune_end(rows);
}

static void find_base(struct sw_tune_results *results)
{
    results->base = NULL;
    for (uint32_t r = 0; r < results->count; r++) {
        if (strcmp(results->list[r].variant, results->about.base) == 0) {
            results->base = &results->list[r];
        }
    }
}

static int compare(const void *a, const void *b)
{
    const struct sw_tune_result *x = a;
    const struct sw_tune_result *y = b;
    double left = x->has_score ? x->score.score : -1;
    double right = y->has_score ? y->score.score : -1;
    if (left != right) {
        return left < right ? 1 : -1;
    }
    return (x->id > y->id) - (x->id < y->id);
}

static void score_and_sort(struct sw_tune_results *results)
{
    find_base(results);
    for (uint32_t r = 0; results->base != NULL && r < results->count; r++) {
        struct sw_tune_result *result = &results->list[r];
        bool is_right = strcmp(result->state, SW_TUNE_STATE_GOOD) == 0 ||
                        strcmp(result->state, SW_TUNE_STATE_PARTLY) == 0;
        result->has_score = is_right && sw_tune_score(results->space, results->base->medians,
                                                      result->medians, &result->score);
    }
    if (results->count > 0) {
        qsort(results->list, results->count, sizeof(results->list[0]), compare);
    }
    find_base(results);
}

bool sw_tune_results_load(struct sw_tune_store *store, const struct sw_tune_workload *workload,
                          struct sw_tune_results *out, struct sw_tune_reason *reason)
{
    memset(out, 0, sizeof(*out));
    out->about = *workload;
    bool good = sw_tune_store_axes(store, workload->kernel, &out->space);
    if (good) {
        out->points = sw_tune_point_count(out->space, false);
        good = load_variants(store, out);
    }
    for (uint32_t r = 0; good && r < out->count; r++) {
        good = load_points(store, out, &out->list[r]);
    }
    if (!good) {
        sw_tune_store_failure(store, reason);
        sw_tune_results_free(out);
        return false;
    }
    score_and_sort(out);
    return true;
}

void sw_tune_results_free(struct sw_tune_results *results)
{
    for (uint32_t r = 0; r < results->count; r++) {
        free(results->list[r].medians);
    }
    free(results->list);
    free(results->space);
    memset(results, 0, sizeof(*results));
}

/* --- all workloads ---------------------------------------------------------------------------- */

/* Whether a compile-time workload passes the filters. */
static bool is_taken(const struct sw_tune_space *space, const char *workload,
                     const struct sw_tune_selection *selection)
{
    char text[SW_TUNE_TEXT_MAX];
    for (uint32_t w = 0; w < sw_tune_point_count(space, true); w++) {
        sw_tune_point_text(space, true, w, text);
        if (strcmp(text, workload) == 0) {
            return sw_tune_point_taken(space, true, w, selection->filters, selection->filter_count);
        }
    }
    return false;
}

/* Adds the workload's results, if the filters take it. */
static bool load_one(struct sw_tune_store *store, const struct sw_tune_workload *workload,
                     const struct sw_tune_selection *selection, struct sw_tune_loaded *out,
                     struct sw_tune_reason *reason)
{
    struct sw_tune_results results;
    if (!sw_tune_results_load(store, workload, &results, reason)) {
        return false;
    }
    bool good = sw_tune_selection_fits(selection, results.space, reason);
    if (!good || !is_taken(results.space, workload->workload, selection)) {
        sw_tune_results_free(&results);
        return good;
    }
    struct sw_tune_results *added = grow((void **)&out->list, out->count, sizeof(results));
    if (added == NULL) {
        sw_tune_results_free(&results);
        return sw_tune_refuse(reason, "not enough memory");
    }
    *added = results;
    out->count++;
    return true;
}

static void read_workload(sqlite3_stmt *row, struct sw_tune_workload *out)
{
    sw_tune_column(row, 0, out->kernel, sizeof(out->kernel));
    sw_tune_column(row, 1, out->workload, sizeof(out->workload));
    sw_tune_column(row, 2, out->sources, sizeof(out->sources));
    sw_tune_column(row, 3, out->base, sizeof(out->base));
    out->variants = (uint64_t)sqlite3_column_int64(row, 4);
    sw_tune_column(row, 5, out->device, sizeof(out->device));
    sw_tune_column(row, 6, out->arch, sizeof(out->arch));
}

bool sw_tune_load(struct sw_tune_store *store, const struct sw_tune_selection *selection,
                  const char *device, struct sw_tune_loaded *out, struct sw_tune_reason *reason)
{
    struct sw_tune_workload workload;
    bool good = true;
    sqlite3_stmt *rows = sw_tune_prepare(
        store,
        "SELECT DISTINCT s.kernel, s.workload, s.sources, s.base, s.variants, v.device, v.arch"
        " FROM space s LEFT JOIN variant v USING(kernel, workload, sources)"
        " ORDER BY v.device, s.kernel, s.position",
        "");
    memset(out, 0, sizeof(*out));
    while (good && sw_tune_next(rows)) {
        read_workload(rows, &workload);
        good = !sw_tune_selects_kernel(selection, workload.kernel) ||
               (device != NULL && strstr(workload.device, device) == NULL) ||
               load_one(store, &workload, selection, out, reason);
    }
    if (!sw_tune_end(rows) && good) {
        sw_tune_store_failure(store, reason);
        good = false;
    }
    if (good && out->count == 0) {
        good = sw_tune_refuse(reason, "%s has no results that match", sw_tune_store_name(store));
    }
    if (!good) {
        sw_tune_loaded_free(out);
    }
    return good;
}

void sw_tune_loaded_free(struct sw_tune_loaded *loaded)
{
    for (uint32_t i = 0; i < loaded->count; i++) {
        sw_tune_results_free(&loaded->list[i]);
    }
    free(loaded->list);
    memset(loaded, 0, sizeof(*loaded));
}

void sw_tune_title(const struct sw_tune_workload *workload, char title[SW_TUNE_TITLE_MAX])
{
    snprintf(title, SW_TUNE_TITLE_MAX, "%s[%s], %s", workload->kernel, workload->workload,
             workload->device[0] != '\0' ? workload->device : "no device yet");
}
