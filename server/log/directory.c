/* SPDX-License-Identifier: MIT
 *
 * directory.c - opening, locking and listing the data directory.
 */
#include "server/log/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "proto/data_lock.h"
#include "proto/regular_file.h"
#include "proto/wal_first.h"
#include "proto/wal_format.h"
#include "server/log/history_file.h"
#include "server/log/role_file.h"
#include "server/log/snapshot_write.h"
#include "server/observe/log.h"

#define PID_BYTES 32

/* --- open and close --------------------------------------------------------------------------- */

/* Writes an error that names the holder of the lock. The file has its process id, or is empty. */
static void report_holder(const struct sw_directory *directory, char *reason, size_t reason_bytes)
{
    char pid[PID_BYTES] = "";
    ssize_t got = directory->io->pread(directory->lock_fd, pid, sizeof(pid) - 1, 0);
    pid[got < 0 ? 0 : got] = '\0';
    pid[strspn(pid, "0123456789")] = '\0';
    snprintf(reason, reason_bytes,
             "another sherwoodd (pid %s) uses the data directory %s: stop it, or name another "
             "--data-dir",
             pid[0] == '\0' ? "unknown" : pid, directory->path);
}

/* Writes the process id to the file `lock`. Only the holder of the lock writes there. */
static int write_pid(const struct sw_directory *directory)
{
    char pid[PID_BYTES];
    int bytes = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    return sw_io_write(directory->io, directory->lock_fd, pid, (size_t)bytes, 0) != 0
               ? -1
               : directory->io->truncate(directory->lock_fd, bytes);
}

/* Writes an error for a failed lock of `name` ("": the directory). Returns -1. */
static int say_locked(struct sw_directory *directory, const char *name, char *reason,
                      size_t reason_bytes)
{
    if (errno == EAGAIN) {
        report_holder(directory, reason, reason_bytes);
    } else {
        snprintf(reason, reason_bytes, "%s%s cannot be locked: %s", directory->path, name,
                 strerror(errno));
    }
    return -1;
}

/* Locks the directory, then its file `lock`. In this order a second daemon changes no file, and
 * finds the process id of the first one in `lock`. */
static int take_locks(struct sw_directory *directory, char *reason, size_t reason_bytes)
{
    const struct sw_io *io = directory->io;
    if (io->lock_directory(directory->fd) != 0) {
        int error = errno;
        directory->lock_fd = io->open(directory->fd, SW_DATA_LOCK_NAME, O_RDONLY, 0);
        errno = error;
        return say_locked(directory, "", reason, reason_bytes);
    }
    directory->lock_fd = io->open(directory->fd, SW_DATA_LOCK_NAME, O_RDWR | O_CREAT, 0600);
    if (directory->lock_fd < 0) {
        snprintf(reason, reason_bytes, "%s/%s cannot be opened: %s%s", directory->path,
                 SW_DATA_LOCK_NAME, sw_file_error(errno),
                 errno == EACCES
                     ? ": another user owns it or the directory, perhaps since root ran "
                       "the server; give all files there to the user that runs it, "
                       "by chown -R"
                     : "");
        return -1;
    }
    if (io->lock(directory->lock_fd) != 0) {
        return say_locked(directory, "/" SW_DATA_LOCK_NAME, reason, reason_bytes);
    }
    if (write_pid(directory) != 0) { /* the disk may be full; the lock is valid anyway */
        sw_log(SW_LOG_WARNING,
               "cannot write %s/%s, so it does not name the process that has the lock: %s",
               directory->path, SW_DATA_LOCK_NAME, strerror(errno));
    }
    return 0;
}

static int open_and_lock(struct sw_directory *directory, char *reason, size_t reason_bytes)
{
    const struct sw_io *io = directory->io;
    directory->fd = io->open(AT_FDCWD, directory->path, O_RDONLY | O_DIRECTORY, 0);
    if (directory->fd < 0) {
        snprintf(reason, reason_bytes, "the data directory %s cannot be opened: %s%s",
                 directory->path, strerror(errno),
                 errno == ENOENT ? ": create it, writable for the user that serves" : "");
        return -1;
    }
    if (take_locks(directory, reason, reason_bytes) != 0) {
        return -1;
    }
    if (io->fsync(directory->fd) != 0) {
        snprintf(reason, reason_bytes, "the data directory %s cannot be synced: %s",
                 directory->path, strerror(errno));
        return -1;
    }
    if (getrandom(directory->log_id, SW_LOG_ID_BYTES, 0) != SW_LOG_ID_BYTES) {
        snprintf(reason, reason_bytes, "cannot draw a random id for the data directory %s",
                 directory->path);
        return -1;
    }
    return 0;
}

