/* SPDX-License-Identifier: MIT
 *
 * export.c - chooses variants, and writes headers that table/robin_hood/cuda/policy.cuh includes.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/report.h"
#include "bench/tune/analyze/analyze.h"

/* --- the choice ------------------------------------------------------------------------------- */

double sw_tune_coverage(const struct sw_tune_results *results)
{
    uint32_t covered = 0;
    for (uint32_t r = 0; r < results->count; r++) {
        covered += strcmp(results->list[r].state, SW_TUNE_STATE_PARTLY) != 0;
    }
    return (double)covered / (double)results->about.variants;
}

static bool is_whole(const struct sw_tune_results *results, const struct sw_tune_result *result)
{
    return result != NULL && result->has_score && result->measured == results->points &&
           result->score.points == results->points;
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
    char title[SW_TUNE_TITLE_MAX];
    const double score_min = 1 + options->gain_min / 100;
    sw_tune_title(&results->about, title);
    *out = NULL;
    if (!is_whole(results, results->base)) {
        return sw_tune_refuse(
            reason, "%s: base was not measured on every workload: go on searching", title);
    }
    /* they are in order of their score */
    for (uint32_t r = 0; r < results->count && results->list[r].has_score; r++) {
        const struct sw_tune_result *result = &results->list[r];
        if (result->score.score < score_min) {
            break;
        }
        if (is_whole(results, result) && result->score.min >= 1 - options->loss_max / 100) {
            *out = result;
            break;
        }
        if (tells) {
            tell_refused(results, result, title);
        }
    }
    return true;
}

/* --- the header ------------------------------------------------------------------------------- */

/* The digits of "sm_90"; 0 where there are none. */
static int arch_number(const char *arch)
{
    return atoi(arch + strcspn(arch, "0123456789"));
}

/* The words among the workload's values belong to the name, the numbers to the arguments:
 * sw_policy_get_plain<90, 64> */
static void write_struct_name(FILE *out, const struct sw_tune_workload *about)
{
    fprintf(out, "sw_policy_%s", about->kernel);
    for (const char *at = about->workload; (at = strchr(at, '=')) != NULL;) {
        int length = (int)strcspn(++at, " ");
        if (!isdigit((unsigned char)*at)) {
            fprintf(out, "_%.*s", length, at);
        }
    }
    fprintf(out, "<%d", arch_number(about->arch));
    for (const char *at = about->workload; (at = strchr(at, '=')) != NULL;) {
        int length = (int)strcspn(++at, " ");
        if (isdigit((unsigned char)*at)) {
            fprintf(out, ", %.*s", length, at);
        }
    }
    fprintf(out, ">");
}

/* The members that the kernels of table/ have for the labels of parameters; any other label is the
 * member's name itself. */
static const struct {
    const char *label;
    const char *member;
} MEMBERS[] = {
    {"hin", "reads_hints"},
    {"kif", "keys_in_flight"},
    {"kih", "keys_in_flight"},
    {"kps", "operations_per_thread"},
    {"lpk", "lanes_per_key"},
    {"tpb", "threads_per_block"},
    {"tpm", "threads_per_multiprocessor"},
    {"tps", "threads_per_block"},
};

static void write_member(FILE *out, const char *label, int length)
{
    for (size_t i = 0; i < sizeof(MEMBERS) / sizeof(MEMBERS[0]); i++) {
        if (strlen(MEMBERS[i].label) == (size_t)length &&
            strncmp(MEMBERS[i].label, label, (size_t)length) == 0) {
            fprintf(out, "%s", MEMBERS[i].member);
            return;
        }
    }
    fprintf(out, "%.*s", length, label);
}

/* kif_4.tpb_256 as members. */
static void write_members(FILE *out, const char *variant)
{
    while (*variant != '\0') {
        int length = (int)strcspn(variant, ".");
        int label = (int)strcspn(variant, "_");
        fprintf(out, "    static constexpr int ");
        write_member(out, variant, label);
        fprintf(out, " = %.*s;\n", length - label - 1, variant + label + 1);
        variant += length + (variant[length] == '.');
    }
}

