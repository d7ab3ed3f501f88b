/* SPDX-License-Identifier: MIT
 *
 * torch_functions.h - functions of LibTorch's stable C ABI, of the torch that the process has
 * loaded.
 *
 * torch 2.10 declares them in torch/csrc/inductor/aoti_torch/c/shim.h and
 * torch/csrc/stable/c/shim.h. They return 0, or another number after a failure.
 */
#ifndef SHERWOOD_PYTHON_TORCH_FUNCTIONS_H
#define SHERWOOD_PYTHON_TORCH_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* The version of torch whose stacks the kernels read and write: 2.10. */
#define SWPY_TORCH_VERSION (UINT64_C(2) << 56 | UINT64_C(10) << 48)

/* A kernel of an operator. Arguments and then results are words of `stack`: a tensor is a handle,
 * an integer or a double its bits, and an optional argument 0 or a pointer to a word. */
typedef void swpy_torch_kernel(uint64_t *stack, uint64_t arguments, uint64_t results);

/* field, names, result, arguments. torch has at least one of the names. */
#define SWPY_TORCH_MAP(X)                                                                       \
    X(library_init_impl, "aoti_torch_library_init_impl", int32_t,                               \
      (const char *space, const char *key, const char *file, uint32_t line, void **library))    \
    X(library_impl, "torch_library_impl", int32_t,                                              \
      (void *library, const char *name, swpy_torch_kernel *kernel, uint64_t version))           \
    X(call, "torch_call_dispatcher", int32_t,                                                   \
      (const char *name, const char *overload, uint64_t *stack, uint64_t version))              \
    X(check, "aoti_torch_check", void, /* throws unless `holds` */                              \
      (bool holds, const char *function, const char *file, uint32_t line, const char *text))    \
    /* deletes the word of an optional argument: later than 2.11 by a function of its own */    \
    X(free_optional, "torch_delete_stable_ivalue _ZdlPv", void, (void *word))                   \
    X(new_handle, "aoti_torch_new_tensor_handle", int32_t, (void *tensor, void **handle))       \
    X(delete_tensor, "aoti_torch_delete_tensor_object", int32_t, (void *tensor))                \
    X(empty_strided, "aoti_torch_empty_strided", int32_t,                                       \
      (int64_t dimensions, const int64_t *sizes, const int64_t *strides, int32_t type,          \
       int32_t device_type, int32_t device_index, void **tensor))                               \
    X(reinterpret, "aoti_torch__reinterpret_tensor", int32_t,                                   \
      (void *tensor, int64_t dimensions, const int64_t *sizes, const int64_t *strides,          \
       int64_t offset, void **view))                                                            \
    X(from_blob, "aoti_torch_create_tensor_from_blob", int32_t,                                 \
      (void *data, int64_t dimensions, const int64_t *sizes, const int64_t *strides,            \
       int64_t offset, int32_t type, int32_t device_type, int32_t device_index, void **tensor)) \
    X(scalar_integer, "aoti_torch_scalar_to_tensor_int64", int32_t, (int64_t, void **tensor))   \
    X(scalar_float, "aoti_torch_scalar_to_tensor_float64", int32_t, (double, void **tensor))    \
    X(const_data, "torch_get_const_data_ptr", int32_t, (void *tensor, const void **data))       \
    X(data, "torch_get_mutable_data_ptr", int32_t, (void *tensor, void **data))                 \
    X(get_numel, "aoti_torch_get_numel", int32_t, (void *tensor, int64_t *count))               \
    X(get_dim, "aoti_torch_get_dim", int32_t, (void *tensor, int64_t *dimensions))              \
    X(get_sizes, "aoti_torch_get_sizes", int32_t, (void *tensor, int64_t **sizes))              \
    X(get_dtype, "aoti_torch_get_dtype", int32_t, (void *tensor, int32_t *type))                \
    X(get_device_type, "aoti_torch_get_device_type", int32_t, (void *tensor, int32_t *type))    \
    X(get_device_index, "aoti_torch_get_device_index", int32_t, (void *tensor, int32_t *index)) \
    X(is_contiguous, "aoti_torch_is_contiguous", int32_t, (void *tensor, bool *is_contiguous))  \
    X(has_gradients, "aoti_torch_grad_mode_is_enabled", bool, (void))                           \
    X(dtype_bool, "aoti_torch_dtype_bool", int32_t, (void))                                     \
    X(dtype_uint8, "aoti_torch_dtype_uint8", int32_t, (void))                                   \
    X(current_stream, "aoti_torch_get_current_cuda_stream", int32_t,                            \
      (int32_t device_index, void **stream))

#define FIELD(field, names, result, arguments) result(*field) arguments;
struct swpy_torch {
    SWPY_TORCH_MAP(FIELD)
};
#undef FIELD

/* The functions, after swpy_torch_bind. Kernels have no argument for them: torch passes the stack
 * alone. */
extern struct swpy_torch swpy_torch;

/* Stores the addresses of the functions, in the order of SWPY_TORCH_MAP. */
void swpy_torch_use(const uintptr_t *addresses);

#endif
