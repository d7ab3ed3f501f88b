/* SPDX-License-Identifier: MIT
 *
 * plot.c - a box for each variant and run-time workload; times are parts of base's median.
 */
#include "bench/tune/analyze/plot.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "bench/tune/build.h"

/* Whose samples go where. */
struct block {
    FILE *out;
    const char *point;
    double unit; /* base's median */
};

static bool write_samples(void *context, const char *point, double median, const double *samples,
                          uint32_t count)
{
    struct block *block = context;
    (void)median;
    for (uint32_t i = 0; i < count && strcmp(point, block->point) == 0; i++) {
        fprintf(block->out, "%.6g\n", samples[i] / block->unit);
    }
    return true;
}

/* Whether a variant has a box at a point: the filters take it, and it and base were measured. */
static bool has_box(const struct sw_tune_results *results, const struct sw_tune_result *result,
                    const struct sw_tune_analyze_options *options, uint32_t point)
{
    return results->base->medians[point] > 0 && result->medians[point] > 0 &&
           sw_tune_point_taken(results->space, false, point, options->filters,
                               options->filter_count);
}

/* Samples point after point, two empty lines between: gnuplot numbers them from 0. */
static bool write_block(FILE *out, struct sw_tune_store *store,
                        const struct sw_tune_results *results, const struct sw_tune_result *result,
                        const struct sw_tune_analyze_options *options)
{
    bool good = true;
    for (uint32_t p = 0; p < results->points && good; p++) {
        char text[SW_TUNE_TEXT_MAX];
        struct block block = {.out = out, .point = text, .unit = results->base->medians[p]};
        sw_tune_point_text(results->space, false, p, text);
        if (has_box(results, result, options, p)) {
            good = sw_tune_store_points(store, result->id, write_samples, &block);
            fprintf(out, "\n\n");
        }
    }
    return good;
}

/* Boxes of all variants at a point stand side by side, in a place of width 1. */
static void write_plot(FILE *out, const struct sw_tune_results *results,
                       const struct sw_tune_result *const *chosen, uint32_t count,
                       const struct sw_tune_analyze_options *options)
{
    const double width = 0.8 / count;
    const char *comma = "";
    fprintf(out, "plot ");
    for (uint32_t v = 0; v < count; v++) {
        uint32_t index = 0;
        uint32_t place = 0;
        for (uint32_t p = 0; p < results->points; p++) {
            if (has_box(results, chosen[v], options, p)) {
                char title[SW_TUNE_TEXT_MAX + 16] = "notitle";
                if (index == 0) {
                    snprintf(title, sizeof(title), "title '%s%s'", chosen[v]->variant,
                             v == 0 ? " (base)" : "");
                }
                fprintf(out, "%s$v%u index %u using (%.4f):1:(%.4f) linecolor %u %s", comma, v,
                        index, place + 0.1 + width * (v + 0.5), 0.9 * width, v + 1, title);
                comma = ", \\\n     ";
                index++;
            }
            place += has_box(results, results->base, options, p);
        }
    }
    fprintf(out, "\nunset output\n");
}

/* The names of the points, below their places. */
static void write_tics(FILE *out, const struct sw_tune_results *results,
                       const struct sw_tune_analyze_options *options)
{
    uint32_t place = 0;
    fprintf(out, "set xtics (");
    for (uint32_t p = 0; p < results->points; p++) {
        char text[SW_TUNE_TEXT_MAX];
        if (has_box(results, results->base, options, p)) {
            sw_tune_point_text(results->space, false, p, text);
            fprintf(out, "%s'%s' %.1f", place > 0 ? ", " : "", text, place + 0.5);
            place++;
        }
    }
    fprintf(out, ") rotate by -35\nset xrange [0:%u]\n", place > 0 ? place : 1);
}

