/* SPDX-License-Identifier: MIT
 *
 * random_lines.c - how many random lines of 64 bytes a second the threads of a machine read and
 * write: the ceiling of a hash table in host memory, for the part `host` of served.py.
 *
 *   random-lines [--threads N] [--bytes MIB] [--seconds S]
 *
 * Prints a line "name value" for each: random_lines_read and random_lines_write, lines a second of
 * all threads together. The memory has pages of 2 MiB if the kernel provides them. Each thread
 * prefetches AHEAD lines ahead, as the table does.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table/host/memory.h"
#include "table/host/parts.h"

#define LINE_BYTES 64U
#define AHEAD 32U
#define DRAWN 4096U /* lines that a thread draws at a time */
#define THREADS_MAX 256U

struct run {
    uint8_t *memory;
    uint64_t lines;
    double seconds;
    bool writes;
    pthread_barrier_t start;
};

struct reader {
    struct run *run;
    uint64_t state;   /* of the random numbers */
    uint64_t checked; /* uses the lines, so that the compiler keeps the loads */
    double rate;
    pthread_t thread;
};

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void access_lines(struct reader *reader, uint64_t *const *lines)
{
    const bool writes = reader->run->writes;
    for (uint32_t i = 0; i < DRAWN; i++) {
        __builtin_prefetch(lines[i + AHEAD], 0, 3);
        reader->checked += __atomic_load_n(lines[i], __ATOMIC_RELAXED);
        if (writes) { /* threads may write the same line */
            __atomic_store_n(lines[i] + 1, reader->checked, __ATOMIC_RELAXED);
        }
    }
}

static void *reader_main(void *argument)
{
    struct reader *reader = argument;
    struct run *run = reader->run;
    uint64_t *lines[DRAWN + AHEAD];
    uint64_t count = 0;
    pthread_barrier_wait(&run->start);
    const uint64_t begun = sw_now_ns();
    uint64_t now = begun;
    while ((double)(now - begun) < run->seconds * 1e9) {
        for (uint32_t i = 0; i < DRAWN + AHEAD; i++) {
            const uint64_t line =
                (uint64_t)(((__uint128_t)draw(&reader->state) * run->lines) >> 64);
            lines[i] = (uint64_t *)(void *)(run->memory + line * LINE_BYTES);
        }
        access_lines(reader, lines);
        count += DRAWN;
        now = sw_now_ns();
    }
    reader->rate = (double)count * 1e9 / (double)(now - begun);
    return NULL;
}

/* Returns 0 if a thread cannot be started. */
static double rate_of(struct run *run, uint32_t threads)
{
    static struct reader readers[THREADS_MAX];
    double rate = 0;
    pthread_barrier_init(&run->start, NULL, threads);
    for (uint32_t t = 0; t < threads; t++) {
        readers[t] = (struct reader){.run = run, .state = 88172645463325252ULL * (t + 1)};
        if (pthread_create(&readers[t].thread, NULL, reader_main, &readers[t]) != 0) {
            fprintf(stderr, "random-lines: cannot start thread %u of %u\n", t, threads);
            return 0; /* the process ends, with the threads that wait */
        }
    }
    for (uint32_t t = 0; t < threads; t++) {
        pthread_join(readers[t].thread, NULL);
        rate += readers[t].rate;
    }
    pthread_barrier_destroy(&run->start);
    return rate;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"threads", required_argument, NULL, 't'},
                                            {"bytes", required_argument, NULL, 'b'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    struct run run = {.seconds = 0.5};
    uint32_t threads = sw_cpu_cores();
    uint64_t mib = 2048;
    for (int c = getopt_long(argc, argv, "", options, NULL); c != -1;
         c = getopt_long(argc, argv, "", options, NULL)) {
        threads = c == 't' ? (uint32_t)strtoul(optarg, NULL, 10) : threads;
        mib = c == 'b' ? strtoull(optarg, NULL, 10) : mib;
        run.seconds = c == 's' ? strtod(optarg, NULL) : run.seconds;
        threads = c == '?' ? 0 : threads;
    }
    if (optind != argc || threads == 0 || threads > THREADS_MAX || mib == 0) {
        fprintf(stderr, "usage: random-lines [--threads N] [--bytes MIB] [--seconds S]\n");
        return 2;
    }
    run.memory = sw_memory_map_touched(mib << 20);
    run.lines = (mib << 20) / LINE_BYTES;
    if (run.memory == NULL) {
        fprintf(stderr, "random-lines: no memory for %llu MiB\n", (unsigned long long)mib);
        return 1;
    }
    const double reads = rate_of(&run, threads);
    run.writes = true;
    const double writes = reads > 0 ? rate_of(&run, threads) : 0;
    printf("random_lines_read %.0f\nrandom_lines_write %.0f\n", reads, writes);
    return writes > 0 ? 0 : 1;
}
