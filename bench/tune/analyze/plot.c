/* SPDX-License-Identifier: MIT
 *
 * plot.c - a box for each variant and run-time workload; times are divided by base's median.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "bench/study/report.h"
#include "bench/tune/analyze/analyze.h"

/* Boxes side by side: more would be unreadable. */
#define VARIANTS_MAX 16

/* A workload's plot. */
struct plot {
    FILE *out;
    struct sw_tune_store *store;
    const struct sw_tune_results *results;
    const struct sw_tune_analyze_options *options;
    const struct sw_tune_result *chosen[VARIANTS_MAX]; /* base first */
    uint32_t count;
};

/* Whether a variant has a box at a point: the filters take it, and it and base were measured. */
static bool has_box(const struct plot *plot, const struct sw_tune_result *result, uint32_t point)
{
    return plot->results->base->medians[point] > 0 && result->medians[point] > 0 &&
           sw_tune_point_taken(plot->results->space, false, point, plot->options->select.filters,
                               plot->options->select.filter_count);
}

/* Samples point after point, two empty lines between: gnuplot numbers them from 0. */
static bool write_block(const struct plot *plot, const struct sw_tune_result *result)
{
    bool good = true;
    for (uint32_t p = 0; p < plot->results->points && good; p++) {
        char point[SW_TUNE_TEXT_MAX];
        static struct sw_tune_samples samples; /* 32 KiB */
        sw_tune_point_text(plot->results->space, false, p, point);
        if (!has_box(plot, result, p)) {
            continue;
        }
        good = sw_tune_store_samples(plot->store, result->id, point, &samples);
        for (uint32_t i = 0; i < samples.count; i++) {
            fprintf(plot->out, "%.6g\n", samples.seconds[i] / plot->results->base->medians[p]);
        }
        fprintf(plot->out, "\n\n");
    }
    return good;
}

/* Boxes of all variants at a point stand side by side, in a place of width 1. */
static void write_plot(const struct plot *plot)
{
    const double width = 0.8 / plot->count;
    const char *comma = "";
    fprintf(plot->out, "plot ");
    for (uint32_t v = 0; v < plot->count; v++) {
        uint32_t index = 0;
        uint32_t place = 0;
        for (uint32_t p = 0; p < plot->results->points; p++) {
            if (has_box(plot, plot->chosen[v], p)) {
                char title[SW_TUNE_TEXT_MAX + 16] = "notitle";
                if (index == 0) {
                    snprintf(title, sizeof(title), "title '%s%s'", plot->chosen[v]->variant,
                             v == 0 ? " (base)" : "");
                }
                fprintf(plot->out, "%s$v%u index %u using (%.4f):1:(%.4f) linecolor %u %s", comma,
                        v, index, place + 0.1 + width * (v + 0.5), 0.9 * width, v + 1, title);
                comma = ", \\\n     ";
                index++;
            }
            place += has_box(plot, plot->results->base, p);
        }
    }
    fprintf(plot->out, "\nunset output\n");
}

/* The names of the points, below their places. */
static void write_tics(const struct plot *plot)
{
    uint32_t place = 0;
    fprintf(plot->out, "set xtics (");
    for (uint32_t p = 0; p < plot->results->points; p++) {
        char text[SW_TUNE_TEXT_MAX];
        if (has_box(plot, plot->results->base, p)) {
            sw_tune_point_text(plot->results->space, false, p, text);
            fprintf(plot->out, "%s'%s' %.1f", place > 0 ? ", " : "", text, place + 0.5);
            place++;
        }
    }
    fprintf(plot->out, ") rotate by -35\nset xrange [0:%u]\n", place > 0 ? place : 1);
}

static bool write_script(const struct plot *plot, const char *file)
{
    char title[SW_TUNE_TITLE_MAX];
    bool good = true;
    for (uint32_t v = 0; v < plot->count && good; v++) {
        fprintf(plot->out, "$v%u << END\n", v);
        good = write_block(plot, plot->chosen[v]);
        fprintf(plot->out, "END\n");
    }
    sw_tune_title(&plot->results->about, title);
    fprintf(plot->out,
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
    write_tics(plot);
    write_plot(plot);
    return good && ferror(plot->out) == 0;
}

/* FOLDER/get.Slot_64.Operation_plain.svg */
static void name_file(char *file, size_t size, const struct sw_tune_results *results,
                      const char *folder)
{
    char workload[SW_TUNE_TEXT_MAX];
    sw_tune_file_text(results->about.workload, workload);
    snprintf(file, size, "%s/%s.%s.svg", folder, results->about.kernel, workload);
}

static bool draw(struct plot *plot, struct sw_tune_reason *reason)
{
    char file[2 * SW_TUNE_PATH_MAX];
    name_file(file, sizeof(file), plot->results, plot->options->folder);
    plot->out = stdout;
    if (plot->options->script_only) {
        return write_script(plot, file) || sw_tune_refuse(reason, "the script cannot be written");
    }
    /* the script has no text from outside this program */
    plot->out = popen("gnuplot", "w");
    if (plot->out == NULL) {
        return sw_tune_refuse(reason, "gnuplot cannot be started");
    }
    bool written = write_script(plot, file);
    int status = pclose(plot->out);
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

/* Base, then the variants that match, base among them or not; returns whether any does. */
static bool choose(struct plot *plot)
{
    bool matches = false;
    const struct sw_tune_results *results = plot->results;
    if (results->base == NULL) {
        return false;
    }
    plot->chosen[plot->count++] = results->base;
    for (uint32_t r = 0; r < results->count; r++) {
        const struct sw_tune_result *result = &results->list[r];
        if (!result->has_score ||
            !sw_tune_selects_variant(&plot->options->select, result->variant)) {
            continue;
        }
        matches = true;
        if (result != results->base && plot->count < VARIANTS_MAX) {
            plot->chosen[plot->count++] = result;
        }
    }
    return matches;
}

bool sw_tune_plot(struct sw_tune_store *store, const struct sw_tune_loaded *loaded,
                  const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason)
{
    bool drawn = false;
    if (!options->script_only && !sw_study_make_folder(options->folder)) {
        return sw_tune_refuse(reason, "the folder %s cannot be made: %s", options->folder,
                              strerror(errno));
    }
    for (uint32_t i = 0; i < loaded->count; i++) {
        struct plot plot = {.store = store, .results = &loaded->list[i], .options = options};
        if (!choose(&plot)) {
            continue;
        }
        if (!draw(&plot, reason)) {
            return false;
        }
        drawn = true;
    }
    return drawn || sw_tune_refuse(reason, "no measured variant matches");
}
