/* SPDX-License-Identifier: MIT
 *
 * xla_call.c - a call of XLA as a call of sherwood.jax.
 */
#include "client/python/xla_call.h"

#include <string.h>

#include "client/sherwood.h"

struct xla_error *swpy_xla_fail(const struct xla_call *call, enum xla_code code,
                                const char *message)
{
    struct xla_error_arguments arguments = {
        .base.size = offsetof(struct xla_error_arguments, code) + sizeof(arguments.code),
        .message = message,
        .code = code,
    };
    /* cppcheck-suppress returnDanglingLifetime ; XLA copies the arguments */
    return call->api->error_create(&arguments);
}

enum xla_code swpy_xla_code(int status)
{
    switch (status) {
    case SHERWOOD_E_CONNECTION:
        return XLA_UNAVAILABLE;
    case SHERWOOD_E_TIMEOUT:
        return XLA_DEADLINE_EXCEEDED;
    case SHERWOOD_E_FULL:
    case SHERWOOD_E_NOMEM:
        return XLA_RESOURCE_EXHAUSTED;
    case SHERWOOD_E_LOGIN:
    case SHERWOOD_E_PERMISSION:
        return XLA_PERMISSION_DENIED;
    case SHERWOOD_E_TABLE:
        return XLA_FAILED_PRECONDITION;
    case SHERWOOD_E_INVALID:
    case SHERWOOD_E_REQUEST:
        return XLA_INVALID_ARGUMENT;
    default:
        return XLA_INTERNAL;
    }
}

static size_t number_bytes(enum xla_type type)
{
    switch (type) {
    case XLA_PRED:
    case XLA_S8:
    case XLA_U8:
        return 1;
    case XLA_S16:
    case XLA_U16:
    case XLA_F16:
    case XLA_BF16:
        return 2;
    case XLA_S32:
    case XLA_U32:
    case XLA_F32:
        return 4;
    case XLA_S64:
    case XLA_U64:
    case XLA_F64:
        return 8;
    default:
        return 0;
    }
}

static size_t bytes_of(const struct xla_buffer *buffer)
{
    size_t bytes = number_bytes(buffer->type);
    for (int64_t i = 0; i < buffer->rank; i++) {
        bytes *= (size_t)buffer->dims[i];
    }
    return bytes;
}

size_t swpy_xla_count(const struct swpy_xla_call *call, size_t key_bytes)
{
    return bytes_of(call->keys) / key_bytes;
}

bool swpy_xla_fits(const struct swpy_xla_call *call, size_t key_bytes, size_t value_bytes,
                   size_t found_bytes)
{
    const size_t values = swpy_xla_count(call, key_bytes) * value_bytes;
    return number_bytes(call->keys->type) == key_bytes &&
           (call->values == NULL || bytes_of(call->values) == values) &&
           (call->previous == NULL || bytes_of(call->previous) == values) &&
           (call->found == NULL || bytes_of(call->found) == found_bytes);
}

static struct xla_buffer *buffer_of(const struct xla_values *values, int64_t i)
{
    const bool has = i < values->count && values->types[i] == XLA_ARG_BUFFER;
    struct xla_buffer *buffer = has ? values->values[i] : NULL;
    return buffer != NULL && buffer->base.size >= sizeof(*buffer) ? buffer : NULL;
}

static int64_t attribute(const struct xla_attributes *attributes, const char *name)
{
    for (int64_t i = 0; i < attributes->count; i++) {
        const struct xla_text *text = attributes->names[i];
        const struct xla_scalar *scalar = attributes->values[i];
        if (text->length == strlen(name) && memcmp(text->text, name, text->length) == 0 &&
            attributes->types[i] == XLA_ATTRIBUTE_SCALAR && scalar->type == XLA_S64) {
            return *(const int64_t *)scalar->value;
        }
    }
    return -1;
}

/* Reads the arguments. Returns false if they are not those of sherwood.jax. */
static bool read_call(const struct xla_call *from, struct swpy_xla_call *call)
{
    if (from->base.size < sizeof(*from) || from->arguments.base.size < sizeof(from->arguments) ||
        from->attributes.base.size < sizeof(from->attributes)) {
        return false;
    }
    call->table = attribute(&from->attributes, "table");
    call->operation = attribute(&from->attributes, "operation");
    call->state = buffer_of(&from->arguments, 0);
    call->keys = buffer_of(&from->arguments, 1);
    call->values = buffer_of(&from->arguments, 2);
    call->next_state = buffer_of(&from->results, 0);
    const int64_t has_previous = attribute(&from->attributes, "has_previous");
    call->previous = has_previous > 0 ? buffer_of(&from->results, 1) : NULL;
    call->found = buffer_of(&from->results, has_previous > 0 ? 2 : 1);
    return call->table > 0 && call->operation >= 0 && call->state != NULL && call->keys != NULL &&
           call->next_state != NULL && bytes_of(call->state) == sizeof(int32_t) &&
           bytes_of(call->next_state) == sizeof(int32_t);
}

/* Stores the version of the interface that the handler has. Versions of XLA that accept no other
 * than their own have a version in the call, or are 0.1. The structs here are alike in all of them,
 * and each call compares the sizes. */
static void store_version(const struct xla_call *call, struct xla_metadata *metadata)
{
    metadata->version.major = call->api == NULL ? 0 : call->api->version.major;
    metadata->version.minor = call->api == NULL ? 1 : call->api->version.minor;
    metadata->traits = 0;
}

struct xla_error *swpy_xla_handle(struct xla_call *from, swpy_xla_run *run)
{
    for (struct xla_extension *at = from->base.extensions; at != NULL; at = at->next) {
        if (at->type == XLA_METADATA) {
            store_version(from, ((struct xla_metadata_extension *)at)->metadata);
            return NULL;
        }
    }
    struct swpy_xla_call call;
    if (from->stage != XLA_EXECUTE) {
        return NULL;
    }
    return read_call(from, &call)
               ? run(from, &call)
               : swpy_xla_fail(from, XLA_INVALID_ARGUMENT,
                               "this is no call of sherwood.jax, or jaxlib is too new for it");
}
