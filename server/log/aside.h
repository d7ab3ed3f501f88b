/* SPDX-License-Identifier: MIT
 *
 * aside.h - files of a data directory that are about to be replaced stay in a directory below it,
 * which is a data directory of its own.
 *
 * Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_LOG_ASIDE_H
#define SHERWOOD_SERVER_LOG_ASIDE_H

#include "server/log/directory.h"
#include "server/log/history_file.h"

#define SW_ASIDE_KIND "discarded"
#define SW_ASIDE_NAME_MAX 64

/* Links all snapshots and segments, and `history`, into the directory `name`, durably, unless
 * `most` other directories of the kind are there. One of that name, with a part of the files, is of
 * a time that ended by a crash: it gets the rest. Returns 0; or -1 with a sentence; or 1, if one of
 * that name has another file of the same name. */
int sw_aside_keep(const struct sw_directory *directory, const char *name, uint64_t most,
                  char reason[SW_HISTORY_REASON_BYTES]);

#endif
