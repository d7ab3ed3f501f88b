/* SPDX-License-Identifier: MIT
 *
 * selftest.h - a test, before the server reports that it is ready, that the backend works.
 */
#ifndef SHERWOOD_SERVER_SELFTEST_H
#define SHERWOOD_SERVER_SELFTEST_H

struct sw_table_config;

/* Runs SET, GET and DELETE on a small table of its own, with the engine, backend and widths of the
 * configuration. Returns 0, or -1 with a sentence logged, which states whether a result was wrong,
 * or why the test could not run. Blocks. May be called from any thread. */
int sw_selftest(const struct sw_table_config *config);

#endif
