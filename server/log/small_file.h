/* SPDX-License-Identifier: MIT
 *
 * small_file.h - files of the data directory that are a few lines of text, and are replaced whole.
 *
 * Threads: one at a time for a name. Errors: errno.
 */
#ifndef SHERWOOD_SERVER_LOG_SMALL_FILE_H
#define SHERWOOD_SERVER_LOG_SMALL_FILE_H

#include "server/log/directory.h"

/* Reads at most `room` - 1 bytes, and ends them with a NUL. Returns how many; or -1, with ENOENT if
 * there is no file. */
ssize_t sw_small_file_read(const struct sw_directory *directory, const char *name, char *text,
                           size_t room);
/* Writes a new file `beside`, syncs it, renames it to `name` and syncs the directory. Returns 0, or
 * -1. */
int sw_small_file_write(const struct sw_directory *directory, const char *name, const char *beside,
                        const char *text, size_t size);
/* Removes the file, if it exists, and syncs the directory. Returns 0, or -1. */
int sw_small_file_remove(const struct sw_directory *directory, const char *name);

#endif
