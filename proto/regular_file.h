/* SPDX-License-Identifier: MIT
 *
 * regular_file.h - opening files that must be regular files.
 *
 * open(2) of a FIFO waits for its other end, perhaps for ever, and opening a device may have
 * effects. The daemon opens every file that its options or its data directory name by these
 * functions, and so do the tools that read a data directory: whatever else has the name is refused
 * at once.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_PROTO_REGULAR_FILE_H
#define SHERWOOD_PROTO_REGULAR_FILE_H

#include <stdio.h>
#include <sys/types.h>

/* openat(2), with O_CLOEXEC, O_NOCTTY and O_NONBLOCK added; `dir` may be AT_FDCWD. Returns -1 with
 * errno; EISDIR for a directory, and EMEDIUMTYPE for a FIFO, a device or a socket. */
int sw_open_regular(int dir, const char *name, int flags, mode_t mode);

/* The same for reading with stdio. Returns NULL with errno. */
FILE *sw_fopen_regular(const char *path);

/* strerror(), with words for EISDIR and EMEDIUMTYPE. */
const char *sw_file_error(int error);

#endif
