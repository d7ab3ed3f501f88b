/* SPDX-License-Identifier: MIT
 *
 * load.c - which workloads are wanted, and their results.
 */
#include "bench/tune/analyze/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct listing {
    struct sw_tune_workload *list;
    uint32_t count;
};

static bool list_workload(void *context, const struct sw_tune_workload *workload)
{
    struct listing *listing = context;
    struct sw_tune_workload *list =
        realloc(listing->list, (listing->count + 1) * sizeof(listing->list[0]));
    if (list == NULL) {
        return false;
    }
    listing->list = list;
    listing->list[listing->count++] = *workload;
    return true;
}

/* Whether a compile-time workload passes the filters. */
static bool is_taken(const struct sw_tune_space *space, const char *workload,
                     const struct sw_tune_analyze_options *options)
{
    char text[SW_TUNE_TEXT_MAX];
    for (uint32_t w = 0; w < sw_tune_point_count(space, true); w++) {
        sw_tune_point_text(space, true, w, text);
        if (strcmp(text, workload) == 0) {
            return sw_tune_point_taken(space, true, w, options->filters, options->filter_count);
        }
    }
    return false;
}

static bool is_wanted(const struct sw_tune_workload *workload,
                      const struct sw_tune_analyze_options *options)
{
    return regexec(&options->kernels, workload->kernel, 0, NULL, 0) == 0 &&
           (options->device == NULL || strstr(workload->device, options->device) != NULL);
}

static bool load_one(struct sw_tune_store *store, const struct sw_tune_workload *workload,
                     const struct sw_tune_analyze_options *options, struct sw_tune_loaded *out,
                     struct sw_tune_reason *reason)
{
    struct sw_tune_results results;
    if (!sw_tune_results_load(store, workload, &results, reason)) {
        return false;
    }
    bool good = true;
    for (uint32_t f = 0; good && f < options->filter_count; f++) {
        good = sw_tune_filter_fits(&options->filters[f], results.space, reason);
    }
    if (!good || !is_taken(results.space, workload->workload, options)) {
        sw_tune_results_free(&results);
        return good;
    }
    struct sw_tune_results *list = realloc(out->list, (out->count + 1) * sizeof(out->list[0]));
    if (list == NULL) {
        sw_tune_results_free(&results);
        return sw_tune_refuse(reason, "not enough memory");
    }
    out->list = list;
    sw_tune_results_sort(&results);
    out->list[out->count++] = results;
    return true;
}

bool sw_tune_load(struct sw_tune_store *store, const struct sw_tune_analyze_options *options,
                  struct sw_tune_loaded *out, struct sw_tune_reason *reason)
{
    struct listing listing = {.list = NULL};
    memset(out, 0, sizeof(*out));
    bool good = sw_tune_store_workloads(store, list_workload, &listing);
    if (!good) {
        sw_tune_store_failure(store, reason);
    }
    for (uint32_t w = 0; good && w < listing.count; w++) {
        good = !is_wanted(&listing.list[w], options) ||
               load_one(store, &listing.list[w], options, out, reason);
    }
    free(listing.list);
    if (good && out->count == 0) {
        good = sw_tune_refuse(reason, "%s has no results that match", options->db);
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

void sw_tune_title(const struct sw_tune_workload *workload, char *text, size_t size)
{
    snprintf(text, size, "%s[%s], %s", workload->kernel, workload->workload,
             workload->device[0] != '\0' ? workload->device : "no device yet");
}
