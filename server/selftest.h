/* SPDX-License-Identifier: MIT
 *
 * selftest.h - does the chosen backend compute? Asked before the server says that it is ready.
 */
#ifndef SHERWOOD_SERVER_SELFTEST_H
#define SHERWOOD_SERVER_SELFTEST_H

#include "table/table.h"

/* Runs a small set, get and delete on a small table of its own with this configuration's backend
 * and width. Returns 0, or -1 with a sentence logged, which tells a wrong result from a table that
 * could not be made or asked (no memory, say). Blocks; any thread. */
int sw_selftest(const struct sw_table_config *config);

#endif
