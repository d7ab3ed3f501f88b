/* SPDX-License-Identifier: MIT
 *
 * sherwood.h - Sherwood's table as a library of the study, and what the study measures of it alone.
 */
#ifndef SHERWOOD_BENCH_TIMING_SHERWOOD_H
#define SHERWOOD_BENCH_TIMING_SHERWOOD_H

#include "bench/timing/study.h"
#include "table/table.h"

/* This device number selects the CPU backend, for tests of the study: their arrays lie in host
 * memory. */
#define SW_TIMING_HOST (-1)

extern const struct sw_timing_library sw_timing_sherwood;

/* Fills in the configuration that the library's open uses. The table has the slots that the study
 * wants, and a batch can have one operation for each slot. */
void sw_timing_sherwood_config(const struct sw_timing_study *study, struct sw_table_config *config);

/* Opens another table for the library's functions: `side` is a copy of `study`, whose arrays it
 * shares. Rounds config->batch_ops_max up. On failure one line on stderr says why. Close the side
 * in any case, if it is zeroed before; a fault that it found is one of the study. */
bool sw_timing_sherwood_open_side(const struct sw_timing_study *study,
                                  struct sw_table_config *config, struct sw_timing_study *side);
void sw_timing_sherwood_close_side(struct sw_timing_study *study, struct sw_timing_study *side);
struct sw_table *sw_timing_sherwood_table(void *table);
struct sw_queue *sw_timing_sherwood_queue(void *table);

/* Writes a line with the table's facts. */
void sw_timing_sherwood_describe(void *table, FILE *out);

/* Reads every slot of the filled table, counts the entries, and checks the table's invariants. */
bool sw_timing_sherwood_audit(struct sw_timing_study *study);

/* Returns the hits that the last get counted. */
uint64_t sw_timing_sherwood_hits(const void *table);

/* Measures the operations below that are requested. The study's table is closed. Returns as
 * measure.h says. */
bool sw_timing_measure_sherwood(struct sw_timing_study *study);

/* Gets with and without displacement hints, with and without counters, at each F; updates beside
 * inserts where every insert goes by itself. */
bool sw_timing_measure_tunings(struct sw_timing_study *study);
/* A table of the study's slots at load 0.9 grows to twice its slots, and shrinks back. */
bool sw_timing_measure_growth(struct sw_timing_study *study);
/* Deletes that leave holes and deletes that move entries, in turn, and what follows them, at each F
 * up to 0.95. */
bool sw_timing_measure_holes(struct sw_timing_study *study);
/* A key set and pairs with the same keys, in turn: gets, deletes, and inserts of the deleted keys,
 * at each F up to 0.95. */
bool sw_timing_measure_sets(struct sw_timing_study *study);
/* Writes of 2^20 distinct keys, and of 2^20 keys that are one key by a tenth, half or all, in a
 * table of 2^24 slots of each engine. */
bool sw_timing_measure_hot(struct sw_timing_study *study);
/* Measures a get of 256 keys in host memory, from submit to answer, one batch at a time. 64-bit
 * slots. */
bool sw_timing_measure_pinned(struct sw_timing_study *study);

#endif
