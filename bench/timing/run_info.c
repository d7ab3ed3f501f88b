/* SPDX-License-Identifier: MIT
 *
 * run_info.c - writes run_info.txt's facts about host, build, command and workload.
 */
#include "bench/timing/run_info.h"

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/timing/files.h"

/* bench.mk defines it where git knows it. */
#ifndef SW_TIMING_COMMIT
#define SW_TIMING_COMMIT "not known"
#endif

/* The first line of what the driver says of itself, where there is one. */
static void write_driver(FILE *out)
{
    char line[512];
    FILE *version = fopen("/proc/driver/nvidia/version", "r");
    if (version == NULL) {
        return;
    }
    if (fgets(line, sizeof(line), version) != NULL) {
        fprintf(out, "driver: %.*s\n", (int)strcspn(line, "\n"), line);
    }
    fclose(version);
}

void sw_timing_run_facts(FILE *out, const char *commit, int argc, char **argv)
{
    char date[64];
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
            commit[0] == '\0' ? SW_TIMING_COMMIT : commit, __VERSION__);
    sw_timing_write_cpu(out);
    write_driver(out);
    if (uname(&system) == 0) {
        fprintf(out, "kernel: %s %s %s\n", system.sysname, system.release, system.machine);
    }
}

void sw_timing_run_info(FILE *out, const struct sw_timing_options *options, int argc, char **argv)
{
    sw_timing_run_facts(out, options->commit, argc, argv);
    fprintf(out,
            "keys: Philox4_32_10 (cuRAND), seed %" PRIu64 ", uniform over the width but for 0, all "
            "ones and all ones - 1; key i of an insert has the value i\n"
            "timing: host clock around the call that launches and waits; ceilings: CUDA events\n"
            "repetitions: %" PRIu32 " after one warm-up, fewer where %g s (Sherwood) or %g s "
            "(others) are over; medians\n",
            options->seed, options->reps, options->series_seconds, options->peer_seconds);
}