/* Those that match, base before them. */
static uint32_t choose(const struct sw_tune_results *results,
                       const struct sw_tune_analyze_options *options,
                       const struct sw_tune_result *chosen[SW_TUNE_PLOT_VARIANTS_MAX])
{
    uint32_t count = 0;
    chosen[count++] = results->base;
    for (uint32_t r = 0; r < results->count && count < SW_TUNE_PLOT_VARIANTS_MAX; r++) {
        const struct sw_tune_result *result = &results->list[r];
        if (result != results->base && result->has_score &&
            regexec(&options->variants, result->variant, 0, NULL, 0) == 0) {
            chosen[count++] = result;
        }
    }
    return count;
}

static bool write_script(FILE *out, const char *file, struct sw_tune_store *store,
                         const struct sw_tune_results *results,
                         const struct sw_tune_analyze_options *options)
{
    const struct sw_tune_result *chosen[SW_TUNE_PLOT_VARIANTS_MAX];
    uint32_t count = choose(results, options, chosen);
    char title[3 * SW_TUNE_TEXT_MAX];
    bool good = true;
    for (uint32_t v = 0; v < count && good; v++) {
        fprintf(out, "$v%u << END\n", v);
        good = write_block(out, store, results, chosen[v], options);
        fprintf(out, "END\n");
    }
    sw_tune_title(&results->about, title, sizeof(title));
    fprintf(out,
            "set terminal svg size 1600,700 noenhanced background rgb 'white'\n"
            "set output '%s'\n"
            "set title '%s'\n"
            "set ylabel 'time / median time of base'\n"
            "set grid ytics\n"
            "set key outside top\n"
            "set style data boxplot\n"
            "set style boxplot fraction 0.9 nooutliers labels off\n"
            "set style fill solid 0.4\n",
            file, title);
    write_tics(out, results, options);
    write_plot(out, results, chosen, count, options);
    return good && ferror(out) == 0;
}

/* FOLDER/get.Slot_64.Operation_plain.svg */
static void name_file(char *file, size_t size, const struct sw_tune_results *results,
                      const struct sw_tune_analyze_options *options)
{
    char name[SW_TUNE_TEXT_MAX];
    snprintf(name, sizeof(name), "%s", results->about.workload);
    for (char *at = name; *at != '\0'; at++) {
        *at = *at == ' ' ? '.' : *at == '=' ? '_' : *at;
    }
    snprintf(file, size, "%s/%s.%s.svg", options->folder, results->about.kernel, name);
}

static bool matches(const struct sw_tune_results *results,
                    const struct sw_tune_analyze_options *options)
{
    bool found = false;
    for (uint32_t r = 0; r < results->count && results->base != NULL; r++) {
        found = found || (results->list[r].has_score &&
                          regexec(&options->variants, results->list[r].variant, 0, NULL, 0) == 0);
    }
    return found;
}

static bool draw(struct sw_tune_store *store, const struct sw_tune_results *results,
                 const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason)
{
    char file[2 * SW_TUNE_PATH_MAX];
    name_file(file, sizeof(file), results, options);
    if (options->script_only) {
        return write_script(stdout, file, store, results, options) ||
               sw_tune_refuse(reason, "the script cannot be written");
    }
    /* what it reads is ours: no word of it comes from outside */
    FILE *gnuplot = popen("gnuplot", "w");
    if (gnuplot == NULL) {
        return sw_tune_refuse(reason, "gnuplot cannot be started");
    }
    bool written = write_script(gnuplot, file, store, results, options);
    int status = pclose(gnuplot);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        return sw_tune_refuse(reason, "gnuplot is not installed; --script prints what it would be "
                                      "told");
    }
    if (!written || status != 0) {
        return sw_tune_refuse(reason, "gnuplot failed to draw %s", file);
    }
    printf("%s\n", file);
    return true;
}

bool sw_tune_plot(struct sw_tune_store *store, const struct sw_tune_loaded *loaded,
                  const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason)
{
    bool drawn = false;
    if (!options->script_only && !sw_tune_make_folder(options->folder, reason)) {
        return false;
    }
    for (uint32_t i = 0; i < loaded->count; i++) {
        if (!matches(&loaded->list[i], options)) {
            continue;
        }
        if (!draw(store, &loaded->list[i], options, reason)) {
            return false;
        }
        drawn = true;
    }
    return drawn || sw_tune_refuse(reason, "no measured variant matches");
}
