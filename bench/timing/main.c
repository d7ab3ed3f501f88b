/* SPDX-License-Identifier: MIT
 *
 * main.c - the timing study: hash tables on a GPU with keys in device memory.
 *
 * README.md says what is measured and how. Each library runs in a process of its own, one after the
 * other: an error of the device, a crash or a kernel without end costs the study one library. This
 * process never touches the device.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/peers/list.h"
#include "bench/study/place.h"
#include "bench/timing/child.h"
#include "bench/timing/measure.h"
#include "bench/timing/sherwood.h"

struct run {
    const struct sw_timing_options *options;
    struct sw_timing_report report;
    struct sw_timing_stop stop;
    double started;
    bool is_complete;
    bool is_correct;
};

/* The facts about the run and its workload. */
static void write_run_info(FILE *out, const struct sw_timing_options *options, int argc,
                           char **argv)
{
    sw_study_facts(out, options->commit, argc, argv);
    fprintf(out,
            "keys: Philox4_32_10 (cuRAND), seed %" PRIu64 ", uniform over the width except 0, all "
            "ones and all ones - 1; key i of an insert has the value i\n"
            "timing: host clock around the call that launches and waits; ceilings: CUDA events\n"
            "repetitions: %" PRIu32 " after one warm-up, fewer where %g s (Sherwood) or %g s "
            "(others) are over; medians\n",
            options->seed, options->reps, options->series_seconds, options->peer_seconds);
}

/* --- in the process of a library -------------------------------------------------------------- */

/* Measures one library at one width. *is_correct becomes false if a check found anything. */
static bool measure_width(const struct run *run, const struct sw_timing_library *library,
                          uint32_t slot_bits, bool *is_correct)
{
    struct sw_timing_report report = run->report;
    struct sw_timing_study study;
    memset(&study, 0, sizeof(study));
    study.options = run->options;
    study.report = &report;
    study.library = library;
    study.is_ours = library == &sw_timing_sherwood;
    study.slot_bits = slot_bits;
    study.device = (int)run->options->device;
    study.started = run->started;
    study.is_correct = true;
    if (!sw_timing_arrays_open(&study.arrays, slot_bits / 16,
                               sw_timing_wanted_slots(run->options))) {
        return false;
    }
    bool done = sw_timing_measure_library(&study);
    if (study.is_ours) {
        done = sw_timing_measure_sherwood(&study) && done;
    }
    sw_timing_arrays_close(&study.arrays);
    *is_correct = *is_correct && study.is_correct;
    return done;
}

static enum sw_timing_outcome measure_library(const struct run *run,
                                              const struct sw_timing_library *library)
{
    const struct sw_timing_options *options = run->options;
    bool is_correct = true;
    bool done = true;
    if (!sw_study_device.choose((int)options->device)) {
        return SW_TIMING_FAILED;
    }
    for (uint32_t w = 0; w < options->slot_bits_count; w++) {
        uint32_t slot_bits = options->slot_bits[w];
        if ((library->slot_bits & slot_bits) != 0) {
            done = measure_width(run, library, slot_bits, &is_correct) && done;
        } else {
            fprintf(stderr, "timing: %s has no %" PRIu32 "-bit slots\n", library->name, slot_bits);
        }
    }
    if (!is_correct) {
        return SW_TIMING_WRONG;
    }
    return done ? SW_TIMING_RIGHT : SW_TIMING_FAILED;
}

/* Measures the parts without a library: the device's facts, and the ceilings. */
static enum sw_timing_outcome measure_device(const struct run *run)
{
    struct sw_timing_report report = run->report;
    if (!sw_study_device.choose((int)run->options->device)) {
        return SW_TIMING_FAILED;
    }
    sw_study_device.describe((int)run->options->device, report.run_info);
    bool done = !run->options->operations[SW_TIMING_MEMORY] ||
                sw_timing_measure_ceilings(run->options, &report);
    return done ? SW_TIMING_RIGHT : SW_TIMING_FAILED;
}

/* --- in the study's own process --------------------------------------------------------------- */

/* Waits for the process of a library. Reports its outcome on stderr and in run_info.txt. */
static void judge(struct run *run, const char *name, pid_t child)
{
    char text[256];
    const enum sw_timing_outcome outcome = sw_timing_wait_outcome(
        &run->stop, child, run->options->library_seconds, text, sizeof(text));
    if (outcome == SW_TIMING_FAILED && run->stop.number == 0) {
        sw_timing_report_unfinished(&run->report, text, sizeof(text));
    }
    run->is_correct = run->is_correct && outcome != SW_TIMING_WRONG;
    run->is_complete = run->is_complete && outcome != SW_TIMING_FAILED;
    fprintf(run->report.run_info, "%s: %s\n", name, text);
    fprintf(stderr, "[%6.1f s] %s: %s\n", sw_study_clock() - run->started, name, text);
}

