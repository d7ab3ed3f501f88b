/* SPDX-License-Identifier: MIT
 *
 * place.h - the memory of the cuckoo study's arrays, host or device, and the functions that fill
 * and check them.
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
    uint64_t phantom; /* queries for absent keys that were found */
};

struct sw_cbench_place {
    const struct sw_study_place *memory;
    /* Draws keys[0, count): the numbers 0 .. count - 1. */
    bool (*draw_keys)(uint32_t *keys, uint64_t count, uint64_t seed);
    bool (*draw_queries)(uint32_t *queries, const struct sw_cbench_order *order);
    /* Compares bits, as in sw_batch.found, with the expected results of these queries. */
    bool (*judge)(const uint32_t *found, const struct sw_cbench_order *order,
                  struct sw_cbench_verdict *verdict);
};

extern const struct sw_cbench_place sw_cbench_host;
/* NULL in builds without nvcc. */
const struct sw_cbench_place *sw_cbench_device(void);

/* Returns an order of `count` queries (at least 1), another one for each number; `misses` of them
 * shall miss. */
struct sw_cbench_order sw_cbench_order(uint64_t count, uint64_t misses, uint64_t number,
                                       uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
