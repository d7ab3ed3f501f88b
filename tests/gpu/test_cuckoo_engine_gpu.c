/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_engine_gpu.c - batches of the cuckoo engine that are large, in flight, carried out
 * together or of a hot key (what holds of every backend is in tests/table): gives the same random
 * batches to a cuckoo table on CUDA and to one on the CPU, both behind table.h, and compares every
 * answer, refusal and counter (probes and failures apart: which entries meet the chain bound is a
 * matter of timing). From time to time both audit themselves and every key is looked up.
 *
 *   test_cuckoo_engine_gpu [--quick] [--seed N] [--only TEXT] [--one-of N] [--cpu]
 *
 * --seed N: of the random numbers; without it SHERWOOD_SEED, or another one in each run (random.h).
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed. --only
 * takes cases whose line holds the text, --one-of each N-th, other ones for another seed. --cpu
 * compares the CPU table with another one: it checks this program, without a GPU.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/combined.h"
#include "tests/gpu/pair.h"
#include "tests/support/ops.h"
#include "tests/support/random.h"

struct test_case {
    const char *name;
    uint32_t slot_bits;
    uint32_t functions;
    uint64_t capacity;
    uint64_t keys; /* number of keys to draw from */
    uint32_t ops;  /* of the largest batch */
    uint32_t rounds;
    bool one_op;    /* all operations of a batch are the same */
    bool in_flight; /* several batches are submitted before the first is polled */
    bool combined;  /* rounds of writes that are carried out together, and nothing else */
    uint32_t hot;   /* percent of the operations on one key, which is drawn for each batch */
};

#define FLIGHT 16

static uint64_t key_of(const struct pair *pair, uint64_t number)
{
    return number == 0 ? UINT64_MAX >> (128 - pair->slot_bits) / 2 : number * 0x9e3779b97f4a7c15ULL;
}

static struct sw_table_config config_of(const struct test_case *test)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.engine = SW_ENGINE_CUCKOO;
    config.hash_functions = test->functions;
    config.slot_bits = test->slot_bits;
    config.capacity_slots = test->capacity;
    config.max_load = test->functions == 2 ? 0.45 : 0.85;
    config.batch_ops_max = test->ops;
    config.seed = 7;
    config.stash_slots = 1U << 24; /* refuses nothing by itself: timing must not matter */
    return config;
}

/* The next batch. `turn` is the operation of a batch of one, where keys are hot. */
static void draw_batch(struct pair *pair, const struct test_case *test, uint32_t turn)
{
    uint32_t most = pair_below(pair, 3) == 0 ? test->ops : 1 + test->ops / 20;
    uint32_t count = 1 + (uint32_t)pair_below(pair, most);
    uint32_t groups = pair_below(pair, 3) == 0 ? 0 : 1 + count / 50;
    uint32_t op = test->hot > 0 ? turn : (uint32_t)pair_random(pair);
    uint64_t keys = 1 + pair_below(pair, test->keys);
    uint64_t hot = pair_below(pair, 4) == 0 ? 0 : pair_below(pair, keys);
    struct random random = {pair_random(pair)};
    pair->in.op = test->one_op ? (int)ops_at(SW_OPS_INTEGERS, op % OPS_COUNT(SW_OPS_INTEGERS)) : -1;
    pair->in.count = count;
    for (uint32_t i = 0; i < count; i++) {
        bool is_hot = test->hot > 0 && pair_below(pair, 100) < test->hot;
        pair->in.keys[i] = key_of(pair, is_hot ? hot : pair_below(pair, keys));
        pair->in.values[i] = pair_below(pair, 5) == 0 ? pair_random(pair) : pair_below(pair, 100);
        pair->in.ops[i] = (uint8_t)ops_draw(&random, SW_OPS_INTEGERS);
    }
    pair->in.group_count = groups;
    for (uint32_t g = 0; g < groups; g++) {
        pair->in.group_ends[g] = (uint32_t)((uint64_t)count * (g + 1) / groups);
    }
}

/* Every key, and both audits. */
static bool audit(struct pair *pair, const struct test_case *test)
{
    pair->answers = PAIR_ANSWERS_ALL;
    for (uint64_t first = 0; first < test->keys; first += test->ops) {
        uint64_t rest = test->keys - first;
        pair->in.op = SW_GET;
        pair->in.count = rest < test->ops ? (uint32_t)rest : test->ops;
        pair->in.group_count = 0;
        for (uint32_t i = 0; i < pair->in.count; i++) {
            pair->in.keys[i] = key_of(pair, first + i);
        }
        if (!pair_run(pair, true)) {
            return false;
        }
    }
    return pair_audit(pair);
}

/* The same sums, submitted FLIGHT at a time: they follow each other without the host. */
static bool fly(struct pair *pair)
{
    for (int s = 0; s < 2; s++) {
        struct sw_batch batches[FLIGHT];
        struct side *side = &pair->side[s];
        for (uint32_t b = 0; b < FLIGHT; b++) {
            batches[b] = (struct sw_batch){.op = b % 4 == 3 ? SW_GET : SW_SUM,
                                           .count = pair->in.count,
                                           .keys = side->keys,
                                           .values = side->values,
                                           .previous = side->previous,
                                           .found = side->found};
            int status = sw_batch_submit(side->queue, &batches[b]);
            if (status != SW_OK) {
                return pair_fail(pair, "submit in flight: %s", sw_status_text(status));
            }
        }
        for (uint32_t b = 0; b < FLIGHT; b++) {
            int status;
            do {
                status = sw_batch_poll(side->queue, &batches[b]);
            } while (status == SW_PENDING);
        }
    }
    return true;
}

