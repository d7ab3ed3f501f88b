/* SPDX-License-Identifier: MIT
 *
 * wal.h - reads the write-ahead log of a data directory offline. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_WAL_H
#define SHERWOOD_CLIENT_CLI_WAL_H

#include "client/cli/cli.h"
#include "proto/wal_plan.h"

#define SW_CLI_WAL_PATH_BYTES 4200
#define SW_CLI_SNAPSHOT_KIND "snapshot"

/* The log of a directory. Files are read whole, one at a time. */
struct sw_cli_wal {
    struct sw_cli *cli;
    const char *path;
    const char *table;          /* log export: the argument of --table; NULL: none */
    struct sw_wal_found *found; /* by number */
    size_t count, room;
    uint64_t *snapshots; /* numbers of the snapshots, the newest first */
    size_t snapshot_count, snapshot_room;
    /* sequence of the newest snapshot that is whole; of a catalog the least one that its tables are
     * through; 0: none */
    uint64_t base;
    uint64_t named; /* the highest number in the name of a snapshot */
    struct sw_wal_plan plan;
};

/* Prints an error about the directory, or about the file of this name in it. Returns false. */
bool sw_cli_wal_complain(const struct sw_cli_wal *wal, const char *name, const char *text);
/* Reads the segments and snapshots of the directory, but makes no plan. Returns false with the
 * reason printed. */
bool sw_cli_wal_read(struct sw_cli_wal *wal);
/* Returns the bytes of a segment, which the caller frees; or NULL with the reason printed. */
uint8_t *sw_cli_wal_load(const struct sw_cli_wal *wal, uint64_t number, uint64_t *size);
void sw_cli_wal_free(struct sw_cli_wal *wal);

/* Locks the directory until the process ends. Returns a descriptor of the directory, or -1 with the
 * reason printed. */
int sw_cli_wal_lock(const struct sw_cli_wal *wal);

/* log check --fix: prints which writes are lost if the log is cut so that a server can start. With
 * `yes` it cuts the log. Returns false if the log was not fixed. */
bool sw_cli_wal_fix(struct sw_cli_wal *wal, bool yes);

#endif
