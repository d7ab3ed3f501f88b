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
    uint64_t slots; /* real number of slots of the table */

    uint32_t load_index; /* index in options->loads */
    double load;         /* F */

    /* The table was filled with keys[0, count). */
    bool is_filled; /* and still holds these keys with their first values */
    uint64_t count;
    uint64_t distinct;
    uint64_t found;     /* number of distinct keys that a get finds */
    uint64_t forgotten; /* number of keys that a get does not find because they were dropped */

    bool is_correct;
};

/* Identifies a draw: the operation at this F, its configuration (below 128), the repetition (below
 * 2048), and the purpose. */
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

/* Returns the number of slots to request from the library. */
uint64_t sw_timing_wanted_slots(const struct sw_timing_options *options);

/* Opens the library's table; closes it. */
bool sw_timing_study_open(struct sw_timing_study *study);
void sw_timing_study_close(struct sw_timing_study *study);

/* Returns the operation at this F, for rows. batch 0: the field stays empty. */
struct sw_timing_subject sw_timing_study_subject(const struct sw_timing_study *study,
                                                 const char *operation, uint64_t batch);
/* Prints a progress line about it on stderr. */
__attribute__((format(printf, 3, 4))) void sw_timing_study_say(const struct sw_timing_study *study,
                                                               const char *operation,
                                                               const char *format, ...);

/* Begins a series of the operation at this F. */
void sw_timing_study_begin(const struct sw_timing_study *study, struct sw_timing_series *series,
                           const char *operation, uint64_t batch);
/* Ends the series, and applies the result of its checks. */
void sw_timing_study_end(struct sw_timing_study *study, struct sw_timing_series *series);

/* Empties the table and draws keys[0, count). Draws again a few times if there are more different
 * keys than slots. */
bool sw_timing_study_draw_keys(struct sw_timing_study *study, uint64_t count,
                               struct sw_study_draw draw);
/* Inserts keys that are all absent, by insert_fresh if the library has it. */
bool sw_timing_insert_fresh(struct sw_timing_study *study, const void *keys, const void *values,
                            uint64_t count);
/* Returns how many entries the table holds if `offered` keys, `distinct` of them different, found a
 * place. */
uint64_t sw_timing_expected(const struct sw_timing_study *study, uint64_t offered,
                            uint64_t distinct);
/* Inserts the keys in one call. */
bool sw_timing_study_insert(struct sw_timing_study *study, struct sw_study_took *took);
/* Gets every key, checks every answer, and sets found, forgotten and the rep's distinct, occupied,
 * drops, missed, wrong. */
bool sw_timing_study_verify(struct sw_timing_study *study, struct sw_timing_rep *rep);
/* Draws, inserts and verifies, for an operation that needs a table at F but does not measure its
 * inserts. */
bool sw_timing_study_fill(struct sw_timing_study *study, uint64_t count, struct sw_study_draw draw);
/* Empties the table and inserts the keys that were drawn last again. */
bool sw_timing_study_refill(struct sw_timing_study *study);

/* Poisons the answers, then gets `count` keys; only the get is timed. took may be NULL. */
bool sw_timing_study_ask(struct sw_timing_study *study, const void *keys, uint64_t count,
                         struct sw_study_took *took);

/* Return keys + first and values + first. */
const void *sw_timing_key_at(const struct sw_timing_study *study, uint64_t first);
const void *sw_timing_value_at(const struct sw_timing_study *study, uint64_t first);

/* Stores the number of entries in the table. */
bool sw_timing_study_size(struct sw_timing_study *study, uint64_t *occupied);

struct sw_timing_judge sw_timing_study_judge(const struct sw_timing_study *study, uint64_t written);

#endif
