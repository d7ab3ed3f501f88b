/* SPDX-License-Identifier: MIT
 *
 * prefill.h - frames whose keys (and values) are drawn before a run, and sent as they are.
 *
 * Either each thread has a few, which it sends again and again, or the run has one for each unit of
 * its keys, which all threads share. They lie in their own pages, and nothing writes to these after
 * the draw, so that the kernel may send the pages without a copy. Threads: any may read; only one
 * may call `take`.
 */
#ifndef SHERWOOD_LOAD_PREFILL_H
#define SHERWOOD_LOAD_PREFILL_H

#include "bench/load/distribution.h"
#include "bench/load/mix.h"

/* Describes the frames to draw. */
struct sw_load_prefill_plan {
    const struct sw_load_workload *workload;
    const struct sw_load_distribution *distribution; /* SEQUENTIAL continues from frame to frame */
    const struct sw_load_mix *mix; /* the mix that selects each frame's operation, or NULL */
    uint64_t random;               /* the first state of the generator */
    uint32_t frames;
    uint32_t frame;     /* the most keys of a frame */
    uint32_t frame_min; /* the fewest keys; the number of keys differs between frames */
    uint32_t tables;  /* frame i is for table i mod tables, as sw_load_tables_fill; 0: one table */
    bool by_segments; /* each frame has frame / tables keys of each table, one table after the other
                       */
    char *memory;     /* the caller's memory of sw_load_prefill_bytes; NULL: init allocates it */
};

/* A frame. Its arrays have `frame` elements; the first `count` are sent. */
struct sw_load_prefilled {
    void *keys, *values;
    uint32_t count;
    uint32_t table;
    uint8_t operation; /* enum sw_load_mix_operation, if there is a mix */
};

struct sw_load_prefill {
    uint32_t frames; /* 0: none */
    uint32_t next;
    size_t bytes;                   /* size of `memory` */
    char *memory;                   /* owned; NULL if the plan gave the memory */
    struct sw_load_prefilled *each; /* owned: an array of `frames` elements */
};

/* Returns the bytes of prefilled frames of `frame` keys. */
uint64_t sw_load_prefill_bytes(const struct sw_load_workload *workload, uint32_t frames,
                               uint32_t frame);
/* Draws the frames. Returns false if memory is short. fini is allowed in each case, and on zero
 * bytes. */
bool sw_load_prefill_init(struct sw_load_prefill *prefill, const struct sw_load_prefill_plan *plan);
/* Draws one frame for each `frame` keys of the run, in the order of the keys: frame i has the keys
 * of unit i. The arrays of the last frame continue with the first keys. */
bool sw_load_prefill_all(struct sw_load_prefill *prefill, const struct sw_load_workload *workload,
                         uint32_t frame);
void sw_load_prefill_fini(struct sw_load_prefill *prefill);
/* Returns the next frame; after the last one, the first. */
const struct sw_load_prefilled *sw_load_prefill_take(struct sw_load_prefill *prefill);

#endif
