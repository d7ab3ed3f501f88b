/* SPDX-License-Identifier: MIT
 *
 * archived_files.c - keeps files by hard links: the data directory may then remove its own names of
 * them.
 */
#include "server/log/archived_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/plural.h"
#include "proto/wal_first.h"
#include "proto/wal_format.h"
#include "server/log/snapshot_write.h"

struct others {
    const char *name; /* the directory of this call, which the count leaves out */
    uint64_t count;
};

static bool count_one(void *context, const char *name)
{
    struct others *others = context;
    others->count += strncmp(name, SW_ARCHIVE_KIND "-", sizeof(SW_ARCHIVE_KIND)) == 0 &&
                     strcmp(name, others->name) != 0;
    return true;
}

#define PATH_BYTES (SW_ARCHIVE_NAME_MAX + SW_DIRECTORY_NAME_MAX + 1)

static int link_file(const struct sw_directory *directory, const char *name, const char *file)
{
    char to[PATH_BYTES];
    snprintf(to, sizeof(to), "%s/%s", name, file);
    return directory->io->link(directory->fd, file, to);
}

/* Called if the archive has a file of this name. Returns true if the file of the data directory has
 * a second name: it is the same file. Sets errno to EEXIST. */
static bool is_linked(const struct sw_directory *directory, const char *file)
{
    const struct sw_io *io = directory->io;
    uint64_t names = 0;
    int fd = io->open(directory->fd, file, O_RDONLY, 0);
    bool linked = fd >= 0 && io->links(fd, &names) == 0 && names > 1;
    if (fd >= 0) {
        io->close(fd);
    }
    errno = EEXIST;
    return linked;
}

/* A directory that files are linked into. */
struct archive {
    const struct sw_directory *directory;
    const char *name;
};

/* Returns 0 unless the archive has a different file of this name. Then returns -1 and sets errno to
 * EEXIST. */
static int compare_one(const void *context, const char *file)
{
    const struct archive *archive = context;
    const struct sw_io *io = archive->directory->io;
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", archive->name, file);
    int fd = io->open(archive->directory->fd, path, O_RDONLY, 0);
    if (fd < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    io->close(fd);
    return is_linked(archive->directory, file) ? 0 : -1;
}

/* Compares all snapshots and segments before the first link: a link of `first-segment` would spoil
 * an archive of other writes that lacks this file. */
static int compare_all(const struct sw_directory *directory, const char *name)
{
    const struct archive archive = {directory, name};
    int status = sw_directory_each(directory, SW_SNAPSHOT_KIND, compare_one, &archive);
    status = status == 0 ? sw_directory_each_table(directory, compare_one, &archive) : status;
    return status == 0 ? sw_directory_each(directory, SW_WAL_NAME, compare_one, &archive) : status;
}

static int link_one(const void *context, const char *file)
{
    const struct archive *archive = context;
    const int status = link_file(archive->directory, archive->name, file);
    return status != 0 && errno == EEXIST && is_linked(archive->directory, file) ? 0 : status;
}

static int link_kind(const struct sw_directory *directory, const char *name, const char *kind)
{
    const struct archive archive = {directory, name};
    return sw_directory_each(directory, kind, link_one, &archive);
}

static int link_tables(const struct sw_directory *directory, const char *name)
{
    const struct archive archive = {directory, name};
    return sw_directory_each_table(directory, link_one, &archive);
}

/* Keeps a link that an earlier call has made. */
static int link_if_there(const struct sw_directory *directory, const char *name, const char *file)
{
    const int status = link_file(directory, name, file);
    return status != 0 && (errno == ENOENT || errno == EEXIST) ? 0 : status;
}

static int sync_archive(const struct sw_directory *directory, const char *name)
{
    const struct sw_io *io = directory->io;
    int fd = io->open(directory->fd, name, O_RDONLY | O_DIRECTORY, 0);
    int status = fd < 0 || io->fsync(fd) != 0 ? -1 : 0;
    if (fd >= 0) {
        int error = errno;
        io->close(fd);
        errno = error;
    }
    return status;
}

/* Links all files. `first-segment` comes first, and its link is durable before there is a link of a
 * segment. So the segment that it names, or a newer one, exists when the segments are listed, even
 * if the log makes or removes segments meanwhile. If a crash leaves the archive without segments of
 * the newest run, a start there notices it. */
static int link_all(const struct sw_directory *directory, const char *name)
{
    return link_if_there(directory, name, SW_WAL_FIRST_NAME) == 0 &&
                   sync_archive(directory, name) == 0 && link_tables(directory, name) == 0 &&
                   link_kind(directory, name, SW_SNAPSHOT_KIND) == 0 &&
                   link_kind(directory, name, SW_WAL_NAME) == 0 &&
                   link_if_there(directory, name, SW_HISTORY_NAME) == 0 &&
                   sync_archive(directory, name) == 0
               ? directory->io->fsync(directory->fd)
               : -1;
}

int sw_archive_files(const struct sw_directory *directory, const char *name, uint64_t most,
                     char reason[SW_HISTORY_REASON_BYTES])
{
    const struct sw_io *io = directory->io;
    struct others others = {name, 0};
    if (io->list(directory->fd, count_one, &others) == 0 && others.count >= most) {
        snprintf(reason, SW_HISTORY_REASON_BYTES,
                 "%s has %" PRIu64 " director%s " SW_ARCHIVE_KIND
                 "-.. already: remove some, or raise --ha-discarded-max",
                 directory->path, others.count, sw_plural(others.count, "y", "ies"));
        return -1;
    }
    if ((io->make(directory->fd, name) == 0 || errno == EEXIST) &&
        compare_all(directory, name) == 0 && link_all(directory, name) == 0) {
        return 0;
    }
    const int error = errno;
    snprintf(reason, SW_HISTORY_REASON_BYTES, "%s/%s: %s", directory->path, name, strerror(error));
    return error == EEXIST ? 1 : -1;
}
