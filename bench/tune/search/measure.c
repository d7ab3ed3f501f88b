/* SPDX-License-Identifier: MIT
 *
 * measure.c - variant after variant: answers checked, points timed, each stored as it is known.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/report.h"
#include "bench/tune/results.h"
#include "bench/tune/search/search.h"
#include "bench/tune/subject.h"

struct run {
    struct sw_tune_worklist *worklist;
    const struct sw_tune_search_options *options;
    struct sw_tune_store *store;
    struct sw_tune_interrupt *interrupt;
    double began; /* the search */
    double end;   /* of the budget */
    double timing_began;
    uint32_t next;     /* product */
    uint32_t measured; /* products that took time */
    uint32_t kept;     /* that were stored already */
    uint32_t missing;  /* not built */
    uint32_t refused;
    struct sw_tune_subject *subject;
    struct sw_tune_samples *samples;
};

/* A product and its row of the store. */
struct stored {
    const struct sw_tune_product *product;
    int64_t id;
    char state[SW_TUNE_STATE_MAX];
};

static enum sw_tune_ended store_failed(const struct run *run, struct sw_tune_reason *reason)
{
    sw_tune_store_failure(run->store, reason);
    return SW_TUNE_IMPOSSIBLE;
}

static bool is_over(const struct run *run)
{
    return sw_tune_interrupted(run->interrupt) || sw_study_clock() >= run->end;
}

/* --- lines for the user ----------------------------------------------------------------------- */

/* The line ends with "about 7 min left", by the pace so far and within the budget. */
static void say(const struct run *run, const struct sw_tune_product *product, const char *what)
{
    double now = sw_study_clock();
    double each = (now - run->timing_began) / (run->measured > 0 ? run->measured : 1);
    double left = fmin(run->end - now, each * (double)(run->worklist->count - run->next - 1));
    bool in_minutes = left >= 90;
    printf("[%7.1f s] %u/%u %s%s%s %s: %s, about %.0f %s left\n", now - run->began, run->next + 1,
           run->worklist->count, product->kernel->space->kernel,
           product->point[0] != '\0' ? " " : "", product->point, product->name, what,
           fmax(in_minutes ? left / 60 : left, 0), in_minutes ? "min" : "s");
    (void)fflush(stdout);
}

static bool say_score(struct run *run, const struct stored *stored, struct sw_tune_reason *reason)
{
    const struct sw_tune_product *product = stored->product;
    const struct sw_tune_kernel *kernel = product->kernel;
    struct sw_tune_workload about = {.variants = 0};
    struct sw_tune_results results;
    struct sw_tune_variant base;
    char text[160] = "no point in common with base";
    snprintf(about.kernel, sizeof(about.kernel), "%s", kernel->space->kernel);
    snprintf(about.workload, sizeof(about.workload), "%s", product->point);
    snprintf(about.sources, sizeof(about.sources), "%s", kernel->sources);
    snprintf(about.device, sizeof(about.device), "%s", kernel->device);
    sw_tune_variant_base(kernel->space, &base);
    sw_tune_variant_name(kernel->space, product->workload, &base, about.base);
    if (!sw_tune_results_load(run->store, &about, &results, reason)) {
        return false;
    }
    for (uint32_t r = 0; r < results.count; r++) {
        const struct sw_tune_result *result = &results.list[r];
        if (result->id == stored->id && result->has_score) {
            snprintf(text, sizeof(text), "score %.4f (%.4f .. %.4f) over %u points",
                     result->score.score, result->score.min, result->score.max,
                     result->score.points);
        }
    }
    sw_tune_results_free(&results);
    say(run, product, product->is_base ? "base is measured" : text);
    return true;
}

/* --- one variant ------------------------------------------------------------------------------ */

static enum sw_tune_outcome open_subject(struct run *run, const struct sw_tune_product *product,
                                         struct sw_tune_reason *reason)
{
    char *argv[SW_TUNE_PASSED_MAX + 3];
    char file[SW_TUNE_PATH_MAX + 2];
    uint32_t count = 0;
    if (sw_tune_is_object(product->kernel->space)) {
        argv[count++] = (char *)(uintptr_t)run->options->runner;
    }
    /* with a slash in it, so that PATH is not searched */
    snprintf(file, sizeof(file), "%s%s", strchr(product->file, '/') != NULL ? "" : "./",
             product->file);
    argv[count++] = file;
    for (uint32_t i = 0; i < run->options->passed_count; i++) {
        argv[count++] = run->options->passed[i];
    }
    argv[count] = NULL;
    return sw_tune_subject_open(run->subject, argv, run->interrupt,
                                run->options->answer_seconds_max, reason);
}

