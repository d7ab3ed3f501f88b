/* SPDX-License-Identifier: MIT
 *
 * study.h - the experiments of the cuckoo study.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_STUDY_H
#define SHERWOOD_BENCH_CUCKOO_STUDY_H

#include "bench/cuckoo/library.h"
#include "bench/cuckoo/report.h"

struct sw_cbench_study {
    const struct sw_cbench_options *options;
    const struct sw_cbench_place *place;
    struct sw_cbench_report *report;
    double started;    /* host clock, for the progress line */
    uint32_t *keys;    /* the set S of 2^keys_log2 keys, in the tables' memory */
    uint32_t *queries; /* room for the same number of keys */
    uint32_t *found;
    struct sw_cbench_series series; /* the current series */
    bool is_correct;                /* no check has failed so far */
    bool is_complete;               /* everything requested was measured */
};

/* Allocates the arrays and draws S. On failure prints one line on stderr and returns false; nothing
 * is open. */
bool sw_cbench_study_open(struct sw_cbench_study *study);
void sw_cbench_study_close(struct sw_cbench_study *study);

/* Opens the wanted table and fills in the subject. NULL: the report says why. */
void *sw_cbench_study_table(struct sw_cbench_study *study, const struct sw_cbench_wanted *wanted,
                            uint64_t stored, struct sw_cbench_subject *subject);
void sw_cbench_study_table_close(void *table, const struct sw_cbench_subject *subject);

/* Inserts S's first subject->keys keys into the cleared table, and checks each insert: it must find
 * every key that was not handed back. The same number of absent keys must not be found. */
void sw_cbench_measure_insert(struct sw_cbench_study *study,
                              const struct sw_cbench_subject *subject, void *table);
/* Looks up subject->keys keys; tenths / 10 of them miss. */
void sw_cbench_measure_find(struct sw_cbench_study *study, const struct sw_cbench_subject *subject,
                            void *table, uint32_t tenths);

/* Inserts S's first subject->keys keys into the cleared table and looks up the same number of keys
 * in the same call. Half of the look-ups miss. Checks each call. */
void sw_cbench_measure_both(struct sw_cbench_study *study, const struct sw_cbench_subject *subject,
                            void *table);

/* Runs all requested studies. */
void sw_cbench_run(struct sw_cbench_study *study);

#endif
