/* SPDX-License-Identifier: MIT
 *
 * test_table_gpu.c - gives the same batches to a CUDA table and a CPU table and compares them.
 *
 *   test_table_gpu [--quick|--full] [--seed N] [--only TEXT] [--self]
 *
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed.
 * --quick is for checkers that slow the device down; --only takes cases whose line holds the text;
 * --self compares the CPU table with another CPU table: it checks this program, without a GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/gpu/cases.h"

static const struct test_case CASES[] = {
    {.name = "mixed", .run = case_mixed, .load = 0.1, .room = 0.2, .stash = 1024},
    {.name = "mixed", .run = case_mixed, .load = 0.5, .room = 0.2, .stash = 1024},
    {.name = "mixed, no stash", .run = case_mixed, .load = 0.5, .room = 0.2},
    {.name = "mixed", .run = case_mixed, .load = 0.85, .room = 0.2, .stash = 1024},
    {.name = "mixed", .run = case_mixed, .load = 0.95, .room = 0.2, .stash = 1024},
    {.name = "mixed", .run = case_mixed, .load = 0.98, .room = 0.2, .stash = 1024},
    {.name = "each operation", .run = case_each_operation, .load = 0.8, .stash = 1024},
    {.name = "delete half", .run = case_delete_half, .load = 0.5, .stash = 1024},
    {.name = "delete half", .run = case_delete_half, .load = 0.85, .stash = 1024},
    {.name = "delete half", .run = case_delete_half, .load = 0.98, .stash = 1024},
    {.name = "delete half, no stash", .run = case_delete_half, .load = 0.95},
    {.name = "extreme keys", .run = case_extremes, .load = 0.5, .slots = 256, .stash = 64},
    {.name = "extreme keys, one bucket",
     .run = case_extremes,
     .load = 1.0,
     .slots = 4,
     .stash = 64},
    {.name = "hot key", .run = case_hot_key, .load = 0.5, .slots = 64, .batch = 1, .stash = 64},
    {.name = "big batch",
     .run = case_big_batch,
     .load = 0.8,
     .room = 0.2,
     .slots = 1,
     .stash = 1024},
    {.name = "scan and clear", .run = case_scan_and_clear, .load = 0.7, .stash = 1024},
    {.name = "scan and clear, no stash", .run = case_scan_and_clear, .load = 0.9},
    {.name = "one home",
     .run = case_one_home,
     .load = 0.8,
     .max_probe = 4,
     .slots = 8192,
     .stash = 1024},
    {.name = "one home, no stash",
     .run = case_one_home,
     .load = 0.8,
     .max_probe = 4,
     .slots = 8192},
    {.name = "one home, mixed",
     .run = case_one_home_mixed,
     .load = 0.8,
     .max_probe = 6,
     .slots = 8192,
     .stash = 4096},
    {.name = "scan of a long run",
     .run = case_scan_long_run,
     .load = 0.8,
     .max_probe = 1,
     .slots = 1 << 18,
     .stash = 1 << 17,
     .slow = true},
    {.name = "one home, repeated",
     .run = case_one_home_repeated,
     .load = 0.8,
     .max_probe = 6,
     .slots = 8192,
     .stash = 40},
    {.name = "one home, repeated, no stash",
     .run = case_one_home_repeated,
     .load = 0.8,
     .max_probe = 6,
     .slots = 8192},
    {.name = "one home, repeated, limit, no stash",
     .run = case_one_home_repeated,
     .load = 0.6,
     .max_probe = 1,
     .slots = 128},
    {.name = "groups at the limit",
     .run = case_groups_at_limit,
     .load = 0.6,
     .slots = 2048,
     .stash = 1024},
    {.name = "groups at the limit, no stash",
     .run = case_groups_at_limit,
     .load = 0.9,
     .slots = 2048},
    {.name = "refused as a whole",
     .run = case_refused_whole,
     .load = 0.7,
     .slots = 2048,
     .stash = 1024},
    {.name = "batches in flight",
     .run = case_in_flight,
     .load = 0.5,
     .slots = 256,
     .stash = 64,
     .several_queues = true},
    {.name = "threads", .run = case_threads, .load = 0.8, .stash = 1024, .several_queues = true},
};

static const struct scale QUICK = {.slots = 1 << 12,
                                   .batch = 1 << 11,
                                   .rounds = 6,
                                   .big_slots = 1 << 19,
                                   .big_batch = (1 << 18) + 1000,
                                   .hot = 3000,
                                   .tested = SW_BACKEND_CUDA};
static const struct scale FULL = {.slots = 1 << 18,
                                  .batch = 1 << 16,
                                  .rounds = 24,
                                  .big_slots = 1 << 21,
                                  .big_batch = 1 << 20,
                                  .hot = 1 << 16,
                                  .tested = SW_BACKEND_CUDA};

static void configure(struct sw_table_config *config, const struct test_case *test,
                      const struct scale *scale, uint32_t slot_bits, uint64_t seed)
{
    bool big = test->run == case_big_batch;
    sw_table_config_init(config);
    config->slot_bits = slot_bits;
    config->capacity_slots = big ? scale->big_slots : test->slots != 0 ? test->slots : scale->slots;
    config->batch_ops_max = big ? scale->big_batch : scale->batch;
    if (test->run == case_hot_key) {
        config->batch_ops_max = scale->hot;
    }
    config->max_load = test->load + (test->room > 0 ? test->room : 0.015);
    config->max_load = config->max_load < 1.0 ? config->max_load : 1.0;
    config->max_probe = test->max_probe;
    config->stash_slots = test->stash;
    config->threads = 2;
    config->seed = seed;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns whether the case passed; prints its line. */