static bool has_point(const struct run *run, const struct stored *stored, uint32_t point)
{
    char text[SW_TUNE_TEXT_MAX];
    sw_tune_point_text(stored->product->kernel->space, false, point, text);
    return sw_tune_store_has(run->store, stored->id, text);
}

static bool is_wanted(const struct run *run, const struct stored *stored, uint32_t point)
{
    const struct sw_tune_selection *select = &run->options->select;
    return sw_tune_point_taken(stored->product->kernel->space, false, point, select->filters,
                               select->filter_count) &&
           !has_point(run, stored, point);
}

/* Times every wanted point of the subject that runs. */
static enum sw_tune_ended time_points(struct run *run, const struct stored *stored,
                                      enum sw_tune_outcome *outcome, struct sw_tune_reason *reason)
{
    const struct sw_tune_space *space = stored->product->kernel->space;
    for (uint32_t p = 0; p < sw_tune_point_count(space, false); p++) {
        char point[SW_TUNE_TEXT_MAX];
        struct sw_tune_summary summary;
        if (!is_wanted(run, stored, p)) {
            continue;
        }
        if (is_over(run)) {
            return SW_TUNE_STOPPED;
        }
        sw_tune_point_text(space, false, p, point);
        *outcome = sw_tune_subject_point(run->subject, point, &run->options->rule, run->samples,
                                         &summary, reason);
        if (*outcome == SW_TUNE_INTERRUPTED) {
            return SW_TUNE_STOPPED;
        }
        if (*outcome != SW_TUNE_GOOD) {
            struct sw_tune_reason why = *reason;
            (void)sw_tune_refuse(reason, "%.200s: %.400s", point, why.text);
            return SW_TUNE_THROUGH;
        }
        if (!sw_tune_store_add_point(run->store, stored->id, point, &summary, run->samples)) {
            return store_failed(run, reason);
        }
    }
    return SW_TUNE_THROUGH;
}

/* A variant that cannot be used is stored as such; base that cannot ends the search. */
static enum sw_tune_ended note_failure(struct run *run, const struct stored *stored,
                                       const char *state, struct sw_tune_reason *reason)
{
    const struct sw_tune_product *product = stored->product;
    struct sw_tune_reason what = {""};
    if (!sw_tune_store_set_state(run->store, stored->id, state, reason->text)) {
        return store_failed(run, reason);
    }
    run->refused++;
    (void)sw_tune_refuse(&what, "%s: %s", state, reason->text);
    if (!product->is_base) {
        say(run, product, what.text);
        return SW_TUNE_THROUGH;
    }
    (void)sw_tune_refuse(reason, "base of %s %s cannot be used, so nothing can be compared: %s",
                         product->kernel->space->kernel, product->point, what.text);
    return SW_TUNE_IMPOSSIBLE;
}

static enum sw_tune_ended end_variant(struct run *run, const struct stored *stored,
                                      enum sw_tune_outcome outcome, struct sw_tune_reason *reason)
{
    bool is_whole = true;
    if (outcome != SW_TUNE_GOOD) {
        return note_failure(run, stored,
                            outcome == SW_TUNE_WRONG ? SW_TUNE_STATE_WRONG : SW_TUNE_STATE_FAILED,
                            reason);
    }
    for (uint32_t p = 0; p < sw_tune_point_count(stored->product->kernel->space, false); p++) {
        is_whole = is_whole && has_point(run, stored, p);
    }
    if (!sw_tune_store_set_state(run->store, stored->id,
                                 is_whole ? SW_TUNE_STATE_GOOD : SW_TUNE_STATE_PARTLY, "")) {
        return store_failed(run, reason);
    }
    return say_score(run, stored, reason) ? SW_TUNE_THROUGH : SW_TUNE_IMPOSSIBLE;
}

static enum sw_tune_ended measure_points(struct run *run, const struct stored *stored,
                                         struct sw_tune_reason *reason)
{
    enum sw_tune_ended ended = SW_TUNE_THROUGH;
    run->measured++;
    enum sw_tune_outcome outcome = open_subject(run, stored->product, reason);
    if (outcome == SW_TUNE_INTERRUPTED) {
        return SW_TUNE_STOPPED;
    }
    if (outcome == SW_TUNE_NO_DEVICE) {
        return SW_TUNE_IMPOSSIBLE;
    }
    if (outcome == SW_TUNE_GOOD) {
        ended = time_points(run, stored, &outcome, reason);
        sw_tune_subject_close(run->subject);
    }
    return ended == SW_TUNE_THROUGH ? end_variant(run, stored, outcome, reason) : ended;
}

