/* SPDX-License-Identifier: MIT
 *
 * random.cuh - the random generator of a draw, for kernels.
 */
#ifndef SHERWOOD_BENCH_STUDY_RANDOM_CUH
#define SHERWOOD_BENCH_STUDY_RANDOM_CUH

#include <curand_kernel.h>

#include "bench/study/random.h"

/* Words of a subsequence between two draws: no draw uses nearly this number. */
#define SW_STUDY_DRAW_WORDS (1ULL << 20)

/* Returns the generator of one thread: a subsequence, from the start of the draw. */
static __device__ inline curandStatePhilox4_32_10_t sw_study_generator(struct sw_study_draw draw,
                                                                       uint64_t subsequence)
{
    curandStatePhilox4_32_10_t state;
    curand_init((unsigned long long)draw.seed, (unsigned long long)subsequence,
                (unsigned long long)(draw.number * SW_STUDY_DRAW_WORDS), &state);
    return state;
}

#endif
