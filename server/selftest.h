/* SPDX-License-Identifier: MIT
 *
 * selftest.h - does the chosen backend compute? Asked before the server says that it is ready.
 */
#ifndef SHERWOOD_SERVER_SELFTEST_H
#define SHERWOOD_SERVER_SELFTEST_H

#include "table/table.h"

/* Runs a small set, get and delete on a small table of its own with this configuration's backend
 * and width. Returns 0, or -1 with a sentence logged. */
int sw_selftest(const struct sw_table_config *config);

#endif
