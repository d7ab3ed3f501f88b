/* SPDX-License-Identifier: MIT
 *
 * run_info.h - what is said about a run: machine, versions, command, workload.
 */
#ifndef SHERWOOD_BENCH_TIMING_RUN_INFO_H
#define SHERWOOD_BENCH_TIMING_RUN_INFO_H

#include <stdio.h>

#include "bench/timing/options.h"

/* Lines "name: value" of any study's run: date, command, version, commit (what the build knows, if
 * that is empty), processor, driver, kernel. Those about the device are device.h's. */
void sw_timing_run_facts(FILE *out, const char *commit, int argc, char **argv);

/* These, and those about the workload of the timing study. */
void sw_timing_run_info(FILE *out, const struct sw_timing_options *options, int argc, char **argv);

#endif
