/* SPDX-License-Identifier: MIT
 *
 * test_tune_space.c - comments of kernels, filters, and the points of a space.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/tune/sources.h"
#include "bench/tune/space.h"

#define GOOD                                               \
    "/* %AXIS% Slot{ct} {64,128}\n"                        \
    " * %AXIS% Way{ct} {plain,hinted}\n"                   \
    " * %AXIS% Load {0.5,0.9}\n"                           \
    " * %AXIS% Batch{io} {2^10,2^16,2^20}\n"               \
    " * %RANGE% KEYS kif {1,2,4}\n"                        \
    " * %RANGE% BLOCK tpb 64:256:64 */\n"                  \
    "// %RANGE% HINTS hin {0,1} Way{ct}=[hinted]\n"        \
    "#ifndef KEYS\n#define KEYS 2\n#endif\n"               \
    "#define BLOCK 256 /* threads */\n#  define HINTS 1\n" \
    "#define KEYSTONE 7\n"

static char folder[] = "/tmp/sherwood-tune-XXXXXX";

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(tune_space, .init = make_folder, .fini = remove_folder);

static const char *write_file(const char *name, const char *text)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static struct sw_tune_space *read_text(const char *text)
{
    struct sw_tune_space *space = NULL;
    struct sw_tune_reason reason = {""};
    cr_assert(sw_tune_space_read(write_file("kernel.cu", text), &space, &reason), "%s",
              reason.text);
    return space;
}

/* A sentence that has `wanted` in it. */
static void expect_refused(const char *text, const char *wanted)
{
    struct sw_tune_space *space = NULL;
    struct sw_tune_reason reason = {""};
    cr_expect_not(sw_tune_space_read(write_file("kernel.cu", text), &space, &reason), "%s", text);
    cr_expect_not_null(strstr(reason.text, wanted), "got \"%s\", wanted \"%s\"", reason.text,
                       wanted);
    cr_expect_null(space);
    cr_expect_null(strchr(reason.text, '\n'));
}

Test(tune_space, comments_of_every_form)
{
    struct sw_tune_space *space = read_text(GOOD);
    cr_expect_str_eq(space->kernel, "kernel");
    cr_assert_eq(space->axis_count, 4);
    cr_expect_eq(space->axes[0].kind, SW_TUNE_COMPILED);
    cr_expect_eq(space->axes[2].kind, SW_TUNE_RUN);
    cr_expect_eq(space->axes[3].kind, SW_TUNE_ORDERED);
    cr_expect_str_eq(space->axes[3].values[2], "2^20");
    cr_assert_eq(space->parameter_count, 3);
    cr_expect_eq(space->parameters[0].base, 2);
    cr_expect_eq(space->parameters[1].base, 256);
    cr_expect_eq(space->parameters[2].base, 1);
    cr_assert_eq(space->parameters[1].count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(space->parameters[1].values[i], 64 * (i + 1));
    }
    cr_expect(space->parameters[2].is_limited);
    free(space);
}

Test(tune_space, parameters_in_another_file)
{
    char text[256];
    write_file("tuned.cuh", "// %RANGE% N n {1,2}\n#define N 1\n");
    snprintf(text, sizeof(text), "/* %%TUNES%% %s/tuned.cuh\n * %%AXIS%% Load {1} */\n", folder);
    struct sw_tune_space *space = read_text(text);
    cr_expect_eq(space->parameter_count, 1);
    cr_expect_eq(space->axis_count, 1);
    free(space);
    expect_refused("/* %TUNES% /nowhere/x.cuh */\n", "/nowhere/x.cuh cannot be read");
}

