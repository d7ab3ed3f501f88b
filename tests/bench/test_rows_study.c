/* SPDX-License-Identifier: MIT
 *
 * test_rows_study.c - the study of rows on the CPU backend: its command line, its checks against
 * tables that are wrong, and a small run whose every answer is checked.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/rows/study.h"
#include "tests/bench/study_files.h"

TestSuite(rows_study, .timeout = 120);

/* --- command line ----------------------------------------------------------------------------- */

static enum sw_study_parsed parse(struct sw_rowbench_options *options, const char *a, const char *b)
{
    char *argv[] = {(char *)(uintptr_t) "rows", (char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL};
    int argc = 1;
    while (argv[argc] != NULL) {
        argc++;
    }
    return sw_rowbench_options_parse(options, argc, argv);
}

Test(rows_study, capacity_is_what_the_memory_has_room_for)
{
    struct sw_rowbench_options options;
    cr_assert_eq(parse(&options, NULL, NULL), SW_STUDY_RUN);
    cr_expect_eq(options.batch, 1U << 20);
    cr_expect_eq(options.value_bytes_count, 5);
    cr_expect_eq(sw_rowbench_capacity(&options, 32), 128U << 20);
    cr_expect_eq(sw_rowbench_capacity(&options, 256), 128U << 20);
    cr_expect_eq(sw_rowbench_capacity(&options, 512), 64U << 20);
    cr_expect_eq(sw_rowbench_capacity(&options, 4096), 8U << 20);
    options.memory = 16ULL << 30;
    cr_expect_eq(sw_rowbench_capacity(&options, 4096), 0, "fewer than four calls");
}

Test(rows_study, wrong_values_are_refused)
{
    static const char *const wrong[] = {
        "--value-bytes=0",  "--value-bytes=40", "--value-bytes=8192", "--loads=0.9,0.5",
        "--loads=1",        "--operations=sum", "--memory=1M",        "--batch=0",
        "--reps=0",         "--hit-ratio=0",    "--skew=0",           "--backend=gpu",
        "--capacity-max=64"};
    struct sw_rowbench_options options;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_eq(parse(&options, wrong[i], NULL), SW_STUDY_WRONG, "%s", wrong[i]);
    }
}

/* --- tables that are wrong -------------------------------------------------------------------- */

enum fault {
    NO_FAULT,
    LOSES,
    MAKES_UP,
    TEARS,
    LEAVES_ABSENT,
    FORGETS_SETS,
    KEEPS_DELETED,
    ADDS_TWICE
};

static enum fault fault; /* of the table under test */

static bool faulty_call(void *table, enum sw_cachebench_operation operation,
                        const struct sw_cachebench_arrays *arrays, uint64_t count)
{
    static uint64_t stores;
    stores += operation == SW_CACHEBENCH_INSERT_OR_ASSIGN;
    if ((fault == FORGETS_SETS && operation == SW_CACHEBENCH_INSERT_OR_ASSIGN && stores > 20) ||
        (fault == KEEPS_DELETED && operation == SW_CACHEBENCH_ERASE)) {
        return true;
    }
    bool done = sw_cachebench_sherwood_rows.call(table, operation, arrays, count);
    if (fault == ADDS_TWICE && operation == SW_CACHEBENCH_ACCUM_OR_ASSIGN) {
        done = done && sw_cachebench_sherwood_rows.call(table, operation, arrays, 1);
    }
    for (uint64_t j = 0; operation == SW_CACHEBENCH_FIND && j < count; j++) {
        bool found = (arrays->bits[j / 64] >> (j % 64) & 1) != 0;
        if ((fault == LOSES && found) || (fault == MAKES_UP && !found)) {
            arrays->bits[j / 64] ^= 1ULL << (j % 64);
            break;
        }
        if ((fault == TEARS && found) || (fault == LEAVES_ABSENT && !found)) {
            arrays->values_out[4 * j + 3] += 1;
            break;
        }
    }
    return done;
}

