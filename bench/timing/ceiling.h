/* SPDX-License-Identifier: MIT
 *
 * ceiling.h - the rates of device memory that the table is held against.
 */
#ifndef SHERWOOD_BENCH_TIMING_CEILING_H
#define SHERWOOD_BENCH_TIMING_CEILING_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is measured: a copy moves its payload twice (a read and a write); a gather reads lines of
 * `line_bytes` at random places, each line by one thread. */
enum sw_timing_ceiling {
    SW_TIMING_COPY_MEMCPY, /* the runtime's own */
    SW_TIMING_COPY_UINT4,  /* a kernel of 16-byte loads and stores */
    SW_TIMING_GATHER_32,
    SW_TIMING_GATHER_64,
    SW_TIMING_GATHER_128,
    SW_TIMING_CEILINGS
};

/* Static storage: copy_memcpy, gather_32, .. */
const char *sw_timing_ceiling_name(enum sw_timing_ceiling which);

struct sw_timing_memory {
    uint64_t bytes;  /* of each of the two; a power of two, at least 4096 */
    void *source;    /* random words */
    void *target;    /* of the copies */
    uint64_t *sink;  /* where a gather would write if it ever did */
    uint64_t gather; /* number of the next gather: each reads other places */
};

/* On false nothing is allocated and one line on stderr says why. */
bool sw_timing_memory_open(struct sw_timing_memory *memory, uint64_t bytes, uint64_t seed);
void sw_timing_memory_close(struct sw_timing_memory *memory);

/* One repetition, timed by events. *moved receives the bytes read plus written, *operations the
 * lines gathered (0 for copies). A copy is compared with its source afterwards. On false one line
 * on stderr says why. */
bool sw_timing_ceiling_run(struct sw_timing_memory *memory, enum sw_timing_ceiling which,
                           double *seconds, uint64_t *moved, uint64_t *operations);

#ifdef __cplusplus
}
#endif

#endif