Test(tune_space, broken_comments)
{
    expect_refused("\n/* %RANGE% N */\n", "kernel.cu:2: ");
    expect_refused("%RANGE% N n\n#define N 1\n", "first:last:step or {a,b,c}");
    expect_refused("%RANGE% N n 1:2\n", "first:last:step or {a,b,c}");
    expect_refused("%RANGE% N n 1:2:3x\n", "first:last:step or {a,b,c}");
    expect_refused("%RANGE% N n 9:2:1\n", "does not go up");
    expect_refused("%RANGE% N n 1:9:0\n", "does not go up");
    expect_refused("%RANGE% N n 1:1000:1\n", "at most 64 values");
    expect_refused("%RANGE% N n {1,two}\n", "two is not an integer");
    expect_refused("%RANGE% N n {1,1}\n", "1 is in the list twice");
    expect_refused("%RANGE% N n {1,2\n", "ends with }");
    expect_refused("%RANGE% N n {}\n", "value of the list is missing");
    expect_refused("%RANGE% N N {1,2}\n", "label N is not of small letters");
    expect_refused("%RANGE% N n {1,2}\n%RANGE% N m {1,2}\n", "kernel.cu:2: N m: another");
    expect_refused("%RANGE% N n {1,2}\n%RANGE% M n {1,2}\n", "kernel.cu:2: M n: another");
    expect_refused("%RANGE% N n {1,2}\n", "no line \"#define N value\"");
    expect_refused("%RANGE% N n {1,2}\n#define N 1\n#define N 2\n", "kernel.cu:3: N is defined");
    expect_refused("%RANGE% N n {1,2}\n#define N (1)\n", "value of N is not an integer");
    expect_refused("%RANGE% N n {1,2} Way=[a]\n#define N 1\n", "has no axis Way");
    expect_refused("%RANGE% N n {1,2} Way\n#define N 1\n", "is not Axis=[a,b]");
    expect_refused("%AXIS% Slot{ct}\n", "list begins with {");
    expect_refused("%AXIS% Slot{xx} {1}\n", "what follows Slot is {ct}, {io}, {rt}");
    expect_refused("%AXIS% Slot {1} 2\n", "behind the list");
    expect_refused("%AXIS% Slot {1}\n%AXIS% Slot {1}\n", "kernel.cu:2: there is an axis Slot");
    expect_refused("%TUNES%\n", "%TUNES% and one file");
    expect_refused("int main;\n", "has no %RANGE% comment");
    struct sw_tune_reason reason = {""};
    struct sw_tune_space *space = NULL;
    cr_expect_not(sw_tune_space_read("/nowhere/k.cu", &space, &reason));
    cr_expect_not_null(strstr(reason.text, "/nowhere/k.cu cannot be read"));
}

/* Every point has a name of its own, and a number leads to the values that its name has. */
Test(tune_space, every_point_once)
{
    struct sw_tune_space *space = read_text(GOOD);
    char names[16][SW_TUNE_TEXT_MAX];
    cr_assert_eq(sw_tune_point_count(space, true), 4);
    cr_assert_eq(sw_tune_point_count(space, false), 6);
    for (uint32_t p = 0; p < 6; p++) {
        char wanted[SW_TUNE_TEXT_MAX];
        snprintf(wanted, sizeof(wanted), "Load=%s Batch=%s",
                 space->axes[2].values[sw_tune_point_value(space, false, p, 2)],
                 space->axes[3].values[sw_tune_point_value(space, false, p, 3)]);
        sw_tune_point_text(space, false, p, names[p]);
        cr_expect_str_eq(names[p], wanted);
        for (uint32_t q = 0; q < p; q++) {
            cr_expect_str_neq(names[p], names[q]);
        }
    }
    cr_expect_str_eq(names[1], "Load=0.5 Batch=2^16");
    sw_tune_point_text(space, true, 3, names[0]);
    cr_expect_str_eq(names[0], "Slot=128 Way=hinted");
    free(space);
}

Test(tune_space, every_variant_once)
{
    struct sw_tune_space *space = read_text(GOOD);
    for (uint32_t w = 0; w < 4; w++) { /* odd ones are hinted */
        const uint64_t count = sw_tune_variant_count(space, w);
        char names[32][SW_TUNE_TEXT_MAX];
        uint32_t bases = 0;
        cr_assert_eq(count, w % 2 != 0 ? 24 : 12);
        for (uint64_t v = 0; v < count; v++) {
            struct sw_tune_variant variant;
            sw_tune_variant_at(space, w, v, &variant);
            sw_tune_variant_name(space, w, &variant, names[v]);
            bases += sw_tune_variant_is_base(space, w, &variant);
            for (uint64_t u = 0; u < v; u++) {
                cr_expect_str_neq(names[v], names[u]);
            }
        }
        cr_expect_eq(bases, 1);
        cr_expect_str_eq(names[0], w % 2 != 0 ? "kif_1.tpb_64.hin_0" : "kif_1.tpb_64");
    }
    free(space);
}

