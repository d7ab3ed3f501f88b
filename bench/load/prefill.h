/* SPDX-License-Identifier: MIT
 *
 * prefill.h - frames whose keys (and values) are drawn before a run, and sent as they are.
 *
 * Either each thread has a few, which it sends again and again, or the run has one for each unit of
 * its keys, which all threads share. They lie in memory of their own, page by page, and are not
 * written to once they are drawn, so that the kernel may send the pages themselves. Reading is for
 * any thread; `take` is for one.
 */
#ifndef SHERWOOD_LOAD_PREFILL_H
#define SHERWOOD_LOAD_PREFILL_H

#include "bench/load/distribution.h"
#include "bench/load/mix.h"

/* What is drawn. */
struct sw_load_prefill_plan {
    const struct sw_load_workload *workload;
    const struct sw_load_distribution *distribution; /* sequential: goes on from frame to frame */
    const struct sw_load_mix *mix;                   /* of the frames' operations, or NULL */
    uint64_t random;                                 /* the generator's first state */
    uint32_t frames;
    uint32_t frame;     /* the most keys of a frame */
    uint32_t frame_min; /* the fewest; each frame has its own number */
    char *memory;       /* of the caller's, of sw_load_prefill_bytes; NULL: some is taken */
};

/* A frame. Its arrays have `frame` elements; the first `count` are sent. */
struct sw_load_prefilled {
    void *keys, *values;
    uint32_t count;
    uint8_t operation; /* enum sw_load_mix_operation, if there is a mix */
};

struct sw_load_prefill {
    uint32_t frames; /* 0: none */
    uint32_t next;
    size_t bytes;                   /* of `memory` */
    char *memory;                   /* owned, unless the plan had some: then NULL */
    struct sw_load_prefilled *each; /* owned: a frame each */
};

/* What prefilled frames of `frame` keys take. */
uint64_t sw_load_prefill_bytes(const struct sw_load_workload *workload, uint32_t frames,
                               uint32_t frame);
/* Draws them. False if memory is short; fini may be called in any case, and on zero bytes. */
bool sw_load_prefill_init(struct sw_load_prefill *prefill, const struct sw_load_prefill_plan *plan);
/* One frame for each `frame` keys of the run, in the order of the keys: frame i has the keys of
 * unit number i. The arrays of the last one go on with the first keys. */
bool sw_load_prefill_all(struct sw_load_prefill *prefill, const struct sw_load_workload *workload,
                         uint32_t frame);
void sw_load_prefill_fini(struct sw_load_prefill *prefill);
/* The next frame, the first again behind the last. */
const struct sw_load_prefilled *sw_load_prefill_take(struct sw_load_prefill *prefill);

#endif