/* A run over rows of 16 bytes; *folder has its files. */
static void run_study(struct sw_rowbench *bench, struct sw_rowbench_options *options,
                      struct sw_rowbench_report *report, char *folder)
{
    static struct sw_cachebench_library library;
    static const struct sw_cachebench_library *libraries[] = {&library, NULL};
    library = sw_cachebench_sherwood_rows;
    library.call = faulty_call;
    cr_assert_eq(parse(options, "--backend=cpu", "--batch=128"), SW_STUDY_RUN);
    cr_assert_not_null(mkdtemp(folder));
    options->capacity_max = 1024;
    options->value_bytes[0] = 16;
    options->value_bytes_count = 1;
    options->reps = 2;
    *bench = (struct sw_rowbench){
        .options = options,
        .place = &sw_rowbench_host,
        .report = report,
        .libraries = libraries,
        .is_correct = true,
        .is_complete = true,
    };
    cr_assert(sw_rowbench_report_open(report, folder));
    sw_rowbench_run(bench);
    cr_assert(sw_rowbench_report_close(report));
    cr_expect(bench->is_complete);
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"raw.csv", "summary.csv", "run_info.txt", NULL};
    remove_study(folder, names);
}

Test(rows_study, a_run_measures_every_operation_at_every_load)
{
    char folder[] = "/tmp/rows-study-XXXXXX";
    struct sw_rowbench bench;
    struct sw_rowbench_options options;
    struct sw_rowbench_report report = {0};
    run_study(&bench, &options, &report, folder);
    cr_expect(bench.is_correct);
    cr_expect_eq(report.series, report.series_max);
    cr_expect_eq(study_lines(folder, "raw.csv", "rows,sherwood,"), 2 * 3 * SW_ROWBENCH_OPERATIONS);
    cr_expect_eq(study_lines(folder, "summary.csv", ",rows_per_second,"),
                 3 * SW_ROWBENCH_OPERATIONS + SW_ROWBENCH_MOVES);
    cr_expect_eq(study_lines(folder, "summary.csv", ",ratio_to_ceiling,"), 3 * 6);
    cr_expect_eq(study_lines(folder, "summary.csv", ",wrong,0,"), 3 * SW_ROWBENCH_OPERATIONS);
    remove_folder(folder);
}

Test(rows_study, every_fault_is_found)
{
    for (fault = LOSES; fault <= ADDS_TWICE; fault++) {
        char folder[] = "/tmp/rows-study-XXXXXX";
        struct sw_rowbench bench;
        struct sw_rowbench_options options;
        struct sw_rowbench_report report = {0};
        run_study(&bench, &options, &report, folder);
        cr_expect(!bench.is_correct, "fault %d", (int)fault);
        remove_folder(folder);
    }
}

/* --- what memory can do ----------------------------------------------------------------------- */

Test(rows_study, moves_touch_every_row_once)
{
    static uint32_t arena[256 * 4];
    static uint32_t packed[256 * 4];
    struct sw_rowbench_moved moved = {
        .move = SW_ROWBENCH_SCATTER,
        .arena = arena,
        .packed = packed,
        .rows = 256,
        .count = 256,
        .present = 100,
        .units = 1,
        .draw = 12345,
    };
    double seconds = -1;
    unsigned gathered = 0;
    for (uint32_t j = 0; j < 256; j++) {
        packed[4 * j] = j + 1;
    }
    cr_assert(sw_rowbench_host.move(&moved, &seconds));
    memset(packed, 0xEE, sizeof(packed));
    moved.move = SW_ROWBENCH_GATHER;
    cr_assert(sw_rowbench_host.move(&moved, &seconds));
    for (uint32_t j = 0; j < 256; j++) {
        cr_expect(packed[4 * j] == j + 1 || packed[4 * j] == 0, "row %u", j);
        gathered += packed[4 * j] != 0;
    }
    cr_expect_eq(gathered, 100);
    cr_expect_geq(seconds, 0);
}

/* Small integers: sums are exact. */
Test(rows_study, a_hot_row_is_added_to_as_often_as_is_asked_for)
{
    static float arena[256 * 4];
    static float packed[256 * 4];
    struct sw_rowbench_moved moved = {
        .move = SW_ROWBENCH_SUM_HOT_TENTH,
        .arena = arena,
        .packed = packed,
        .rows = 256,
        .count = 256,
        .hot = 25,
        .units = 1,
    };
    double seconds = -1;
    float wanted = 25, all = 0;
    for (uint32_t j = 0; j < 256; j++) {
        packed[4 * j] = (float)(j + 1);
        wanted += j >= moved.hot ? packed[4 * j] : 0;
    }
    cr_assert(sw_rowbench_host.move(&moved, &seconds));
    for (uint32_t j = 0; j < 256; j++) {
        all += arena[4 * j];
    }
    cr_expect_geq(arena[0], 25);
    cr_expect_eq(all, wanted);
}
