/* SPDX-License-Identifier: MIT
 *
 * results.h - what a store holds of one workload on one device, with scores.
 */
#ifndef SHERWOOD_BENCH_TUNE_RESULTS_H
#define SHERWOOD_BENCH_TUNE_RESULTS_H

#include "bench/tune/score.h"
#include "bench/tune/store.h"

struct sw_tune_result {
    int64_t id;
    char variant[SW_TUNE_TEXT_MAX];
    char state[SW_TUNE_STATE_MAX];
    char note[SW_TUNE_TEXT_MAX];
    char date[32];
    double *medians;   /* [points] seconds, 0: not measured */
    uint32_t measured; /* points */
    bool has_score;    /* it, and base, have a point in common, and its answers are right */
    struct sw_tune_score score;
};

struct sw_tune_results {
    struct sw_tune_workload about;
    struct sw_tune_space *space; /* axes only */
    uint32_t points;
    struct sw_tune_result *list; /* as they were measured */
    uint32_t count;
    struct sw_tune_result *base; /* of the list, or NULL */
};

/* On true the caller frees it. */
bool sw_tune_results_load(struct sw_tune_store *store, const struct sw_tune_workload *workload,
                          struct sw_tune_results *out, struct sw_tune_reason *reason);
void sw_tune_results_free(struct sw_tune_results *results);

/* Highest score first, then those without one. Moves `base` along. */
void sw_tune_results_sort(struct sw_tune_results *results);

/* The workload that goes slowest beside base, as text; measured ones only. */
void sw_tune_worst_point(const struct sw_tune_results *results, const struct sw_tune_result *result,
                         char text[SW_TUNE_TEXT_MAX]);

#endif
