/* SPDX-License-Identifier: MIT
 *
 * results.c - loads, scores and sorts.
 */
#include "bench/tune/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of all points, to find them by. */
struct names {
    char (*texts)[SW_TUNE_TEXT_MAX];
    uint32_t count;
    struct sw_tune_result *to;
};

static bool take_point(void *context, const char *point, double median, const double *samples,
                       uint32_t count)
{
    struct names *names = context;
    (void)samples;
    (void)count;
    for (uint32_t p = 0; p < names->count; p++) {
        if (strcmp(names->texts[p], point) == 0) {
            names->to->measured += names->to->medians[p] <= 0;
            names->to->medians[p] = median;
        }
    }
    return true;
}

static bool take_variant(void *context, int64_t id, const char *variant, const char *state,
                         const char *note, const char *date)
{
    struct sw_tune_results *results = context;
    struct sw_tune_result *list =
        realloc(results->list, (results->count + 1) * sizeof(results->list[0]));
    if (list == NULL) {
        return false;
    }
    results->list = list;
    struct sw_tune_result *result = &list[results->count];
    memset(result, 0, sizeof(*result));
    result->id = id;
    snprintf(result->variant, sizeof(result->variant), "%s", variant);
    snprintf(result->state, sizeof(result->state), "%s", state);
    snprintf(result->note, sizeof(result->note), "%s", note);
    snprintf(result->date, sizeof(result->date), "%s", date);
    result->medians = calloc(results->points, sizeof(result->medians[0]));
    results->count += result->medians != NULL;
    return result->medians != NULL;
}

static bool load_points(struct sw_tune_store *store, struct sw_tune_results *results)
{
    struct names names = {.count = results->points};
    names.texts = malloc(results->points * sizeof(names.texts[0]));
    if (names.texts == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < names.count; p++) {
        sw_tune_point_text(results->space, false, p, names.texts[p]);
    }
    bool good = true;
    for (uint32_t r = 0; good && r < results->count; r++) {
        names.to = &results->list[r];
        good = sw_tune_store_points(store, results->list[r].id, take_point, &names);
    }
    free(names.texts);
    return good;
}

static bool is_usable(const struct sw_tune_result *result)
{
    return strcmp(result->state, SW_TUNE_STATE_GOOD) == 0 ||
           strcmp(result->state, SW_TUNE_STATE_PARTLY) == 0;
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

bool sw_tune_results_load(struct sw_tune_store *store, const struct sw_tune_workload *workload,
                          struct sw_tune_results *out, struct sw_tune_reason *reason)
{
    memset(out, 0, sizeof(*out));
    out->about = *workload;
    bool good = sw_tune_store_axes(store, workload->kernel, &out->space);
    if (good) {
        out->points = sw_tune_point_count(out->space, false);
        good =
            sw_tune_store_variants(store, workload, take_variant, out) && load_points(store, out);
    }
    if (!good) {
        sw_tune_store_failure(store, reason);
        sw_tune_results_free(out);
        return false;
    }
    find_base(out);
    for (uint32_t r = 0; out->base != NULL && r < out->count; r++) {
        struct sw_tune_result *result = &out->list[r];
        result->has_score = is_usable(result) && sw_tune_score(out->space, out->base->medians,
                                                               result->medians, &result->score);
    }
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

void sw_tune_results_sort(struct sw_tune_results *results)
{
    if (results->count > 0) {
        qsort(results->list, results->count, sizeof(results->list[0]), compare);
    }
    find_base(results);
}

void sw_tune_worst_point(const struct sw_tune_results *results, const struct sw_tune_result *result,
                         char text[SW_TUNE_TEXT_MAX])
{
    uint32_t worst = 0;
    double least = -1;
    for (uint32_t p = 0; p < results->points && results->base != NULL; p++) {
        if (result->medians[p] <= 0 || results->base->medians[p] <= 0) {
            continue;
        }
        double speed_up = results->base->medians[p] / result->medians[p];
        if (least < 0 || speed_up < least) {
            least = speed_up;
            worst = p;
        }
    }
    sw_tune_point_text(results->space, false, worst, text);
}
