/* SPDX-License-Identifier: MIT
 *
 * slow_backend.h - a backend for the combiner that completes batches some polls after their launch,
 * and checks its input.
 *
 * Batches are of SET, GET and IMAGE; keys are below SLOW_KEYS, of 32 bits, and values have 64.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_SLOW_BACKEND_H
#define SHERWOOD_TESTS_SUPPORT_SLOW_BACKEND_H

#include <pthread.h>

#include "table/write_combiner.h"
#include "tests/support/random.h"

#define SLOW_KEYS 20
#define SLOW_COMBINED_OPS 60 /* operations of a launch */

struct slow {
    pthread_mutex_t lock;
    uint64_t values[SLOW_KEYS]; /* effects are those of the order of submit and submit_combined */
    uint64_t sequence;          /* of the last write carried out */
    uint64_t combined;          /* batches that shared a launch */
    unsigned writes_in_flight;
    unsigned images; /* that were submitted */
    unsigned tidied;
    bool lost;         /* every submit is SW_E_DEVICE */
    bool stalled;      /* nothing completes */
    bool takes_one;    /* a second launch of writes is SW_E_BUSY */
    uint32_t streamed; /* what combined_ops says for SW_SET; 0: SLOW_COMBINED_OPS */
    struct random random;
    /* the first rule that was broken */
    const char *broken;
};

struct slow_queue {
    struct slow *fake;
    struct sw_batch *held[SW_READS_MAX]; /* reads that were not carried out yet */
    unsigned held_count;
    unsigned reads; /* in flight */
};

extern const struct sw_backend slow_backend; /* its table is a struct slow */

int slow_queue_open(void *table, void **out);
void slow_queue_close(void *queue);

#endif
