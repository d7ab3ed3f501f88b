/* SPDX-License-Identifier: MIT
 *
 * report.c - a study's files and the facts about its run.
 */
#include "bench/study/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 1024

/* bench.mk defines it where git knows it. */
#ifndef SW_STUDY_COMMIT
#define SW_STUDY_COMMIT "not known"
#endif

double sw_study_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* --- files ------------------------------------------------------------------------------------ */

bool sw_study_make_folder(const char *folder)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/", folder);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            return false;
        }
        *slash = '/';
    }
    return true;
}

static FILE **file_of(void *report, const struct sw_study_file *file)
{
    return (FILE **)((char *)report + file->offset);
}

static FILE *open_file(const char *folder, const struct sw_study_file *file)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/%s", folder, file->name);
    FILE *opened = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "w") : NULL;
    if (opened != NULL) {
        setvbuf(opened, NULL, _IOLBF, 0);
        fputs(file->header, opened);
    }
    return opened;
}

bool sw_study_files_open(void *report, const struct sw_study_file *files, const char *study,
                         const char *folder)
{
    bool open = sw_study_make_folder(folder);
    for (const struct sw_study_file *file = files; file->name != NULL; file++) {
        *file_of(report, file) = open ? open_file(folder, file) : NULL;
        open = open && *file_of(report, file) != NULL;
    }
    if (!open) {
        fprintf(stderr, "%s: files in %s: %s: name another folder with --output\n", study, folder,
                strerror(errno));
        (void)sw_study_files_close(report, files, study);
    }
    return open;
}

bool sw_study_files_close(void *report, const struct sw_study_file *files, const char *study)
{
    bool written = true;
    for (const struct sw_study_file *file = files; file->name != NULL; file++) {
        FILE *open = *file_of(report, file);
        bool failed = open != NULL && ferror(open) != 0;
        written = (open == NULL || fclose(open) == 0) && !failed && written;
        *file_of(report, file) = NULL;
    }
    if (!written) {
        fprintf(stderr, "%s: a file could not be written in full\n", study);
    }
    return written;
}

/* --- rows ------------------------------------------------------------------------------------- */

void sw_study_subject(char subject[SW_STUDY_SUBJECT_MAX], const char *study, const char *library,
                      const char *operation, uint32_t slot_bits, double load, int digits,
                      uint64_t batch)
{
    char load_text[32] = "";
    char batch_text[32] = "";
    if (load > 0) {
        snprintf(load_text, sizeof(load_text), "%.*g", digits, load);
    }
    if (batch > 0) {
        snprintf(batch_text, sizeof(batch_text), "%" PRIu64, batch);
    }
    snprintf(subject, SW_STUDY_SUBJECT_MAX, "%s,%s,%s,%" PRIu32 ",%s,%s", study, library, operation,
             slot_bits, load_text, batch_text);
}

void sw_study_summary(FILE *summary, const char *subject, const char *metric, double value,
                      const char *unit)
{
    char text[40] = "";
    if (!isnan(value)) {
        snprintf(text, sizeof(text), "%.10g", value);
    }
    fprintf(summary, "%s,%s,%s,%s\n", subject, metric, text, unit);
}

void sw_study_events(FILE *out, const struct sw_study_took *took)
{
    if (!isnan(took->events)) {
        fprintf(out, "%.6f", took->events * 1e3);
    }
}

/* --- facts ------------------------------------------------------------------------------------ */

/* Finds the first line of the file that begins with `begin`; *line receives what follows `mark` in
 * it. */
static bool find_line(const char *name, const char *begin, const char *mark, char line[512],
                      const char **text)
{
    FILE *file = fopen(name, "r");
    bool found = false;
    while (file != NULL && !found && fgets(line, 512, file) != NULL) {
        const char *at = strstr(line, mark);
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, begin, strlen(begin)) == 0 && at != NULL;
        *text = found ? at + strlen(mark) : "";
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

void sw_study_facts(FILE *out, const char *commit, int argc, char **argv)
{
    char date[64];
    char line[512];
    const char *text = "";
    time_t now = time(NULL);
    struct tm parts;
    struct utsname system;
    gmtime_r(&now, &parts);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    fprintf(out, "date: %s\ncommand:", date);
    for (int i = 0; i < argc; i++) {
        fprintf(out, " %s", argv[i]);
    }
    fprintf(out, "\nversion: %s\ncommit: %s\ncompiler: gcc %s\n", SHERWOOD_VERSION,
            commit[0] == '\0' ? SW_STUDY_COMMIT : commit, __VERSION__);
    if (find_line("/proc/cpuinfo", "model name", ": ", line, &text)) {
        fprintf(out, "cpu: %s, %ld processors\n", text, sysconf(_SC_NPROCESSORS_ONLN));
    }
    if (find_line("/proc/driver/nvidia/version", "", "", line, &text)) {
        fprintf(out, "driver: %s\n", text);
    }
    if (uname(&system) == 0) {
        fprintf(out, "kernel: %s %s %s\n", system.sysname, system.release, system.machine);
    }
}

/* --- medians ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double sw_study_median(double *values, uint32_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double sw_study_percentile(double *values, uint32_t count, double percent)
{
    qsort(values, count, sizeof(*values), by_value);
    double place = percent / 100 * count;
    uint32_t index = (uint32_t)place;
    index -= index > 0 && (double)index >= place; /* the place is counted from 1 */
    return values[index < count ? index : count - 1];
}
