/* SPDX-License-Identifier: MIT
 *
 * tested.c - reads from the environment which backend and engine are tested.
 */
#include "tests/support/tested.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random.h"

/* Numbers of random_of that no test has of its own. */
#define OF_TUNINGS (1ULL << 40)
#define OF_ROWS (1ULL << 41)
#define OF_PLACES (1ULL << 42)
/* Rows that a small table uses, at most. */
#define PLACED_ROWS 5000

/* Returns the index of the name in the environment variable: 0 if it is not set. */
static int choice_of(const char *variable, const char *const *names, int count)
{
    const char *value = getenv(variable);
    for (int i = 0; i < count; i++) {
        if (value == NULL || strcmp(value, names[i]) == 0) {
            return i;
        }
    }
    fprintf(stderr, "%s must be", variable);
    for (int i = 0; i < count; i++) {
        fprintf(stderr, "%s %s", i == 0 ? "" : i + 1 < count ? "," : " or", names[i]);
    }
    fprintf(stderr, ", not '%s'\n", value);
    exit(2);
}

enum sw_backend_kind tested_backend(void)
{
    static const char *const names[] = {"cpu", "cuda"};
    return choice_of("SW_TEST_BACKEND", names, 2) == 0 ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
}

static int engine_choice(void)
{
    static const char *const names[] = {"robin_hood", "cuckoo", "cache", "rows"};
    return choice_of("SW_TEST_ENGINE", names, 4);
}

enum sw_engine tested_engine(void)
{
    static const enum sw_engine engines[] = {SW_ENGINE_ROBIN_HOOD, SW_ENGINE_CUCKOO,
                                             SW_ENGINE_CACHE, SW_ENGINE_ROBIN_HOOD};
    return engines[engine_choice()];
}

const uint32_t tested_row_sizes[TESTED_ROW_SIZES] = {4, 60, 256, 1028, 4096};

uint32_t tested_value_bytes(void)
{
    static atomic_uint drawn;
    const char *value = getenv("SW_TEST_ROW_BYTES");
    if (engine_choice() != 3) {
        return 0;
    }
    for (int i = 0; i < TESTED_ROW_SIZES && value != NULL; i++) {
        if (strtoul(value, NULL, 10) == tested_row_sizes[i]) {
            return tested_row_sizes[i];
        }
    }
    if (value != NULL) {
        fprintf(stderr, "SW_TEST_ROW_BYTES must be 4, 60, 256, 1028 or 4096, not '%s'\n", value);
        exit(2);
    }
    struct random random = random_of(OF_ROWS + atomic_fetch_add(&drawn, 1));
    return tested_row_sizes[random_below(&random, TESTED_ROW_SIZES)];
}

void tested_place(struct sw_table_config *config)
{
    static atomic_uint drawn;
    static const char *const names[] = {"any", "gpu", "host", "both"};
    const int choice = choice_of("SW_TEST_ROWS_IN", names, 4);
    if (config->backend != SW_BACKEND_CUDA) {
        return;
    }
    struct random random = random_of(OF_PLACES + atomic_fetch_add(&drawn, 1));
    const uint64_t places = config->engine == SW_ENGINE_CACHE ? 2 : 3;
    config->rows_in =
        (enum sw_rows_in)(choice > 0 ? (uint64_t)choice - 1 : random_below(&random, places));
    if (config->rows_in == SW_ROWS_IN_GPU_HOST) {
        const uint64_t most = random_below(&random, 2) == 0 ? 30 : PLACED_ROWS;
        const uint64_t bytes = (config->value_bytes + 15) / 16 * 16; /* of a row */
        config->rows_gpu_bytes = (1 + random_below(&random, most)) * bytes;
    }
}

uint32_t tested_share(void)
{
    const char *value = getenv("SW_TEST_SHARE");
    char *end = NULL;
    unsigned long share = value == NULL ? 1 : strtoul(value, &end, 10);
    if (share < 1 || share > UINT32_MAX || (end != NULL && *end != '\0')) {
        fprintf(stderr, "SW_TEST_SHARE must be a number from 1 on, not '%s'\n", value);
        exit(2);
    }
    return (uint32_t)share;
}

bool tested_now(uint32_t number, uint32_t count)
{
    uint32_t share = tested_share() < count ? tested_share() : count;
    return share <= 1 || (number + random_seed()) % share == 0;
}

static enum sw_choice draw_choice(struct random *random)
{
    static const enum sw_choice choices[] = {SW_CHOICE_AUTO, SW_CHOICE_ALWAYS, SW_CHOICE_NEVER};
    return choices[random_below(random, 3)];
}

void tested_tune(struct sw_table_config *config)
{
    static atomic_uint drawn;
    static const uint32_t block_sizes[] = {0, 64, 1024};
    const bool rows = config->cache_mode == SW_CACHE_THROUGHPUT;
    struct sw_table_tuning *tuning = &config->tuning;
    if (tested_backend() != SW_BACKEND_CUDA) {
        return;
    }
    struct random random = random_of(OF_TUNINGS + atomic_fetch_add(&drawn, 1));
    if (random_below(&random, 2) == 0) {
        return;
    }
    tuning->block_size = block_sizes[random_below(&random, 3)];
    if (config->engine == SW_ENGINE_ROBIN_HOOD) {
        tuning->bulk = draw_choice(&random);
        tuning->ranges = draw_choice(&random);
        tuning->hints = draw_choice(&random);
        tuning->holes = draw_choice(&random);
    } else if (config->engine == SW_ENGINE_CACHE) {
        uint64_t last = rows ? SW_CACHE_WRITING_LONG_ROWS : SW_CACHE_WRITING_SHORT_ROWS;
        tuning->cache_writing = (enum sw_cache_writing)random_below(&random, last + 1);
    }
}

void tested_with_rows(void (*run)(uint32_t slot_bits, uint32_t value_bytes))
{
    for (uint32_t i = 0; i < TESTED_ROW_SIZES; i++) {
        if (tested_now(i, TESTED_ROW_SIZES)) {
            run(64, tested_row_sizes[i]);
            run(128, tested_row_sizes[i]);
        }
    }
}
