/* SPDX-License-Identifier: MIT
 *
 * operators.h - kernels of torch's operators on tensors of a GPU, and the tables that they know.
 *
 * torch calls a kernel by LibTorch's stable C ABI (torch 2.10 and later), without Python. Nothing
 * here is linked with torch: the functions come from the torch that the process has loaded.
 *
 * Threads: kernels run on any thread, without the GIL. The other functions: any thread.
 */
#ifndef SHERWOOD_PYTHON_OPERATORS_H
#define SHERWOOD_PYTHON_OPERATORS_H

#include <stddef.h>
#include <stdint.h>

/* A table: the handle of its calls, and the arrays that fit. Types are torch's numbers of dtypes.
 */
struct swpy_table {
    uintptr_t cuda;               /* struct sherwood_cuda, borrowed until swpy_table_remove */
    uintptr_t call, check, error; /* sherwood_cuda_call, sherwood_cuda_check, sherwood_cuda_error */
    uint32_t table;               /* as in struct sherwood_cuda_call */
    int in_order; /* 1: calls take place in the order of the current stream, and do not wait */
    int32_t key_bytes;
    int32_t value_bytes; /* of one number */
    int64_t row; /* the numbers of a value; negative: values have no dimension of their own */
    int32_t device_index; /* in this process; -1: tensors of the host, which tests have */
    /* for torch: */
    int32_t device_type;
    int32_t key_types[2];
    int32_t value_types[2];    /* results have the first */
    int is_integer, is_signed; /* values are integers, and of a signed dtype */
    int add;                   /* the operation of add_; 0: the server does not add such values */
    uintptr_t
        bit_values; /* memory of the device with the bytes 1, 2, 4 .. 128, borrowed as `cuda` */
};

/* Returns the names of the i-th function that swpy_torch_bind needs, with spaces between them:
 * torch has at least one. NULL: there are no more. */
const char *swpy_torch_function(uint32_t i);
/* Registers the kernels of the operators sherwood::* for a dispatch key of torch ("CUDA"), for the
 * rest of the process. `addresses`: the functions of torch. One thread calls it. Returns 0, or -1
 * if torch refuses. */
int swpy_torch_bind(const uintptr_t *addresses, const char *key);

/* Makes a table known to the kernels by its number, which is unique and above 0. Copies `table`.
 * Returns SHERWOOD_OK or SHERWOOD_E_NOMEM. */
int swpy_table_add(int64_t number, const struct swpy_table *table);
/* Waits for the calls of a table, and forgets it. Does nothing if the number is unknown, or in a
 * forked child. */
void swpy_table_remove(int64_t number);

/* Why a kernel has failed. Other codes are libsherwood's, which are negative. */
enum swpy_failure {
    SWPY_NONE = 0,
    SWPY_ARGUMENTS = 1, /* no kernel takes these arguments; the server has carried out no write */
    SWPY_LATE = 2       /* the server has carried the call out, but its results are lost */
};
/* Returns the code of this thread's last failure, with its sentence, and forgets it. */
int swpy_torch_failure(char *text, size_t text_bytes);

#endif
