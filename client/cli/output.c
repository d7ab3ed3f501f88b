/* SPDX-License-Identifier: MIT
 *
 * output.c - files that are written beside the old ones and renamed at the end.
 */
#include "client/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Frees the names. Keeps errno. */
static void forget(struct sw_cli_output *output)
{
    const int error = errno;
    free(output->target);
    free(output->beside);
    *output = (struct sw_cli_output){0};
    errno = error;
}

/* Creates the file beside the target, with the owner and the mode of the old file, if there is one.
 */
static bool create(struct sw_cli_output *output, const struct stat *old)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = open(output->beside, flags, 0666);
    if (fd < 0 && errno == EEXIST && unlink(output->beside) == 0) {
        fd = open(output->beside, flags, 0666); /* an earlier process of this id left it */
    }
    if (fd < 0) {
        return false;
    }
    if (old != NULL) {
        /* Only root can change the owner. A file that another user writes belongs to that user. */
        (void)!fchown(fd, old->st_uid, old->st_gid);
        (void)fchmod(fd, old->st_mode & 07777);
    }
    output->file = fdopen(fd, "wb");
    if (output->file == NULL) {
        const int error = errno;
        close(fd);
        unlink(output->beside);
        errno = error;
    }
    return output->file != NULL;
}

bool sw_cli_output_open(struct sw_cli_output *output, const char *path)
{
    struct stat old, link;
    const bool exists = stat(path, &old) == 0;
    const bool is_dangling = !exists && lstat(path, &link) == 0;
    const size_t room = PATH_MAX + 32;
    *output = (struct sw_cli_output){0};
    if ((exists && !S_ISREG(old.st_mode)) || is_dangling) {
        output->file = fopen(path, "wbe");
        return output->file != NULL;
    }
    if (exists && access(path, W_OK) != 0) { /* a rename would not check this right */
        return false;
    }
    output->target = exists ? realpath(path, NULL) : strdup(path);
    output->beside = output->target != NULL ? malloc(room) : NULL;
    if (output->beside == NULL) {
        forget(output);
        return false;
    }
    int size = snprintf(output->beside, room, "%s.%ld.part", output->target, (long)getpid());
    errno = ENAMETOOLONG;
    if (size < 0 || (size_t)size >= room || !create(output, exists ? &old : NULL)) {
        forget(output);
        return false;
    }
    return true;
}

bool sw_cli_output_settle(struct sw_cli_output *output)
{
    if (output->file == NULL || output->is_settled) {
        return output->is_settled;
    }
    errno = EIO; /* the error of an earlier write: ferror keeps no errno */
    output->is_settled = ferror(output->file) == 0 && fflush(output->file) == 0 &&
                         (output->beside == NULL || fsync(fileno(output->file)) == 0);
    return output->is_settled;
}

/* Syncs the folder, so that the new name survives a crash. Ignores errors: some file systems have
 * no fsync of a folder. */
static void sync_folder(char *target)
{
    int fd = open(dirname(target), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

bool sw_cli_output_end(struct sw_cli_output *output, bool keep)
{
    if (output->file == NULL) {
        return false;
    }
    bool good = keep && sw_cli_output_settle(output);
    int error = errno;
    if (fclose(output->file) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && output->beside != NULL && rename(output->beside, output->target) != 0) {
        good = false;
        error = errno;
    }
    if (output->beside != NULL && good) {
        sync_folder(output->target);
    } else if (output->beside != NULL) {
        unlink(output->beside);
    }
    forget(output);
    errno = error;
    return good;
}
