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

#include "table/table.h"
#include "tests/gpu/together.h"
#include "tests/support/ops.h"
#include "tests/support/random.h"

struct test_case {
    const char *name;
    uint32_t slot_bits;
    uint32_t functions;
    uint64_t capacity;
    uint64_t keys; /* drawn from so many */
    uint32_t ops;  /* of the largest batch */
    uint32_t rounds;
    bool one_op;    /* all operations of a batch are the same */
    bool in_flight; /* several batches are submitted before the first is polled */
    bool together;  /* rounds of writes that are carried out together, and nothing else */
    uint32_t hot;   /* so many operations of a hundred are on one key, drawn for each batch */
};

/* One table's end: a queue, and I/O memory for one batch. */
struct side {
    struct sw_table *table;
    struct sw_queue *queue;
    void *keys;
    void *values;
    uint8_t *ops;
    void *previous;
    uint64_t *found;
    uint32_t *ends;
    uint8_t *refused;
    struct sw_batch batch;
};

struct pair {
    struct side side[2];
    const struct test_case *test;
    struct random random;
    uint32_t drawn; /* batches */
    char failure[400];
};

static bool fail(struct pair *pair, const char *text, uint64_t a, uint64_t b)
{
    if (pair->failure[0] == '\0') {
        snprintf(pair->failure, sizeof(pair->failure), "%s (%" PRIx64 ", %" PRIx64 ")", text, a, b);
    }
    return false;
}

/* --- open and close --------------------------------------------------------------------------- */

static void side_close(struct side *side, uint32_t ops)
{
    if (side->table != NULL) {
        sw_io_free(side->table, side->keys, ops * 8UL);
        sw_io_free(side->table, side->values, ops * 8UL);
        sw_io_free(side->table, side->ops, ops);
        sw_io_free(side->table, side->previous, ops * 8UL);
        sw_io_free(side->table, side->found, ops / 8UL + 8);
        sw_io_free(side->table, side->ends, ops * 4UL);
        sw_io_free(side->table, side->refused, ops);
    }
    sw_queue_destroy(side->queue);
    sw_table_destroy(side->table);
}

static bool side_open(struct pair *pair, struct side *side, enum sw_backend_kind backend)
{
    const struct test_case *test = pair->test;
    char reason[256] = "";
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = backend;
    config.engine = SW_ENGINE_CUCKOO;
    config.hash_functions = test->functions;
    config.slot_bits = test->slot_bits;
    config.capacity_slots = test->capacity;
    config.max_load = test->functions == 2 ? 0.45 : 0.85;
    config.batch_ops_max = test->ops;
    config.seed = 7;
    config.stash_slots = 1U << 24; /* refuses nothing by itself: timing must not matter */
    if (sw_table_create(&config, &side->table, reason, sizeof(reason)) != SW_OK ||
        sw_queue_create(side->table, &side->queue) != SW_OK) {
        return fail(pair, reason, 0, 0);
    }
    side->keys = sw_io_alloc(side->table, test->ops * 8UL);
    side->values = sw_io_alloc(side->table, test->ops * 8UL);
    side->ops = sw_io_alloc(side->table, test->ops);
    side->previous = sw_io_alloc(side->table, test->ops * 8UL);
    side->found = sw_io_alloc(side->table, test->ops / 8UL + 8);
    side->ends = sw_io_alloc(side->table, test->ops * 4UL);
    side->refused = sw_io_alloc(side->table, test->ops);
    bool all = side->keys != NULL && side->values != NULL && side->ops != NULL &&
               side->previous != NULL && side->found != NULL && side->ends != NULL &&
               side->refused != NULL;
    return all || fail(pair, "no I/O memory", 0, 0);
}

/* --- a batch ---------------------------------------------------------------------------------- */

static uint64_t word_of(const struct pair *pair, const void *array, uint64_t i)
{
    return pair->test->slot_bits == 64 ? ((const uint32_t *)array)[i]
                                       : ((const uint64_t *)array)[i];
}

static void word_set(const struct pair *pair, void *array, uint64_t i, uint64_t word)
{
    if (pair->test->slot_bits == 64) {
        ((uint32_t *)array)[i] = (uint32_t)word;
    } else {
        ((uint64_t *)array)[i] = word;
    }
}

static uint64_t key_of(const struct pair *pair, uint64_t number)
{
    uint64_t ones = pair->test->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
    return number == 0 ? ones : (number * 0x9e3779b97f4a7c15ULL) & ones;
}

