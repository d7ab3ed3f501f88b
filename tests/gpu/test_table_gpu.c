/* SPDX-License-Identifier: MIT
 *
 * test_table_gpu.c - gives the same batches to a CUDA table and a CPU table and compares them.
 *
 *   test_table_gpu [--small|--quick|--full] [--seed N] [--only TEXT] [--one-of N] [--one-queue]
 *                  [--few|--own-choice] [--cpu]
 *   test_table_gpu --huge SLOTS [--seed N] [--cpu]
 *
 * --seed N: of the random numbers; without it SHERWOOD_SEED, or another one in each run (random.h).
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed.
 * --quick is for checkers that slow the device down; --small is the same without large batches and
 * long runs, for kernels that a CPU carries out (tests/emulator/). --only takes cases whose line
 * holds the text, or all of the texts if it is given several times. --one-of takes each N-th, other
 * ones for another seed. --one-queue leaves out the cases where streams meet. --few takes of the
 * tunings of a table only the first, with bulk and hints always, and --own-choice none. --huge runs
 * one test of a table with this number of 64-bit slots instead. --cpu compares the CPU table with
 * another CPU table: it checks this program, without a GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cases.h"
#include "tests/support/random.h"

static const struct scale QUICK = {
    .size = {{1 << 12, 1 << 11}, {1 << 14, 1 << 13}, {1 << 19, (1 << 18) + 1000}},
    .rounds = 6,
    .tested = SW_BACKEND_CUDA};
static const struct scale FULL = {
    .size = {{1 << 18, 1 << 16}, {1 << 16, 1 << 14}, {1 << 21, 1 << 20}},
    .rounds = 24,
    .tested = SW_BACKEND_CUDA};

#define SMALL_SLOTS (1U << 13)

#define ONLY_MAX 4

struct options {
    struct scale scale;
    uint64_t seed;
    const char *only[ONLY_MAX]; /* all of them must be in a case's line; NULL: none */
    uint64_t one_of;            /* 0: all of them */
    uint64_t huge;              /* slots; 0: the cases instead */
    bool quick;
    bool small;
    bool one_queue;
    uint32_t tuning_max; /* the last tuning taken */
};

/* Number 0 is the table's own choice, 1 is bulk and hints, both always. */
#define TUNINGS 16
#define BLOCK_SIZES 3
static struct sw_table_tuning tuning_of(uint32_t number)
{
    static const uint32_t block_sizes[BLOCK_SIZES] = {0, 64, 1024};
    struct sw_table_tuning tuning = {.bulk = SW_CHOICE_AUTO};
    if (number > 0) {
        uint32_t rest = number - 1;
        tuning.block_size = block_sizes[rest % BLOCK_SIZES];
        tuning.holes = rest / BLOCK_SIZES == 4 ? SW_CHOICE_ALWAYS : SW_CHOICE_NEVER;
        tuning.bulk = rest / BLOCK_SIZES % 2 == 0 && tuning.holes == SW_CHOICE_NEVER
                          ? SW_CHOICE_ALWAYS
                          : SW_CHOICE_NEVER;
        tuning.hints = rest / BLOCK_SIZES / 2 != 1 ? SW_CHOICE_ALWAYS : SW_CHOICE_NEVER;
        tuning.ranges = tuning.hints; /* what is not streamed goes by ranges, or never does */
    }
    return tuning;
}

/* Whether case c is to run with the tuning. */
static bool is_wanted(const struct options *options, const struct test_case *test, size_t c,
                      uint32_t number)
{
    if (number == 0 || number > options->tuning_max) {
        return number == 0;
    }
    bool own_blocks = tuning_of(number).block_size == 0;
    if (options->quick && test->size == SIZE_BIG) {
        return number == 1;
    }
    switch (test->tunings) {
    case TUNINGS_ALL:
        return own_blocks || !options->quick;
    case TUNINGS_OWN_BLOCKS:
        return own_blocks;
    default:
        return number == 1 + (c + options->seed) % (TUNINGS - 1);
    }
}

static void configure(struct sw_table_config *config, const struct test_case *test,
                      const struct scale *scale)
{
    sw_table_config_init(config);
    config->capacity_slots = test->slots != 0 ? test->slots : scale->size[test->size].slots;
    if (test->growth != 0) {
        config->max_capacity_slots = config->capacity_slots;
        config->capacity_slots /= test->growth;
    }
    config->batch_ops_max = test->batch != 0 ? test->batch : scale->size[test->size].batch;
    config->max_load = test->load + (test->room > 0 ? test->room : 0.015);
    config->max_load = config->max_load < 1.0 ? config->max_load : 1.0;
    config->max_probe = test->max_probe;
    config->stash_slots = test->stash;
    config->threads = 2;
}