/* Measures the points that are not stored. */
static enum sw_tune_ended measure_unknown(struct run *run, const struct stored *stored,
                                          struct sw_tune_reason *reason)
{
    uint32_t wanted = 0;
    for (uint32_t p = 0; p < sw_tune_point_count(stored->product->kernel->space, false); p++) {
        wanted += is_wanted(run, stored, p);
    }
    if (wanted > 0) {
        return measure_points(run, stored, reason);
    }
    run->kept++;
    return SW_TUNE_THROUGH;
}

/* --- all variants ----------------------------------------------------------------------------- */

/* The device a kernel's programs run on: the first program that starts names it. */
static enum sw_tune_ended learn_device(struct run *run, const struct sw_tune_product *product,
                                       struct sw_tune_reason *reason)
{
    struct sw_tune_kernel *kernel = product->kernel;
    if (kernel->device[0] != '\0') {
        return SW_TUNE_THROUGH;
    }
    enum sw_tune_outcome outcome = open_subject(run, product, reason);
    if (outcome != SW_TUNE_GOOD) {
        return outcome == SW_TUNE_INTERRUPTED ? SW_TUNE_STOPPED : SW_TUNE_IMPOSSIBLE;
    }
    snprintf(kernel->device, sizeof(kernel->device), "%s", run->subject->device);
    snprintf(kernel->arch, sizeof(kernel->arch), "%s", run->subject->arch);
    sw_tune_subject_close(run->subject);
    return SW_TUNE_THROUGH;
}

/* Whether the stored state is final. */
static bool is_settled(const struct stored *stored)
{
    return strcmp(stored->state, SW_TUNE_STATE_WRONG) == 0 ||
           strcmp(stored->state, SW_TUNE_STATE_FAILED) == 0;
}

/* Base must be built: a kernel's first program tells the device. */
static enum sw_tune_ended measure_one(struct run *run, const struct sw_tune_product *product,
                                      struct sw_tune_reason *reason)
{
    const struct sw_tune_kernel *kernel = product->kernel;
    struct stored stored = {.product = product};
    if (!product->is_built && product->is_base) {
        (void)sw_tune_refuse(reason, "base of %s %s is not built: %s", kernel->space->kernel,
                             product->point,
                             product->reason.text[0] != '\0'
                                 ? product->reason.text
                                 : "run the search with --build-only first, or without --no-build");
        return SW_TUNE_IMPOSSIBLE;
    }
    if (!product->is_built && product->reason.text[0] == '\0') {
        run->missing++;
        return SW_TUNE_THROUGH;
    }
    enum sw_tune_ended ended = learn_device(run, product, reason);
    if (ended != SW_TUNE_THROUGH) {
        return ended;
    }
    const struct sw_tune_key key = {kernel->space->kernel, product->point, product->name,
                                    kernel->sources,       kernel->device, kernel->arch};
    if (!sw_tune_store_find(run->store, &key, &stored.id, stored.state) ||
        (run->options->again && !sw_tune_store_forget(run->store, stored.id))) {
        return store_failed(run, reason);
    }
    if (!product->is_built) {
        *reason = product->reason;
        return note_failure(run, &stored, SW_TUNE_STATE_UNBUILT, reason);
    }
    if (is_settled(&stored) && !run->options->again && !product->is_base) {
        run->kept++;
        return SW_TUNE_THROUGH;
    }
    return measure_unknown(run, &stored, reason);
}

static enum sw_tune_ended measure_all(struct run *run, struct sw_tune_reason *reason)
{
    enum sw_tune_ended ended = SW_TUNE_THROUGH;
    for (run->next = 0; ended == SW_TUNE_THROUGH && run->next < run->worklist->count; run->next++) {
        ended = is_over(run) ? SW_TUNE_STOPPED
                             : measure_one(run, &run->worklist->products[run->next], reason);
    }
    run->next -= ended != SW_TUNE_THROUGH;
    printf("%u of %u variants: %u measured now (%u of them refused), %u stored before, %u not "
           "built, %u left\n",
           run->next, run->worklist->count, run->measured, run->refused, run->kept, run->missing,
           run->worklist->count - run->next);
    return ended;
}

enum sw_tune_ended sw_tune_measure(struct sw_tune_worklist *worklist,
                                   const struct sw_tune_search_options *options,
                                   struct sw_tune_store *store, struct sw_tune_interrupt *interrupt,
                                   double began, struct sw_tune_reason *reason)
{
    static struct sw_tune_subject subject; /* tens of KiB each */
    static struct sw_tune_samples samples;
    struct run run = {
        .worklist = worklist,
        .options = options,
        .store = store,
        .interrupt = interrupt,
        .began = began,
        .end = began + 60 * options->budget_minutes,
        .timing_began = sw_study_clock(),
        .subject = &subject,
        .samples = &samples,
    };
    return measure_all(&run, reason);
}
