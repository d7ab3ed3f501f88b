/* SPDX-License-Identifier: MIT
 *
 * test_cache_gpu.c - the cache on a GPU against its expected results: every case in both modes,
 * with every policy and several sizes of values, in each way of writing. Prints one line a case;
 * exits with 1 if one failed. tests/table has the tests for all backends (CUDA_SUITE in gpu.mk).
 *
 *   test_cache_gpu [--quick] [--cpu] [--seed N] [--only CASE] [--one-of N]
 *
 * --seed N: of the random numbers; without it SHERWOOD_SEED, or another one in each run (random.h).
 * --one-of runs each N-th, other ones for another seed.
 * --cpu runs the same cases on the CPU backend: are the cases right?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cache/trial.h"

static const struct {
    const char *name;
    uint64_t (*run)(const struct trial_setting *, const struct sw_table_config *);
    bool one_size; /* of values */
} cases[] = {
    {"pressure", case_pressure, false},
    {"combined", case_combined, true},
};

static const char *const policies[] = {"lru", "lfu", "epoch_lru", "epoch_lfu", "custom"};
static const char *const writings[] = {"auto", "locks", "short rows", "long rows"};

static uint64_t one_of; /* 0: everything is run */
static uint64_t next;   /* the number of what comes next */
static uint64_t passed;

static uint64_t run_one(const struct trial_setting *setting, size_t number,
                        const struct sw_table_config *config)
{
    printf("%s %s %s %u bytes, %s\n", cases[number].name,
           config->cache_mode == SW_CACHE_MEMORY ? "memory" : "throughput",
           policies[config->cache_policy], config->value_bytes,
           writings[config->tuning.cache_writing]);
    uint64_t faults = cases[number].run(setting, config);
    printf("%s\n", faults == 0 ? "  ok" : "  FAILED");
    fflush(stdout);
    passed += faults == 0;
    return faults != 0;
}

/* A case in each way of writing. */
static uint64_t run_write_paths(const struct trial_setting *setting, size_t number,
                                struct sw_table_config config)
{
    uint64_t failed = 0;
    int last = config.cache_mode == SW_CACHE_THROUGHPUT ? SW_CACHE_WRITING_LONG_ROWS
                                                        : SW_CACHE_WRITING_SHORT_ROWS;
    for (int writing = SW_CACHE_WRITING_LOCKS; writing <= last; writing++) {
        config.tuning.cache_writing = (enum sw_cache_writing)writing;
        if (one_of <= 1 || next++ % one_of == 0) {
            failed += run_one(setting, number, &config);
        }
    }
    return failed;
}

static uint64_t run_case(const struct trial_setting *setting, size_t number)
{
    static const uint32_t sizes[] = {256, 4, 20, 32, 1024, 24};
    uint64_t failed = 0;
    size_t last = cases[number].one_size ? 1 : sizeof(sizes) / sizeof(sizes[0]);
    for (size_t s = 0; s < last; s++) {
        for (int mode = SW_CACHE_MEMORY; mode <= SW_CACHE_THROUGHPUT; mode++) {
            for (int policy = SW_CACHE_LRU; policy <= SW_CACHE_CUSTOM; policy++) {
                struct sw_table_config config;
                sw_table_config_init(&config);
                config.backend = setting->backend;
                config.engine = SW_ENGINE_CACHE;
                config.seed = setting->seed;
                config.value_bytes = sizes[s];
                config.cache_mode = (enum sw_cache_mode)mode;
                config.cache_policy = (enum sw_cache_policy)policy;
                failed += run_write_paths(setting, number, config);
            }
        }
    }
    return failed;
}

int main(int argc, char **argv)
{
    struct trial_setting setting = {SW_BACKEND_CUDA, random_seed(), 16};
    const char *only = NULL;
    uint64_t failed = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cpu") == 0) {
            setting.backend = SW_BACKEND_CPU;
        } else if (strcmp(argv[i], "--quick") == 0) {
            setting.scale = 1;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            setting.seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--one-of") == 0 && i + 1 < argc) {
            one_of = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else {
            fprintf(stderr, "usage: test_cache_gpu [--quick] [--cpu] [--seed N] [--only CASE] "
                            "[--one-of N]\n");
            return 2;
        }
    }
    next = setting.seed;
    printf("seed %llu\n", (unsigned long long)setting.seed);
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        if (only == NULL || strcmp(only, cases[c].name) == 0) {
            failed += run_case(&setting, c);
        }
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed != 0 || passed == 0;
}
