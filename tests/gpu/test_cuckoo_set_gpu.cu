/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_set_gpu.cu - gives the same keys to a cuckoo set of bench/cuckoo on CUDA and to one
 * on the CPU and compares what look-ups answer; every key is in one cell, beside them or handed
 * back.
 *
 *   test_cuckoo_set_gpu [--seed N] [--only TEXT] [--cpu]
 *
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed. --only
 * takes cases whose line holds the text. --cpu compares the CPU set with another one: it checks
 * this program, without a GPU.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "bench/cuckoo/set/ops.h"

namespace
{

struct test_case {
    struct sw_cset_config config;
    uint64_t count;      /* keys stored */
    uint64_t batch;      /* of one insert */
    bool must_fit;       /* no key is handed back; otherwise some must be */
    bool wants_rehashes; /* there must have been one */
};

/* Keys 0 .. count - 1 are stored, as many after them are absent; key 0 is that of all ones. In
 * managed memory: both sets reach it. */
struct data {
    uint64_t count;
    uint32_t *keys;
    uint32_t *found[2]; /* by set: CPU, CUDA */
};

char failure[256];
bool on_host; /* --cpu */

bool fail(const char *text, uint64_t i)
{
    if (failure[0] == '\0') {
        snprintf(failure, sizeof(failure), "%s, at %" PRIu64, text, i);
    }
    return false;
}

void *managed(uint64_t bytes)
{
    void *memory = NULL;
    if (on_host) {
        return malloc(bytes);
    }
    return cudaMallocManaged(&memory, bytes) == cudaSuccess ? memory : NULL;
}

void release(void *memory)
{
    if (on_host) {
        free(memory);
    } else {
        (void)cudaFree(memory);
    }
}

void data_close(struct data *data)
{
    release(data->keys);
    release(data->found[0]);
    release(data->found[1]);
}

bool data_open(struct data *data, const struct test_case *test, uint64_t seed)
{
    uint64_t words = 2 * test->count;
    *data = {};
    data->count = test->count;
    data->keys = (uint32_t *)managed(words * sizeof(uint32_t));
    for (int side = 0; side < 2; side++) {
        data->found[side] = (uint32_t *)managed((words + 31) / 32 * sizeof(uint32_t));
        if (data->found[side] == NULL) {
            return fail("no managed memory", 0);
        }
    }
    if (data->keys == NULL) {
        return fail("no managed memory", 0);
    }
    for (uint64_t i = 0; i < words; i++) {
        uint32_t key = sw_mix_32((uint32_t)i, seed);
        data->keys[i] = i == 0 ? UINT32_MAX : key == UINT32_MAX ? sw_mix_32(0, seed) : key;
    }
    return true;
}

/* Keys handed back, marked by the place of each in data->keys. */
bool mark_left(struct sw_cset *set, const struct data *data, std::vector<bool> *gone)
{
    struct sw_cset_facts facts;
    sw_cset_facts(set, &facts);
    std::vector<uint32_t> left(facts.left + 1);
    if (sw_cset_take_left(set, left.data()) != SW_OK) {
        return fail("left-overs could not be taken", facts.left);
    }
    uint64_t marked = 0;
    for (uint64_t l = 0; l < facts.left; l++) {
        uint64_t i = 0;
        while (i < data->count && data->keys[i] != left[l]) {
            i++;
        }
        if (i == data->count || (*gone)[i]) {
            return fail("a key was handed back twice, or never inserted", l);
        }
        (*gone)[i] = true;
        marked++;
    }
    return facts.occupied + marked == data->count || fail("keys lost", facts.occupied);
}

/* Against the keys that must be there, and against the CPU set where all of them fit. */
bool check_answers(struct sw_cset *const sets[2], const struct data *data, uint64_t stored,
                   const std::vector<bool> &gone, bool compares)
{
    for (int side = compares ? 0 : 1; side < 2; side++) {
        if (sw_cset_find(sets[side], data->keys, data->found[side], 2 * data->count) != SW_OK) {
            return fail("look-up failed", side);
        }
    }
    for (uint64_t i = 0; i < 2 * data->count; i++) {
        bool wanted = i < stored && !gone[i];
        bool found = (data->found[1][i / 32] >> i % 32 & 1) != 0;
        if (found != wanted) {
            return fail(wanted ? "a stored key was not found" : "an absent key was found", i);
        }
    }
    if (compares && memcmp(data->found[0], data->found[1], (2 * data->count + 31) / 32 * 4) != 0) {
        return fail("CPU and CUDA answer differently", stored);
    }
    return true;
}

/* Every cell is EMPTY or counted; nothing is in two cells. */
bool check_cells(struct sw_cset *set)
{
    struct sw_cset_facts facts;
    sw_cset_facts(set, &facts);
    std::vector<uint32_t> cells(facts.cells);
    uint64_t held = 1; /* the key of all ones is beside the cells */
    if (sw_cset_copy_cells(set, cells.data()) != SW_OK) {
        return fail("cells could not be copied", 0);
    }
    for (uint32_t key : cells) {
        held += key != SW_CSET_EMPTY;
    }
    return held == facts.occupied || fail("cells in use are not as many as keys", held);
}

bool insert_all(struct sw_cset *set, const struct test_case *test, const struct data *data,
                int *status)
{
    *status = SW_OK;
    for (uint64_t from = 0; from < data->count && *status == SW_OK; from += test->batch) {
        uint64_t count = data->count - from < test->batch ? data->count - from : test->batch;
        *status = sw_cset_insert(set, data->keys + from, count);
    }
    return *status == SW_OK || *status == SW_E_FULL || fail("insert failed", -*status);
}

bool run_sets(struct sw_cset *const sets[2], const struct test_case *test, struct data *data)
{
    struct sw_cset_facts facts;
    int status[2];
    std::vector<bool> gone(2 * data->count);
    if (!check_answers(sets, data, 0, gone, true) || !insert_all(sets[0], test, data, &status[0]) ||
        !insert_all(sets[1], test, data, &status[1])) {
        return false;
    }
    sw_cset_facts(sets[1], &facts);
    if (facts.backend != (on_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA)) {
        return fail("the set is not on CUDA", 0);
    }
    if (test->must_fit != (status[1] == SW_OK) || (test->wants_rehashes && facts.rehashes == 0)) {
        return fail("status or rehashes are not as expected", facts.rehashes);
    }
    if (status[1] == SW_E_FULL &&
        (sw_cset_insert(sets[1], data->keys, 1) != SW_E_FULL || !mark_left(sets[1], data, &gone))) {
        return fail("left-overs were not kept", 0);
    }
    if (!check_cells(sets[1]) || !check_answers(sets, data, data->count, gone, test->must_fit)) {
        return false;
    }
    std::vector<bool> none(2 * data->count);
    if (sw_cset_clear(sets[0]) != SW_OK || sw_cset_clear(sets[1]) != SW_OK) {
        return fail("clear failed", 0);
    }
    return check_answers(sets, data, 0, none, true);
}

bool run_case(const struct test_case *test, uint64_t seed)
{
    struct sw_cset *sets[2] = {NULL, NULL};
    struct data data;
    char reason[200] = "";
    struct sw_cset_config host = test->config;
    bool passed = data_open(&data, test, seed);
    host.backend = SW_BACKEND_CPU;
    struct sw_cset_config tested = on_host ? host : test->config;
    passed =
        passed &&
        (sw_cset_open(&host, &sets[0], reason, sizeof(reason)) == SW_OK || fail(reason, 0)) &&
        (sw_cset_open(&tested, &sets[1], reason, sizeof(reason)) == SW_OK || fail(reason, 1)) &&
        run_sets(sets, test, &data);
    if (sets[1] != NULL && !passed) {
        struct sw_cset_facts facts;
        sw_cset_facts(sets[1], &facts);
        fprintf(stderr, "  device: %s\n", facts.failure);
    }
    sw_cset_close(sets[0]);
    sw_cset_close(sets[1]);
    data_close(&data);
    return passed;
}

/* --- the list --------------------------------------------------------------------------------- */

struct run {
    uint64_t seed;
    const char *only;
    unsigned passed;
    unsigned failed;
};

void try_case(struct run *run, const char *name, const struct test_case *test)
{
    const struct sw_cset_config *config = &test->config;
    char line[200];
    snprintf(line, sizeof(line),
             "%-14s t %u each %8" PRIu64 " keys %8" PRIu64 " batch %8" PRIu64
             " chain %4u way %d keys %u %u %s",
             name, config->functions, config->cells_each, test->count, test->batch,
             config->chain_max, (int)config->way, config->insert_keys, config->find_keys,
             config->find_together ? "together" : "");
    if (run->only != NULL && strstr(line, run->only) == NULL) {
        return;
    }
    failure[0] = '\0';
    bool passed = run_case(test, run->seed * 0x9e3779b97f4a7c15ULL);
    printf("%s %s%s%s\n", passed ? "ok    " : "FAILED", line, passed ? "" : ": ", failure);
    fflush(stdout);
    run->passed += passed;
    run->failed += !passed;
}

struct test_case base_case(uint32_t functions, uint64_t count, double load)
{
    struct test_case test = {};
    sw_cset_config_init(&test.config);
    test.config.backend = SW_BACKEND_CUDA;
    test.config.functions = functions;
    test.config.cells_each = (uint64_t)((double)count / load / functions) + 1;
    test.config.chain_max = 400;
    test.config.batch_max = (uint32_t)count;
    test.count = count;
    test.batch = count;
    test.must_fit = true;
    return test;
}

void cases_of(struct run *run, uint32_t functions)
{
    static const enum sw_cset_way ways[] = {SW_CSET_WAY_AUTO, SW_CSET_WAY_DIRECT,
                                            SW_CSET_WAY_PARTITIONED};
    double load = functions == 2 ? 0.4 : 0.8;
    for (int w = 0; w < 3; w++) {
        static const uint64_t counts[] = {1, 33, 1000, 70001, 1000003};
        for (int c = 0; c < 5; c++) {
            struct test_case test = base_case(functions, counts[c], load);
            test.config.way = ways[w];
            try_case(run, "fit", &test);
        }
        struct test_case batches = base_case(functions, 300000, load);
        batches.config.way = ways[w];
        batches.batch = 77777; /* later ones into a set that is not empty */
        try_case(run, "batches", &batches);
        struct test_case tiny = base_case(functions, 400, functions == 2 ? 0.42 : 0.56);
        tiny.config.way = ways[w];
        tiny.config.chain_max = functions == 2 ? 9 : 7;
        tiny.config.rehash_max = 1000;
        try_case(run, "tiny bound", &tiny);
        struct test_case full = base_case(functions, 3000, 1.2);
        full.config.way = ways[w];
        full.must_fit = false;
        full.wants_rehashes = true;
        try_case(run, "too small", &full);
        struct test_case hot = base_case(functions, 100000, functions == 2 ? 0.45 : 0.88);
        hot.config.way = ways[w];
        hot.config.chain_max = 2000;
        try_case(run, "dense", &hot);
    }
}

void cases_in_flight(struct run *run, uint32_t functions)
{
    for (uint32_t keys = 1; keys <= 8; keys *= 2) {
        for (int together = 0; together < 2; together++) {
            struct test_case test = base_case(functions, 250007, functions == 2 ? 0.4 : 0.8);
            test.config.way = SW_CSET_WAY_DIRECT;
            test.config.insert_keys = keys;
            test.config.find_keys = keys;
            test.config.find_together = together != 0;
            try_case(run, "in flight", &test);
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    struct run run = {1, NULL, 0, 0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            run.seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            run.only = argv[++i];
        } else if (strcmp(argv[i], "--cpu") == 0) {
            on_host = true;
        } else {
            fprintf(stderr, "usage: test_cuckoo_set_gpu [--seed N] [--only TEXT] [--cpu]\n");
            return 2;
        }
    }
    printf("seed %" PRIu64 "\n", run.seed);
    for (uint32_t functions = 2; functions <= 3; functions++) {
        cases_of(&run, functions);
        cases_in_flight(&run, functions);
    }
    printf("%u passed, %u failed\n", run.passed, run.failed);
    return run.failed > 0 || run.passed == 0 ? 1 : 0;
}
