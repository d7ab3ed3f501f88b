/* SPDX-License-Identifier: MIT
 *
 * process.c - the kernel's statistics of this process.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/observe/server_stats.h"

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%*u %llu", &pages) != 1) {
        pages = 0;
    }
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

void sw_server_stats_process(struct sw_server_stats *snapshot)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    snapshot->cpu_user_seconds = seconds(&usage.ru_utime);
    snapshot->cpu_system_seconds = seconds(&usage.ru_stime);
    snapshot->process_id = (uint64_t)getpid();
    snapshot->resident_bytes = resident_bytes();
}
