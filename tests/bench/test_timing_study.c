/* SPDX-License-Identifier: MIT
 *
 * test_timing_study.c - the timing study on the CPU backend, with host_arrays.c for the device: it
 * runs through, finds nothing wrong with a table that is right, and finds what is wrong with one
 * that is not.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/timing/measure.h"
#include "bench/timing/sherwood.h"
#include "tests/bench/study_files.h"

#define WORDS_MAX 40
#define COMMON                                                                         \
    "--capacity-log2 12 --F 0.5,0.95 --reps 2 --get-batches 2^8..2^11 --batch-F 0.95 " \
    "--insert-batches 2^5,2^9 --upsert-batches 2^8 --delete-batches 2^8 --pinned-reps 20 "

/* --- a table with faults ---------------------------------------------------------------------- */

/* How many keys at the end of a call are treated wrongly. */
static struct faults {
    uint64_t insert_drops;
    uint64_t get_misses;
    uint64_t get_swaps;
    uint64_t erase_forgets;
    uint64_t update_loses;
    uint64_t write_misses; /* in the bits of a write, with --found */
    bool update_doubles;   /* a call of UPDATES keys stores one key more */
} faults;

#define UPDATES 256

/* The fewest and the most entries that noted_size() returned. */
static uint64_t fewest;
static uint64_t most;

/* The last call was a write. */
static bool wrote;

static bool faulty_insert(void *table, const void *keys, const void *values, uint64_t count)
{
    static uint32_t more = UINT32_MAX / 2;
    more++;
    wrote = count == UPDATES;
    return sw_timing_sherwood.insert(table, keys, values, count - faults.insert_drops) &&
           (!faults.update_doubles || count != UPDATES ||
            sw_timing_sherwood.insert(table, &more, &more, 1));
}

static bool noted_size(void *table, uint64_t *occupied)
{
    bool done = sw_timing_sherwood.size(table, occupied);
    fewest = *occupied < fewest ? *occupied : fewest;
    most = *occupied > most ? *occupied : most;
    return done;
}

static bool faulty_settle(void *table, void *values, uint64_t count)
{
    uint32_t *words = values;
    bool done = sw_timing_sherwood.settle(table, values, count);
    for (uint64_t i = 0; i < faults.get_misses; i++) {
        words[count - 1 - i] = UINT32_MAX;
    }
    for (uint64_t i = 0; i < faults.write_misses && wrote; i++) {
        words[i] = UINT32_MAX;
    }
    wrote = false;
    for (uint64_t i = 0; i < faults.get_swaps; i++) {
        words[i] = words[i + 1];
    }
    return done;
}

static bool faulty_erase(void *table, const void *keys, uint64_t count)
{
    wrote = true;
    return sw_timing_sherwood.erase(table, keys, count - faults.erase_forgets);
}

static bool faulty_beside(void *table, const void *fresh, const void *fresh_values,
                          uint64_t fresh_count, const void *stored, const void *stored_values,
                          uint64_t stored_count)
{
    return sw_timing_sherwood.insert_and_update(table, fresh, fresh_values, fresh_count, stored,
                                                stored_values, stored_count - faults.update_loses);
}

/* --- a run ------------------------------------------------------------------------------------ */

struct fixture {
    char folder[64];
    struct sw_timing_options options;
    struct sw_timing_report report;
    struct sw_timing_library library;
    struct sw_timing_study study;
};

static void open_fixture(struct fixture *fixture, const char *arguments, uint32_t slot_bits)
{
    char line[512];
    char *words[WORDS_MAX] = {(char *)"timing"};
    int count = 1;
    memset(fixture, 0, sizeof(*fixture));
    memset(&faults, 0, sizeof(faults));
    snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/test_timing_XXXXXX");
    cr_assert_not_null(mkdtemp(fixture->folder));
    snprintf(line, sizeof(line), "%s", arguments);
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    cr_assert_eq(sw_timing_options_parse(&fixture->options, count, words), SW_STUDY_RUN);
    cr_assert(sw_timing_report_open(&fixture->report, fixture->folder));
    struct sw_timing_study *study = &fixture->study;
    study->options = &fixture->options;
    study->report = &fixture->report;
    study->library = &sw_timing_sherwood;
    study->is_ours = true;
    study->slot_bits = slot_bits;
    study->device = SW_TIMING_HOST;
    study->is_correct = true;
    cr_assert(sw_timing_arrays_open(&study->arrays, slot_bits / 16,
                                    sw_timing_wanted_slots(&fixture->options)));
}

