/* SPDX-License-Identifier: MIT
 *
 * snapshot_read.h - reading a snapshot file, block by block, and checking every one. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_SNAPSHOT_READ_H
#define SHERWOOD_CLIENT_CLI_SNAPSHOT_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/snapshot_file.h"

struct sw_cli_snapshot {
    const char *path; /* borrowed */
    FILE *messages;   /* borrowed: errors are printed there */
    int fd;
    struct sw_snapshot_header header;
    uint64_t file_bytes;
    uint64_t number; /* number of the block that the next call reads */
    uint64_t *checks;
    uint8_t *block;
    uint32_t entries; /* of the last block read */
};

/* Opens the file and reads its header. Returns false with the reason printed; fini may follow. */
bool sw_cli_snapshot_open(struct sw_cli_snapshot *snapshot, const char *path, FILE *messages);
void sw_cli_snapshot_fini(struct sw_cli_snapshot *snapshot);

/* Reads the next block. Returns 1 with the block's `entries` and columns. Returns 0 after the last
 * block, if the footer proves the whole file sound. Returns -1 with the reason printed. */
int sw_cli_snapshot_next(struct sw_cli_snapshot *snapshot);
/* A column of the block: one of SW_SNAPSHOT_KEYS, _VALUES, _SCORES. */
const uint8_t *sw_cli_snapshot_column(const struct sw_cli_snapshot *snapshot, uint32_t column);

#endif