int sw_directory_open(struct sw_directory *directory, const struct sw_io *io, const char *path,
                      char *reason, size_t reason_bytes)
{
    *directory = (struct sw_directory){.io = io, .fd = -1, .lock_fd = -1};
    if (strlen(path) >= sizeof(directory->path)) {
        snprintf(reason, reason_bytes, "the path of the data directory is longer than %d bytes",
                 SW_DIRECTORY_PATH_MAX - 1);
        return -1;
    }
    strcpy(directory->path, path);
    if (open_and_lock(directory, reason, reason_bytes) != 0) {
        sw_directory_close(directory);
        return -1;
    }
    return 0;
}

void sw_directory_close(struct sw_directory *directory)
{
    if (directory->lock_fd >= 0) {
        directory->io->close(directory->lock_fd);
    }
    if (directory->fd >= 0) {
        directory->io->close(directory->fd);
    }
    directory->lock_fd = -1;
    directory->fd = -1;
}

/* --- a directory that goes away --------------------------------------------------------------- */

int sw_directory_check(const struct sw_directory *directory, char *reason, size_t reason_bytes)
{
    const int is_there = directory->io->is_at(directory->fd, directory->path);
    const bool is_gone =
        is_there < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ESTALE);
    if (is_gone) {
        snprintf(reason, reason_bytes, "the data directory %s was moved or removed: %s",
                 directory->path, strerror(errno));
    } else if (is_there == 0) {
        snprintf(reason, reason_bytes, "the data directory %s was replaced by another directory",
                 directory->path);
    }
    return is_gone || is_there == 0 ? -1 : 0;
}

/* Returns true if the name is that of a daemon's file with data or about its data. */
static bool is_of_daemon(const char *name)
{
    uint64_t number;
    uint32_t table;
    return sw_directory_is_named(name, SW_SNAPSHOT_KIND, &number) ||
           sw_table_file_is_named(name, &table, &number) ||
           sw_directory_is_named(name, SW_WAL_NAME, &number) ||
           strcmp(name, SW_HISTORY_NAME) == 0 || strcmp(name, SW_ROLE_NAME) == 0 ||
           strcmp(name, SW_WAL_FIRST_NAME) == 0;
}

static bool note_file(void *context, const char *name)
{
    char *found = context;
    if (is_of_daemon(name)) {
        snprintf(found, SW_DIRECTORY_NAME_MAX, "%s", name);
    }
    return found[0] == '\0';
}

/* Returns true if the directory has no data of another daemon: the data of two daemons must not
 * mix. */
static bool is_free(const struct sw_directory *directory, char *reason, size_t reason_bytes)
{
    char found[SW_DIRECTORY_NAME_MAX] = "";
    if (directory->io->list(directory->fd, note_file, found) != 0) {
        snprintf(reason, reason_bytes, "the data directory %s cannot be read: %s", directory->path,
                 strerror(errno));
        return false;
    }
    if (found[0] != '\0') {
        snprintf(reason, reason_bytes,
                 "the data directory %s was replaced by one that has data (%s): move it away, and "
                 "create an empty one",
                 directory->path, found);
    }
    return found[0] == '\0';
}

