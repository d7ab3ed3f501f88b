/* SPDX-License-Identifier: MIT
 *
 * test_csv.c - rows of --csv: one head, the same number of fields in each row, the right values.
 */
#include "bench/load/report.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELDS_MAX 64

static int split(char *line, char **fields)
{
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *field = line; field; count++) {
        char *comma = strchr(field, ',');
        cr_assert_lt(count, FIELDS_MAX);
        fields[count] = field;
        if (comma) {
            *comma++ = '\0';
        }
        field = comma;
    }
    return count;
}

/* The field of a row under this name. */
static const char *under(char **names, char **fields, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return fields[i];
        }
    }
    cr_assert(false, "there is no column %s", name);
    return "";
}

Test(csv, rows_are_appended_below_one_head)
{
    struct sw_load_result *result = calloc(1, sizeof(*result));
    const struct sw_load_options options = {.protocol = SW_LOAD_BULK,
                                            .distribution = SW_LOAD_ZIPF,
                                            .keys = 777,
                                            .connections = 3,
                                            .frame = 64};
    char path[] = "/tmp/sherwood-csv-XXXXXX", head[1024], row[1024];
    char *names[FIELDS_MAX], *fields[FIELDS_MAX];
    int fd = mkstemp(path);
    cr_assert(result && fd >= 0);
    close(fd);
    result->phases_count = 2;
    result->phases[0].operation = SW_LOAD_FILL;
    struct sw_load_phase_result *mix = &result->phases[1];
    *mix = (struct sw_load_phase_result){.operation = SW_LOAD_MIX,
                                         .keys = 3000,
                                         .seconds = 1.5,
                                         .rate = 4000,
                                         .late = 5,
                                         .late_max_ns = 6000,
                                         .unsent = 7,
                                         .missing = 8,
                                         .wrong = 9};
    sw_load_histogram_record(&mix->latency, 1000);
    sw_load_histogram_record(&mix->latency, 2000);
    cr_assert_eq(sw_load_report_csv(fopen(path, "a"), &options, result), 0);
    cr_assert_eq(sw_load_report_csv(fopen(path, "a"), &options, result), 0);
    FILE *in = fopen(path, "r");
    cr_assert(in && fgets(head, sizeof(head), in));
    const int count = split(head, names);
    for (int i = 0; i < 4; i++) {
        cr_assert(fgets(row, sizeof(row), in), "row %d", i);
        cr_assert_eq(split(row, fields), count, "row %d", i);
        cr_assert_str_eq(under(names, fields, count, "phase"), i % 2 ? "mix" : "fill");
    }
    static const struct {
        const char *name, *field;
    } expected[] = {
        {"protocol", "bulk"},  {"distribution", "zipf"}, {"keys", "777"},
        {"connections", "3"},  {"frame", "64"},          {"rate", "4000"},
        {"done_keys", "3000"}, {"seconds", "1.500000"},  {"keys_per_second", "2000"},
        {"units", "2"},        {"min_us", "1.000"},      {"mean_us", "1.500"},
        {"p50_us", "1.000"},   {"p99_9_us", "2.000"},    {"max_us", "2.000"},
        {"late", "5"},         {"late_max_us", "6.000"}, {"unsent", "7"},
        {"missing", "8"},      {"wrong", "9"},
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        cr_assert_str_eq(under(names, fields, count, expected[i].name), expected[i].field);
    }
    cr_assert_not(fgets(row, sizeof(row), in));
    fclose(in);
    unlink(path);
    free(result);
}

Test(csv, a_file_that_cannot_be_written)
{
    struct sw_load_result *result = calloc(1, sizeof(*result));
    const struct sw_load_options options = {.protocol = SW_LOAD_RESP};
    cr_assert(result);
    result->phases_count = 1;
    cr_assert_eq(sw_load_report_csv(fopen("/dev/full", "a"), &options, result), -1);
    free(result);
}