/* Sherwood's table, seen as a library with faults; whose library decides how it is judged. */
static void make_faulty(struct fixture *fixture, bool is_ours)
{
    fixture->library = sw_timing_sherwood;
    fixture->library.name = "faulty";
    fixture->library.takes_block_size = false;
    fixture->library.insert = faulty_insert;
    fixture->library.settle = faulty_settle;
    fixture->library.erase = faulty_erase;
    fixture->library.insert_and_update = faulty_beside;
    fixture->study.library = &fixture->library;
    fixture->study.is_ours = is_ours;
}

static void close_files(struct fixture *fixture)
{
    sw_timing_arrays_close(&fixture->study.arrays);
    cr_assert(sw_timing_report_close(&fixture->report));
}

static void remove_files(struct fixture *fixture)
{
    static const char *const names[] = {"raw.csv",     "insert.csv",   "get.csv", "ceilings.csv",
                                        "summary.csv", "run_info.txt", NULL};
    remove_study(fixture->folder, names);
}

/* The value of the last row of summary.csv with this operation and metric; -1 if there is none.
 * *rows receives how many there are. */
static double find(const struct fixture *fixture, const char *operation, const char *metric,
                   int *rows)
{
    char path[128];
    char line[512];
    double value = -1;
    *rows = 0;
    snprintf(path, sizeof(path), "%s/summary.csv", fixture->folder);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        char *columns[9] = {NULL};
        char *rest = line;
        for (int c = 0; c < 9; c++) {
            columns[c] = strsep(&rest, ",");
            cr_assert_not_null(columns[c], "column %d is missing", c);
        }
        cr_assert_null(rest, "more than 9 columns");
        if (strcmp(columns[2], operation) == 0 && strcmp(columns[6], metric) == 0) {
            value = strtod(columns[7], NULL);
            ++*rows;
        }
    }
    fclose(file);
    return value;
}

static void expect(const struct fixture *fixture, const char *operation, const char *metric,
                   int rows, double value)
{
    int count = 0;
    double got = find(fixture, operation, metric, &count);
    cr_expect_eq(count, rows, "%s %s: %d rows", operation, metric, count);
    cr_expect_float_eq(got, value, 1e-9, "%s %s: %g, not %g", operation, metric, got, value);
}

static void run_right(const char *arguments, uint32_t slot_bits)
{
    static const char *const checked[] = {"insert",      "get",         "get_miss50",
                                          "get_miss100", "upsert_at_F", "delete"};
    struct fixture fixture;
    int rows = 0;
    open_fixture(&fixture, arguments, slot_bits);
    cr_assert(sw_timing_measure_library(&fixture.study));
    cr_assert(sw_timing_measure_tunings(&fixture.study));
    cr_assert(sw_timing_measure_pinned(&fixture.study));
    close_files(&fixture);
    cr_expect(fixture.study.is_correct);
    for (size_t c = 0; c < sizeof(checked) / sizeof(checked[0]); c++) {
        expect(&fixture, checked[c], "missed", 2, 0);
        expect(&fixture, checked[c], "wrong", 2, 0);
        cr_expect_gt(find(&fixture, checked[c], "gops", &rows), 0);
    }
    expect(&fixture, "insert", "drops", 2, 0);
    expect(&fixture, "insert", "reps", 2, 2);
    expect(&fixture, "get_batch", "missed", 4, 0); /* at one F */
    expect(&fixture, "insert_batch", "missed", 4, 0);
    expect(&fixture, "insert_batch", "drops", 4, 0);
    expect(&fixture, "insert_and_update", "lost_updates", 2, 0);
    expect(&fixture, "insert_and_update", "fresh_missed", 2, 0);
    expect(&fixture, "insert_and_update_cas", "lost_updates", 2, 0);
    expect(&fixture, "get_no_hints", "wrong", 2, 0);
    expect(&fixture, "get_counters", "wrong", 2, 0);
    expect(&fixture, "get_256_pinned", "wrong", slot_bits == 64, slot_bits == 64 ? 0 : -1);
    find(&fixture, "get", "gops_block64", &rows);
    cr_expect_eq(rows, 2);
    find(&fixture, "insert_batch", "gops_block256", &rows);
    cr_expect_eq(rows, 4);
    remove_files(&fixture);
}

