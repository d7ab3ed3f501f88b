/* SPDX-License-Identifier: MIT
 *
 * directory.h - the data directory: one daemon at a time has it open, and all calls on its files
 * are relative to its descriptor.
 *
 * | name                | contents                                                             |
 * | lock                | locked, as the directory is; holds the process id of the daemon      |
 * | snapshot-%016x      | a snapshot, named by the write sequence it stands for                |
 * | table-%08x-%016x    | a snapshot of one of several tables, which a catalog names            |
 * | log-%016x           | a segment of the log, named by its number                            |
 * | first-segment       | the number of the first segment of the newest run (first_segment.h)  |
 * | new-*, spare-*      | unfinished or retired: never read, removed at start                  |
 *
 * Threads: open and close belong to one; the fields are constant between them.
 */
#ifndef SHERWOOD_SERVER_LOG_DIRECTORY_H
#define SHERWOOD_SERVER_LOG_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log/io.h"

#define SW_DIRECTORY_PATH_MAX 128 /* of the directory, the NUL included */
#define SW_DIRECTORY_NAME_MAX 32  /* of a file in it, the NUL included */
#define SW_LOG_ID_BYTES 16

struct sw_directory {
    const struct sw_io *io;
    int fd;      /* of the directory; -1: not open */
    int lock_fd; /* of its file `lock` */
    /* Equal in the headers of all files of a directory. Random after open. The function that reads
     * existing files replaces it by theirs. */
    uint8_t log_id[SW_LOG_ID_BYTES];
    char path[SW_DIRECTORY_PATH_MAX];
    uint64_t segments_from; /* lowest segment that a start with a new snapshot can need */
};

/* Opens, locks and syncs the directory, which must exist. After the sync its names survive a power
 * loss. Returns 0; or -1 with nothing open and an error in `reason`. If another process has the
 * lock, the error names it. */
int sw_directory_open(struct sw_directory *directory, const struct sw_io *io, const char *path,
                      char *reason, size_t reason_bytes);
/* Releases the lock and closes the directory. A directory that is not open (fd -1) is allowed. */
void sw_directory_close(struct sw_directory *directory);
/* Checks that the path still names the directory, so that the next start finds the files. Returns
 * 0; or -1 and an error in `reason` if the directory was moved, removed or replaced. Also returns 0
 * if the path cannot be looked up for another reason. */
int sw_directory_check(const struct sw_directory *directory, char *reason, size_t reason_bytes);
/* Opens and locks the directory that the path names now, and keeps the log_id. Call it when
 * sw_directory_check has failed. Returns 0; or changes nothing and returns -1 with an error in
 * `reason`. It fails if the path names no directory, if another process has it, or if it has files
 * of a daemon: they may be needed. */
int sw_directory_follow(struct sw_directory *directory, char *reason, size_t reason_bytes);

/* Writes the name `kind`-%016x of a file. */
void sw_directory_name(const char *kind, uint64_t number, char name[SW_DIRECTORY_NAME_MAX]);
/* Whether `name` is exactly that; then the number in *number. */
bool sw_directory_is_named(const char *name, const char *kind, uint64_t *number);

/* Writes the name of a table's snapshot, table-`id`-`number`. The other function returns whether
 * `name` is exactly such a name, then with its numbers. */
#define SW_TABLE_KIND "table"
void sw_table_file_name(uint32_t id, uint64_t number, char name[SW_DIRECTORY_NAME_MAX]);
bool sw_table_file_is_named(const char *name, uint32_t *id, uint64_t *number);

/* Lists the numbers of the files of a kind in ascending order, in memory that the caller frees:
 * *numbers is NULL if there are none. Returns 0, or -1 with errno. */
int sw_directory_numbers(const struct sw_directory *directory, const char *kind, uint64_t **numbers,
                         size_t *count);
/* Calls `each` with the name of every file of a kind, in ascending order, until it returns -1.
 * Returns 0; or -1 with errno, of `each` or because the directory cannot be read. */
int sw_directory_each(const struct sw_directory *directory, const char *kind,
                      int (*each)(const void *context, const char *name), const void *context);
/* Calls `each` likewise for the snapshots of all tables, in any order. */
int sw_directory_each_table(const struct sw_directory *directory,
                            int (*each)(const void *context, const char *name),
                            const void *context);

#endif
