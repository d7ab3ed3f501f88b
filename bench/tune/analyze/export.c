/* SPDX-License-Identifier: MIT
 *
 * export.c - chooses, and writes headers. table/robin_hood/cuda/policy.cuh reads them.
 */
#include "bench/tune/analyze/export.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tune/build.h"

/* Of the parameter that is the library's layout: a header cannot change it. */
#define SHAPE_LABEL "spb_"

/* What is exported of one workload; NULL for base. */
struct choice {
    const struct sw_tune_result *result;
    const struct sw_tune_result *shape; /* better, of another layout; or NULL */
};

/* The value of the layout's parameter in a variant's name, as text up to the next point; "" if it
 * has none. */
static const char *shape_of(const char *variant)
{
    for (const char *at = variant; at != NULL; at = strchr(at, '.')) {
        at += *at == '.';
        if (strncmp(at, SHAPE_LABEL, strlen(SHAPE_LABEL)) == 0) {
            return at + strlen(SHAPE_LABEL);
        }
    }
    return "";
}

static bool has_base_shape(const struct sw_tune_results *results,
                           const struct sw_tune_result *result)
{
    const char *shape = shape_of(result->variant);
    const char *base = shape_of(results->about.base);
    size_t length = strcspn(shape, ".");
    return length == strcspn(base, ".") && strncmp(shape, base, length) == 0;
}

static bool is_whole(const struct sw_tune_results *results, const struct sw_tune_result *result)
{
    return result != NULL && result->has_score && result->measured == results->points &&
           result->score.points == results->points;
}

static bool is_admitted(const struct sw_tune_results *results, const struct sw_tune_result *result,
                        const struct sw_tune_analyze_options *options)
{
    return is_whole(results, result) && result->score.min >= 1 - options->loss_max;
}

/* The best variant of another layout that is better than the choice (NULL: base) by as much as is
 * worth one; NULL if there is none. */
static const struct sw_tune_result *better_shape(const struct sw_tune_results *results,
                                                 const struct sw_tune_result *choice,
                                                 const struct sw_tune_analyze_options *options)
{
    double least = (choice != NULL ? choice->score.score : 1) + options->gain_min;
    for (uint32_t r = 0; r < results->count; r++) {
        const struct sw_tune_result *result = &results->list[r];
        if (!result->has_score || result->score.score < least) {
            break; /* they are in order of their score */
        }
        if (!has_base_shape(results, result) && is_admitted(results, result, options)) {
            return result;
        }
    }
    return NULL;
}

/* Why a variant with a high score is not the choice. */
static void tell_refused(const struct sw_tune_results *results, const struct sw_tune_result *result,
                         const char *title)
{
    char worst[SW_TUNE_TEXT_MAX];
    if (!is_whole(results, result)) {
        printf("%s: %s is not exported: it was measured on %" PRIu32 " of %" PRIu32 " workloads\n",
               title, result->variant, result->measured, results->points);
        return;
    }
    sw_tune_worst_point(results, result, worst);
    printf("%s: %s is not exported: its score is %.4f, but at %s its speed-up is %.4f\n", title,
           result->variant, result->score.score, worst, result->score.min);
}

bool sw_tune_choose(const struct sw_tune_results *results,
                    const struct sw_tune_analyze_options *options, bool tells,
                    const struct sw_tune_result **out, struct sw_tune_reason *reason)
{
    char title[3 * SW_TUNE_TEXT_MAX];
    sw_tune_title(&results->about, title, sizeof(title));
    *out = NULL;
    if (!is_whole(results, results->base)) {
        return sw_tune_refuse(
            reason, "%s: base was not measured on every workload: go on searching", title);
    }
    for (uint32_t r = 0; r < results->count; r++) {
        const struct sw_tune_result *result = &results->list[r];
        if (!result->has_score || result->score.score < 1 + options->gain_min) {
            break; /* they are in order of their score */
        }
        if (!has_base_shape(results, result)) {
            continue;
        }
        if (is_admitted(results, result, options)) {
            *out = result;
            break;
        }
        if (tells) {
            tell_refused(results, result, title);
        }
    }
    return true;
}

/* The digits of "sm_90"; 0 where there are none. */
static int arch_number(const char *arch)
{
    return atoi(arch + strcspn(arch, "0123456789"));
}

/* The words among the workload's values belong to the name, the numbers to the arguments:
 * sw_policy_get_plain<90, 64> */