/* The same batch on both sides. */
static void draw(struct pair *pair)
{
    struct random *random = &pair->random;
    const struct test_case *test = pair->test;
    uint32_t most = random_below(random, 3) == 0 ? test->ops : 1 + test->ops / 20;
    uint32_t count = 1 + (uint32_t)random_below(random, most);
    uint32_t groups = (uint32_t)random_below(random, 3) == 0 ? 0 : 1 + count / 50;
    uint32_t all =
        ops_at(SW_OPS_INTEGERS, (test->hot > 0 ? pair->drawn++ : (uint32_t)random_next(random)) %
                                    OPS_COUNT(SW_OPS_INTEGERS));
    uint64_t keys = 1 + random_below(random, test->keys);
    uint64_t hot = random_below(random, 4) == 0 ? 0 : random_below(random, keys);
    for (uint32_t i = 0; i < count; i++) {
        bool is_hot = test->hot > 0 && random_below(random, 100) < test->hot;
        uint64_t key = key_of(pair, is_hot ? hot : random_below(random, keys));
        uint64_t value =
            random_below(random, 5) == 0 ? random_next(random) : random_below(random, 100);
        uint8_t op = (uint8_t)(test->one_op ? all : ops_draw(random, SW_OPS_INTEGERS));
        for (int s = 0; s < 2; s++) {
            word_set(pair, pair->side[s].keys, i, key);
            word_set(pair, pair->side[s].values, i, value);
            pair->side[s].ops[i] = op;
        }
    }
    for (int s = 0; s < 2; s++) {
        struct side *side = &pair->side[s];
        for (uint32_t g = 0; g < groups; g++) {
            side->ends[g] = (uint32_t)((uint64_t)count * (g + 1) / groups);
        }
        memset(side->previous, 0xA5, count * 8UL);
        memset(side->found, 0xA5, (count + 63) / 64 * 8UL);
        side->batch = (struct sw_batch){
            .op = (enum sw_op)all,
            .ops = test->one_op ? NULL : side->ops,
            .count = count,
            .keys = side->keys,
            .values = side->values,
            .previous = side->previous,
            .found = side->found,
            .group_count = groups,
            .group_ends = groups > 0 ? side->ends : NULL,
            .group_refused = groups > 0 ? side->refused : NULL,
        };
    }
}

static bool compare_counters(struct pair *pair)
{
    const struct sw_counters *a = &pair->side[0].batch.counters;
    const struct sw_counters *b = &pair->side[1].batch.counters;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        if (a->by_class[c].operations != b->by_class[c].operations ||
            a->by_class[c].hits != b->by_class[c].hits ||
            a->by_class[c].misses != b->by_class[c].misses) {
            return fail(pair, "hits of a class", a->by_class[c].hits, b->by_class[c].hits);
        }
    }
    if (a->inserted != b->inserted || a->updated != b->updated) {
        return fail(pair, "inserted", a->inserted, b->inserted);
    }
    if (a->deleted != b->deleted || a->refused != b->refused) {
        return fail(pair, "deleted or refused", a->refused, b->refused);
    }
    return true;
}

static bool compare_answers(struct pair *pair)
{
    const struct side *a = &pair->side[0];
    const struct side *b = &pair->side[1];
    uint32_t group = 0;
    bool alone_refused = a->batch.group_count == 0 && a->batch.status == SW_E_FULL;
    for (uint32_t i = 0; i < a->batch.count && !alone_refused; i++) {
        while (group < a->batch.group_count && i >= a->ends[group]) {
            group++;
        }
        if (a->batch.group_count > 0 && a->refused[group] != b->refused[group]) {
            return fail(pair, "refused", group, a->refused[group]);
        }
        if (a->batch.group_count > 0 && a->refused[group] != 0) {
            continue;
        }
        if ((a->found[i / 64] >> i % 64 & 1) != (b->found[i / 64] >> i % 64 & 1)) {
            return fail(pair, "found", i, a->found[i / 64] >> i % 64 & 1);
        }
        if (word_of(pair, a->previous, i) != word_of(pair, b->previous, i)) {
            return fail(pair, "previous", word_of(pair, a->previous, i),
                        word_of(pair, b->previous, i));
        }
    }
    uint32_t count = a->batch.count;
    if (count % 64 != 0 && b->found[count / 64] >> count % 64 != 0) {
        return fail(pair, "unused bits of found", count, b->found[count / 64]);
    }
    return true;
}

static bool run_both(struct pair *pair)
{
    int first = sw_batch_run(pair->side[0].queue, &pair->side[0].batch);
    int second = sw_batch_run(pair->side[1].queue, &pair->side[1].batch);
    if (first != second) {
        return fail(pair, "status", (uint64_t)first, (uint64_t)second);
    }
    return compare_answers(pair) && compare_counters(pair);
}

