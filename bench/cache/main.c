/* SPDX-License-Identifier: MIT
 *
 * main.c - the cache study: Sherwood's cache in both modes, and HierarchicalKV. README.md says what
 * is measured and how.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/cache/study.h"
#include "bench/study/report.h"

static void write_libraries(const struct sw_cachebench_options *options, FILE *out)
{
    for (int l = 0; options->libraries[l] != NULL; l++) {
        const struct sw_cachebench_library *library = options->libraries[l];
        fprintf(out, "library: %s%s%s\n", library->name, library->about != NULL ? ": " : "",
                library->about != NULL ? library->about : "");
    }
}

static void write_run_info(const struct sw_cachebench_study *study, int argc, char **argv)
{
    const struct sw_cachebench_options *options = study->options;
    FILE *out = study->report->run_info;
    sw_study_facts(out, options->commit, argc, argv);
    study->place->memory->describe(options->device, out);
    fprintf(out, "backend: %s\n", study->place->memory->name);
    write_libraries(options, out);
    fprintf(out,
            "keys: a bijection of a counter, seed %" PRIu64 "; values: floats, a function of key, "
            "word and generation\n"
            "operations: least recently used leave; %g of a call's keys are present, the others "
            "are new; present ones are drawn from the newest ",
            options->seed, options->hit_ratio);
    if (options->window > 0) {
        fprintf(out, "%" PRIu64 " keys\n", options->window);
    } else {
        fprintf(out, "keys, a quarter of the capacity\n");
    }
    fprintf(out,
            "timing: host clock around the call that launches and waits; ceilings: CUDA events\n"
            "repetitions: %" PRIu32 " after one warm-up, fewer where %g s are over; medians\n",
            options->reps, options->seconds);
}

static const struct sw_cachebench_place *place_of(const struct sw_cachebench_options *options)
{
    const struct sw_cachebench_place *place =
        options->on_host ? &sw_cachebench_host : sw_cachebench_device();
    if (place == NULL) {
        fprintf(stderr, "cache: this build has no CUDA (nvcc was not found): give --backend cpu\n");
    }
    return place;
}

int main(int argc, char **argv)
{
    struct sw_cachebench_options options;
    struct sw_cachebench_report report;
    struct sw_cachebench_study study;
    enum sw_study_parsed parsed = sw_cachebench_options_parse(&options, argc, argv);
    if (parsed != SW_STUDY_RUN) {
        return parsed == SW_STUDY_DONE ? 0 : 2;
    }
    double started = sw_study_clock();
    memset(&study, 0, sizeof(study));
    study.options = &options;
    study.report = &report;
    study.is_correct = true;
    study.is_complete = true;
    study.place = place_of(&options);
    if (study.place == NULL || !study.place->memory->choose(options.device) ||
        !sw_cachebench_report_open(&report, options.output, started)) {
        return 1;
    }
    write_run_info(&study, argc, argv);
    sw_cachebench_run(&study);
    const char *correct = study.is_correct
                              ? "no entry lost, doubled or made up, every value as written"
                              : "WRONG ANSWERS: see missed, wrong and phantom in summary.csv";
    fprintf(report.run_info, "end: %s after %.1f s; %s\n",
            study.is_complete ? "complete" : "incomplete", sw_study_clock() - started, correct);
    bool written = sw_cachebench_report_close(&report);
    fprintf(stderr, "cache: %s\n%s %s\n", correct,
            study.is_complete ? "written to" : "incomplete, partial files in", options.output);
    return written && study.is_complete && study.is_correct ? 0 : 1;
}