/* Returns whether the case passed; prints its line. */
static bool run_case(const struct test_case *test, const struct options *options,
                     const struct sw_table_config *config, const char *title)
{
    const struct scale *scale = &options->scale;
    struct pair pair;
    double start = seconds_now();
    bool good = pair_open(&pair, config, scale->tested, options->seed) == SW_OK &&
                test->run(&pair, scale, test->load);
    printf("%s %s (%llu operations, %.2f s)%s%s\n", good ? "ok    " : "FAILED", title,
           (unsigned long long)pair.operations, seconds_now() - start, good ? "" : ": ",
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

static const char *choice_name(enum sw_choice choice)
{
    return choice == SW_CHOICE_ALWAYS ? "always" : choice == SW_CHOICE_NEVER ? "never" : "auto";
}

static void entitle(char *title, size_t size, const struct test_case *test,
                    const struct sw_table_config *config, uint64_t seed)
{
    const struct sw_table_tuning *tuning = &config->tuning;
    int written =
        snprintf(title, size, "%s, %u-bit %s, load %.3g, seed %llu", test->name,
                 config->is_set ? config->slot_bits / 2 : config->slot_bits,
                 config->is_set ? "keys alone" : "slots", test->load, (unsigned long long)seed);
    if (tuning->hints != SW_CHOICE_AUTO && written > 0 && (size_t)written < size) {
        snprintf(title + written, size - (size_t)written, ", bulk %s, hints %s, holes %s, block %u",
                 choice_name(tuning->bulk), choice_name(tuning->hints), choice_name(tuning->holes),
                 tuning->block_size);
    }
}

static bool is_named(const struct options *options, const char *title)
{
    for (int i = 0; i < ONLY_MAX && options->only[i] != NULL; i++) {
        if (strstr(title, options->only[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Too much for a CPU in the place of a GPU. */
static bool is_large(const struct test_case *test)
{
    return test->size != SIZE_MAIN || test->slots > SMALL_SLOTS || test->run == case_pile;
}

/* Returns how many cases failed; prints the sums. */
static unsigned run_cases(const struct options *options)
{
    size_t count;
    const struct test_case *cases = test_cases(&count);
    uint64_t number = options->seed; /* of the case, among those that could be taken */
    unsigned passed = 0;
    unsigned failed = 0;
    for (size_t c = 0; c < count; c++) {
        const struct test_case *test = &cases[c];
        if ((options->one_queue && test->several_queues) ||
            (options->quick && (test->slow || test->full_only)) ||
            (options->small && is_large(test))) {
            continue;
        }
        for (uint32_t run = 0; run < 4 * TUNINGS; run++) {
            struct sw_table_config config;
            char title[160];
            if (!is_wanted(options, test, c, run / 4) || (test->slow && run / 4 > 0)) {
                continue;
            }
            configure(&config, test, &options->scale);
            config.slot_bits = run % 2 == 0 ? 64 : 128;
            config.is_set = run % 4 >= 2;
            config.tuning = tuning_of(run / 4);
            if (config.is_set && !test->sets) {
                continue;
            }
            config.seed = options->seed * 0x9e3779b97f4a7c15ULL + config.slot_bits;
            entitle(title, sizeof(title), test, &config, options->seed);
            if (is_named(options, title) &&
                (options->one_of <= 1 || number++ % options->one_of == 0)) {
                bool good = run_case(test, options, &config, title);
                passed += good;
                failed += !good;
            }
        }
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed + (passed == 0);
}

static bool read_options(int argc, char **argv, struct options *options)
{
    enum sw_backend_kind tested = SW_BACKEND_CUDA;
    int only = 0;
    *options = (struct options){
        .scale = QUICK, .seed = random_seed(), .quick = true, .tuning_max = TUNINGS - 1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--full") == 0) {
            options->scale = FULL;
            options->quick = false;
        } else if (strcmp(argv[i], "--small") == 0) {
            options->small = true;
        } else if (strcmp(argv[i], "--cpu") == 0) {
            tested = SW_BACKEND_CPU;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            options->seed = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            if (only == ONLY_MAX) {
                fprintf(stderr, "--only is taken at most %d times\n", ONLY_MAX);
                return false;
            }
            options->only[only++] = argv[++i];
        } else if (strcmp(argv[i], "--one-of") == 0 && i + 1 < argc) {
            options->one_of = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--huge") == 0 && i + 1 < argc) {
            options->huge = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--one-queue") == 0) {
            options->one_queue = true;
        } else if (strcmp(argv[i], "--own-choice") == 0) {
            options->tuning_max = 0;
        } else if (strcmp(argv[i], "--few") == 0) {
            options->tuning_max = 1;
        } else if (strcmp(argv[i], "--quick") != 0) {
            fprintf(stderr,
                    "usage: %s [--small|--quick|--full] [--seed N] [--only TEXT] [--one-of N] "
                    "[--one-queue] [--few|--own-choice] [--huge SLOTS] [--cpu]\n",
                    argv[0]);
            return false;
        }
    }
    options->scale.tested = tested;
    return true;
}

int main(int argc, char **argv)
{
    struct options options;
    if (!read_options(argc, argv, &options)) {
        return 2;
    }
    if (!introduce(options.scale.tested)) {
        return 1;
    }
    if (options.huge > 0) {
        return run_huge(options.scale.tested, options.huge, options.seed) ? 0 : 1;
    }
    return run_cases(&options) == 0 ? 0 : 1;
}
