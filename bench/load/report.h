/* SPDX-License-Identifier: MIT
 *
 * report.h - the result of a run, for people, as JSON or as CSV.
 */
#ifndef SHERWOOD_LOAD_REPORT_H
#define SHERWOOD_LOAD_REPORT_H

#include "bench/load/run.h"

#include <stdio.h>

void sw_load_report_text(FILE *out, const struct sw_load_options *options,
                         const struct sw_load_result *result);
/* Writes one JSON object and a newline. Returns 0, or -1 if memory is short or `out` fails. */
int sw_load_report_json(FILE *out, const struct sw_load_options *options,
                        const struct sw_load_result *result);
/* Writes a row for each phase to `out`, which appends to its file, and closes it. Writes a row of
 * names first if the file is empty. Returns 0, or -1 with errno if the file cannot be written. */
int sw_load_report_csv(FILE *out, const struct sw_load_options *options,
                       const struct sw_load_result *result);
/* Prints one line for each phase with missing or wrong keys. */
void sw_load_report_mismatches(FILE *out, const struct sw_load_result *result);

#endif