int sw_directory_follow(struct sw_directory *directory, char *reason, size_t reason_bytes)
{
    struct sw_directory other;
    if (directory->io->is_at(directory->fd, directory->path) < 0 &&
        sw_directory_check(directory, reason, reason_bytes) != 0) {
        return -1; /* the path names no directory */
    }
    if (sw_directory_open(&other, directory->io, directory->path, reason, reason_bytes) != 0) {
        return -1;
    }
    if (!is_free(&other, reason, reason_bytes)) {
        sw_directory_close(&other);
        return -1;
    }
    memcpy(other.log_id, directory->log_id, SW_LOG_ID_BYTES);
    sw_directory_close(directory);
    *directory = other;
    return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

void sw_directory_name(const char *kind, uint64_t number, char name[SW_DIRECTORY_NAME_MAX])
{
    snprintf(name, SW_DIRECTORY_NAME_MAX, "%s-%016" PRIx64, kind, number);
}

bool sw_directory_is_named(const char *name, const char *kind, uint64_t *number)
{
    char expected[SW_DIRECTORY_NAME_MAX];
    size_t prefix = strlen(kind);
    if (strncmp(name, kind, prefix) != 0 || name[prefix] != '-') {
        return false;
    }
    *number = strtoull(name + prefix + 1, NULL, 16);
    sw_directory_name(kind, *number, expected);
    return strcmp(name, expected) == 0;
}

void sw_table_file_name(uint32_t id, uint64_t number, char name[SW_DIRECTORY_NAME_MAX])
{
    char kind[sizeof(SW_TABLE_KIND) + 9];
    snprintf(kind, sizeof(kind), SW_TABLE_KIND "-%08" PRIx32, id);
    sw_directory_name(kind, number, name);
}

bool sw_table_file_is_named(const char *name, uint32_t *id, uint64_t *number)
{
    char expected[SW_DIRECTORY_NAME_MAX];
    const size_t prefix = strlen(SW_TABLE_KIND "-");
    if (strncmp(name, SW_TABLE_KIND "-", prefix) != 0 || strlen(name) < prefix + 9) {
        return false;
    }
    *id = (uint32_t)strtoul(name + prefix, NULL, 16);
    *number = strtoull(name + prefix + 9, NULL, 16);
    sw_table_file_name(*id, *number, expected);
    return strcmp(name, expected) == 0;
}

struct listing {
    const char *kind;
    uint64_t *numbers;
    size_t count, room;
    bool no_memory;
};

static bool add_number(void *context, const char *name)
{
    struct listing *listing = context;
    uint64_t number;
    if (!sw_directory_is_named(name, listing->kind, &number)) {
        return true;
    }
    if (listing->count == listing->room) {
        size_t room = listing->room == 0 ? 16 : listing->room * 2;
        uint64_t *numbers = realloc(listing->numbers, room * sizeof(*numbers));
        if (numbers == NULL) {
            listing->no_memory = true;
            return false;
        }
        listing->numbers = numbers;
        listing->room = room;
    }
    listing->numbers[listing->count++] = number;
    return true;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

int sw_directory_numbers(const struct sw_directory *directory, const char *kind, uint64_t **numbers,
                         size_t *count)
{
    struct listing listing = {.kind = kind};
    int status = directory->io->list(directory->fd, add_number, &listing);
    if (listing.no_memory) {
        errno = ENOMEM;
        status = -1;
    }
    if (status != 0) {
        int error = errno;
        free(listing.numbers);
        errno = error;
        return -1;
    }
    if (listing.count > 0) {
        qsort(listing.numbers, listing.count, sizeof(*listing.numbers), by_number);
    }
    *numbers = listing.numbers;
    *count = listing.count;
    return 0;
}

int sw_directory_each(const struct sw_directory *directory, const char *kind,
                      int (*each)(const void *context, const char *name), const void *context)
{
    uint64_t *numbers = NULL;
    size_t count = 0;
    char name[SW_DIRECTORY_NAME_MAX];
    int status = sw_directory_numbers(directory, kind, &numbers, &count);
    for (size_t i = 0; i < count && status == 0; i++) {
        sw_directory_name(kind, numbers[i], name);
        status = each(context, name);
    }
    const int error = errno;
    free(numbers);
    errno = error;
    return status;
}

struct table_files {
    int (*each)(const void *context, const char *name);
    const void *context;
    int status, error; /* of `each`: its result and errno */
};

static bool visit_table_file(void *context, const char *name)
{
    struct table_files *files = context;
    uint32_t id;
    uint64_t number;
    if (sw_table_file_is_named(name, &id, &number)) {
        files->status = files->each(files->context, name);
        files->error = errno;
    }
    return files->status == 0;
}

int sw_directory_each_table(const struct sw_directory *directory,
                            int (*each)(const void *context, const char *name), const void *context)
{
    struct table_files files = {each, context, 0, 0};
    const int status = directory->io->list(directory->fd, visit_table_file, &files);
    errno = files.status != 0 ? files.error : errno;
    return files.status != 0 ? files.status : status;
}
