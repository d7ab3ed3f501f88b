/* SPDX-License-Identifier: MIT
 *
 * secret.c - reads files with secrets.
 */
#include "server/users/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/regular_file.h"
#include "server/users/password.h"

int sw_secret_path(const char *name, char out[SW_SECRET_PATH_BYTES])
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    if (name[0] != '/' && folder != NULL) {
        int size = snprintf(out, SW_SECRET_PATH_BYTES, "%s/%s", folder, name);
        if (size > 0 && size < SW_SECRET_PATH_BYTES && access(out, F_OK) == 0) {
            return 0;
        }
    }
    int size = snprintf(out, SW_SECRET_PATH_BYTES, "%s", name);
    return size > 0 && size < SW_SECRET_PATH_BYTES ? 0 : -1;
}

/* Returns an error text about the file, or NULL. */
static const char *status_fault(const struct stat *status)
{
    if ((status->st_mode & S_IROTH) != 0) {
        return "is readable by everybody: run chmod o= on it";
    }
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return "is writable by others than its owner: run chmod go-w on it";
    }
    return (uint64_t)status->st_size > SW_SECRET_BYTES_MAX ? "is larger than 4 MiB" : NULL;
}

/* Reads to the end. Returns false on an error. */
static bool read_all(int fd, char *text, size_t room, size_t *size)
{
    *size = 0;
    while (*size < room) {
        ssize_t got = read(fd, text + *size, room - *size);
        if (got == 0) {
            return true;
        }
        if (got < 0 && errno != EINTR) {
            return false;
        }
        *size += got > 0 ? (size_t)got : 0;
    }
    return true;
}

int sw_secret_read(const char *name, char **text, size_t *size, char *error, size_t error_bytes)
{
    char path[SW_SECRET_PATH_BYTES];
    struct stat status;
    *text = NULL;
    if (sw_secret_path(name, path) != 0) {
        snprintf(error, error_bytes, "the name of a secret's file is too long");
        return -1;
    }
    int fd = sw_open_regular(AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0 || fstat(fd, &status) != 0) {
        snprintf(error, error_bytes, "%s: %s: name a file that the user of the server can read",
                 path, sw_file_error(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    const char *wrong = status_fault(&status);
    *text = wrong == NULL ? malloc(SW_SECRET_BYTES_MAX + 1) : NULL;
    if (wrong == NULL && *text == NULL) {
        wrong = "cannot be read: no memory";
    } else if (wrong == NULL && !read_all(fd, *text, SW_SECRET_BYTES_MAX, size)) {
        wrong = strerror(errno);
    }
    close(fd);
    if (wrong != NULL) {
        snprintf(error, error_bytes, "%s %s", path, wrong);
        free(*text);
        *text = NULL;
        return -1;
    }
    (*text)[*size] = '\0';
    return 0;
}

int sw_secret_line(const char *what, const char *name, char *out, size_t room, char *error,
                   size_t error_bytes)
{
    char *text = NULL;
    size_t size = 0;
    char why[SW_SECRET_PATH_BYTES + 128];
    if (sw_secret_read(name, &text, &size, why, sizeof(why)) != 0) {
        snprintf(error, error_bytes, "%s: %s", what, why);
        return -1;
    }
    size_t line = strcspn(text, "\r\n"); /* a NUL also ends it */
    bool is_right = line > 0 && line < room && strlen(text) == size;
    if (is_right) {
        memcpy(out, text, line);
        out[line] = '\0';
    } else {
        snprintf(error, error_bytes,
                 "%s: the first line of %s must have 1 to %zu bytes without a NUL", what, name,
                 room - 1);
    }
    sw_secret_free(text, size);
    return is_right ? 0 : -1;
}

void sw_secret_free(char *text, size_t size)
{
    if (text != NULL) {
        sw_forget(text, size);
        free(text);
    }
}