static bool run_rounds(struct pair *pair, const struct test_case *test)
{
    pair->answers = PAIR_ANSWERS_ALL;
    for (uint32_t round = 0; round < test->rounds; round++) {
        draw_batch(pair, test, round);
        if (!pair_run(pair, true) || (test->in_flight && !fly(pair)) ||
            (round % 8 == 7 && !audit(pair, test)) ||
            (round == test->rounds / 2 && !pair_clear(pair))) {
            return false;
        }
    }
    return audit(pair, test);
}

/* Batches of several queues, carried out together (combined.h). */
static bool run_combined(struct pair *pair, const struct test_case *test)
{
    struct random random = {pair_random(pair)};
    struct combined combined;
    bool good = combined_open(&combined, pair->side[0].table, pair->side[1].table, test->ops,
                              test->keys, pair_random(pair)) ||
                pair_fail(pair, "%s", combined.failure);
    for (uint32_t n = 0; good && n < test->rounds; n++) {
        struct combined_round round = {
            .batches = n % 4 == 2 ? COMBINED_BATCHES_MAX : 2 + (uint32_t)pair_below(pair, 59),
            .count_max = n % 4 == 2 ? 3 : 300,
            .large = 5,
            .queues = 1 + n % COMBINED_QUEUES,
            .op = test->one_op ? (enum sw_op)ops_draw(&random, SW_OPS_INTEGERS & ~SW_OPS_READ)
                               : SW_GET,
            .reads = n % COMBINED_QUEUES == 0,
            .clears = n % 4 == 3,
            .fresh = 15,
            .deletes = 20,
            .universe = n % 5 == 0 ? 200 : test->keys,
            .operations = test->ops,
        };
        good = (combined_run(&combined, &round) || pair_fail(pair, "%s", combined.failure)) &&
               audit(pair, test);
    }
    combined_close(&combined);
    return good;
}

/* --- the list --------------------------------------------------------------------------------- */

struct run {
    uint64_t seed;
    const char *only;
    uint64_t one_of; /* 0: all cases */
    uint64_t number; /* of the next */
    enum sw_backend_kind tested;
    unsigned passed;
    unsigned failed;
};

static bool is_next(struct run *run)
{
    return run->one_of <= 1 || run->number++ % run->one_of == 0;
}

static void try_case(struct run *run, const struct test_case *test)
{
    char line[200];
    struct pair pair;
    snprintf(line, sizeof(line),
             "%-12s bits %3u t %u capacity %8" PRIu64 " keys %8" PRIu64 " ops %7u rounds %3u %s",
             test->name, test->slot_bits, test->functions, test->capacity, test->keys, test->ops,
             test->rounds, test->one_op ? "one op" : "mixed");
    if (test->hot > 0) {
        size_t length = strlen(line);
        snprintf(line + length, sizeof(line) - length, ", %u %% of one key", test->hot);
    }
    if ((run->only != NULL && strstr(line, run->only) == NULL) || !is_next(run)) {
        return;
    }
    struct sw_table_config config = config_of(test);
    bool passed = pair_open(&pair, &config, run->tested, run->seed) == SW_OK &&
                  (test->combined ? run_combined(&pair, test) : run_rounds(&pair, test));
    pair_close(&pair);
    printf("%s %s%s%s\n", passed ? "ok    " : "FAILED", line, passed ? "" : ": ", pair.failure);
    fflush(stdout);
    run->passed += passed;
    run->failed += !passed;
}

static void all_cases(struct run *run, bool quick)
{
    for (uint32_t bits = 64; bits <= 128; bits += 64) {
        for (uint32_t functions = 2; functions <= 3; functions++) {
            for (int one_op = 0; one_op < 2; one_op++) {
                uint32_t rounds = quick ? 10 : 40;
                uint32_t large = quick ? 20000 : 200000;
                const struct test_case cases[] = {
                    {"roomy", bits, functions, 8 * large, large, large, rounds, one_op, false,
                     false, 0},
                    {"dense", bits, functions, large, large, large, rounds, one_op, false, false,
                     0},
                    {"in flight", bits, functions, 60000, 20000, 9000, rounds, one_op, true, false,
                     0},
                    {"combined", bits, functions, 8000, 5000, 7000, rounds, one_op, false, true, 0},
                    {"combined, full", bits, functions, 3000, 4000, 7000, rounds, one_op, false,
                     true, 0},
                    /* beside a limit that is in question for the larger batches */
                    {"hot key", bits, functions, 9000, 4000, 7000, rounds, one_op, false, false,
                     10},
                    {"hot key", bits, functions, 9000, 4000, 7000, rounds, one_op, false, false,
                     50},
                    {"hot key", bits, functions, 9000, 4000, 7000, rounds, one_op, false, false,
                     100},
                    {"very hot key", bits, functions, 400000, 2000, 100000, 10, one_op, false,
                     false, 90},
                };
                for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
                    try_case(run, &cases[c]);
                }
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct run run = {.seed = random_seed(), .tested = SW_BACKEND_CUDA};
    bool quick = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            run.seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            run.only = argv[++i];
        } else if (strcmp(argv[i], "--one-of") == 0 && i + 1 < argc) {
            run.one_of = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else if (strcmp(argv[i], "--cpu") == 0) {
            run.tested = SW_BACKEND_CPU;
        } else {
            fprintf(stderr,
                    "usage: test_cuckoo_engine_gpu [--quick] [--seed N] [--only TEXT] [--one-of N] "
                    "[--cpu]\n");
            return 2;
        }
    }
    run.number = run.seed;
    printf("seed %" PRIu64 "\n", run.seed);
    all_cases(&run, quick);
    printf("%u passed, %u failed\n", run.passed, run.failed);
    return run.failed > 0 || run.passed == 0 ? 1 : 0;
}
