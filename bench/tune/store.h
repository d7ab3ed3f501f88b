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

#include <sqlite3.h>

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
const char *sw_tune_store_name(const struct sw_tune_store *store); /* of the file */
/* SQLite's message about the last call that failed. */
void sw_tune_store_failure(const struct sw_tune_store *store, struct sw_tune_reason *reason);

/* The axes, and the number of variants and the base of each workload, in place of older ones. */
bool sw_tune_store_space(struct sw_tune_store *store, const struct sw_tune_space *space,
                         const char *sources);

/* The number of a variant's results, and its state; a new one is PARTLY. */
bool sw_tune_store_find(struct sw_tune_store *store, const struct sw_tune_key *key, int64_t *id,
                        char state[SW_TUNE_STATE_MAX]);
bool sw_tune_store_set_state(struct sw_tune_store *store, int64_t id, const char *state,
                             const char *note);
/* Deletes its points. */
bool sw_tune_store_forget(struct sw_tune_store *store, int64_t id);
bool sw_tune_store_add_point(struct sw_tune_store *store, int64_t id, const char *point,
                             const struct sw_tune_summary *summary,
                             const struct sw_tune_samples *samples);

/* Whether a point is stored. */
bool sw_tune_store_has(struct sw_tune_store *store, int64_t id, const char *point);
/* Its samples in ascending order; none if it is not stored. */
bool sw_tune_store_samples(struct sw_tune_store *store, int64_t id, const char *point,
                           struct sw_tune_samples *samples);

/* The kernel and its axes, without parameters. The caller frees *out. */
bool sw_tune_store_axes(struct sw_tune_store *store, const char *kernel,
                        struct sw_tune_space **out);

/* Queries of other files. Types of values: 't' text, 'i' int64_t, 'd' double; text must outlive the
 * statement. NULL on failure, which the two below take. */
sqlite3_stmt *sw_tune_prepare(struct sw_tune_store *store, const char *sql, const char *types, ...);
/* Goes to the next row; false if there is none, or on failure. */
bool sw_tune_next(sqlite3_stmt *rows);
/* Frees the statement; false if anything failed. */
bool sw_tune_end(sqlite3_stmt *rows);
/* A column as text. */
void sw_tune_column(sqlite3_stmt *rows, int column, char *to, size_t size);

#endif
