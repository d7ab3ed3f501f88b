/* SPDX-License-Identifier: MIT
 *
 * operator_arrays.h - one call of an operator, and tensors as arrays of it.
 *
 * Functions return SWPY_NONE, or after a failure the code of swpy_torch_failure, or NULL. They
 * store the code and a sentence for this thread.
 */
#ifndef SHERWOOD_PYTHON_OPERATOR_ARRAYS_H
#define SHERWOOD_PYTHON_OPERATOR_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "client/python/operators.h"

#define SWPY_DIMENSIONS_MAX 64 /* of a tensor that torch's own loops accept */

/* One call of an operator, and the tensors to free at its end. */
struct swpy_work {
    const struct swpy_table *table; /* NULL: the table is unknown */
    void *owned[16];
    uint32_t owned_count;
};

/* A tensor, and its memory after swpy_find_input or swpy_find_output. */
struct swpy_array {
    void *tensor, *data;
    int64_t count, dimensions;
    const int64_t *sizes; /* valid as long as the tensor */
    int32_t type;
};

/* Begins a call of the table `stack[0]`; owns its state, `stack[1]`, and its keys, `stack[2]`. */
int swpy_begin(struct swpy_work *work, const uint64_t *stack);
/* Ends a call: frees what it owns, and throws torch's exception if `code` is a failure. */
void swpy_end(struct swpy_work *work, int code);
/* The call owns the tensor, which may be NULL, until swpy_disown. Both return the tensor. */
void *swpy_own(struct swpy_work *work, void *tensor);
void *swpy_disown(struct swpy_work *work, void *tensor);

/* Makes a contiguous tensor on the device of the table. */
void *swpy_make(struct swpy_work *work, int64_t dimensions, const int64_t *sizes, int32_t type);
/* Makes a tensor for a value of each key. */
void *swpy_make_values(struct swpy_work *work, const struct swpy_array *keys);
/* Copies a tensor to another one, on the current stream. */
int swpy_copy(void *to, void *from);

/* Checks dtype and device of a tensor. Reads its shape. */
int swpy_inspect(const struct swpy_work *work, void *tensor, const char *what,
                 const int32_t types[2], struct swpy_array *array);
/* Does the same for a tensor of a value for each key, whose shape it also checks. */
int swpy_inspect_values(const struct swpy_work *work, void *tensor, const char *what,
                        const struct swpy_array *keys, struct swpy_array *values);
bool swpy_same_shape(const struct swpy_array *a, const struct swpy_array *b);
/* Finds the memory of an inspected tensor, for the server to read; of one with gaps, that of a
 * copy, which takes the place of the tensor. */
int swpy_find_input(struct swpy_work *work, struct swpy_array *array);
/* Finds the memory of a contiguous tensor, for the server to write. */
int swpy_find_output(struct swpy_array *array, const char *what);
/* Inspects the keys of a call, and finds their memory. */
int swpy_read_keys(struct swpy_work *work, void *tensor, struct swpy_array *keys);

/* Carries out an operation on the server, after the work of the current stream or in its order.
 * With SHERWOOD_FOUND_BYTES in `flags`, `found` receives a byte for each key instead of a bit. */
int swpy_carry_out(const struct swpy_work *work, int operation, uint32_t flags,
                   const struct swpy_array *keys, const void *values, void *previous, void *found);

#endif
