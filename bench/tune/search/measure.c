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
    const struct sw_tune_plan *plan;
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
    char devices[SW_TUNE_KERNELS_MAX][SW_TUNE_TEXT_MAX]; /* "" until a program named it */
    char archs[SW_TUNE_KERNELS_MAX][SW_TUNE_NAME_MAX];
    struct sw_tune_subject *subject;
    struct sw_tune_samples *samples;
};

/* A product as the store knows it. */
struct named {
    const struct sw_tune_product *product;
    char workload[SW_TUNE_TEXT_MAX];
    char variant[SW_TUNE_TEXT_MAX];
    struct sw_tune_key key;
    uint32_t kernel;
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

/* "about 7 min left": of what is measured now, at the pace so far, within the budget. */
static void say_left(const struct run *run, char text[64])
{
    double each = (sw_study_clock() - run->timing_began) / (run->measured > 0 ? run->measured : 1);
    double left = each * (double)(run->plan->count - run->next - 1);
    double budget = run->end - sw_study_clock();
    left = budget < left ? budget : left;
    if (left < 90) {
        snprintf(text, 64, "about %.0f s left", left > 0 ? left : 0);
    } else {
        snprintf(text, 64, "about %.0f min left", left / 60);
    }
}

static void say(const struct run *run, const struct named *named, const char *what)
{
    char left[64];
    say_left(run, left);
    printf("[%7.1f s] %u/%u %s%s%s %s: %s, %s\n", sw_study_clock() - run->began, run->next + 1,
           run->plan->count, named->key.kernel, named->workload[0] != '\0' ? " " : "",
           named->workload, named->variant, what, left);
    (void)fflush(stdout);
}

static bool say_score(struct run *run, const struct named *named, struct sw_tune_reason *reason)
{
    struct sw_tune_workload about = {.variants = 0};
    struct sw_tune_results results;
    struct sw_tune_variant base;
    char text[160] = "no point in common with base";
    snprintf(about.kernel, sizeof(about.kernel), "%s", named->key.kernel);
    snprintf(about.workload, sizeof(about.workload), "%s", named->workload);
    snprintf(about.sources, sizeof(about.sources), "%s", named->key.sources);
    snprintf(about.device, sizeof(about.device), "%s", named->key.device);
    sw_tune_variant_base(named->product->space, &base);
    sw_tune_variant_name(named->product->space, named->product->workload, &base, about.base);
    if (!sw_tune_results_load(run->store, &about, &results, reason)) {
        return false;
    }
    for (uint32_t r = 0; r < results.count; r++) {
        const struct sw_tune_result *result = &results.list[r];
        if (result->id == named->id && result->has_score) {
            snprintf(text, sizeof(text), "score %.4f (%.4f .. %.4f) over %u points",
                     result->score.score, result->score.min, result->score.max,
                     result->score.points);
        }
    }
    sw_tune_results_free(&results);
    say(run, named, named->product->is_base ? "base is measured" : text);
    return true;
}

/* --- one variant ------------------------------------------------------------------------------ */

static enum sw_tune_outcome open_subject(struct run *run, const struct sw_tune_product *product,
                                         struct sw_tune_reason *reason)
{
    char *argv[SW_TUNE_PASSED_MAX + 3];
    char file[SW_TUNE_PATH_MAX + 2];
    uint32_t count = 0;
    if (sw_tune_is_object(product->space)) {
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

static bool is_wanted(const struct run *run, const struct named *named, uint32_t point)
{
    char text[SW_TUNE_TEXT_MAX];
    const struct sw_tune_selection *select = &run->options->select;
    sw_tune_point_text(named->product->space, false, point, text);
    return sw_tune_point_taken(named->product->space, false, point, select->filters,
                               select->filter_count) &&
           !sw_tune_store_has(run->store, named->id, text);
}

/* Times every wanted point of the subject that runs. */
static enum sw_tune_ended time_points(struct run *run, const struct named *named,
                                      enum sw_tune_outcome *outcome, struct sw_tune_reason *reason)
{
    const struct sw_tune_space *space = named->product->space;
    for (uint32_t p = 0; p < sw_tune_point_count(space, false); p++) {
        char point[SW_TUNE_TEXT_MAX];
        struct sw_tune_summary summary;
        if (!is_wanted(run, named, p)) {
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
        if (!sw_tune_store_add_point(run->store, named->id, point, &summary, run->samples)) {
            return store_failed(run, reason);
        }
    }
    return SW_TUNE_THROUGH;
}

/* A variant that cannot be used is stored as such; base that cannot ends the search. */
static enum sw_tune_ended note_failure(struct run *run, const struct named *named,
                                       const char *state, struct sw_tune_reason *reason)
{
    struct sw_tune_reason what = {""};
    if (!sw_tune_store_set_state(run->store, named->id, state, reason->text)) {
        return store_failed(run, reason);
    }
    run->refused++;
    (void)sw_tune_refuse(&what, "%s: %s", state, reason->text);
    if (!named->product->is_base) {
        say(run, named, what.text);
        return SW_TUNE_THROUGH;
    }
    (void)sw_tune_refuse(reason, "base of %s %s cannot be used, so nothing can be compared: %s",
                         named->key.kernel, named->workload, what.text);
    return SW_TUNE_IMPOSSIBLE;
}

static enum sw_tune_ended conclude(struct run *run, const struct named *named,
                                   enum sw_tune_outcome outcome, struct sw_tune_reason *reason)
{
    const struct sw_tune_space *space = named->product->space;
    bool is_whole = true;
    if (outcome != SW_TUNE_GOOD) {
        return note_failure(run, named,
                            outcome == SW_TUNE_WRONG ? SW_TUNE_STATE_WRONG : SW_TUNE_STATE_FAILED,
                            reason);
    }
    for (uint32_t p = 0; p < sw_tune_point_count(space, false); p++) {
        char point[SW_TUNE_TEXT_MAX];
        sw_tune_point_text(space, false, p, point);
        is_whole = is_whole && sw_tune_store_has(run->store, named->id, point);
    }
    if (!sw_tune_store_set_state(run->store, named->id,
                                 is_whole ? SW_TUNE_STATE_GOOD : SW_TUNE_STATE_PARTLY, "")) {
        return store_failed(run, reason);
    }
    return say_score(run, named, reason) ? SW_TUNE_THROUGH : SW_TUNE_IMPOSSIBLE;
}

static enum sw_tune_ended measure_points(struct run *run, const struct named *named,
                                         struct sw_tune_reason *reason)
{
    enum sw_tune_ended ended = SW_TUNE_THROUGH;
    run->measured++;
    enum sw_tune_outcome outcome = open_subject(run, named->product, reason);
    if (outcome == SW_TUNE_INTERRUPTED) {
        return SW_TUNE_STOPPED;
    }
    if (outcome == SW_TUNE_NO_DEVICE) {
        return SW_TUNE_IMPOSSIBLE;
    }
    if (outcome == SW_TUNE_GOOD) {
        ended = time_points(run, named, &outcome, reason);
        sw_tune_subject_close(run->subject);
    }
    return ended == SW_TUNE_THROUGH ? conclude(run, named, outcome, reason) : ended;
}

/* Whether the store says that nothing more can be learnt of it. */
static bool is_settled(const struct named *named)
{
    return strcmp(named->state, SW_TUNE_STATE_WRONG) == 0 ||
           strcmp(named->state, SW_TUNE_STATE_FAILED) == 0;
}

static enum sw_tune_ended measure_unknown(struct run *run, const struct named *named,
                                          struct sw_tune_reason *reason)
{
    uint32_t wanted = 0;
    for (uint32_t p = 0; p < sw_tune_point_count(named->product->space, false); p++) {
        wanted += is_wanted(run, named, p);
    }
    if (wanted > 0) {
        return measure_points(run, named, reason);
    }
    run->kept++;
    return SW_TUNE_THROUGH;
}

/* --- all variants ----------------------------------------------------------------------------- */

/* The device a kernel's programs run on: the first program that starts names it. */
static enum sw_tune_ended learn_device(struct run *run, uint32_t kernel,
                                       const struct sw_tune_product *product,
                                       struct sw_tune_reason *reason)
{
    if (run->devices[kernel][0] != '\0') {
        return SW_TUNE_THROUGH;
    }
    enum sw_tune_outcome outcome = open_subject(run, product, reason);
    if (outcome == SW_TUNE_INTERRUPTED) {
        return SW_TUNE_STOPPED;
    }
    if (outcome != SW_TUNE_GOOD) {
        return SW_TUNE_IMPOSSIBLE;
    }
    snprintf(run->devices[kernel], sizeof(run->devices[0]), "%s", run->subject->device);
    snprintf(run->archs[kernel], sizeof(run->archs[0]), "%s", run->subject->arch);
    sw_tune_subject_close(run->subject);
    return SW_TUNE_THROUGH;
}

static void name_product(const struct run *run, const struct sw_tune_product *product,
                         struct named *named)
{
    const struct sw_tune_kernel *kernel = sw_tune_plan_kernel(run->plan, product);
    named->product = product;
    named->kernel = (uint32_t)(kernel - run->plan->kernels);
    sw_tune_point_text(product->space, true, product->workload, named->workload);
    sw_tune_variant_name(product->space, product->workload, &product->variant, named->variant);
    named->key = (struct sw_tune_key){
        .kernel = product->space->kernel,
        .workload = named->workload,
        .variant = named->variant,
        .sources = kernel->sources_text,
        .device = run->devices[named->kernel],
        .arch = run->archs[named->kernel],
    };
}

/* Base must be there: a kernel's first program tells the device. */
static enum sw_tune_ended measure_one(struct run *run, const struct sw_tune_product *product,
                                      struct sw_tune_reason *reason)
{
    struct named named;
    name_product(run, product, &named);
    if (!product->is_built && product->is_base) {
        (void)sw_tune_refuse(reason, "base of %s %s is not built: %s", named.key.kernel,
                             named.workload,
                             product->reason.text[0] != '\0'
                                 ? product->reason.text
                                 : "run the search with --build-only first, or without --no-build");
        return SW_TUNE_IMPOSSIBLE;
    }
    if (!product->is_built && product->reason.text[0] == '\0') {
        run->missing++;
        return SW_TUNE_THROUGH;
    }
    enum sw_tune_ended ended = learn_device(run, named.kernel, product, reason);
    if (ended != SW_TUNE_THROUGH) {
        return ended;
    }
    if (!sw_tune_store_find(run->store, &named.key, &named.id, named.state) ||
        (run->options->again && !sw_tune_store_forget(run->store, named.id))) {
        return store_failed(run, reason);
    }
    if (!product->is_built) {
        *reason = product->reason;
        return note_failure(run, &named, SW_TUNE_STATE_UNBUILT, reason);
    }
    if (is_settled(&named) && !run->options->again && !product->is_base) {
        run->kept++;
        return SW_TUNE_THROUGH;
    }
    return measure_unknown(run, &named, reason);
}

static enum sw_tune_ended measure_all(struct run *run, struct sw_tune_reason *reason)
{
    enum sw_tune_ended ended = SW_TUNE_THROUGH;
    for (run->next = 0; ended == SW_TUNE_THROUGH && run->next < run->plan->count; run->next++) {
        ended = is_over(run) ? SW_TUNE_STOPPED
                             : measure_one(run, &run->plan->products[run->next], reason);
    }
    run->next -= ended != SW_TUNE_THROUGH;
    return ended;
}

enum sw_tune_ended sw_tune_measure(const struct sw_tune_plan *plan,
                                   const struct sw_tune_search_options *options,
                                   struct sw_tune_store *store, struct sw_tune_interrupt *interrupt,
                                   double began, struct sw_tune_reason *reason)
{
    struct run *run = calloc(1, sizeof(*run));
    enum sw_tune_ended ended = SW_TUNE_IMPOSSIBLE;
    if (run == NULL) {
        (void)sw_tune_refuse(reason, "not enough memory");
        return ended;
    }
    run->plan = plan;
    run->options = options;
    run->store = store;
    run->interrupt = interrupt;
    run->began = began;
    run->end = began + 60 * options->budget_minutes;
    run->timing_began = sw_study_clock();
    run->subject = calloc(1, sizeof(*run->subject));
    run->samples = calloc(1, sizeof(*run->samples));
    if (run->subject == NULL || run->samples == NULL) {
        (void)sw_tune_refuse(reason, "not enough memory");
    } else {
        ended = measure_all(run, reason);
        printf("%u of %u variants: %u measured now (%u of them refused), %u stored before, %u not "
               "built, %u left\n",
               run->next, plan->count, run->measured, run->refused, run->kept, run->missing,
               plan->count - run->next);
    }
    free(run->subject);
    free(run->samples);
    free(run);
    return ended;
}
