/* SPDX-License-Identifier: MIT
 *
 * files.h - what the studies write besides figures: where to, and on which machine.
 */
#ifndef SHERWOOD_BENCH_TIMING_FILES_H
#define SHERWOOD_BENCH_TIMING_FILES_H

#include <stdbool.h>
#include <stdio.h>

/* Makes a folder and those above it, as mkdir -p does. */
bool sw_timing_make_folder(const char *folder);

/* The folder of a study where none is given: output/<local time>/<study>. */
void sw_timing_name_folder(char *folder, size_t size, const char *study);

/* Opens folder/name to be written, line by line. NULL, with errno set, if that fails. */
FILE *sw_timing_open_file(const char *folder, const char *name);
/* False if anything could not be written. NULL is allowed. */
bool sw_timing_close_file(FILE *file);

/* A line "cpu: model, N processors", where the system says so. */
void sw_timing_write_cpu(FILE *out);

#endif
