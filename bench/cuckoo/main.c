/* SPDX-License-Identifier: MIT
 *
 * main.c - the cuckoo study: the cuckoo engine and the ordered Robin Hood table in the experiments
 * of the cuckoo report. README.md says what is measured and how.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/cuckoo/study.h"
#include "bench/study/report.h"
#include "table/cuckoo/engine.h"

static void write_run_info(const struct sw_cbench_study *study, int argc, char **argv)
{
    const struct sw_cbench_options *options = study->options;
    FILE *out = study->report->run_info;
    sw_study_facts(out, options->commit, argc, argv);
    study->place->memory->describe(options->device, out);
    fprintf(out,
            "backend: %s\n"
            "keys: a bijection of a counter, seed %" PRIu64 ", n = 2^%" PRIu32 "\n"
            "size of a cuckoo table: cells of %s; bound: %g log2 n = %" PRIu32
            " exchanges, except in experiment bound\n"
            "timing: host clock around the call that launches and waits, a rehash included; CUDA "
            "events "
            "around what it launches\n"
            "repetitions: %" PRIu32 " after one warm-up; MOPS of the mean time, deviation of the "
            "sample\n",
            study->place->memory->name, options->seed, options->keys_log2,
            options->size_is_total ? "all arrays together" : "each array", options->bound,
            sw_cuckoo_chain_bound(options->bound, 1ULL << options->keys_log2), options->reps);
}

/* Writes a line for each peer's table in the run. */
static void write_peers(const struct sw_cbench_study *study)
{
    for (uint32_t t = 0; t < SW_CBENCH_TABLES; t++) {
        const struct sw_cbench_library *library = sw_cbench_library_of(t);
        if (study->options->tables[t] && library->is_peer) {
            fprintf(study->report->run_info,
                    "%s: BGHT %s, one array with the same number of slots as Robin Hood\n",
                    library->name, library->version);
        }
    }
}

static const struct sw_cbench_place *place_of(const struct sw_cbench_options *options)
{
    const struct sw_cbench_place *place = options->on_host ? &sw_cbench_host : sw_cbench_device();
    if (place == NULL) {
        fprintf(stderr,
                "cuckoo: this build has no CUDA (nvcc was not found): give --backend cpu\n");
    }
    return place;
}

int main(int argc, char **argv)
{
    struct sw_cbench_options options;
    struct sw_cbench_report report;
    struct sw_cbench_study study;
    enum sw_study_parsed parsed = sw_cbench_options_parse(&options, argc, argv);
    if (parsed != SW_STUDY_RUN) {
        return parsed == SW_STUDY_DONE ? 0 : 2;
    }
    memset(&study, 0, sizeof(study));
    study.options = &options;
    study.report = &report;
    study.started = sw_study_clock();
    study.is_correct = true;
    study.is_complete = true;
    study.place = place_of(&options);
    if (study.place == NULL || !study.place->memory->choose(options.device) ||
        !sw_cbench_report_open(&report, options.output)) {
        return 1;
    }
    write_run_info(&study, argc, argv);
    write_peers(&study);
    if (sw_cbench_study_open(&study)) {
        sw_cbench_run(&study);
        sw_cbench_study_close(&study);
    } else {
        study.is_complete = false;
    }
    const char *correct = study.is_correct
                              ? "every key found or handed back, no absent key found"
                              : "KEYS LOST OR FOUND THAT WERE NEVER STORED: see raw.csv";
    fprintf(report.run_info, "end: %s after %.1f s; %s\n",
            study.is_complete ? "complete" : "incomplete", sw_study_clock() - study.started,
            correct);
    bool written = sw_cbench_report_close(&report);
    fprintf(stderr, "cuckoo: %s\n%s %s\n", correct,
            study.is_complete ? "written to" : "incomplete, partial files in", options.output);
    return written && study.is_complete && study.is_correct ? 0 : 1;
}
