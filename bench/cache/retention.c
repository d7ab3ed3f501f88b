/* SPDX-License-Identifier: MIT
 *
 * retention.c - offers a cache its capacity, or a multiple of it, with random scores. An ideal
 * cache would hold the entries with the highest scores; measures which share of them this cache
 * holds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cache/study.h"

static int by_score(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns the lowest score in the ideal cache; 0 without memory for the computation. */
static uint64_t threshold(uint64_t numbers, uint64_t capacity, uint64_t seed)
{
    uint64_t lowest = 0;
    uint64_t *scores = malloc(numbers * sizeof(*scores));
    if (scores == NULL) {
        fprintf(stderr, "cache: no memory for %zu scores\n", (size_t)numbers);
        return 0;
    }
    for (uint64_t n = 0; n < numbers; n++) {
        scores[n] = sw_cachebench_score(SW_CACHEBENCH_SCORES_RANDOM, n, seed);
    }
    qsort(scores, numbers, sizeof(*scores), by_score);
    lowest = scores[numbers > capacity ? numbers - capacity : 0];
    free(scores);
    return lowest;
}

static bool offer(struct sw_cachebench_table *table, uint64_t numbers)
{
    uint64_t batch = table->study->arrays.room;
    bool done = sw_cachebench_table_clear(table);
    while (done && table->next < numbers) {
        done = sw_cachebench_table_insert(table, least(batch, numbers - table->next), NULL);
    }
    return done && sw_cachebench_table_count(table, NULL);
}

/* Counts the entries that the cache holds with a score of at least `lowest`. */
static bool count_kept(struct sw_cachebench_table *table, uint64_t lowest, uint64_t *kept,
                       struct sw_cachebench_verdict *verdict)
{
    struct sw_cachebench_study *study = table->study;
    uint64_t room = study->arrays.room;
    uint8_t *results = malloc(room);
    bool done = results != NULL;
    for (uint64_t first = 0; first < table->next && done; first += room) {
        uint64_t count = least(room, table->next - first);
        struct sw_cachebench_query query = sw_cachebench_sequence(table, first, count);
        done = sw_cachebench_draw_call(table, &query, 1) &&
               sw_cachebench_check_find(table, &query, 0, NULL, verdict) &&
               study->place->memory->copy(results, study->arrays.results, count);
        for (uint64_t i = 0; i < count && done; i++) {
            uint64_t score =
                sw_cachebench_score(SW_CACHEBENCH_SCORES_RANDOM, first + i, study->options->seed);
            *kept += results[i] == 1 && score >= lowest;
        }
    }
    free(results);
    return done;
}

static bool measure(struct sw_cachebench_table *table, struct sw_cachebench_subject *subject,
                    uint32_t offers)
{
    struct sw_cachebench_study *study = table->study;
    struct sw_cachebench_report *report = study->report;
    struct sw_cachebench_verdict verdict = {{0}};
    uint64_t numbers = offers * table->capacity;
    uint64_t ideal = least(numbers, table->capacity);
    uint64_t lowest = threshold(numbers, table->capacity, study->options->seed);
    uint64_t kept = 0;
    snprintf(subject->operation, sizeof(subject->operation), "retention_%ux", (unsigned)offers);
    if (lowest == 0 || !offer(table, numbers) || !count_kept(table, lowest, &kept, &verdict)) {
        return false;
    }
    uint64_t found = verdict.of[SW_CACHEBENCH_FOUND] + verdict.of[SW_CACHEBENCH_WRONG];
    verdict.of[SW_CACHEBENCH_MISSED] +=
        found < table->size ? table->size - found : found - table->size;
    sw_cachebench_report_figure(report, subject, "retention", 100 * (double)kept / (double)ideal,
                                "%");
    sw_cachebench_report_figure(report, subject, "final_load",
                                (double)table->size / (double)table->capacity, "");
    study->is_correct =
        sw_cachebench_report_verdict(report, subject, table->size, &verdict) && study->is_correct;
    return true;
}

static void measure_library(struct sw_cachebench_study *study,
                            const struct sw_cachebench_library *library)
{
    const struct sw_cachebench_options *options = study->options;
    struct sw_cachebench_table table;
    struct sw_cachebench_subject subject = {
        .experiment = "retention",
        .library = library->name,
        .operation = "retention",
        .dim = options->fill_dim,
        .capacity = options->fill_capacity,
        .batch = options->batch,
    };
    uint32_t most = 0;
    for (uint32_t o = 0; o < options->offers_count; o++) {
        most = options->offers[o] > most ? options->offers[o] : most;
    }
    uint64_t numbers_max = (most + 1) * (options->fill_capacity + 1024);
    if (!sw_cachebench_table_open(study, library, &subject, SW_CACHEBENCH_SCORES_RANDOM,
                                  numbers_max, &table)) {
        return;
    }
    for (uint32_t o = 0; o < options->offers_count; o++) {
        if (!measure(&table, &subject, options->offers[o])) {
            sw_cachebench_report_none(study->report, &subject, "failed: see the log");
            study->is_complete = false;
            break;
        }
    }
    sw_cachebench_table_close(&table);
}

void sw_cachebench_do_retention(struct sw_cachebench_study *study)
{
    const struct sw_cachebench_options *options = study->options;
    if (sw_cachebench_arrays_open(study, options->batch, options->fill_dim, true)) {
        for (int l = 0; options->libraries[l] != NULL; l++) {
            measure_library(study, options->libraries[l]);
        }
        sw_cachebench_arrays_close(study);
    }
}
