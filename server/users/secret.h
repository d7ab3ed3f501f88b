/* SPDX-License-Identifier: MIT
 *
 * secret.h - reading files that hold secrets. May be called from any thread.
 */
#ifndef SHERWOOD_SERVER_USERS_SECRET_H
#define SHERWOOD_SERVER_USERS_SECRET_H

#include <stddef.h>

/* Most bytes of a file of users; one of a password or a token has far less. */
#define SW_SECRET_BYTES_MAX (4U << 20)
#define SW_SECRET_PATH_BYTES 512

/* Finds the file: a relative name is looked for in $CREDENTIALS_DIRECTORY, where systemd puts what
 * LoadCredential= names, then in the current directory. Returns 0, or -1 if the path is too long.
 */
int sw_secret_path(const char *name, char out[SW_SECRET_PATH_BYTES]);

/* Reads a file. One that everybody may read, or that others than its owner may write, is refused:
 * what stands in it is no secret, or not its owner's word. (A group may read it: that is how a
 * daemon without rights gets a file that root owns.) Returns 0, and text that the caller gives to
 * sw_secret_free, with a NUL behind it; or -1 with a sentence in `error`. */
int sw_secret_read(const char *name, char **text, size_t *size, char *error, size_t error_bytes);
/* Reads the first line of such a file, which must not be empty, and have `room` - 1 bytes at most.
 * `what` begins the sentences. */
int sw_secret_line(const char *what, const char *name, char *out, size_t room, char *error,
                   size_t error_bytes);
/* Overwrites and frees. NULL is allowed. */
void sw_secret_free(char *text, size_t size);

#endif
