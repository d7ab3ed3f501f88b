/* SPDX-License-Identifier: MIT
 *
 * random.c - draws the seed of the tests' random numbers.
 */
#include "tests/support/random.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* Short, so that it is easily typed again. */
#define DRAWN_BITS 32

static struct {
    pthread_once_t once;
    uint64_t seed;
} process = {.once = PTHREAD_ONCE_INIT};

static void draw(void)
{
    const char *text = getenv("SHERWOOD_SEED");
    if (text != NULL) {
        char *end;
        process.seed = strtoull(text, &end, 0);
        if (end == text || *end != '\0') {
            fprintf(stderr, "SHERWOOD_SEED must be a number, not '%s'\n", text);
            exit(2);
        }
    } else if (getrandom(&process.seed, DRAWN_BITS / 8, 0) != DRAWN_BITS / 8) {
        perror("getrandom");
        exit(2);
    }
    fprintf(stderr, "SHERWOOD_SEED=%" PRIu64 "\n", process.seed);
}

uint64_t random_seed(void)
{
    pthread_once(&process.once, draw);
    return process.seed;
}
