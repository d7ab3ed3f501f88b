/* SPDX-License-Identifier: MIT
 *
 * results.h - the stored results of a workload on a device, with scores.
 */
#ifndef SHERWOOD_BENCH_TUNE_RESULTS_H
#define SHERWOOD_BENCH_TUNE_RESULTS_H

#include "bench/tune/select.h"
#include "bench/tune/store.h"

/* How much faster than base a variant is. A speed-up is base's median / the variant's. */
struct sw_tune_score {
    double score; /* mean of the speed-ups, weighted */
    double min;
    double mean;
    double max;
    uint32_t points; /* compared */
};

struct sw_tune_result {
    int64_t id;
    char variant[SW_TUNE_TEXT_MAX];
    char state[SW_TUNE_STATE_MAX];
    char date[32];
    double *medians;   /* [points] seconds, 0: not measured */
    uint32_t measured; /* points */
    double bandwidth;  /* bytes a second at the point where they are most; 0: not known */
    bool has_score;    /* it, and base, have a point in common, and its answers are right */
    struct sw_tune_score score;
};

/* A compile-time workload of the present sources, and a device ("": none has results yet). */
struct sw_tune_workload {
    char kernel[SW_TUNE_NAME_MAX];
    char workload[SW_TUNE_TEXT_MAX];
    char sources[SW_TUNE_NAME_MAX];
    char base[SW_TUNE_TEXT_MAX]; /* name of the variant */
    uint64_t variants;           /* base included */
    char device[SW_TUNE_TEXT_MAX];
    char arch[SW_TUNE_NAME_MAX];
};

struct sw_tune_results {
    struct sw_tune_workload about;
    struct sw_tune_space *space; /* axes only */
    uint32_t points;
    struct sw_tune_result *list; /* highest score first, then those without one */
    uint32_t count;
    struct sw_tune_result *base; /* of the list, or NULL */
};

/* Results of one or more workloads. */
struct sw_tune_loaded {
    struct sw_tune_results *list;
    uint32_t count;
};

/* The weight of a run-time workload: the product over its axes. Value k of n (from 1) weighs k on
 * an axis whose values are ordered by importance, 1 on any other. */
double sw_tune_point_weight(const struct sw_tune_space *space, uint32_t point);

/* Medians are numbered as points are; 0: not measured. Points that one of the two lacks do not
 * count; false if none is left. */
bool sw_tune_score(const struct sw_tune_space *space, const double *base, const double *variant,
                   struct sw_tune_score *out);

/* Results of a workload. On true the caller frees them. */
bool sw_tune_results_load(struct sw_tune_store *store, const struct sw_tune_workload *workload,
                          struct sw_tune_results *out, struct sw_tune_reason *reason);
void sw_tune_results_free(struct sw_tune_results *results);

/* Results of all workloads that are selected, on devices whose name has `device` in it (NULL:
 * all). On true there is one at least, and the caller frees them. */
bool sw_tune_load(struct sw_tune_store *store, const struct sw_tune_selection *selection,
                  const char *device, struct sw_tune_loaded *out, struct sw_tune_reason *reason);
void sw_tune_loaded_free(struct sw_tune_loaded *loaded);

/* The workload on which the variant is slowest beside base, as text; measured ones only. */
void sw_tune_worst_point(const struct sw_tune_results *results, const struct sw_tune_result *result,
                         char text[SW_TUNE_TEXT_MAX]);

/* "get[Slot=64], NVIDIA H200" */
#define SW_TUNE_TITLE_MAX (3 * SW_TUNE_TEXT_MAX)
void sw_tune_title(const struct sw_tune_workload *workload, char title[SW_TUNE_TITLE_MAX]);

#endif