static void write_struct_name(FILE *out, const struct sw_tune_results *results)
{
    const char *workload = results->about.workload;
    char words[2 * SW_TUNE_TEXT_MAX] = "";
    char numbers[2 * SW_TUNE_TEXT_MAX] = "";
    while ((workload = strchr(workload, '=')) != NULL) {
        int length = (int)strcspn(++workload, " ");
        bool is_number = isdigit((unsigned char)workload[0]);
        char *to = is_number ? numbers : words;
        size_t used = strlen(to);
        snprintf(to + used, 2 * SW_TUNE_TEXT_MAX - used, "%s%.*s", is_number ? ", " : "_", length,
                 workload);
    }
    fprintf(out, "sw_policy_%s%s<%d%s>", results->about.kernel, words,
            arch_number(results->about.arch), numbers);
}

/* kif_4.tpb_256 as members. */
static void write_members(FILE *out, const char *variant)
{
    while (*variant != '\0') {
        int length = (int)strcspn(variant, ".");
        int label = (int)strcspn(variant, "_");
        if (shape_of(variant) != variant + strlen(SHAPE_LABEL)) {
            fprintf(out, "    static constexpr int %.*s = %.*s;\n", label, variant,
                    length - label - 1, variant + label + 1);
        }
        variant += length + (variant[length] == '.');
    }
}

/* What another layout would gain, in the comment of a choice. */
static void write_shape(FILE *out, const struct sw_tune_result *shape)
{
    const char *slots = shape != NULL ? shape_of(shape->variant) : "";
    if (shape != NULL) {
        fprintf(out,
                " * Faster in a library of make BUCKET_SLOTS=%.*s: %s,\n"
                " * score %.4f (min %.4f).\n",
                (int)strcspn(slots, "."), slots, shape->variant, shape->score.score,
                shape->score.min);
    }
}

static void write_choice(FILE *out, const struct sw_tune_results *results,
                         const struct sw_tune_result *choice, const struct sw_tune_result *shape)
{
    const struct sw_tune_result *best = &results->list[0];
    fprintf(out, "\n/* %s: %s\n", results->about.workload,
            choice != NULL ? choice->variant : "base");
    if (choice == NULL) {
        fprintf(out,
                " * %s; of %" PRIu32 " variants of %" PRIu64 " the best scored %.4f (min %.4f).\n",
                results->about.base, results->count, results->about.variants, best->score.score,
                best->score.min);
        write_shape(out, shape);
        fprintf(out, " */\n");
        return;
    }
    fprintf(out,
            " * score %.4f, speed-ups %.4f .. %.4f, mean %.4f over %" PRIu32 " workloads;\n"
            " * %" PRIu32 " of %" PRIu64 " variants tried; measured %s UTC.%s\n",
            choice->score.score, choice->score.min, choice->score.max, choice->score.mean,
            choice->score.points, results->count, results->about.variants, choice->date,
            shape == NULL ? " */" : "");
    if (shape != NULL) {
        write_shape(out, shape);
        fprintf(out, " */\n");
    }
    fprintf(out, "template <> struct ");
    write_struct_name(out, results);
    fprintf(out, " {\n");
    write_members(out, choice->variant);
    fprintf(out, "};\n");
}

static void write_section(FILE *out, const char *kernel, bool begins)
{
    if (!begins) {
        fprintf(out, "\n#endif\n");
        return;
    }
    fprintf(out, "\n#ifdef SW_POLICY_");
    for (const char *at = kernel; *at != '\0'; at++) {
        (void)fputc(toupper((unsigned char)*at), out);
    }
    fprintf(out, "\n");
}

/* Everything of one architecture. `choices` are numbered as the results are. */
static void write_header(FILE *out, const char *name, const struct sw_tune_loaded *loaded,
                         const struct choice *choices, const struct sw_tune_workload *of)
{
    const char *kernel = "";
    fprintf(out,
            "/* SPDX-License-Identifier: MIT\n"
            " *\n"
            " * %s - variants of kernels that are faster than base on one GPU.\n"
            " *\n"
            " * Written by bench/tune/analyze --export; bench/tune/README.md. Measured on\n"
            " * %s (%s). A kernel's file includes it for its own part.\n"
            " */\n",
            name, of->device, of->arch);
    for (uint32_t i = 0; i < loaded->count; i++) {
        const struct sw_tune_results *results = &loaded->list[i];
        if (strcmp(results->about.arch, of->arch) != 0) {
            continue;
        }
        if (strcmp(results->about.kernel, kernel) != 0) {
            if (kernel[0] != '\0') {
                write_section(out, kernel, false);
            }
            kernel = results->about.kernel;
            write_section(out, kernel, true);
        }
        write_choice(out, results, choices[i].result, choices[i].shape);
    }
    write_section(out, kernel, false);
}

