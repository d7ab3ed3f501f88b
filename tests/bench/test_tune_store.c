/* SPDX-License-Identifier: MIT
 *
 * test_tune_store.c - results in their file: what is written comes back, and which may be exported.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/tune/analyze/analyze.h"

#define POINTS 4

static char file[] = "/tmp/sherwood-tune-XXXXXX";
static struct sw_tune_store *store;
static struct sw_tune_space space;
static struct sw_tune_reason reason;

static void open_store(void)
{
    int fd = mkstemp(file);
    cr_assert_geq(fd, 0);
    close(fd);
    cr_assert(sw_tune_store_open(file, true, &store, &reason), "%s", reason.text);
    memset(&space, 0, sizeof(space));
    snprintf(space.kernel, sizeof(space.kernel), "kernel");
    space.axis_count = 3;
    space.axes[0] = (struct sw_tune_axis){"Slot", SW_TUNE_COMPILED, {"64", "128"}, 2};
    space.axes[1] = (struct sw_tune_axis){"Load", SW_TUNE_RUN, {"0.5", "0.9"}, 2};
    space.axes[2] = (struct sw_tune_axis){"Batch", SW_TUNE_ORDERED, {"2^10", "2^20"}, 2};
    space.parameter_count = 1;
    space.parameters[0] = (struct sw_tune_parameter){
        .name = "KEYS", .label = "kif", .values = {1, 2, 4}, .count = 3, .base = 2};
    cr_assert(sw_tune_store_space(store, &space, "sources"));
}

static void close_store(void)
{
    sw_tune_store_close(store);
    unlink(file);
}

TestSuite(tune_store, .init = open_store, .fini = close_store);

static struct sw_tune_key key_of(const char *variant)
{
    return (struct sw_tune_key){"kernel", "Slot=64", variant, "sources", "a GPU", "sm_90"};
}

/* A variant with these medians; 0: not measured. */
static int64_t add_variant(const char *variant, const double medians[POINTS], const char *state)
{
    struct sw_tune_key key = key_of(variant);
    char found[SW_TUNE_STATE_MAX];
    int64_t id = 0;
    cr_assert(sw_tune_store_find(store, &key, &id, found));
    for (uint32_t p = 0; p < POINTS; p++) {
        struct sw_tune_samples samples = {{medians[p], medians[p]}, 2};
        struct sw_tune_summary summary = {medians[p], medians[p], medians[p], 2, 0};
        char point[SW_TUNE_TEXT_MAX];
        sw_tune_point_text(&space, false, p, point);
        cr_assert(medians[p] <= 0 || sw_tune_store_add_point(store, id, point, &summary, &samples));
    }
    cr_assert(sw_tune_store_set_state(store, id, state, ""));
    return id;
}

static void load(struct sw_tune_loaded *loaded)
{
    struct sw_tune_selection selection;
    sw_tune_selection_init(&selection);
    cr_assert(sw_tune_load(store, &selection, "a GPU", loaded, &reason), "%s", reason.text);
    sw_tune_selection_free(&selection);
    cr_assert_eq(loaded->count, 1);
}

Test(tune_store, comes_back)
{
    struct sw_tune_key key = key_of("kif_1");
    struct sw_tune_samples samples = {{1, 2, 3}, 3};
    struct sw_tune_summary summary = {2, 1, 3, 3, 4096};
    char state[SW_TUNE_STATE_MAX];
    int64_t id = 0;
    int64_t again = 0;
    cr_assert(sw_tune_store_find(store, &key, &id, state));
    cr_expect_str_eq(state, SW_TUNE_STATE_PARTLY);
    cr_assert(sw_tune_store_add_point(store, id, "Load=0.5 Batch=2^10", &summary, &samples));
    cr_assert(sw_tune_store_set_state(store, id, SW_TUNE_STATE_GOOD, "note"));
    sw_tune_store_close(store);
    cr_assert(sw_tune_store_open(file, false, &store, &reason), "%s", reason.text);
    cr_assert(sw_tune_store_find(store, &key, &again, state));
    cr_expect_eq(again, id);
    cr_expect_str_eq(state, SW_TUNE_STATE_GOOD);
    cr_expect(sw_tune_store_has(store, id, "Load=0.5 Batch=2^10"));
    cr_expect_not(sw_tune_store_has(store, id, "Load=0.5 Batch=2^20"));
    cr_assert(sw_tune_store_samples(store, id, "Load=0.5 Batch=2^10", &samples));
    cr_assert_eq(samples.count, 3);
    for (uint32_t i = 0; i < samples.count; i++) {
        cr_expect_eq(samples.seconds[i], i + 1);
    }
    key.sources = "others";
    cr_assert(sw_tune_store_find(store, &key, &again, state));
    cr_expect_neq(again, id, "results of other sources are others");
    cr_assert(sw_tune_store_forget(store, id));
    cr_expect_not(sw_tune_store_has(store, id, "Load=0.5 Batch=2^10"));
    cr_assert(sw_tune_store_samples(store, id, "Load=0.5 Batch=2^10", &samples));
    cr_expect_eq(samples.count, 0);
}

