/* SPDX-License-Identifier: MIT
 *
 * error.h - codes and sentences of errors. Used by the thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_ERROR_H
#define SHERWOOD_CLIENT_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sherwood;

/* Stores the sentence for sherwood_error and returns `status`. */
int sw_client_fail(struct sherwood *client, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the code for a status of the protocol; SHERWOOD_E_PROTOCOL if it is unknown. */
int sw_client_status(uint32_t reply_status);
/* Are all bytes of a struct from one offset to another 0? If they are not, a program uses a field
 * of a later version. */
bool sw_client_is_zero(const void *object, size_t from, size_t to);
/* Copies text that a peer sent, and replaces all but printable characters. */
void sw_client_clean(const char *text, size_t size, char *out, size_t out_bytes);

#endif
