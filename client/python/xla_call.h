/* SPDX-License-Identifier: MIT
 *
 * xla_call.h - a call of XLA as a call of sherwood.jax, for the handlers of the host and of CUDA.
 */
#ifndef SHERWOOD_PYTHON_XLA_CALL_H
#define SHERWOOD_PYTHON_XLA_CALL_H

#include <stdbool.h>

#include "client/python/xla_ffi.h"

/* The attributes, arguments and results of a call. A pointer is NULL if the call has no such array.
 */
struct swpy_xla_call {
    int64_t table, operation;
    const struct xla_buffer *state, *keys, *values;
    struct xla_buffer *next_state, *previous, *found;
};

/* Carries a call out. Returns NULL, or an error. */
typedef struct xla_error *swpy_xla_run(const struct xla_call *from,
                                       const struct swpy_xla_call *call);
/* Handles a call of XLA: returns the version of the interface, or reads the call and runs it. */
struct xla_error *swpy_xla_handle(struct xla_call *from, swpy_xla_run *run);

/* Returns an error. Copies the message. */
struct xla_error *swpy_xla_fail(const struct xla_call *call, enum xla_code code,
                                const char *message);
/* Returns the code of a status of libsherwood. */
enum xla_code swpy_xla_code(int status);
/* Returns the number of keys. */
size_t swpy_xla_count(const struct swpy_xla_call *call, size_t key_bytes);
/* Returns whether the arrays have the widths of a server, and this number of bytes for found keys.
 */
bool swpy_xla_fits(const struct swpy_xla_call *call, size_t key_bytes, size_t value_bytes,
                   size_t found_bytes);
#define SWPY_XLA_MISFIT \
    "the arrays do not have the widths of the server's keys and values: trace the program again"

#endif
