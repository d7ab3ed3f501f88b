/* SPDX-License-Identifier: MIT
 *
 * jax_cuda.h - calls on arrays of a GPU as a handler of XLA's foreign function interface. Compiled
 * programs of JAX call it without Python.
 *
 * Threads: any. The tables are those of operators.h.
 */
#ifndef SHERWOOD_PYTHON_JAX_CUDA_H
#define SHERWOOD_PYTHON_JAX_CUDA_H

#include <stdint.h>

/* Returns the address of the handler. Its attributes and arguments are those of jax_ffi.h; `table`
 * is a number of swpy_table_add. A call takes place in the order of XLA's stream, and the handler
 * does not wait for it. A call that fails later makes the next one fail. Found results of reads are
 * bytes, in units of 8, and those of writes bits, in units of 64. The content of the next state is
 * undefined. */
uintptr_t swpy_jax_cuda_handler(void);

#endif
