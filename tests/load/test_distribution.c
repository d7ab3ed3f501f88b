/* SPDX-License-Identifier: MIT
 *
 * test_distribution.c - draws against the exact probabilities of their distribution.
 */
#include "bench/load/distribution.h"
#include "bench/load/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DRAWS 200000
#define COUNT_MAX 1000
/* Cells that expect fewer draws are joined with the next. */
#define CELL_MIN 20.0

static uint64_t seed(const char *test)
{
    const char *given = getenv("SHERWOOD_TEST_SEED");
    uint64_t value = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    fprintf(stderr, "%s: SHERWOOD_TEST_SEED=%llu\n", test, (unsigned long long)value);
    return value;
}

/* Chi-squared of counts against probabilities; passed by chance less than once in a million. */
static void check_counts(const uint64_t *counts, const double *probabilities, size_t count,
                         const char *what)
{
    double chi = 0, expected = 0, got = 0, cells = 0;
    for (size_t i = 0; i < count; i++) {
        expected += probabilities[i] * DRAWS;
        got += (double)counts[i];
        if (expected >= CELL_MIN || i + 1 == count) {
            chi += expected > 0 ? (got - expected) * (got - expected) / fmax(expected, 1) : 0;
            cells++;
            expected = got = 0;
        }
    }
    double limit = cells + 5 * sqrt(2 * cells) + 25;
    cr_assert_leq(chi, limit, "%s: chi squared %g of %g cells is above %g", what, chi, cells,
                  limit);
}

static void zipf_probabilities(uint64_t count, double theta, double *out)
{
    double sum = 0;
    for (uint64_t i = count; i-- > 0;) {
        sum += out[i] = pow((double)(i + 1), -theta);
    }
    for (uint64_t i = 0; i < count; i++) {
        out[i] /= sum;
    }
}

Test(distribution, zipf_has_the_exact_probabilities)
{
    static const uint64_t counts[] = {1, 2, 3, 7, 100, COUNT_MAX};
    static const double thetas[] = {0.01, 0.5, 0.99, 0.9999999999, 1, 1.0000000001, 1.2, 2, 10};
    uint64_t random = seed("zipf_has_the_exact_probabilities");
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        for (size_t t = 0; t < sizeof(thetas) / sizeof(thetas[0]); t++) {
            struct sw_load_zipf zipf;
            uint64_t got[COUNT_MAX] = {0};
            double probabilities[COUNT_MAX];
            char what[64];
            sw_load_zipf_init(&zipf, counts[c], thetas[t]);
            for (int i = 0; i < DRAWS; i++) {
                uint64_t rank = sw_load_zipf_draw(&zipf, &random);
                cr_assert_lt(rank, counts[c]);
                got[rank]++;
            }
            snprintf(what, sizeof(what), "n %lu, theta %.10f", counts[c], thetas[t]);
            zipf_probabilities(counts[c], thetas[t], probabilities);
            check_counts(got, probabilities, counts[c], what);
        }
    }
}

/* H(n, theta) of large n by Euler and Maclaurin, behind an exact beginning. */
static double harmonic(uint64_t count, double theta)
{
    const double from = 1000, n = (double)count;
    double sum = 0;
    for (int i = 999; i >= 1; i--) {
        sum += pow(i, -theta);
    }
    double integral =
        theta == 1 ? log(n / from) : (pow(n, 1 - theta) - pow(from, 1 - theta)) / (1 - theta);
    return sum + integral + (pow(from, -theta) + pow(n, -theta)) / 2 +
           theta * pow(from, -theta - 1) / 12;
}

Test(distribution, zipf_of_very_many)
{
    static const uint64_t counts[] = {100000, 10000000, 1ULL << 32, 1ULL << 40};
    static const double thetas[] = {0.5, 0.99, 1, 1.3};
    uint64_t random = seed("zipf_of_very_many");
    for (size_t c = 0; c < 4; c++) {
        for (size_t t = 0; t < 4; t++) {
            /* The first ranks, and all others. */
            uint64_t got[COUNT_MAX + 1] = {0};
            double probabilities[COUNT_MAX + 1], sum = harmonic(counts[c], thetas[t]);
            struct sw_load_zipf zipf;
            sw_load_zipf_init(&zipf, counts[c], thetas[t]);
            for (int i = 0; i < DRAWS; i++) {
                uint64_t rank = sw_load_zipf_draw(&zipf, &random);
                cr_assert_lt(rank, counts[c]);
                got[rank < COUNT_MAX ? rank : COUNT_MAX]++;
            }
            probabilities[COUNT_MAX] = 1;
            for (int i = 0; i < COUNT_MAX; i++) {
                probabilities[i] = pow(i + 1, -thetas[t]) / sum;
                probabilities[COUNT_MAX] -= probabilities[i];
            }
            check_counts(got, probabilities, COUNT_MAX + 1, "very many");
        }
    }
}

/* Index of a key, by search. */
static size_t index_of(const struct sw_load_workload *workload, uint64_t key)
{
    for (uint64_t i = 0; i < workload->keys; i++) {
        if (sw_load_key(workload, i) == key) {
            return i;
        }
    }
    cr_assert(false, "key %lu does not belong to the run", key);
    return 0;
}

Test(distribution, keys_are_drawn_as_their_kind_says)
{
    static const struct sw_load_workload workloads[] = {
        {.seed = 3, .keys = 97, .key_bytes = 4, .value_bytes = 4},
        {.seed = 4, .keys = 97, .key_bytes = 8, .value_bytes = 8},
    };
    static uint64_t keys[DRAWS];
    uint64_t random = seed("keys_are_drawn_as_their_kind_says");
    for (size_t w = 0; w < 2; w++) {
        for (int kind = SW_LOAD_UNIFORM; kind <= SW_LOAD_LATEST; kind++) {
            struct sw_load_distribution distribution;
            uint64_t got[97] = {0};
            double probabilities[97], zipf[97];
            zipf_probabilities(97, 0.8, zipf);
            for (int i = 0; i < 97; i++) {
                probabilities[i] = kind == SW_LOAD_UNIFORM ? 1.0 / 97
                                   : kind == SW_LOAD_ZIPF  ? zipf[i]
                                                           : zipf[96 - i];
            }
            sw_load_distribution_init(&distribution, (enum sw_load_distribution_kind)kind, 0.8, 97);
            sw_load_fill_drawn(&workloads[w], &distribution, &random, DRAWS, keys);
            for (size_t i = 0; i < DRAWS; i++) {
                got[index_of(&workloads[w], sw_load_element(keys, workloads[w].key_bytes, i))]++;
            }
            check_counts(got, probabilities, 97, "keys");
        }
    }
}

Test(distribution, a_range_goes_round)
{
    const struct sw_load_workload workload = {
        .seed = 5, .keys = 13, .key_bytes = 8, .value_bytes = 8};
    for (uint64_t first = 0; first < 40; first++) {
        for (size_t count = 0; count < 45; count++) {
            uint64_t keys[46];
            keys[count] = 77;
            sw_load_fill_range(&workload, first, count, keys);
            for (size_t i = 0; i < count; i++) {
                cr_assert_eq(keys[i], sw_load_key(&workload, (first + i) % 13));
            }
            cr_assert_eq(keys[count], 77, "written too far");
        }
    }
}
