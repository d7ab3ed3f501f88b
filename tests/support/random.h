/* SPDX-License-Identifier: MIT
 *
 * random.h - random numbers for tests (splitmix64), other ones in every run.
 *
 * All of a process derive from one seed, which is drawn and printed to stderr at the first use.
 * SHERWOOD_SEED=N takes N instead: to repeat a run that failed. Criterion gives every test a
 * process of its own, so repeat the one that failed: SHERWOOD_SEED=N build/tests/table/test_x
 * --filter 'suite/test'.
 *
 * Threads: random_seed and random_of may be called by any; a struct random belongs to one.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_RANDOM_H
#define SHERWOOD_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t x = random->state += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/* In [0, bound). The bias is far below what a test could notice. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
    return random_next(random) % bound;
}

/* The seed of this process. Ends the process if SHERWOOD_SEED is no number. */
uint64_t random_seed(void);

/* Numbers of their own for each `number`: of a loop, a thread, a kind of table. */
static inline struct random random_of(uint64_t number)
{
    struct random random = {random_seed() + number};
    random.state = random_next(&random); /* else those of neighbours would be one apart */
    return random;
}

#endif
