/* SPDX-License-Identifier: MIT
 *
 * study.h - one library at one width: its table, the study's arrays, and the steps that every
 * measurement is made of.
 *
 * The same operation at the same F draws the same keys for every library. Every function that
 * returns bool has, on false, printed one line on stderr. Results that are wrong are no failure:
 * they are reported, and is_correct becomes false where the library is ours. Threads: one.
 */
#ifndef SHERWOOD_BENCH_TIMING_STUDY_H
#define SHERWOOD_BENCH_TIMING_STUDY_H

#include "bench/timing/answers.h"
#include "bench/timing/keys.h"
#include "bench/timing/library.h"
#include "bench/timing/options.h"
#include "bench/timing/report.h"
#include "bench/timing/series.h"

struct sw_timing_study {
    const struct sw_timing_options *options;
    struct sw_timing_report *report;
    const struct sw_timing_library *library;
    bool is_ours;
    uint32_t slot_bits;
    uint32_t block_size; /* 0: the library's own */
    int device;
    double started; /* host clock, for the progress lines */
    struct sw_timing_arrays arrays;
    void *table;
    uint64_t slots; /* that the table really has */

    uint32_t load_index; /* in options->loads */
    double load;         /* F */

    /* What the table was filled with: keys[0, count). */
    bool is_filled; /* and holds now, with their first values */
    uint64_t count;
    uint64_t distinct;
    uint64_t found;     /* of the distinct keys, how many a get finds */
    uint64_t forgotten; /* of the keys, how many a get does not find because they were dropped */

    bool is_correct;
};

/* Which draw: of what operation at this F, which of its configurations (below 128), which
 * repetition (below 2048), and what for. */
enum sw_timing_part {
    SW_TIMING_PART_KEYS,
    SW_TIMING_PART_QUERIES,
    SW_TIMING_PART_FRESH,
    SW_TIMING_PART_CHANGES
};
struct sw_study_draw sw_timing_study_draw(const struct sw_timing_study *study,
                                          enum sw_timing_operation operation,
                                          uint32_t configuration, uint32_t rep,
                                          enum sw_timing_part part);

/* Returns the number of keys to offer for this load of `slots` slots; at least 64. */
uint64_t sw_timing_count(double load, uint64_t slots);

/* Slots asked of the library. */
uint64_t sw_timing_wanted_slots(const struct sw_timing_options *options);

/* Opens the library's table; closes it. */
bool sw_timing_study_open(struct sw_timing_study *study);
void sw_timing_study_close(struct sw_timing_study *study);

/* The operation at this F, for rows. batch 0: the field stays empty. */
struct sw_timing_subject sw_timing_study_subject(const struct sw_timing_study *study,
                                                 const char *operation, uint64_t batch);
/* A progress line about it on stderr. */
__attribute__((format(printf, 3, 4))) void sw_timing_study_say(const struct sw_timing_study *study,
                                                               const char *operation,
                                                               const char *format, ...);

/* Begins a series of the operation at this F. */
void sw_timing_study_begin(const struct sw_timing_study *study, struct sw_timing_series *series,
                           const char *operation, uint64_t batch);
/* Ends it, and takes its checks into account. */
void sw_timing_study_end(struct sw_timing_study *study, struct sw_timing_series *series);

/* Empties the table and draws keys[0, count); draws again, some times, if there are more different
 * ones than slots. */
bool sw_timing_study_draw_keys(struct sw_timing_study *study, uint64_t count,
                               struct sw_study_draw draw);
/* Inserts keys that are all absent, by insert_fresh if the library has it. */
bool sw_timing_insert_fresh(struct sw_timing_study *study, const void *keys, const void *values,
                            uint64_t count);
/* How many entries the table holds if `offered` keys, `distinct` of them different, found a place.
 */
uint64_t sw_timing_expected(const struct sw_timing_study *study, uint64_t offered,
                            uint64_t distinct);
/* Inserts them in one call. */
bool sw_timing_study_insert(struct sw_timing_study *study, struct sw_study_took *took);
/* Asks for every one, looks at every answer, and sets found, forgotten and the rep's distinct,
 * occupied, drops, missed, wrong. */
bool sw_timing_study_verify(struct sw_timing_study *study, struct sw_timing_rep *rep);
/* All three, for an operation that needs a table at F and is not about its inserts. */
bool sw_timing_study_fill(struct sw_timing_study *study, uint64_t count, struct sw_study_draw draw);
/* Empties the table and inserts the keys that were drawn last again. */
bool sw_timing_study_refill(struct sw_timing_study *study);

/* Poisons the answers, then gets `count` keys; only the get is timed. took may be NULL. */
bool sw_timing_study_ask(struct sw_timing_study *study, const void *keys, uint64_t count,
                         struct sw_study_took *took);

/* keys + first and values + first. */
const void *sw_timing_key_at(const struct sw_timing_study *study, uint64_t first);
const void *sw_timing_value_at(const struct sw_timing_study *study, uint64_t first);

/* Entries in the table. */
bool sw_timing_study_size(struct sw_timing_study *study, uint64_t *occupied);

struct sw_timing_judge sw_timing_study_judge(const struct sw_timing_study *study, uint64_t written);

#endif
