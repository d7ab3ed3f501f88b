/* SPDX-License-Identifier: MIT
 *
 * random.h - random words in device memory, by cuRAND's generator Philox4_32_10.
 *
 * Functions wait for the device; on false one line on stderr says why. Threads: one.
 */
#ifndef SHERWOOD_BENCH_STUDY_RANDOM_H
#define SHERWOOD_BENCH_STUDY_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Identifies a draw: the seed, and a number below 2^32 that is used once. */
struct sw_study_draw {
    uint64_t seed;
    uint64_t number;
};

/* Fills memory with words uniform over 32 bits. bytes is a multiple of 4. */
bool sw_study_fill(void *memory, size_t bytes, struct sw_study_draw draw);

/* Compares two pieces of memory of `bytes` bytes, a multiple of 4. */
bool sw_study_equal(const void *a, const void *b, size_t bytes, bool *equal);

#ifdef __cplusplus
}
#endif

#endif
