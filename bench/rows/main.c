/* SPDX-License-Identifier: MIT
 *
 * main.c - the study of rows: a table of rows of floats, and HierarchicalKV. README.md says what is
 * measured and how.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bench/rows/study.h"
#include "bench/study/report.h"

static void write_run_info(const struct sw_rowbench *bench, int argc, char **argv)
{
    const struct sw_rowbench_options *options = bench->options;
    FILE *out = bench->report->run_info;
    sw_study_facts(out, options->commit, argc, argv);
    bench->place->memory->describe(options->device, out);
    fprintf(out, "backend: %s\n", bench->place->memory->name);
    for (int l = 0; bench->libraries[l] != NULL; l++) {
        const char *about = bench->libraries[l]->about;
        fprintf(out, "library: %s%s%s\n", bench->libraries[l]->name, about != NULL ? ": " : "",
                about != NULL ? about : "");
    }
    fprintf(out,
            "keys: a bijection of a counter, seed %" PRIu64 "; rows: floats, a function of key, "
            "place and generation\n"
            "calls: %" PRIu64 " operations; of a get %g are present; skew of get_skewed %g\n"
            "timing: host clock around the call that launches and waits, and CUDA events; "
            "ceilings: CUDA events, of host memory the clock\n"
            "repetitions: %" PRIu32 " after one warm-up, fewer where %g s are over; medians\n",
            options->seed, options->batch, options->hit_ratio, options->skew, options->reps,
            options->seconds);
    for (uint32_t v = 0; v < options->value_bytes_count; v++) {
        fprintf(out, "capacity: %" PRIu64 " slots for rows of %" PRIu32 " bytes\n",
                sw_rowbench_capacity(options, options->value_bytes[v]), options->value_bytes[v]);
    }
}

static const struct sw_rowbench_place *place_of(const struct sw_rowbench_options *options)
{
    const struct sw_rowbench_place *place =
        options->on_host ? &sw_rowbench_host : sw_rowbench_device();
    if (place == NULL) {
        fprintf(stderr, "rows: this build has no CUDA (nvcc was not found): give --backend cpu\n");
    }
    return place;
}

int main(int argc, char **argv)
{
    struct sw_rowbench_options options;
    enum sw_study_parsed parsed = sw_rowbench_options_parse(&options, argc, argv);
    if (parsed != SW_STUDY_RUN) {
        return parsed == SW_STUDY_DONE ? 0 : 2;
    }
    struct sw_rowbench_report report = {0};
    struct sw_rowbench bench = {
        .options = &options,
        .place = place_of(&options),
        .report = &report,
        .libraries = sw_rowbench_libraries,
        .is_correct = true,
        .is_complete = true,
    };
    if (bench.place == NULL || !bench.place->memory->choose(options.device) ||
        !sw_rowbench_report_open(&report, options.output)) {
        return 1;
    }
    write_run_info(&bench, argc, argv);
    sw_rowbench_run(&bench);
    const char *correct = bench.is_correct
                              ? "no row lost, doubled or made up, every float as written"
                              : "WRONG ANSWERS: see missed, phantom and wrong in summary.csv";
    fprintf(report.run_info, "end: %s after %.1f s; %s\n",
            bench.is_complete ? "complete" : "incomplete", sw_study_clock() - report.started,
            correct);
    bool written = sw_rowbench_report_close(&report);
    fprintf(stderr, "rows: %s\n%s %s\n", correct,
            bench.is_complete ? "written to" : "incomplete, partial files in", options.output);
    return written && bench.is_complete && bench.is_correct ? 0 : 1;
}