/* Every key, and both audits. */
static bool audit(struct pair *pair)
{
    struct sw_table_stats stats[2];
    for (uint64_t first = 0; first < pair->test->keys; first += pair->test->ops) {
        uint64_t rest = pair->test->keys - first;
        uint32_t count = rest < pair->test->ops ? (uint32_t)rest : pair->test->ops;
        for (int s = 0; s < 2; s++) {
            struct side *side = &pair->side[s];
            for (uint32_t i = 0; i < count; i++) {
                word_set(pair, side->keys, i, key_of(pair, first + i));
            }
            side->batch = (struct sw_batch){.op = SW_GET,
                                            .count = count,
                                            .keys = side->keys,
                                            .previous = side->previous,
                                            .found = side->found};
        }
        if (!run_both(pair)) {
            return false;
        }
    }
    for (int s = 0; s < 2; s++) {
        char violation[200] = "";
        if (sw_table_check(pair->side[s].table, violation, sizeof(violation)) != SW_OK) {
            return fail(pair, violation, (uint64_t)s, 0);
        }
        sw_table_stats(pair->side[s].table, &stats[s]);
    }
    return stats[0].occupied == stats[1].occupied ||
           fail(pair, "occupied", stats[0].occupied, stats[1].occupied);
}

static bool clear_both(struct pair *pair)
{
    struct sw_batch clear[2] = {{.kind = SW_BATCH_CLEAR}, {.kind = SW_BATCH_CLEAR}};
    for (int s = 0; s < 2; s++) {
        if (sw_batch_run(pair->side[s].queue, &clear[s]) != SW_OK) {
            return fail(pair, "clear", (uint64_t)s, 0);
        }
    }
    return clear[0].counters.deleted == clear[1].counters.deleted ||
           fail(pair, "cleared", clear[0].counters.deleted, clear[1].counters.deleted);
}

/* The same sums, submitted 16 at a time: they follow each other without the host. */
#define FLIGHT 16
static bool fly(struct pair *pair)
{
    for (int s = 0; s < 2; s++) {
        struct sw_batch batches[FLIGHT];
        struct side *side = &pair->side[s];
        for (uint32_t b = 0; b < FLIGHT; b++) {
            batches[b] = (struct sw_batch){.op = b % 4 == 3 ? SW_GET : SW_SUM,
                                           .count = side->batch.count,
                                           .keys = side->keys,
                                           .values = side->values,
                                           .previous = side->previous,
                                           .found = side->found};
            if (sw_batch_submit(side->queue, &batches[b]) != SW_OK) {
                return fail(pair, "submit in flight", b, 0);
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

static bool run_rounds(struct pair *pair)
{
    for (uint32_t round = 0; round < pair->test->rounds; round++) {
        draw(pair);
        if (!run_both(pair) || (pair->test->in_flight && !fly(pair)) ||
            (round % 8 == 7 && !audit(pair)) ||
            (round == pair->test->rounds / 2 && !clear_both(pair))) {
            return false;
        }
    }
    return audit(pair);
}

/* Batches of several queues, carried out together (together.h). */
static bool run_together(struct pair *pair)
{
    const struct test_case *test = pair->test;
    struct random *random = &pair->random;
    struct together together;
    bool good = together_open(&together, pair->side[0].table, pair->side[1].table, test->ops,
                              test->keys, random_next(random));
    for (uint32_t n = 0; good && n < test->rounds; n++) {
        struct together_round round = {
            .batches = n % 4 == 2 ? TOGETHER_BATCHES_MAX : 2 + (uint32_t)random_below(random, 59),
            .count_max = n % 4 == 2 ? 3 : 300,
            .large = 5,
            .queues = 1 + n % TOGETHER_QUEUES,
            .op = test->one_op ? (enum sw_op)ops_draw(random, SW_OPS_INTEGERS & ~SW_OPS_READ)
                               : SW_GET,
            .reads = n % TOGETHER_QUEUES == 0,
            .clears = n % 4 == 3,
            .fresh = 15,
            .deletes = 20,
            .universe = n % 5 == 0 ? 200 : test->keys,
            .operations = test->ops,
        };
        good = together_run(&together, &round) && audit(pair);
    }
    good = good || fail(pair, together.failure, 0, 0);
    together_close(&together);
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
    memset(&pair, 0, sizeof(pair));
    pair.test = test;
    pair.random.state = run->seed;
    bool passed = side_open(&pair, &pair.side[0], SW_BACKEND_CPU) &&
                  side_open(&pair, &pair.side[1], run->tested) &&
                  (test->together ? run_together(&pair) : run_rounds(&pair));
    side_close(&pair.side[0], test->ops);
    side_close(&pair.side[1], test->ops);
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
                    {"together", bits, functions, 8000, 5000, 7000, rounds, one_op, false, true, 0},
                    {"together, full", bits, functions, 3000, 4000, 7000, rounds, one_op, false,
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
