/* SPDX-License-Identifier: MIT
 *
 * store.h - results in an SQLite file. Every point is written when it is measured, so that nothing
 * is lost whenever a search ends.
 *
 * Results belong to the sources they were measured of: those of changed sources stay in the file
 * and are no longer looked at. Threads: one a store; several programs may use one file.
 */
#ifndef SHERWOOD_BENCH_TUNE_STORE_H
#define SHERWOOD_BENCH_TUNE_STORE_H

#include "bench/tune/sampling.h"
#include "bench/tune/space.h"

#define SW_TUNE_STATE_MAX 16

/* What became of a variant on a device. */
#define SW_TUNE_STATE_PARTLY "partly"   /* not all points yet */
#define SW_TUNE_STATE_GOOD "good"       /* every point of the space is there */
#define SW_TUNE_STATE_WRONG "wrong"     /* refused: answers differ from the oracle's */
#define SW_TUNE_STATE_FAILED "failed"   /* it does not run */
#define SW_TUNE_STATE_UNBUILT "unbuilt" /* it does not compile */

struct sw_tune_store;

/* Which variant of what, on which device. */
struct sw_tune_key {
    const char *kernel;
    const char *workload;
    const char *variant;
    const char *sources;
    const char *device;
    const char *arch;
};

/* With `create` the file is made if it is not there. */
bool sw_tune_store_open(const char *file, bool create, struct sw_tune_store **out,
                        struct sw_tune_reason *reason);
void sw_tune_store_close(struct sw_tune_store *store);
/* What SQLite said of the last call that failed. */
void sw_tune_store_failure(const struct sw_tune_store *store, struct sw_tune_reason *reason);

/* The axes, and the number of variants and the base of each workload, in place of older ones. */
bool sw_tune_store_space(struct sw_tune_store *store, const struct sw_tune_space *space,
                         const char *sources);

/* The number of a variant's results, and its state; a new one is PARTLY. */
bool sw_tune_store_find(struct sw_tune_store *store, const struct sw_tune_key *key, int64_t *id,
                        char state[SW_TUNE_STATE_MAX]);
bool sw_tune_store_set_state(struct sw_tune_store *store, int64_t id, const char *state,
                             const char *note);
/* Drops what is there of it. */
bool sw_tune_store_forget(struct sw_tune_store *store, int64_t id);
bool sw_tune_store_add_point(struct sw_tune_store *store, int64_t id, const char *point,
                             const struct sw_tune_summary *summary,
                             const struct sw_tune_samples *samples);

/* One call for each point of a variant; samples are in ascending order and are the callee's until
 * it returns. False ends the walk. */
typedef bool (*sw_tune_point_visitor)(void *context, const char *point, double median,
                                      const double *samples, uint32_t count);
bool sw_tune_store_points(struct sw_tune_store *store, int64_t id, sw_tune_point_visitor visit,
                          void *context);

/* One call for each workload of the present sources and each device there is a result of; device
 * and arch are "" if there is none. */
struct sw_tune_workload {
    char kernel[SW_TUNE_NAME_MAX];
    char workload[SW_TUNE_TEXT_MAX];
    char sources[SW_TUNE_NAME_MAX];
    char base[SW_TUNE_TEXT_MAX]; /* name of the variant */
    uint64_t variants;           /* base included */
    char device[SW_TUNE_TEXT_MAX];
    char arch[SW_TUNE_NAME_MAX];
};
typedef bool (*sw_tune_workload_visitor)(void *context, const struct sw_tune_workload *workload);
bool sw_tune_store_workloads(struct sw_tune_store *store, sw_tune_workload_visitor visit,
                             void *context);

/* One call for each variant of one of them. */
typedef bool (*sw_tune_variant_visitor)(void *context, int64_t id, const char *variant,
                                        const char *state, const char *note, const char *date);
bool sw_tune_store_variants(struct sw_tune_store *store, const struct sw_tune_workload *workload,
                            sw_tune_variant_visitor visit, void *context);

/* The kernel and its axes, without parameters. The caller frees *out. */
bool sw_tune_store_axes(struct sw_tune_store *store, const char *kernel,
                        struct sw_tune_space **out);

#endif
