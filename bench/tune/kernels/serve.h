/* SPDX-License-Identifier: MIT
 *
 * serve.h - a variant's program: reads questions from stdin, answers on stdout.
 *
 * All of it is in this header, so that a kernel of one file builds with one command. README.md, "A
 * variant's program", has the lines.
 */
#ifndef SHERWOOD_BENCH_TUNE_KERNELS_SERVE_H
#define SHERWOOD_BENCH_TUNE_KERNELS_SERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SW_SERVE_TEXT_MAX 256
#define SW_SERVE_SAMPLES_MAX 4096

/* The functions of a program. On false they have written a sentence to `why`. */
struct sw_serve {
    const char *arch;   /* "sm_90" */
    const char *device; /* "NVIDIA H200" */
    void *context;
    /* Sets a run-time workload up: "Load=0.5 Batch=2^20". *bytes, which is 0 before: what a pass
     * reads and writes at least. */
    bool (*setup)(void *context, const char *point, double *bytes, char why[SW_SERVE_TEXT_MAX]);
    /* Whether the answers are right: those of a pass of its own, or of the last timed one. */
    bool (*check)(void *context, char why[SW_SERVE_TEXT_MAX]);
    /* Times `count` passes, in seconds each. */
    bool (*time)(void *context, uint32_t count, double *seconds, char why[SW_SERVE_TEXT_MAX]);
};

/* The value of an axis in the text of a point, as text. */
static inline bool sw_serve_value(const char *point, const char *axis, char value[64])
{
    size_t length = strlen(axis);
    for (const char *at = point; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, axis, length) == 0 && at[length] == '=') {
            snprintf(value, 64, "%.*s", (int)strcspn(at + length + 1, " "), at + length + 1);
            return true;
        }
    }
    return false;
}

/* The same as a number; 2^20 is one. */
static inline bool sw_serve_number(const char *point, const char *axis, double *number)
{
    char value[64];
    char *end = NULL;
    if (!sw_serve_value(point, axis, value)) {
        return false;
    }
    *number = strtod(value, &end);
    if (*number == 2 && *end == '^') {
        char *exponent = end + 1;
        unsigned long bits = strtoul(exponent, &end, 10);
        *number = bits < 63 && end != exponent ? (double)(1ULL << bits) : 0;
    }
    return end != value && *end == '\0';
}

static inline void sw_serve_times(const struct sw_serve *serve, const char *line, double *seconds)
{
    char why[SW_SERVE_TEXT_MAX] = "";
    unsigned long count = strtoul(line + 5, NULL, 10);
    if (count == 0 || count > SW_SERVE_SAMPLES_MAX) {
        printf("error not a number of passes: %s\n", line);
        return;
    }
    if (!serve->time(serve->context, (uint32_t)count, seconds, why)) {
        printf("error %s\n", why);
        return;
    }
    printf("times");
    for (unsigned long i = 0; i < count; i++) {
        printf(" %.9g", seconds[i]);
    }
    printf("\n");
}

/* Answers until stdin ends. Returns the exit status. */
static inline int sw_serve(const struct sw_serve *serve)
{
    char line[1024];
    double *seconds = (double *)malloc(SW_SERVE_SAMPLES_MAX * sizeof(*seconds));
    if (seconds == NULL) {
        printf("error not enough memory\n");
        return EXIT_FAILURE;
    }
    printf("device %s %s\n", serve->arch, serve->device);
    (void)fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char why[SW_SERVE_TEXT_MAX] = "";
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "point ", 6) == 0) {
            double bytes = 0;
            if (!serve->setup(serve->context, line + 6, &bytes, why)) {
                printf("error %s\n", why);
            } else if (bytes > 0) {
                printf("ok bytes %.0f\n", bytes);
            } else {
                printf("ok\n");
            }
        } else if (strcmp(line, "check") == 0) {
            if (serve->check(serve->context, why)) {
                printf("ok\n");
            } else {
                printf("wrong %s\n", why);
            }
        } else if (strncmp(line, "time ", 5) == 0) {
            sw_serve_times(serve, line, seconds);
        } else {
            printf("error what is \"%s\"?\n", line);
        }
        (void)fflush(stdout);
    }
    free(seconds);
    return EXIT_SUCCESS;
}

#endif
