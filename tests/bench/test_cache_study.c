/* SPDX-License-Identifier: MIT
 *
 * test_cache_study.c - the cache study on the CPU backend: its keys, its command line, its checks
 * against caches that are wrong, and a small run whose every answer is checked.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cache/study.h"
#include "tests/bench/study_files.h"

/* The list of a build with HierarchicalKV. */
#define SW_PEER_HKV
#define sw_cachebench_libraries libraries_with_peers
#include "bench/cache/libraries.c"
#undef sw_cachebench_libraries
const struct sw_cachebench_library sw_cachebench_hkv, sw_cachebench_hkv_host;
const struct sw_cachebench_library sw_cachebench_hkv_memory, sw_cachebench_hkv_memory_gpu;

TestSuite(cache_study, .timeout = 120);

/* --- command line ----------------------------------------------------------------------------- */

static enum sw_study_parsed parse(struct sw_cachebench_options *options, const char *a,
                                  const char *b, const char *c)
{
    char *argv[] = {(char *)(uintptr_t) "cache", (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                    (char *)(uintptr_t)c, NULL};
    int argc = 1;
    while (argv[argc] != NULL) {
        argc++;
    }
    return sw_cachebench_options_parse(options, argc, argv);
}

Test(cache_study, defaults_are_those_of_the_two_benchmarks)
{
    struct sw_cachebench_options options;
    cr_assert_eq(parse(&options, NULL, NULL, NULL), SW_STUDY_RUN);
    cr_expect_eq(options.fill_capacity, 1U << 20);
    cr_expect_eq(options.fill_dim, 64);
    cr_expect_eq(options.fill_loads_count, 6);
    cr_expect_eq(options.batch, 1U << 20);
    cr_expect_eq(options.dims_count, 3);
    cr_expect_eq(options.loads_count, 3);
    cr_expect_eq(options.libraries[0], &sw_cachebench_sherwood_memory);
    cr_expect_eq(options.libraries[1], &sw_cachebench_sherwood_throughput);
}

Test(cache_study, options_choose_a_part)
{
    struct sw_cachebench_options options;
    cr_assert_eq(parse(&options, "--operations=find,erase", "--modes=throughput", "--backend=cpu"),
                 SW_STUDY_RUN);
    cr_expect_eq(options.libraries[0], &sw_cachebench_sherwood_throughput);
    cr_expect_null(options.libraries[1]);
    for (int o = 0; o < SW_CACHEBENCH_OPERATIONS; o++) {
        cr_expect_eq(options.operations[o], o == SW_CACHEBENCH_FIND || o == SW_CACHEBENCH_ERASE);
    }
    cr_assert_eq(parse(&options, "--capacity=8M", "--dims=1,256", "--offers=2"), SW_STUDY_RUN);
    cr_expect_eq(options.capacity, 8U << 20);
    cr_expect_eq(options.dims[1], 256);
    cr_expect_eq(options.offers_count, 1);
}

Test(cache_study, wrong_values_are_refused)
{
    static const char *const wrong[] = {"--backend=gpu",
                                        "--operations=find,x",
                                        "--libraries=none",
                                        "--modes=both",
                                        "--dims=0",
                                        "--dims=8,",
                                        "--loads=1.1",
                                        "--fill-loads=0.5,0.5",
                                        "--capacity=100",
                                        "--capacity=1T",
                                        "--hit-ratio=2",
                                        "--reps=0",
                                        "--offers=0",
                                        "--batch=0",
                                        "--experiments=all",
                                        "--window=0",
                                        "--seconds=-1",
                                        "--seed=-1",
                                        "--libraries=hkv_memoir",
                                        "--fill-dim=300",
                                        "--capacity=2M"};
    struct sw_cachebench_options options;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_eq(parse(&options, wrong[i], NULL, NULL), SW_STUDY_WRONG, "%s", wrong[i]);
    }
}

/* --- a study ---------------------------------------------------------------------------------- */

struct run {
    struct sw_cachebench_options options;
    struct sw_cachebench_report report;
    struct sw_cachebench_study study;
};

static void open_run(struct run *run)
{
    memset(run, 0, sizeof(*run));
    cr_assert_eq(parse(&run->options, "--backend=cpu", "--dims=3,16", NULL), SW_STUDY_RUN);
    run->options.capacity = 8192;
    run->options.fill_capacity = 8192;
    run->options.fill_dim = 4;
    run->options.batch = 1024;
    run->options.reps = 2;
    snprintf(run->options.output, sizeof(run->options.output), "/tmp/cache_study_%d",
             (int)getpid());
    run->study.options = &run->options;
    run->study.report = &run->report;
    run->study.place = &sw_cachebench_host;
    run->study.is_correct = true;
    run->study.is_complete = true;
    cr_assert(sw_cachebench_report_open(&run->report, run->options.output, 0));
}

