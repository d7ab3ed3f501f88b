/* SPDX-License-Identifier: MIT
 *
 * xla_ffi.h - the part of XLA's foreign function interface that handlers use. A handler has to
 * lay out its arguments as xla/ffi/api/c_api.h of jaxlib does, here as in versions 0.1 to 0.4.
 * Each struct begins with its size, which handlers compare, because XLA only appends fields.
 * tests/integration/test_jax.py compares this file with the header of the jaxlib that is installed.
 */
#ifndef SHERWOOD_PYTHON_XLA_FFI_H
#define SHERWOOD_PYTHON_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

/* The beginning of each struct. */
struct xla_base {
    size_t size;
    struct xla_extension *extensions;
};

enum { XLA_METADATA = 1 };
struct xla_extension {
    size_t size;
    int type;
    struct xla_extension *next;
};

struct xla_version {
    struct xla_base base;
    int major, minor;
};

/* XLA asks a handler for its version by a call with this extension. */
struct xla_metadata {
    size_t size;
    struct xla_version version;
    uint32_t traits;
};
struct xla_metadata_extension {
    struct xla_extension extension;
    struct xla_metadata *metadata;
};

/* Codes of absl::Status. */
enum xla_code {
    XLA_INVALID_ARGUMENT = 3,
    XLA_DEADLINE_EXCEEDED = 4,
    XLA_PERMISSION_DENIED = 7,
    XLA_RESOURCE_EXHAUSTED = 8,
    XLA_FAILED_PRECONDITION = 9,
    XLA_INTERNAL = 13,
    XLA_UNAVAILABLE = 14,
};
struct xla_error;
struct xla_error_arguments {
    struct xla_base base;
    const char *message;
    enum xla_code code;
};

enum xla_type {
    XLA_PRED = 1,
    XLA_S8 = 2,
    XLA_S16 = 3,
    XLA_S32 = 4,
    XLA_S64 = 5,
    XLA_U8 = 6,
    XLA_U16 = 7,
    XLA_U32 = 8,
    XLA_U64 = 9,
    XLA_F16 = 10,
    XLA_F32 = 11,
    XLA_F64 = 12,
    XLA_BF16 = 16,
};
struct xla_buffer {
    struct xla_base base;
    enum xla_type type;
    void *data;
    int64_t rank;
    int64_t *dims;
};
enum { XLA_ARG_BUFFER = 1 };

/* Arguments or results: `count` pointers to structs of these types. */
struct xla_values {
    struct xla_base base;
    int64_t count;
    int *types;
    void **values;
};

struct xla_text {
    const char *text;
    size_t length;
};
enum { XLA_ATTRIBUTE_SCALAR = 3 };
struct xla_scalar {
    enum xla_type type;
    void *value;
};
struct xla_attributes {
    struct xla_base base;
    int64_t count;
    int *types;
    struct xla_text **names;
    void **values;
};

struct xla_stream_arguments {
    struct xla_base base;
    void *context; /* of the call */
    void *stream;  /* out: a stream of CUDA */
};
struct xla_device_arguments {
    struct xla_base base;
    void *context;  /* of the call */
    int32_t number; /* out: of the device in this process */
};
struct xla_api {
    struct xla_base base;
    struct xla_version version;
    const void *internal;
    struct xla_error *(*error_create)(struct xla_error_arguments *arguments);
    const void *others[3];
    struct xla_error *(*stream_get)(struct xla_stream_arguments *arguments);
    const void *more[12];
    struct xla_error *(*device_get)(struct xla_device_arguments *arguments);
};

enum { XLA_EXECUTE = 3 };
struct xla_call {
    struct xla_base base;
    const struct xla_api *api;
    void *context;
    int stage;
    struct xla_values arguments, results;
    struct xla_attributes attributes;
};

#endif