static void expect_filter(const char *text, const char *refusal)
{
    struct sw_tune_space *space = read_text(GOOD);
    struct sw_tune_filter filter;
    struct sw_tune_reason reason = {""};
    bool good = sw_tune_filter_parse(text, &filter, &reason) &&
                sw_tune_filter_fits(&filter, space, &reason);
    cr_expect_eq(good, refusal == NULL, "%s: %s", text, reason.text);
    cr_expect(refusal == NULL || strstr(reason.text, refusal) != NULL, "%s: %s", text, reason.text);
    free(space);
}

Test(tune_space, filters)
{
    expect_filter("Slot{ct}=[64,128]", NULL);
    expect_filter("Slot=64", NULL);
    expect_filter("Load{rt}=[0.5]", NULL);
    expect_filter("Batch{io}=[2^10]", NULL);
    expect_filter("Slots{ct}=[64]", "no axis Slots; it has Slot{ct}, Way{ct}, Load, Batch{io}");
    expect_filter("Slot{rt}=[64]", "is a compile-time {ct} axis");
    expect_filter("Load{ct}=[0.5]", "is a run-time {rt} axis");
    expect_filter("Slot{ct}=[32]", "has no value 32");
    expect_filter("Slot{ct}=[64", "ends with ]");
    expect_filter("Slot{ct}=[64]]", "what is \"]\"?");
    expect_filter("Slot{ct}=", "values are missing");
    expect_filter("Slot{zz}=[64]", "is not Axis");
    expect_filter("=[64]", "does not begin with an axis");
}

Test(tune_space, filters_take_points)
{
    struct sw_tune_space *space = read_text(GOOD);
    struct sw_tune_filter filters[2];
    struct sw_tune_reason reason;
    uint32_t taken = 0;
    cr_assert(sw_tune_filter_parse("Batch=[2^10,2^20]", &filters[0], &reason));
    cr_assert(sw_tune_filter_parse("Slot=128", &filters[1], &reason));
    for (uint32_t p = 0; p < 6; p++) {
        bool is = sw_tune_point_taken(space, false, p, filters, 2);
        cr_expect_eq(is, sw_tune_point_value(space, false, p, 3) != 1);
        taken += is;
    }
    cr_expect_eq(taken, 4);
    cr_expect_not(sw_tune_point_taken(space, true, 0, filters, 2));
    cr_expect(sw_tune_point_taken(space, true, 2, filters, 2));
    free(space);
}

static uint64_t hash_of(const char *name)
{
    char path[128];
    uint64_t hash = 0;
    struct sw_tune_reason reason = {""};
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert(sw_tune_hash_sources(path, &hash, &reason), "%s", reason.text);
    return hash;
}

/* A change of an included file is noticed, that of an exported policy is not. */
Test(tune_space, sources)
{
    write_file("a.cu", "#include \"b.h\"\n#include <stdio.h>\n  # include \"policy_sm90.h\"\n");
    write_file("b.h", "#include \"c.h\"\n#include \"a.cu\"\n");
    write_file("c.h", "int c;\n");
    write_file("policy_sm90.h", "int p;\n");
    uint64_t first = hash_of("a.cu");
    cr_expect_eq(first, hash_of("a.cu"));
    write_file("policy_sm90.h", "int q;\n");
    cr_expect_eq(first, hash_of("a.cu"));
    write_file("c.h", "int d;\n");
    cr_expect_neq(first, hash_of("a.cu"));
    write_file("c.h", "int c;\n");
    cr_expect_eq(first, hash_of("a.cu"));
}
