/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_gpu.cu - gives the same keys to a cuckoo table on CUDA and to one on the CPU and
 * compares what look-ups answer; every key is in one cell, in the side cell or handed back.
 *
 *   test_cuckoo_gpu [--seed N] [--only TEXT] [--cpu]
 *
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed. --only
 * takes cases whose line holds the text. --cpu compares the CPU table with another one: it checks
 * this program, without a GPU.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "table/cuckoo/ops.h"

namespace
{

struct test_case {
    struct sw_cuckoo_config config;
    uint64_t count;      /* keys stored */
    uint64_t batch;      /* of one insert */
    bool must_fit;       /* no key is handed back; otherwise some must be */
    bool wants_rehashes; /* there must have been one */
};

/* Keys 0 .. count - 1 are stored, as many after them are absent; key 0 is that of all ones. In
 * managed memory: both tables reach it. */
struct data {
    uint32_t bits;
    uint64_t count;
    void *keys;
    void *values;
    void *answers[2]; /* by table: CPU, CUDA */
    uint32_t *found[2];
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

uint64_t word_of(const void *array, uint32_t bits, uint64_t i)
{
    return bits == 128 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

void word_set(void *array, uint32_t bits, uint64_t i, uint64_t word)
{
    if (bits == 128) {
        ((uint64_t *)array)[i] = word;
    } else {
        ((uint32_t *)array)[i] = (uint32_t)word;
    }
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
    release(data->values);
    for (int side = 0; side < 2; side++) {
        release(data->answers[side]);
        release(data->found[side]);
    }
}

bool data_open(struct data *data, const struct test_case *test, uint64_t seed)
{
    uint64_t words = 2 * test->count;
    uint64_t ones = test->config.cell_bits == 128 ? UINT64_MAX : UINT32_MAX;
    *data = {};
    data->bits = test->config.cell_bits;
    data->count = test->count;
    data->keys = managed(words * 8);
    data->values = managed(words * 8);
    for (int side = 0; side < 2; side++) {
        data->answers[side] = managed(words * 8);
        data->found[side] = (uint32_t *)managed((words + 31) / 32 * 4);
        if (data->answers[side] == NULL || data->found[side] == NULL) {
            return fail("no managed memory", 0);
        }
    }
    if (data->keys == NULL || data->values == NULL) {
        return fail("no managed memory", 0);
    }
    uint64_t first = data->bits == 128 ? sw_mix_64(0, seed) : sw_mix_32(0, seed);
    for (uint64_t i = 0; i < words; i++) {
        uint64_t key = data->bits == 128 ? sw_mix_64(i, seed) : sw_mix_32((uint32_t)i, seed);
        key = i == 0 ? ones : key == ones ? first : key;
        word_set(data->keys, data->bits, i, key);
        word_set(data->values, data->bits, i, key * 0x9e3779b97f4a7c15ULL >> 9);
    }
    return true;
}

/* Keys handed back, marked by the place of each in data->keys. */
bool mark_left(struct sw_cuckoo *table, const struct data *data, std::vector<bool> *gone)
{
    struct sw_cuckoo_facts facts;
    sw_cuckoo_facts(table, &facts);
    std::vector<uint64_t> keys(facts.left + 1);
    std::vector<uint64_t> values(facts.left + 1);
    if (sw_cuckoo_take_left(table, keys.data(), values.data()) != SW_OK) {
        return fail("left-overs could not be taken", facts.left);
    }
    std::vector<uint64_t> left;
    for (uint64_t l = 0; l < facts.left; l++) {
        left.push_back(word_of(keys.data(), data->bits, l));
    }
    uint64_t marked = 0;
    for (uint64_t l = 0; l < facts.left; l++) {
        uint64_t i = 0;
        while (i < data->count && word_of(data->keys, data->bits, i) != left[l]) {
            i++;
        }
        if (i == data->count || (*gone)[i]) {
            return fail("a key was handed back twice, or never inserted", l);
        }
        if (data->bits != 32 &&
            word_of(values.data(), data->bits, l) != word_of(data->values, data->bits, i)) {
            return fail("a key was handed back with another value", l);
        }
        (*gone)[i] = true;
        marked++;
    }
    return facts.occupied + marked == data->count || fail("keys lost", facts.occupied);
}

/* Against the keys that must be there, and against the CPU table where all of them fit. */
bool check_answers(struct sw_cuckoo *const tables[2], const struct data *data, uint64_t stored,
                   const std::vector<bool> &gone, bool compares)
{
    for (int side = compares ? 0 : 1; side < 2; side++) {
        memset(data->answers[side], 0xAB, 2 * data->count * 8);
        if (sw_cuckoo_find(tables[side], data->keys, data->answers[side], data->found[side],
                           2 * data->count) != SW_OK) {
            return fail("look-up failed", side);
        }
    }
    for (uint64_t i = 0; i < 2 * data->count; i++) {
        bool wanted = i < stored && !gone[i];
        bool found = (data->found[1][i / 32] >> i % 32 & 1) != 0;
        if (found != wanted) {
            return fail(wanted ? "a stored key was not found" : "an absent key was found", i);
        }
        uint64_t value = wanted ? word_of(data->values, data->bits, i) : 0;
        if (data->bits != 32 && word_of(data->answers[1], data->bits, i) != value) {
            return fail("wrong value", i);
        }
    }
    uint64_t answers = 2 * data->count * (data->bits == 128 ? 8 : 4);
    if (compares &&
        (memcmp(data->found[0], data->found[1], (2 * data->count + 31) / 32 * 4) != 0 ||
         (data->bits != 32 && memcmp(data->answers[0], data->answers[1], answers) != 0))) {
        return fail("CPU and CUDA answer differently", stored);
    }
    return true;
}

/* Every cell is EMPTY or counted; nothing is in two cells. */
bool check_cells(struct sw_cuckoo *table, const struct data *data)
{
    struct sw_cuckoo_facts facts;
    sw_cuckoo_facts(table, &facts);
    uint32_t words = data->bits / 32;
    std::vector<uint32_t> cells(facts.cells * words);
    uint64_t held = 1; /* the key of all ones is beside the cells */
    if (sw_cuckoo_copy_cells(table, cells.data()) != SW_OK) {
        return fail("cells could not be copied", 0);
    }
    for (uint64_t c = 0; c < facts.cells; c++) {
        const uint32_t *key = &cells[c * words + (data->bits == 128 ? 2 : words - 1)];
        held += key[0] != UINT32_MAX || (data->bits == 128 && key[1] != UINT32_MAX);
    }
    return held == facts.occupied || fail("cells in use are not as many as entries", held);
}

bool insert_all(struct sw_cuckoo *table, const struct test_case *test, const struct data *data,
                int *status)
{
    uint64_t bytes = data->bits == 128 ? 8 : 4;
    *status = SW_OK;
    for (uint64_t from = 0; from < data->count && *status == SW_OK; from += test->batch) {
        uint64_t count = data->count - from < test->batch ? data->count - from : test->batch;
        *status = sw_cuckoo_insert(table, (char *)data->keys + from * bytes,
                                   (char *)data->values + from * bytes, count);
    }
    return *status == SW_OK || *status == SW_E_FULL || fail("insert failed", -*status);
}

bool run_tables(struct sw_cuckoo *const tables[2], const struct test_case *test, struct data *data)
{
    struct sw_cuckoo_facts facts;
    int status[2];
    std::vector<bool> gone(2 * data->count);
    if (!check_answers(tables, data, 0, gone, true) ||
        !insert_all(tables[0], test, data, &status[0]) ||
        !insert_all(tables[1], test, data, &status[1])) {
        return false;
    }
    sw_cuckoo_facts(tables[1], &facts);
    if (facts.backend != (on_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA)) {
        return fail("the table is not on CUDA", 0);
    }
    if (test->must_fit != (status[1] == SW_OK) || (test->wants_rehashes && facts.rehashes == 0)) {
        return fail("status or rehashes are not as expected", facts.rehashes);
    }
    if (status[1] == SW_E_FULL &&
        (sw_cuckoo_insert(tables[1], data->keys, data->values, 1) != SW_E_FULL ||
         !mark_left(tables[1], data, &gone))) {
        return fail("left-overs were not kept", 0);
    }
    if (!check_cells(tables[1], data) ||
        !check_answers(tables, data, data->count, gone, test->must_fit)) {
        return false;
    }
    std::vector<bool> none(2 * data->count);
    if (sw_cuckoo_clear(tables[0]) != SW_OK || sw_cuckoo_clear(tables[1]) != SW_OK) {
        return fail("clear failed", 0);
    }
    return check_answers(tables, data, 0, none, true);
}

bool run_case(const struct test_case *test, uint64_t seed)
{
    struct sw_cuckoo *tables[2] = {NULL, NULL};
    struct data data;
    char reason[200] = "";
    struct sw_cuckoo_config host = test->config;
    bool passed = data_open(&data, test, seed);
    host.backend = SW_BACKEND_CPU;
    struct sw_cuckoo_config tested = on_host ? host : test->config;
    passed =
        passed &&
        (sw_cuckoo_open(&host, &tables[0], reason, sizeof(reason)) == SW_OK || fail(reason, 0)) &&
        (sw_cuckoo_open(&tested, &tables[1], reason, sizeof(reason)) == SW_OK || fail(reason, 1)) &&
        run_tables(tables, test, &data);
    if (tables[1] != NULL && !passed) {
        struct sw_cuckoo_facts facts;
        sw_cuckoo_facts(tables[1], &facts);
        fprintf(stderr, "  device: %s\n", facts.failure);
    }
    sw_cuckoo_close(tables[0]);
    sw_cuckoo_close(tables[1]);
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
    const struct sw_cuckoo_config *config = &test->config;
    char line[200];
    snprintf(line, sizeof(line),
             "%-14s bits %3u t %u each %8" PRIu64 " keys %8" PRIu64 " batch %8" PRIu64
             " chain %4u way %d keys %u %u %s",
             name, config->cell_bits, config->functions, config->cells_each, test->count,
             test->batch, config->chain_max, (int)config->way, config->insert_keys,
             config->find_keys, config->find_together ? "together" : "");
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

struct test_case base_case(uint32_t bits, uint32_t functions, uint64_t count, double load)
{
    struct test_case test = {};
    sw_cuckoo_config_init(&test.config);
    test.config.backend = SW_BACKEND_CUDA;
    test.config.cell_bits = bits;
    test.config.functions = functions;
    test.config.cells_each = (uint64_t)((double)count / load / functions) + 1;
    test.config.chain_max = 400;
    test.config.batch_max = (uint32_t)count;
    test.count = count;
    test.batch = count;
    test.must_fit = true;
    return test;
}

void cases_of(struct run *run, uint32_t bits, uint32_t functions)
{
    static const enum sw_cuckoo_way ways[] = {SW_CUCKOO_WAY_AUTO, SW_CUCKOO_WAY_DIRECT,
                                              SW_CUCKOO_WAY_PARTITIONED};
    double load = functions == 2 ? 0.4 : 0.8;
    for (int w = 0; w < (bits == 128 ? 2 : 3); w++) {
        static const uint64_t counts[] = {1, 33, 1000, 70001, 1000003};
        for (int c = 0; c < 5; c++) {
            struct test_case test = base_case(bits, functions, counts[c], load);
            test.config.way = ways[w];
            try_case(run, "fit", &test);
        }
        struct test_case batches = base_case(bits, functions, 300000, load);
        batches.config.way = ways[w];
        batches.batch = 77777; /* later ones into a table that is not empty */
        try_case(run, "batches", &batches);
        struct test_case tiny = base_case(bits, functions, 400, functions == 2 ? 0.42 : 0.56);
        tiny.config.way = ways[w];
        tiny.config.chain_max = functions == 2 ? 9 : 7;
        tiny.config.rehash_max = 1000;
        try_case(run, "tiny bound", &tiny);
        struct test_case full = base_case(bits, functions, 3000, 1.2);
        full.config.way = ways[w];
        full.must_fit = false;
        full.wants_rehashes = true;
        try_case(run, "too small", &full);
        struct test_case hot = base_case(bits, functions, 100000, functions == 2 ? 0.45 : 0.88);
        hot.config.way = ways[w];
        hot.config.chain_max = 2000;
        try_case(run, "dense", &hot);
    }
}

void cases_in_flight(struct run *run, uint32_t functions)
{
    for (uint32_t keys = 1; keys <= 8; keys *= 2) {
        for (int together = 0; together < 2; together++) {
            struct test_case test = base_case(32, functions, 250007, functions == 2 ? 0.4 : 0.8);
            test.config.way = SW_CUCKOO_WAY_DIRECT;
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
            fprintf(stderr, "usage: test_cuckoo_gpu [--seed N] [--only TEXT] [--cpu]\n");
            return 2;
        }
    }
    printf("seed %" PRIu64 "\n", run.seed);
    for (uint32_t functions = 2; functions <= 3; functions++) {
        for (uint32_t bits = 32; bits <= 128; bits *= 2) {
            cases_of(&run, bits, functions);
        }
        cases_in_flight(&run, functions);
    }
    printf("%u passed, %u failed\n", run.passed, run.failed);
    return run.failed > 0 || run.passed == 0 ? 1 : 0;
}
