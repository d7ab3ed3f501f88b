/* SPDX-License-Identifier: MIT
 *
 * place.h - where the cuckoo study's arrays lie, host or device, and what fills and checks them.
 *
 * Members that return bool wait until their work is done; on false one line on stderr says why.
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_PLACE_H
#define SHERWOOD_BENCH_CUCKOO_PLACE_H

#include "bench/cuckoo/draw.h"
#include "bench/study/place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result of a check of answers. */
struct sw_cbench_verdict {
    uint64_t missed;  /* queries for stored keys that were not found */
    uint64_t phantom; /* queries for absent keys that were */
};

struct sw_cbench_place {
    const struct sw_study_place *memory;
    /* keys[0, count): numbers 0 .. count - 1. */
    bool (*draw_keys)(uint32_t *keys, uint64_t count, uint64_t seed);
    bool (*draw_queries)(uint32_t *queries, const struct sw_cbench_order *order);
    /* Bits as in sw_batch.found, against what the queries of that order must give. */
    bool (*judge)(const uint32_t *found, const struct sw_cbench_order *order,
                  struct sw_cbench_verdict *verdict);
};

extern const struct sw_cbench_place sw_cbench_host;
/* NULL where nvcc was not found. */
const struct sw_cbench_place *sw_cbench_device(void);

/* An order of `count` (at least 1) that is another one for each number; `misses` of them are to
 * miss. */
struct sw_cbench_order sw_cbench_order(uint64_t count, uint64_t misses, uint64_t number,
                                       uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
