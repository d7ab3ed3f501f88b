/* SPDX-License-Identifier: MIT
 *
 * files.c - folders and files for results, and the machine's processor.
 */
#include "bench/timing/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 600

bool sw_timing_make_folder(const char *folder)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/", folder);
    if (length < 0 || (size_t)length >= sizeof(path)) {
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

void sw_timing_name_folder(char *folder, size_t size, const char *study)
{
    char date[32];
    time_t now = time(NULL);
    struct tm parts;
    localtime_r(&now, &parts);
    strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &parts);
    snprintf(folder, size, "output/%s/%s", date, study);
}

void sw_timing_write_cpu(FILE *out)
{
    char line[512];
    FILE *cpuinfo = fopen("/proc/cpuinfo", "r");
    while (cpuinfo != NULL && fgets(line, sizeof(line), cpuinfo) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            fprintf(out, "cpu: %.*s, %ld processors\n", (int)strcspn(colon + 2, "\n"), colon + 2,
                    sysconf(_SC_NPROCESSORS_ONLN));
            break;
        }
    }
    if (cpuinfo != NULL) {
        fclose(cpuinfo);
    }
}

FILE *sw_timing_open_file(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "w") : NULL;
    if (file != NULL) {
        setvbuf(file, NULL, _IOLBF, 0); /* what was measured stays, whatever happens later */
    }
    return file;
}

bool sw_timing_close_file(FILE *file)
{
    if (file == NULL) {
        return true;
    }
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed;
}
