/* SPDX-License-Identifier: MIT
 *
 * archived_files.h - keeps files of a data directory that are about to be replaced, in a directory
 * below it. A server can use that directory as its data directory.
 *
 * Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_LOG_ARCHIVED_FILES_H
#define SHERWOOD_SERVER_LOG_ARCHIVED_FILES_H

#include "server/log/directory.h"
#include "server/log/history_file.h"

#define SW_ARCHIVE_KIND "discarded"
#define SW_ARCHIVE_NAME_MAX 64

/* Links all snapshots, all segments, `history` and `first-segment` into the directory `name`,
 * durably. If the directory exists with some of the files, a crash interrupted an earlier call:
 * adds the others. Returns 0. Returns 1 if the directory has a different file of the same name.
 * Returns -1 and an error in `reason` if a call fails or `most` other such directories exist. */
int sw_archive_files(const struct sw_directory *directory, const char *name, uint64_t most,
                     char reason[SW_HISTORY_REASON_BYTES]);

#endif
