/* SPDX-License-Identifier: MIT
 *
 * first_segment.h - the file `first-segment` (proto/wal_first.h) of the daemon's data directory.
 *
 * Invariant: a segment with the number in the file, or a higher one, exists as long as the file
 * does. So the log writes the file after such a segment has a durable name, and the file is removed
 * before the last such segment.
 *
 * Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_LOG_FIRST_SEGMENT_H
#define SHERWOOD_SERVER_LOG_FIRST_SEGMENT_H

#include "proto/wal_first.h"
#include "server/log/directory.h"

/* Reads the file; `first->number` is 0 if there is none. Logs a warning and ignores the contents if
 * they are not such a line. Returns 0, or -1 with errno if the file cannot be read. */
int sw_first_segment_read(const struct sw_directory *directory, struct sw_wal_first *first);
/* Replaces the file durably. Returns 0, or -1 with errno: the file is then the old or the new one.
 */
int sw_first_segment_write(const struct sw_directory *directory, const struct sw_wal_first *first);
/* Removes the file durably, if it exists. Returns 0, or -1 with errno. */
int sw_first_segment_remove(const struct sw_directory *directory);

#endif
