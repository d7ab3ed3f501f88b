/* SPDX-License-Identifier: MIT
 *
 * study_files.h - the files that a study has written into a folder.
 *
 * Failures are Criterion assertions.
 */
#ifndef SHERWOOD_TESTS_BENCH_STUDY_FILES_H
#define SHERWOOD_TESTS_BENCH_STUDY_FILES_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STUDY_PATH_BYTES 700
#define STUDY_LINE_BYTES 1000

/* Returns the number of lines of a file that contain the text. */
static inline uint32_t study_lines(const char *folder, const char *name, const char *text)
{
    char path[STUDY_PATH_BYTES];
    char line[STUDY_LINE_BYTES];
    uint32_t count = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, text) != NULL;
    }
    fclose(file);
    return count;
}

/* Removes the folder, which has these files and no other. The list ends with NULL. */
static inline void remove_study(const char *folder, const char *const *names)
{
    char path[STUDY_PATH_BYTES];
    for (size_t n = 0; names[n] != NULL; n++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[n]);
        cr_expect_eq(unlink(path), 0, "%s", path);
    }
    cr_expect_eq(rmdir(folder), 0, "%s", folder);
}

#endif
