/* SPDX-License-Identifier: MIT
 *
 * secret.h - reads files with secrets. Threads: any.
 */
#ifndef SHERWOOD_SERVER_USERS_SECRET_H
#define SHERWOOD_SERVER_USERS_SECRET_H

#include <stddef.h>

/* Size limit of a file of users. Files of a password or a token are much smaller. */
#define SW_SECRET_BYTES_MAX (4U << 20)
#define SW_SECRET_PATH_BYTES 512

/* Finds the file. Looks up a relative name in $CREDENTIALS_DIRECTORY, the directory of systemd's
 * LoadCredential=, then in the current directory. Returns 0, or -1 if the path is too long. */
int sw_secret_path(const char *name, char out[SW_SECRET_PATH_BYTES]);

/* Reads a file. Refuses a file that everybody may read, because it is not secret, or that others
 * than its owner may write, because it may be forged. Its group may read it, so that a daemon
 * without rights can read a file of root. Returns 0 and a text with a NUL after it, which the
 * caller frees with sw_secret_free; or -1 and an error in `error`. */
int sw_secret_read(const char *name, char **text, size_t *size, char *error, size_t error_bytes);
/* Reads the first line of such a file: 1 to `room` - 1 bytes. Errors begin with `what`. */
int sw_secret_line(const char *what, const char *name, char *out, size_t room, char *error,
                   size_t error_bytes);
/* Overwrites and frees. NULL is allowed. */
void sw_secret_free(char *text, size_t size);

#endif
