/* SPDX-License-Identifier: MIT
 *
 * random.h - repeatable random numbers for tests (splitmix64). Print the seed.
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

#endif