static void close_run(struct run *run)
{
    static const char *const names[] = {"raw.csv", "summary.csv", "tables.txt", "run_info.txt",
                                        NULL};
    remove_study(run->options.output, names);
}

Test(cache_study, a_small_run_is_complete_and_right)
{
    struct run run;
    open_run(&run);
    sw_cachebench_run(&run.study);
    cr_expect(sw_cachebench_report_close(&run.report));
    cr_expect(run.study.is_correct);
    cr_expect(run.study.is_complete);
    /* two modes: 8 operations at 3 loads and 2 dimensions; insert and find at 6 loads, with
     * scores of the caller and with LRU */
    cr_expect_eq(study_lines(run.options.output, "raw.csv", ",0,0,0,\n"),
                 2 * (8 * 3 * 2 + 2 * 2 * 6) * 2);
    /* and an audit at each, and two retentions */
    cr_expect_eq(study_lines(run.options.output, "summary.csv", ",missed,0,"),
                 2 * (8 * 3 * 2 + 2 * 2 * 6 + 3 * 2 + 2));
    cr_expect_eq(study_lines(run.options.output, "summary.csv", ",fill_insert_lru_dim4,"),
                 study_lines(run.options.output, "summary.csv", ",fill_insert_dim4,"));
    cr_expect_eq(study_lines(run.options.output, "summary.csv", ",retention,"), 2 * 2);
    cr_expect_eq(study_lines(run.options.output, "summary.csv", ",first_eviction_load,"), 2 * 2);
    close_run(&run);
}

/* --- caches that are wrong -------------------------------------------------------------------- */

enum fault { NO_FAULT, LOSES, DOUBLES, MAKES_UP, TEARS, FORGETS_WRITES, KEEPS_ERASED };

/* Sherwood's cache, and what goes wrong in it. */
struct faulty {
    enum fault fault;
    void *inner;
};

static enum fault fault_of(void *cache)
{
    return ((struct faulty *)cache)->fault;
}

static void *faulty_open(enum fault fault, const struct sw_cachebench_wanted *wanted, char *reason,
                         size_t reason_size)
{
    struct faulty *faulty = malloc(sizeof(*faulty));
    faulty->fault = fault;
    faulty->inner = sw_cachebench_sherwood_memory.open(wanted, reason, reason_size);
    return faulty;
}

#define FAULT_MAP(X) \
    X(NO_FAULT) X(LOSES) X(DOUBLES) X(MAKES_UP) X(TEARS) X(FORGETS_WRITES) X(KEEPS_ERASED)

#define OPEN_FAULTY(fault)                                                             \
    static void *open_##fault(const struct sw_cachebench_wanted *wanted, char *reason, \
                              size_t reason_size)                                      \
    {                                                                                  \
        return faulty_open(fault, wanted, reason, reason_size);                        \
    }
FAULT_MAP(OPEN_FAULTY)

static void faulty_close(void *cache)
{
    sw_cachebench_sherwood_memory.close(((struct faulty *)cache)->inner);
    free(cache);
}

static bool faulty_clear(void *cache)
{
    return sw_cachebench_sherwood_memory.clear(((struct faulty *)cache)->inner);
}

static bool faulty_size(void *cache, uint64_t *entries)
{
    bool done = sw_cachebench_sherwood_memory.size(((struct faulty *)cache)->inner, entries);
    *entries += fault_of(cache) == DOUBLES && *entries > 100;
    return done;
}

static uint64_t faulty_capacity(void *cache)
{
    return sw_cachebench_sherwood_memory.capacity(((struct faulty *)cache)->inner);
}

static void spoil_answers(enum fault fault, const struct sw_cachebench_arrays *arrays,
                          uint64_t count)
{
    for (uint64_t j = 0; j < count; j++) {
        bool found = (arrays->bits[j / 64] >> (j % 64) & 1) != 0;
        if ((fault == LOSES && found) || (fault == MAKES_UP && !found)) {
            arrays->bits[j / 64] ^= 1ULL << (j % 64);
            return;
        }
        if (fault == TEARS && found) {
            arrays->values_out[4 * j + 3] += 1;
            return;
        }
    }
}