Test(tune_store, axes_come_back)
{
    struct sw_tune_space *axes = NULL;
    cr_assert(sw_tune_store_axes(store, "kernel", &axes));
    cr_assert_eq(axes->axis_count, space.axis_count);
    for (uint32_t a = 0; a < space.axis_count; a++) {
        cr_expect_eq(memcmp(&axes->axes[a], &space.axes[a], sizeof(axes->axes[a])), 0);
    }
    free(axes);
}

static const double base_medians[POINTS] = {1, 1, 1, 1};

/* Which variant is exported, or NULL for base. */
static void expect_choice(const char *wanted)
{
    struct sw_tune_analyze_options options = {.loss_max = 2, .gain_min = 0.5};
    struct sw_tune_loaded loaded;
    const struct sw_tune_result *choice = NULL;
    load(&loaded);
    cr_assert(sw_tune_choose(&loaded.list[0], &options, true, &choice, &reason), "%s", reason.text);
    if (wanted == NULL) {
        cr_expect_null(choice);
    } else {
        cr_assert_not_null(choice);
        cr_expect_str_eq(choice->variant, wanted);
    }
    sw_tune_loaded_free(&loaded);
}

Test(tune_store, exports_the_best)
{
    const double faster[POINTS] = {0.9, 0.9, 0.9, 0.9};
    const double little[POINTS] = {0.95, 0.95, 0.95, 0.95};
    add_variant("kif_2", base_medians, SW_TUNE_STATE_GOOD);
    add_variant("kif_1", little, SW_TUNE_STATE_GOOD);
    add_variant("kif_4", faster, SW_TUNE_STATE_GOOD);
    expect_choice("kif_4");
}

Test(tune_store, exports_nothing_that_is_slower_somewhere)
{
    const double uneven[POINTS] = {0.5, 0.5, 1.03, 0.5};
    const double just[POINTS] = {0.9, 0.9, 1.0203, 0.9}; /* speed-up 0.9801 */
    add_variant("kif_2", base_medians, SW_TUNE_STATE_GOOD);
    add_variant("kif_1", uneven, SW_TUNE_STATE_GOOD);
    expect_choice(NULL);
    add_variant("kif_4", just, SW_TUNE_STATE_GOOD);
    expect_choice("kif_4");
}

Test(tune_store, exports_nothing_wrong_or_measured_in_part)
{
    const double faster[POINTS] = {0.5, 0.5, 0.5, 0.5};
    const double partly[POINTS] = {0.5, 0.5, 0.5, 0};
    add_variant("kif_2", base_medians, SW_TUNE_STATE_GOOD);
    add_variant("kif_1", faster, SW_TUNE_STATE_WRONG);
    add_variant("kif_4", partly, SW_TUNE_STATE_PARTLY);
    expect_choice(NULL);
}

Test(tune_store, a_gain_that_is_noise_leaves_base)
{
    const double noise[POINTS] = {0.997, 0.997, 0.997, 0.997};
    add_variant("kif_2", base_medians, SW_TUNE_STATE_GOOD);
    add_variant("kif_4", noise, SW_TUNE_STATE_GOOD);
    expect_choice(NULL);
}

Test(tune_store, base_must_be_whole)
{
    const double partly[POINTS] = {1, 1, 0, 1};
    struct sw_tune_analyze_options options = {.loss_max = 2, .gain_min = 0.5};
    struct sw_tune_loaded loaded;
    const struct sw_tune_result *choice = NULL;
    add_variant("kif_2", partly, SW_TUNE_STATE_PARTLY);
    load(&loaded);
    cr_expect_not(sw_tune_choose(&loaded.list[0], &options, true, &choice, &reason));
    cr_expect_not_null(strstr(reason.text, "base was not measured on every workload"));
    sw_tune_loaded_free(&loaded);
}

Test(tune_store, no_file_and_no_database)
{
    struct sw_tune_store *other = NULL;
    cr_expect_not(sw_tune_store_open("/nowhere/tune.db", false, &other, &reason));
    cr_expect_not_null(strstr(reason.text, "run bench/tune/search first"));
    cr_expect_not(sw_tune_store_open("/nowhere/tune.db", true, &other, &reason));
    cr_expect_not_null(strstr(reason.text, "/nowhere/tune.db"));
    FILE *out = fopen(file, "w");
    cr_assert_not_null(out);
    for (int i = 0; i < 1000; i++) {
        fputs("this is no database\n", out);
    }
    fclose(out);
    cr_expect_not(sw_tune_store_open(file, false, &other, &reason));
    cr_expect_not_null(strstr(reason.text, "not a database"), "%s", reason.text);
}
