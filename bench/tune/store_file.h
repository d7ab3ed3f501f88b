/* SPDX-License-Identifier: MIT
 *
 * store_file.h - what store.c and store_read.c share.
 */
#ifndef SHERWOOD_BENCH_TUNE_STORE_FILE_H
#define SHERWOOD_BENCH_TUNE_STORE_FILE_H

#include <sqlite3.h>

#include "bench/tune/store.h"

struct sw_tune_store {
    sqlite3 *db;
    char file[SW_TUNE_TEXT_MAX];
};

/* A statement with its values: types 't' text, 'i' int64_t, 'd' double. NULL on failure. */
sqlite3_stmt *sw_tune_prepare(struct sw_tune_store *store, const char *sql, const char *types, ...);

#endif