Test(timing_study, finds_nothing_wrong_with_64_bit_slots)
{
    run_right(COMMON "--block-sizes 64,256", 64);
}

Test(timing_study, finds_nothing_wrong_with_128_bit_slots)
{
    run_right(COMMON "--block-sizes 64,256", 128);
}

Test(timing_study, writes_that_report_which_keys_were_stored)
{
    run_right(COMMON "--block-sizes 64,256 --found", 64);
    run_right(COMMON "--block-sizes 64,256 --found", 128);
}

Test(timing_study, growth)
{
    struct fixture fixture;
    open_fixture(&fixture, COMMON "--slot-bits 128", 128);
    cr_assert(sw_timing_measure_growth(&fixture.study));
    close_files(&fixture);
    cr_expect(fixture.study.is_correct);
    expect(&fixture, "growth", "missed", 1, 0);
    expect(&fixture, "growth", "drops", 1, 0);
    expect(&fixture, "shrink", "wrong", 1, 0);
    expect(&fixture, "shrink", "reps", 1, 2);
    int rows = 0;
    cr_expect_gt(find(&fixture, "growth", "time_ms", &rows), 0);
    cr_expect_gt(find(&fixture, "growth", "time_ms_first", &rows), 0);
    cr_expect_eq(rows, 1);
    remove_files(&fixture);
}

Test(timing_study, deletes_that_leave_holes)
{
    struct fixture fixture;
    open_fixture(&fixture, COMMON "--F 0.5,0.95 --delete-batches 2^6", 64);
    cr_assert(sw_timing_measure_holes(&fixture.study));
    close_files(&fixture);
    cr_expect(fixture.study.is_correct);
    expect(&fixture, "delete_holes", "wrong", 2, 0);
    expect(&fixture, "delete_moves", "missed", 2, 0);
    expect(&fixture, "insert_after_holes", "wrong", 2, 0);
    expect(&fixture, "get_after_moves", "reps", 2, 2);
    remove_files(&fixture);
}

Test(timing_study, keys_without_values_beside_pairs)
{
    struct fixture fixture;
    int rows = 0;
    open_fixture(&fixture, COMMON "--F 0.5,0.95 --delete-batches 2^6", 64);
    cr_assert(sw_timing_measure_sets(&fixture.study));
    close_files(&fixture);
    cr_expect(fixture.study.is_correct);
    expect(&fixture, "set_get", "missed", 2, 0);
    expect(&fixture, "set_delete", "wrong", 2, 0);
    expect(&fixture, "set_insert", "missed", 2, 0);
    expect(&fixture, "pair_insert", "wrong", 2, 0);
    expect(&fixture, "pair_get", "reps", 2, 2);
    const double bytes = find(&fixture, "set_get", "slot_bytes", &rows);
    cr_expect_eq(2 * bytes, find(&fixture, "pair_get", "slot_bytes", &rows));
    remove_files(&fixture);
}

Test(timing_study, writes_of_hot_keys)
{
    struct fixture fixture;
    int rows = 0;
    open_fixture(&fixture, COMMON, 64);
    cr_assert(sw_timing_measure_hot(&fixture.study));
    close_files(&fixture);
    cr_expect(fixture.study.is_correct);
    expect(&fixture, "hot_set_answers_0", "missed", 2, 0); /* of two engines */
    expect(&fixture, "hot_increment_any_100", "wrong", 2, 0);
    expect(&fixture, "hot_sum_50", "reps", 2, 3);
    expect(&fixture, "hot_set_answers_7_keys", "missed", 2, 0);
    cr_expect_gt(find(&fixture, "hot_mixed_answers_10", "gops", &rows), 0);
    remove_files(&fixture);
}

/* --- faults ----------------------------------------------------------------------------------- */

/* Each fault of a library, and what the study reports of it. The last key of a call may have been
 * drawn before. */