/* Runs a library (NULL: the device's own part) in a process of its own. There it sets
 * *outcome to its exit status and returns true. Returns false in the parent. */
static bool run_apart(struct run *run, const struct sw_timing_library *library,
                      enum sw_timing_outcome *outcome)
{
    const char *name = library == NULL ? "device" : library->name;
    run->report.progress->is_running = false;
    pid_t child = fork();
    if (child == 0) {
        sw_timing_stop_leave(&run->stop);
        *outcome = library == NULL ? measure_device(run) : measure_library(run, library);
        return true;
    }
    if (child < 0) {
        fprintf(stderr, "timing: no process for %s\n", name);
        run->is_complete = false;
        return false;
    }
    judge(run, name, child);
    return false;
}

/* Runs Sherwood first, then the others, until a signal stops the study. Returns as run_apart. */
static bool run_libraries(struct run *run, enum sw_timing_outcome *outcome)
{
    const struct sw_timing_library *library = &sw_timing_sherwood;
    for (size_t next = 0; library != NULL && run->stop.number == 0; next++) {
        if (sw_timing_library_wanted(run->options, library->name)) {
            fprintf(run->report.run_info, "library: %s %s\n", library->name, library->version);
            if (run_apart(run, library, outcome)) {
                return true;
            }
        }
        library = sw_timing_peers[next];
    }
    return false;
}

/* Checks the names. Otherwise the study would measure nothing for an unknown name, without a
 * message. */
static bool check_names(const struct sw_timing_options *options)
{
    char names[sizeof(options->libraries)];
    char *rest = names;
    snprintf(names, sizeof(names), "%s", options->libraries);
    while (rest != NULL && names[0] != '\0') {
        const char *name = strsep(&rest, ",");
        bool known = strcmp(name, sw_timing_sherwood.name) == 0;
        for (size_t p = 0; sw_timing_peers[p] != NULL && !known; p++) {
            known = strcmp(name, sw_timing_peers[p]->name) == 0;
        }
        if (!known) {
            fprintf(stderr, "timing: this build has no library %s; it has sherwood", name);
            for (size_t p = 0; sw_timing_peers[p] != NULL; p++) {
                fprintf(stderr, ", %s", sw_timing_peers[p]->name);
            }
            fputc('\n', stderr);
            return false;
        }
    }
    return true;
}

static void list_libraries(void)
{
    printf("%s\n", sw_timing_sherwood.name);
    for (size_t p = 0; sw_timing_peers[p] != NULL; p++) {
        printf("%s\n", sw_timing_peers[p]->name);
    }
}

/* Writes the last line of run_info.txt. */
static void write_end(const struct run *run)
{
    char how[64] = "complete";
    if (run->stop.number != 0) {
        snprintf(how, sizeof(how), "stopped by signal %d", run->stop.number);
    } else if (!run->is_complete) {
        snprintf(how, sizeof(how), "incomplete");
    }
    fprintf(run->report.run_info, "end: %s after %.1f s; %s\n", how,
            sw_study_clock() - run->started,
            run->is_correct ? "no key of Sherwood's lost, no value wrong"
                            : "KEYS LOST OR VALUES WRONG: see summary.csv");
}

int main(int argc, char **argv)
{
    struct sw_timing_options options;
    struct run run = {
        .options = &options,
        .started = sw_study_clock(),
        .is_complete = true,
        .is_correct = true,
    };
    enum sw_timing_outcome outcome = SW_TIMING_RIGHT;
    enum sw_study_parsed parsed = sw_timing_options_parse(&options, argc, argv);
    if (parsed != SW_STUDY_RUN) {
        return parsed == SW_STUDY_DONE ? 0 : 2;
    }
    if (options.lists_libraries) {
        list_libraries();
        return 0;
    }
    if (!check_names(&options)) {
        return 2;
    }
    if (!sw_timing_report_open(&run.report, options.output)) {
        return 1;
    }
    run.report.progress = sw_timing_share_progress();
    if (run.report.progress == NULL) {
        fprintf(stderr, "timing: no memory to share with the processes of libraries\n");
        return 1;
    }
    write_run_info(run.report.run_info, &options, argc, argv);
    sw_timing_stop_open(&run.stop);
    if (run_apart(&run, NULL, &outcome) || run_libraries(&run, &outcome)) {
        return (int)outcome;
    }
    write_end(&run);
    bool written = sw_timing_report_close(&run.report);
    if (!run.is_correct) {
        fprintf(stderr, "timing: a check failed: keys lost or values wrong, see summary.csv\n");
    }
    fprintf(stderr, "%s %s\n", run.is_complete ? "written to" : "incomplete, partial files in",
            options.output);
    return written && run.is_complete && run.is_correct ? 0 : 1;
}