/* "policy_sm90.h" */
static void name_header(char *name, size_t size, const char *arch)
{
    size_t used = (size_t)snprintf(name, size, "policy_");
    for (; *arch != '\0' && used + 3 < size; arch++) {
        if (isalnum((unsigned char)*arch)) {
            name[used++] = *arch;
        }
    }
    snprintf(name + used, size - used, ".h");
}

static bool export_arch(const struct sw_tune_loaded *loaded, const struct choice *choices,
                        const struct sw_tune_workload *of,
                        const struct sw_tune_analyze_options *options,
                        struct sw_tune_reason *reason)
{
    char name[SW_TUNE_NAME_MAX + 16];
    char path[SW_TUNE_PATH_MAX];
    char fresh[SW_TUNE_PATH_MAX + 8];
    name_header(name, sizeof(name), of->arch);
    if (snprintf(path, sizeof(path), "%s/%s", options->headers, name) >= (int)sizeof(path)) {
        return sw_tune_refuse(reason, "the name of the folder %s is too long", options->headers);
    }
    if (!sw_tune_make_folder(options->headers, reason)) {
        return false;
    }
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    FILE *out = fopen(fresh, "w");
    if (out == NULL) {
        return sw_tune_refuse(reason, "%s cannot be written: %s", fresh, strerror(errno));
    }
    write_header(out, name, loaded, choices, of);
    bool good = ferror(out) == 0;
    good = fclose(out) == 0 && good;
    if (!good || rename(fresh, path) != 0) {
        (void)remove(fresh);
        return sw_tune_refuse(reason, "%s cannot be written: %s", path, strerror(errno));
    }
    printf("%s\n", path);
    return true;
}

/* Whether two devices of one architecture have results: then which is meant? */
static bool check_devices(const struct sw_tune_loaded *loaded, struct sw_tune_reason *reason)
{
    for (uint32_t i = 0; i < loaded->count; i++) {
        const struct sw_tune_workload *a = &loaded->list[i].about;
        if (a->device[0] == '\0') {
            return sw_tune_refuse(reason, "%s[%s] has no results: go on searching", a->kernel,
                                  a->workload);
        }
        for (uint32_t j = 0; j < i; j++) {
            const struct sw_tune_workload *b = &loaded->list[j].about;
            if (strcmp(a->arch, b->arch) == 0 && strcmp(a->device, b->device) != 0) {
                return sw_tune_refuse(reason, "%s and %s are both %s: choose one by --device",
                                      b->device, a->device, a->arch);
            }
        }
    }
    return true;
}

static bool is_first_of_arch(const struct sw_tune_loaded *loaded, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++) {
        if (strcmp(loaded->list[j].about.arch, loaded->list[i].about.arch) == 0) {
            return false;
        }
    }
    return true;
}

bool sw_tune_export(const struct sw_tune_loaded *loaded,
                    const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason)
{
    struct choice *choices = calloc(loaded->count, sizeof(*choices));
    if (choices == NULL) {
        return sw_tune_refuse(reason, "not enough memory");
    }
    bool good = check_devices(loaded, reason);
    for (uint32_t i = 0; good && i < loaded->count; i++) {
        const struct sw_tune_results *results = &loaded->list[i];
        char title[3 * SW_TUNE_TEXT_MAX];
        good = sw_tune_choose(results, options, true, &choices[i].result, reason);
        choices[i].shape = good ? better_shape(results, choices[i].result, options) : NULL;
        sw_tune_title(&results->about, title, sizeof(title));
        if (good && choices[i].result != NULL) {
            printf("%s: %s, score %.4f\n", title, choices[i].result->variant,
                   choices[i].result->score.score);
        } else if (good) {
            printf("%s: base\n", title);
        }
    }
    for (uint32_t i = 0; good && i < loaded->count; i++) {
        good = !is_first_of_arch(loaded, i) ||
               export_arch(loaded, choices, &loaded->list[i].about, options, reason);
    }
    free(choices);
    return good;
}