Test(timing_study, faults_are_found)
{
    static const struct {
        const char *arguments;
        struct faults faults;
        bool is_ours; /* faults of a peer are reported, no more */
        struct {
            const char *operation, *metric;
            double value;
        } rows[3];
    } cases[] = {
        {COMMON "--F 0.5 --operations insert,get --miss 0",
         {.insert_drops = 1},
         false,
         {{"insert", "drops", 1}, {"insert", "missed", 0}, {"get", "missed", 0}}},
        {COMMON "--F 0.5 --operations insert", {.insert_drops = 1}, true, {{NULL, NULL, 0}}},
        {COMMON "--F 0.5 --operations insert,get --miss 0",
         {.get_misses = 3},
         false,
         {{"insert", "drops", 0}, {"insert", "missed", 3}, {"get", "missed", 3}}},
        {COMMON "--F 0.5 --operations insert,get --miss 0,100",
         {.get_swaps = 2},
         true,
         {{"insert", "wrong", 2}, {"get", "wrong", 2}}},
        {COMMON "--F 0.5 --operations delete",
         {.erase_forgets = 4},
         false,
         {{"delete", "wrong", 4}, {"delete", "missed", 0}}},
        {COMMON "--F 0.95 --operations insert_and_update",
         {.update_loses = 7},
         true,
         {{"insert_and_update", "lost_updates", 7}, {"insert_and_update", "missed", 0}}},
        {COMMON "--F 0.5 --operations upsert_at_F,delete --found",
         {.write_misses = 3},
         true,
         {{"upsert_at_F", "wrong", 3}, {"delete", "wrong", 3}, {"delete", "missed", 0}}},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct fixture fixture;
        open_fixture(&fixture, cases[c].arguments, 64);
        make_faulty(&fixture, cases[c].is_ours);
        faults = cases[c].faults;
        cr_assert(sw_timing_measure_library(&fixture.study));
        close_files(&fixture);
        cr_expect_eq(fixture.study.is_correct, !cases[c].is_ours, "case %zu", c);
        for (int r = 0; r < 3 && cases[c].rows[r].operation != NULL; r++) {
            expect(&fixture, cases[c].rows[r].operation, cases[c].rows[r].metric, 1,
                   cases[c].rows[r].value);
        }
        remove_files(&fixture);
    }
}

/* An insert into a full table may search for ever. */
Test(timing_study, a_table_that_stores_keys_twice_is_filled_again)
{
    struct fixture fixture;
    open_fixture(&fixture, COMMON "--F 0.5 --operations upsert_at_F", 64);
    make_faulty(&fixture, false);
    fixture.library.size = noted_size;
    faults.update_doubles = true;
    fewest = UINT64_MAX;
    most = 0;
    cr_assert(sw_timing_measure_library(&fixture.study));
    close_files(&fixture);
    expect(&fixture, "upsert_at_F", "reps", 1, 2);
    cr_expect_eq(most, fewest + 1, "%llu to %llu entries", (unsigned long long)fewest,
                 (unsigned long long)most);
    remove_files(&fixture);
}

/* Without a way to update beside inserts there is a row without a value. */
Test(timing_study, no_value_where_a_library_lacks_an_operation)
{
    struct fixture fixture;
    int rows = 0;
    open_fixture(&fixture, COMMON "--F 0.95 --operations insert_and_update,delete", 64);
    make_faulty(&fixture, false);
    fixture.library.insert_and_update = NULL;
    fixture.library.erase = NULL;
    cr_assert(sw_timing_measure_library(&fixture.study));
    close_files(&fixture);
    expect(&fixture, "insert_and_update", "lost_updates", 1, 0);
    find(&fixture, "delete", "gops", &rows);
    cr_expect_eq(rows, 0);
    remove_files(&fixture);
}

/* A peer with 128-bit slots is not asked to fill its table to the last slot. */
Test(timing_study, full_tables_are_left_out_for_others)
{
    struct fixture fixture;
    int rows = 0;
    open_fixture(&fixture, COMMON "--F 1.0 --operations insert", 128);
    make_faulty(&fixture, false);
    cr_assert(sw_timing_measure_library(&fixture.study));
    close_files(&fixture);
    find(&fixture, "insert", "gops", &rows);
    cr_expect_eq(rows, 0);
    remove_files(&fixture);
}