static bool faulty_call(void *cache, enum sw_cachebench_operation operation,
                        const struct sw_cachebench_arrays *arrays, uint64_t count)
{
    enum fault fault = fault_of(cache);
    if ((fault == FORGETS_WRITES && operation == SW_CACHEBENCH_ASSIGN) ||
        (fault == KEEPS_ERASED && operation == SW_CACHEBENCH_ERASE)) {
        return true;
    }
    bool done = sw_cachebench_sherwood_memory.call(((struct faulty *)cache)->inner, operation,
                                                   arrays, count);
    if (operation == SW_CACHEBENCH_FIND && count > 1) {
        spoil_answers(fault, arrays, count);
    }
    return done;
}

#define FAULTY(kind)                                                                            \
    [kind] = {                                                                                  \
        .name = "faulty",                                                                       \
        .is_table = true,                                                                       \
        .operations = ((1U << SW_CACHEBENCH_OPERATIONS) - 1) & ~SW_CACHEBENCH_BIT(FIND_PLACES), \
        .open = open_##kind,                                                                    \
        .close = faulty_close,                                                                  \
        .clear = faulty_clear,                                                                  \
        .size = faulty_size,                                                                    \
        .capacity = faulty_capacity,                                                            \
        .call = faulty_call,                                                                    \
    },
static const struct sw_cachebench_library faulty_libraries[] = {FAULT_MAP(FAULTY)};

/* Whether a run over it finds every answer right. */
static bool runs_right(enum fault fault, enum sw_cachebench_experiment experiment)
{
    struct run run;
    open_run(&run);
    run.options.libraries[0] = &faulty_libraries[fault];
    run.options.libraries[1] = NULL;
    run.options.dims[0] = 4;
    run.options.dims_count = 1;
    run.options.loads[0] = 0.5;
    run.options.loads_count = 1;
    memset(run.options.experiments, 0, sizeof(run.options.experiments));
    run.options.experiments[experiment] = true;
    sw_cachebench_run(&run.study);
    cr_expect(sw_cachebench_report_close(&run.report));
    close_run(&run);
    return run.study.is_correct;
}

Test(cache_study, every_fault_is_found)
{
    cr_expect(runs_right(NO_FAULT, SW_CACHEBENCH_DO_OPERATIONS));
    cr_expect(!runs_right(LOSES, SW_CACHEBENCH_DO_OPERATIONS));
    cr_expect(!runs_right(DOUBLES, SW_CACHEBENCH_DO_OPERATIONS));
    cr_expect(!runs_right(MAKES_UP, SW_CACHEBENCH_DO_OPERATIONS));
    cr_expect(!runs_right(TEARS, SW_CACHEBENCH_DO_OPERATIONS));
    cr_expect(!runs_right(FORGETS_WRITES, SW_CACHEBENCH_DO_OPERATIONS));
    cr_expect(!runs_right(KEEPS_ERASED, SW_CACHEBENCH_DO_OPERATIONS));
    cr_expect(!runs_right(LOSES, SW_CACHEBENCH_DO_FILL));
    cr_expect(!runs_right(TEARS, SW_CACHEBENCH_DO_FILL));
    cr_expect(!runs_right(LOSES, SW_CACHEBENCH_DO_RETENTION));
    cr_expect(!runs_right(TEARS, SW_CACHEBENCH_DO_RETENTION));
}

/* --- keys ------------------------------------------------------------------------------------- */

Test(cache_study, a_call_has_different_keys_and_the_wanted_share_of_fresh_ones)
{
    struct run run;
    open_run(&run);
    struct sw_cachebench_table table = {.study = &run.study, .next = 3000, .capacity = 8192};
    for (uint64_t count = 1; count < 3000; count += 1 + count / 3) {
        for (uint64_t fresh = 0; fresh <= count; fresh += 1 + count / 5) {
            struct sw_cachebench_query query = sw_cachebench_ask(&table, count, fresh, 5000, 2500);
            bool *asked = calloc(10000, sizeof(*asked));
            uint64_t of_fresh = 0;
            cr_assert_eq(query.count, fresh + (count - fresh < 2500 ? count - fresh : 2500));
            for (uint64_t j = 0; j < query.count; j++) {
                uint64_t number = sw_cachebench_number(&query, j);
                uint64_t key = sw_cachebench_key(number, query.seed);
                cr_assert_lt(number, 10000);
                cr_assert(!asked[number], "a key is asked for twice");
                cr_assert_eq(sw_cachebench_number_of(key, query.seed), number);
                cr_assert(number >= 5000 || (number >= 500 && number < 3000));
                cr_assert_eq(number >= 5000, sw_cachebench_is_fresh(&query, j));
                asked[number] = true;
                of_fresh += number >= 5000;
            }
            cr_assert_eq(of_fresh, fresh);
            free(asked);
        }
    }
    cr_expect(sw_cachebench_report_close(&run.report));
    close_run(&run);
}
