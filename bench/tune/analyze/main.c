/* SPDX-License-Identifier: MIT
 *
 * main.c - analyze: shows and exports what a search has stored.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/tune/analyze/export.h"
#include "bench/tune/analyze/files.h"
#include "bench/tune/analyze/load.h"
#include "bench/tune/analyze/options.h"
#include "bench/tune/analyze/plot.h"
#include "bench/tune/analyze/show.h"

#define EXIT_MISUSED 2

static bool analyze(struct sw_tune_store *store, const struct sw_tune_analyze_options *options,
                    struct sw_tune_reason *reason)
{
    struct sw_tune_loaded loaded;
    if (!sw_tune_load(store, options, &loaded, reason)) {
        return false;
    }
    for (uint32_t i = 0; options->coverage && i < loaded.count; i++) {
        sw_tune_show_coverage(&loaded.list[i]);
    }
    for (uint32_t i = 0; options->top > 0 && i < loaded.count; i++) {
        sw_tune_show_top(&loaded.list[i], options->top);
    }
    bool good = !options->plots || sw_tune_plot(store, &loaded, options, reason);
    good = good && (options->files == NULL || sw_tune_write_files(store, &loaded, options, reason));
    good = good && (!options->exports || sw_tune_export(&loaded, options, reason));
    sw_tune_loaded_free(&loaded);
    return good;
}

int main(int argc, char **argv)
{
    struct sw_tune_analyze_options options;
    struct sw_tune_store *store = NULL;
    struct sw_tune_reason reason = {""};
    enum sw_tune_analyze_parsed parsed = sw_tune_analyze_options_parse(&options, argc, argv);
    if (parsed != SW_TUNE_ANALYZE) {
        return parsed == SW_TUNE_ANALYZE_HELPED ? EXIT_SUCCESS : EXIT_MISUSED;
    }
    bool good =
        sw_tune_store_open(options.db, false, &store, &reason) && analyze(store, &options, &reason);
    if (!good) {
        (void)fflush(stdout); /* what was said before comes first */
        fprintf(stderr, "%s: %s\n", argv[0], reason.text);
    }
    sw_tune_store_close(store);
    sw_tune_analyze_options_free(&options);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