static void write_choice(FILE *out, const struct sw_tune_results *results,
                         const struct sw_tune_result *choice)
{
    const struct sw_tune_workload *about = &results->about;
    const struct sw_tune_score *best = &results->list[0].score;
    fprintf(out, "\n/* %s: %s\n", about->workload, choice != NULL ? choice->variant : "base");
    if (choice == NULL) {
        fprintf(out,
                " * %s; of %" PRIu32 " variants of %" PRIu64
                " the best scored %.4f (min %.4f).\n */\n",
                about->base, results->count, about->variants, best->score, best->min);
        return;
    }
    fprintf(out,
            " * score %.4f, speed-ups %.4f .. %.4f, mean %.4f over %" PRIu32 " workloads;\n"
            " * %" PRIu32 " of %" PRIu64 " variants tried; measured %s UTC. */\n"
            "template <> struct ",
            choice->score.score, choice->score.min, choice->score.max, choice->score.mean,
            choice->score.points, results->count, about->variants, choice->date);
    write_struct_name(out, about);
    fprintf(out, " {\n");
    write_members(out, choice->variant);
    fprintf(out, "};\n");
}

/* Everything of one architecture. `choices` are numbered as the results are. */
static void write_header(FILE *out, const char *name, const struct sw_tune_loaded *loaded,
                         const struct sw_tune_result *const *choices,
                         const struct sw_tune_workload *of)
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
            fprintf(out, "%s\n#ifdef SW_POLICY_", kernel[0] != '\0' ? "\n#endif\n" : "");
            kernel = results->about.kernel;
            for (const char *at = kernel; *at != '\0'; at++) {
                (void)fputc(toupper((unsigned char)*at), out);
            }
            fprintf(out, "\n");
        }
        write_choice(out, results, choices[i]);
    }
    fprintf(out, "\n#endif\n");
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

static bool export_arch(const struct sw_tune_loaded *loaded,
                        const struct sw_tune_result *const *choices,
                        const struct sw_tune_workload *of, const char *folder,
                        struct sw_tune_reason *reason)
{
    char name[SW_TUNE_NAME_MAX + 16];
    char path[SW_TUNE_PATH_MAX + SW_TUNE_NAME_MAX + 32];
    char fresh[sizeof(path) + 8];
    name_header(name, sizeof(name), of->arch);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    if (!sw_study_make_folder(folder)) {
        return sw_tune_refuse(reason, "the folder %s cannot be made: %s", folder, strerror(errno));
    }
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

/* Two devices of one architecture would be ambiguous. */
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
    uint32_t j = 0;
    while (strcmp(loaded->list[j].about.arch, loaded->list[i].about.arch) != 0) {
        j++;
    }
    return i == j;
}

bool sw_tune_export(const struct sw_tune_loaded *loaded,
                    const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason)
{
    /* an array of pointers: NOLINTNEXTLINE(bugprone-sizeof-expression) */
    const struct sw_tune_result **choices = calloc(loaded->count, sizeof(*choices));
    if (choices == NULL) {
        return sw_tune_refuse(reason, "not enough memory");
    }
    bool good = check_devices(loaded, reason);
    for (uint32_t i = 0; good && i < loaded->count; i++) {
        char title[SW_TUNE_TITLE_MAX];
        good = sw_tune_choose(&loaded->list[i], options, true, &choices[i], reason);
        sw_tune_title(&loaded->list[i].about, title);
        if (good && choices[i] != NULL) {
            printf("%s: %s, score %.4f\n", title, choices[i]->variant, choices[i]->score.score);
        } else if (good) {
            printf("%s: base\n", title);
        }
    }
    for (uint32_t i = 0; good && i < loaded->count; i++) {
        good = !is_first_of_arch(loaded, i) ||
               export_arch(loaded, choices, &loaded->list[i].about, options->headers, reason);
    }
    free(choices);
    return good;
}
