/* SPDX-License-Identifier: MIT
 *
 * scratch.h - areas of scratch memory that several tables share. A write borrows one area until it
 * is done.
 *
 * The first area always has room for the largest need that a table has reserved. The others are
 * mapped when a write finds no free area. So a write gets an area without an allocation that might
 * fail, and at worst waits for the write of another table.
 *
 * Threads: any. A thread that has borrowed an area must not borrow another one from the same set,
 * or the threads could wait for one another.
 */
#ifndef SHERWOOD_TABLE_HOST_SCRATCH_H
#define SHERWOOD_TABLE_HOST_SCRATCH_H

#include <pthread.h>
#include <stdint.h>

#include "table/status.h"

/* Most areas of a set: most writes that run at the same time. */
#define SW_SCRATCH_AREAS_MAX 8
/* Most areas of a set whose borrowers do not wait (sw_scratch_try_borrow). */
#define SW_SCRATCH_TRIED_MAX 32

struct sw_scratch_area {
    void *memory; /* the borrower reads and changes this and `bytes` */
    uint64_t bytes;
    uint32_t borrowed; /* atomic */
};

struct sw_scratch_set {
    pthread_mutex_t mutex;
    pthread_cond_t returned;
    uint32_t waiting; /* atomic: threads that wait for an area */
    uint64_t need;    /* under `mutex`: the largest need so far */
    struct sw_scratch_area areas[SW_SCRATCH_TRIED_MAX];
};

void sw_scratch_init(struct sw_scratch_set *set);
/* No area is borrowed. */
void sw_scratch_fini(struct sw_scratch_set *set);

/* Makes room for writes that need `bytes`. May wait for writes. Returns SW_OK, or SW_E_NOMEM with
 * nothing changed. */
SW_MUST_CHECK int sw_scratch_reserve(struct sw_scratch_set *set, uint64_t bytes);

/* Borrows an area of at least `bytes`, which the caller has reserved. Tries `last` first, the area
 * that the table borrowed before; NULL: none. May wait. Never fails. */
struct sw_scratch_area *sw_scratch_borrow(struct sw_scratch_set *set, struct sw_scratch_area *last,
                                          uint64_t bytes);
void sw_scratch_return(struct sw_scratch_set *set, struct sw_scratch_area *area);

/* Borrows a free area of at least `bytes`, which need not be reserved. Tries first the area with
 * the number `first` modulo SW_SCRATCH_TRIED_MAX. Returns NULL if no area is free, or if memory is
 * short. Never waits. Do not mix it with sw_scratch_borrow on one set. */
struct sw_scratch_area *sw_scratch_try_borrow(struct sw_scratch_set *set, uint32_t first,
                                              uint64_t bytes);

/* Returns the bytes of all areas. */
uint64_t sw_scratch_bytes(struct sw_scratch_set *set);

#endif
