/* SPDX-License-Identifier: MIT
 *
 * main.c - analyze: shows and exports what a search has stored.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tune/analyze/analyze.h"

#define EXIT_MISUSED 2

/* --- coverage and the best variants ----------------------------------------------------------- */

static uint32_t count_state(const struct sw_tune_results *results, const char *state)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < results->count; r++) {
        count += strcmp(results->list[r].state, state) == 0;
    }
    return count;
}

static void show_coverage(const struct sw_tune_results *results)
{
    char title[SW_TUNE_TITLE_MAX];
    uint32_t partly = count_state(results, SW_TUNE_STATE_PARTLY);
    uint32_t covered = results->count - partly;
    sw_tune_title(&results->about, title);
    printf("%s coverage: %" PRIu32 " / %" PRIu64 " (%.2f%%)", title, covered,
           results->about.variants, 100.0 * sw_tune_coverage(results));
    if (covered > count_state(results, SW_TUNE_STATE_GOOD)) {
        printf(", of these %" PRIu32 " wrong, %" PRIu32 " failed, %" PRIu32 " not built",
               count_state(results, SW_TUNE_STATE_WRONG),
               count_state(results, SW_TUNE_STATE_FAILED),
               count_state(results, SW_TUNE_STATE_UNBUILT));
    }
    if (partly > 0) {
        printf(", and %" PRIu32 " measured in part", partly);
    }
    printf("\n");
}

static int longest_name(const struct sw_tune_results *results, uint32_t top)
{
    size_t longest = strlen("variant");
    for (uint32_t r = 0; r < results->count && r < top; r++) {
        size_t length = strlen(results->list[r].variant);
        longest = length > longest ? length : longest;
    }
    return (int)longest;
}

static void show_top(const struct sw_tune_results *results, uint32_t top)
{
    char title[SW_TUNE_TITLE_MAX];
    int width = longest_name(results, top);
    sw_tune_title(&results->about, title);
    printf("%s:\n", title);
    if (results->base == NULL || !results->base->has_score) {
        printf("  base is not measured, so nothing can be compared\n");
        return;
    }
    printf("  %*s     score       min      mean       max   points    GB/s\n", width, "variant");
    for (uint32_t r = 0; r < results->count && r < top && results->list[r].has_score; r++) {
        const struct sw_tune_result *result = &results->list[r];
        printf("  %*s  %8.6f  %8.6f  %8.6f  %8.6f  %3" PRIu32 "/%" PRIu32 "  %6.1f%s\n", width,
               result->variant, result->score.score, result->score.min, result->score.mean,
               result->score.max, result->score.points, results->points, result->bandwidth * 1e-9,
               result == results->base ? "  base" : "");
    }
}

/* --- everything that is asked for ------------------------------------------------------------- */

static bool analyze(struct sw_tune_store *store, const struct sw_tune_analyze_options *options,
                    struct sw_tune_reason *reason)
{
    struct sw_tune_loaded loaded;
    const char *device = options->device[0] != '\0' ? options->device : NULL;
    if (!sw_tune_load(store, &options->select, device, &loaded, reason)) {
        return false;
    }
    for (uint32_t i = 0; options->coverage && i < loaded.count; i++) {
        show_coverage(&loaded.list[i]);
    }
    for (uint32_t i = 0; options->top > 0 && i < loaded.count; i++) {
        show_top(&loaded.list[i], options->top);
    }
    bool good = !options->select.has_variants || sw_tune_plot(store, &loaded, options, reason);
    good =
        good && (options->files[0] == '\0' || sw_tune_write_files(store, &loaded, options, reason));
    good = good && (!options->exports || sw_tune_export(&loaded, options, reason));
    sw_tune_loaded_free(&loaded);
    return good;
}

int main(int argc, char **argv)
{
    struct sw_tune_analyze_options options;
    struct sw_tune_store *store = NULL;
    struct sw_tune_reason reason = {""};
    enum sw_study_parsed parsed = sw_tune_analyze_options_parse(&options, argc, argv);
    if (parsed != SW_STUDY_RUN) {
        return parsed == SW_STUDY_DONE ? EXIT_SUCCESS : EXIT_MISUSED;
    }
    bool good =
        sw_tune_store_open(options.db, false, &store, &reason) && analyze(store, &options, &reason);
    if (!good) {
        (void)fflush(stdout); /* keeps the order of stdout and stderr */
        fprintf(stderr, "%s: %s\n", argv[0], reason.text);
    }
    sw_tune_store_close(store);
    sw_tune_selection_free(&options.select);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
