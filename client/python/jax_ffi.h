/* SPDX-License-Identifier: MIT
 *
 * jax_ffi.h - calls on many keys as a handler of XLA's foreign function interface, for arrays of
 * the host. Compiled programs of JAX call it without Python.
 *
 * Threads: any. Calls on one table run one after another. Memory: the module owns the tables and
 * their handles. A forked child cannot use the tables of its parent.
 */
#ifndef SHERWOOD_PYTHON_JAX_FFI_H
#define SHERWOOD_PYTHON_JAX_FFI_H

#include <stddef.h>
#include <stdint.h>

struct sherwood;

/* Returns the address of the handler. Its attributes are `table`, the number of a table, and
 * `operation`. Its arguments are a state (an int32), keys, and values if the operation has them.
 * Its results are the next state, then previous values, a byte of 0 or 1 for each key that was
 * present, or both. */
uintptr_t swpy_jax_handler(void);

/* Adds a table. The module closes `client`. Returns the number of the table, or 0 without memory;
 * then the caller keeps `client`. */
int64_t swpy_jax_add(struct sherwood *client);
/* Removes a table. A call in progress ends first, and closes the handle. */
void swpy_jax_remove(int64_t number);

/* Returns a new handle of a table whose connection was lost, or which was dropped. Returns NULL and
 * an error in `text` if there is none. The Python module implements it, and takes the GIL. */
struct sherwood *swpy_jax_open(int64_t number, char *text, size_t text_bytes);

#endif
