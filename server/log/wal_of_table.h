/* SPDX-License-Identifier: MIT
 *
 * wal_of_table.h - the write-ahead log of a table, as the options say.
 */
#ifndef SHERWOOD_SERVER_LOG_WAL_OF_TABLE_H
#define SHERWOOD_SERVER_LOG_WAL_OF_TABLE_H

#include <stdint.h>

#include "server/config/config.h"
#include "server/log/wal.h"

struct sw_table;

/* Creates the log of a table from the configuration: see sw_wal_create. `wake` and `synced` are
 * those of struct sw_wal_config. Returns 0; or logs an error and returns -1. */
int sw_wal_of_table(const struct sw_config *config, const struct sw_table *table,
                    void (*wake)(void *context), void (*synced)(void *context, uint64_t us),
                    void *context, struct sw_wal **out);

/* Returns the most bytes that the columns of a record of the table have. */
uint64_t sw_wal_longest(const struct sw_table *table);

#endif
