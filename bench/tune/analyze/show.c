/* SPDX-License-Identifier: MIT
 *
 * show.c - coverage and the best variants.
 */
#include "bench/tune/analyze/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t count_state(const struct sw_tune_results *results, const char *state)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < results->count; r++) {
        count += strcmp(results->list[r].state, state) == 0;
    }
    return count;
}

double sw_tune_coverage(const struct sw_tune_results *results)
{
    uint32_t covered = results->count - count_state(results, SW_TUNE_STATE_PARTLY);
    return (double)covered / (double)results->about.variants;
}

void sw_tune_show_coverage(const struct sw_tune_results *results)
{
    char title[3 * SW_TUNE_TEXT_MAX];
    uint32_t partly = count_state(results, SW_TUNE_STATE_PARTLY);
    uint32_t wrong = count_state(results, SW_TUNE_STATE_WRONG);
    uint32_t failed = count_state(results, SW_TUNE_STATE_FAILED);
    uint32_t unbuilt = count_state(results, SW_TUNE_STATE_UNBUILT);
    uint32_t covered = results->count - partly;
    sw_tune_title(&results->about, title, sizeof(title));
    printf("%s coverage: %" PRIu32 " / %" PRIu64 " (%.2f%%)", title, covered,
           results->about.variants, 100.0 * sw_tune_coverage(results));
    if (covered > count_state(results, SW_TUNE_STATE_GOOD)) {
        printf(", of these %" PRIu32 " wrong, %" PRIu32 " failed, %" PRIu32 " not built", wrong,
               failed, unbuilt);
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

void sw_tune_show_top(const struct sw_tune_results *results, uint32_t top)
{
    char title[3 * SW_TUNE_TEXT_MAX];
    int width = longest_name(results, top);
    sw_tune_title(&results->about, title, sizeof(title));
    printf("%s:\n", title);
    if (results->base == NULL || !results->base->has_score) {
        printf("  base is not measured, so nothing can be compared\n");
        return;
    }
    printf("  %*s     score       min      mean       max   points\n", width, "variant");
    for (uint32_t r = 0; r < results->count && r < top && results->list[r].has_score; r++) {
        const struct sw_tune_result *result = &results->list[r];
        printf("  %*s  %8.6f  %8.6f  %8.6f  %8.6f  %3" PRIu32 "/%" PRIu32 "%s\n", width,
               result->variant, result->score.score, result->score.min, result->score.mean,
               result->score.max, result->score.points, results->points,
               result == results->base ? "  base" : "");
    }
}