static bool run_case(const struct test_case *test, const struct scale *scale, uint32_t slot_bits,
                     uint64_t seed, const char *title)
{
    struct sw_table_config config;
    struct pair pair;
    double start = seconds();
    configure(&config, test, scale, slot_bits, seed * 0x9e3779b97f4a7c15ULL + slot_bits);
    bool good = pair_open(&pair, &config, scale->tested, seed) == SW_OK &&
                test->run(&pair, scale, test->load);
    printf("%s %s (%llu operations, %.2f s)%s%s\n", good ? "ok    " : "FAILED", title,
           (unsigned long long)pair.operations, seconds() - start, good ? "" : ": ",
           good ? "" : pair.failure);
    fflush(stdout);
    pair_close(&pair);
    return good;
}

/* Says on which device the cases run. Returns false, having said why, if there is none. */
static bool introduce(enum sw_backend_kind tested)
{
    struct sw_table_config config;
    struct sw_table *table = NULL;
    struct sw_table_info info;
    char reason[256];
    sw_table_config_init(&config);
    config.backend = tested;
    config.capacity_slots = 1024;
    config.batch_ops_max = 1024;
    int status = sw_table_create(&config, &table, reason, sizeof(reason));
    if (status != SW_OK) {
        fprintf(stderr, "The GPU tests need a CUDA device: %s (%s).\n", reason,
                sw_status_text(status));
        return false;
    }
    sw_table_info(table, &info);
    printf("tested backend: %s, %s\n", info.backend_name, info.backend_reason);
    sw_table_destroy(table);
    return true;
}

int main(int argc, char **argv)
{
    struct scale scale = QUICK;
    enum sw_backend_kind tested = SW_BACKEND_CUDA;
    uint64_t seed = 1;
    const char *only = "";
    bool one_queue = false;
    bool quick = true;
    unsigned passed = 0;
    unsigned failed = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--full") == 0) {
            scale = FULL;
            quick = false;
        } else if (strcmp(argv[i], "--self") == 0) {
            tested = SW_BACKEND_CPU;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--one-queue") == 0) {
            one_queue = true; /* without the cases where streams meet */
        } else if (strcmp(argv[i], "--quick") != 0) {
            fprintf(stderr,
                    "usage: %s [--quick|--full] [--seed N] [--only TEXT] [--one-queue] [--self]\n",
                    argv[0]);
            return 2;
        }
    }
    scale.tested = tested;
    if (!introduce(tested)) {
        return 1;
    }
    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]); c++) {
        for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
            char title[128];
            snprintf(title, sizeof(title), "%s, %u-bit slots, load %.2f, seed %llu", CASES[c].name,
                     slot_bits, CASES[c].load, (unsigned long long)seed);
            if (strstr(title, only) != NULL && !(one_queue && CASES[c].several_queues) &&
                !(quick && CASES[c].slow)) {
                bool good = run_case(&CASES[c], &scale, slot_bits, seed, title);
                passed += good;
                failed += !good;
            }
        }
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
