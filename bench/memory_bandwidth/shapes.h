/* SPDX-License-Identifier: MIT
 *
 * shapes.h - an ordered table whose buckets have 2 to 16 slots, and whose keys are looked up and
 * inserted by tiles of 1 to 16 threads. It shows what the shape of a bucket costs, without the rest
 * of a table.
 *
 * On false one line on stderr says what failed. Threads: one.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_SHAPES_H
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_SHAPES_H

#include "bench/memory_bandwidth/sweep.h"
#include "bench/study/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of an insert. */
#define SW_BANDWIDTH_SHAPED_INSERTS (1U << 20)
/* The most that a thread holds of the buckets in flight. */
#define SW_BANDWIDTH_HELD_BYTES 256

/* All shapes, those that differ in `keys` alone one after the other. */
uint32_t sw_bandwidth_shapes(void);
struct sw_bandwidth_shape sw_bandwidth_shape_at(uint32_t number);
/* Whether a thread's registers hold the buckets that it has in flight. */
bool sw_bandwidth_shape_fits(uint32_t number, uint32_t slot_bits);

struct sw_bandwidth_shaped {
    uint32_t slot_bits; /* 64 or 128: key and value have half of it */
    uint64_t capacity;  /* slots */
    uint64_t count;     /* stored keys, all different */
    void *keys;         /* [count] mixed keys, in order; all are even */
    void *queries;      /* [count] of the next get or insert */
    void *answers;      /* [count] */
    int64_t *places;    /* [count] the slot of each key */
    void *slots;
    uint64_t slots_total; /* the last buckets overflow into these */
    uint32_t *overflowed; /* an insert met the end of the slots */
};

/* Draws at most load * capacity keys and allocates memory. After a failure nothing is allocated. */
bool sw_bandwidth_shaped_open(struct sw_bandwidth_shaped *table, uint32_t slot_bits,
                              uint64_t capacity, double load, struct sw_study_draw draw);
void sw_bandwidth_shaped_close(struct sw_bandwidth_shaped *table);

/* Stores the keys in buckets of that many slots. */
bool sw_bandwidth_shaped_build(struct sw_bandwidth_shaped *table, uint32_t bucket_slots);

/* One get of `count` keys: all present, or all absent. Adds wrong answers to *wrong. */
bool sw_bandwidth_shaped_get(struct sw_bandwidth_shaped *table, uint32_t shape, bool present,
                             double *seconds, uint64_t *wrong);
/* One insert of SW_BANDWIDTH_SHAPED_INSERTS absent keys. Then gets look up these and all others. */
bool sw_bandwidth_shaped_insert(struct sw_bandwidth_shaped *table, uint32_t shape, double *seconds,
                                uint64_t *wrong);

/* shapes.c: measures every shape at each F below 1. */
bool sw_bandwidth_measure_shapes(const struct sw_bandwidth_options *options,
                                 struct sw_bandwidth_report *report, bool *is_correct);

#ifdef __cplusplus
}
#endif

#endif
