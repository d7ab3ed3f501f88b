/* SPDX-License-Identifier: MIT
 *
 * prefill.h - frames whose keys (and values) are drawn before a run and sent again and again.
 *
 * They lie in memory of their own, page by page, and are not written to once they are drawn, so
 * that the kernel may send the pages themselves. One thread.
 */
#ifndef SHERWOOD_LOAD_PREFILL_H
#define SHERWOOD_LOAD_PREFILL_H

#include "bench/load/distribution.h"

struct sw_load_prefill {
    uint32_t frames; /* 0: none */
    uint32_t next;
    size_t keys_bytes; /* of a frame, whole pages */
    size_t values_bytes;
    size_t bytes; /* of all */
    char *memory; /* owned */
};

/* What prefilled frames of `frame` keys take. */
uint64_t sw_load_prefill_bytes(const struct sw_load_workload *workload, uint32_t frames,
                               uint32_t frame);
/* Draws them: by the distribution (a sequential one goes on from frame to frame), with `random` as
 * the generator's first state. False if memory is short; fini may be called in any case, and on
 * zero bytes. */
bool sw_load_prefill_init(struct sw_load_prefill *prefill, const struct sw_load_workload *workload,
                          const struct sw_load_distribution *distribution, uint64_t random,
                          uint32_t frames, uint32_t frame);
void sw_load_prefill_fini(struct sw_load_prefill *prefill);
/* The next frame, the first again behind the last. */
void sw_load_prefill_take(struct sw_load_prefill *prefill, void **keys, void **values);

#endif
