/* SPDX-License-Identifier: MIT
 *
 * jax_cuda.c - the handler of CUDA.
 */
#include "client/python/jax_cuda.h"

#include <stdio.h>

#include "client/python/device_call.h"
#include "client/python/operator_tables.h"
#include "client/python/xla_call.h"
#include "client/sherwood-cuda.h"
#include "proto/operation.h"

#define TEXT_BYTES 640 /* of an error: a sentence of libsherwood-cuda, and words before it */

/* Finds the stream of a call. Returns NULL, or an error. */
static struct xla_error *find_stream(const struct xla_call *from, void **stream)
{
    struct xla_stream_arguments arguments = {.base.size = sizeof(arguments),
                                             .context = from->context};
    const struct xla_api *api = from->api;
    if (api->base.size < offsetof(struct xla_api, stream_get) + sizeof(api->stream_get)) {
        return swpy_xla_fail(from, XLA_INVALID_ARGUMENT,
                             "this jaxlib has no XLA_FFI_Stream_Get: install a later one");
    }
    struct xla_error *error = api->stream_get(&arguments);
    *stream = arguments.stream;
    /* cppcheck-suppress returnDanglingLifetime ; XLA copies the arguments */
    return error;
}

/* Refuses a call on another device than that of the table. An older jaxlib does not tell: then
 * libsherwood-cuda refuses the arrays. */
static struct xla_error *check_device(const struct xla_call *from, const struct swpy_table *table)
{
    struct xla_device_arguments arguments = {.base.size = sizeof(arguments),
                                             .context = from->context};
    const struct xla_api *api = from->api;
    if (api->base.size < offsetof(struct xla_api, device_get) + sizeof(api->device_get)) {
        return NULL;
    }
    struct xla_error *error = api->device_get(&arguments);
    if (error == NULL && arguments.number != table->device_index) {
        char text[TEXT_BYTES];
        (void)snprintf(text, sizeof(text),
                       "the program runs on cuda:%d, and the Device of its sherwood.jax.Table is "
                       "of cuda:%d: put the arrays there (jax.device_put), or make a Table of "
                       "attach(\"cuda:%d\")",
                       arguments.number, table->device_index, arguments.number);
        error = swpy_xla_fail(from, XLA_INVALID_ARGUMENT, text);
    }
    /* cppcheck-suppress returnDanglingLifetime ; XLA copies the arguments */
    return error;
}

static struct xla_error *run(const struct xla_call *from, const struct swpy_xla_call *call,
                             const struct swpy_table *table)
{
    struct sherwood_cuda_call made = SHERWOOD_CUDA_CALL_INIT;
    const size_t count = swpy_xla_count(call, (size_t)table->key_bytes);
    const size_t row = table->row < 0 ? 1 : (size_t)table->row;
    const bool is_read = !sw_operation_writes((uint32_t)call->operation);
    if (!swpy_xla_fits(call, (size_t)table->key_bytes, row * (size_t)table->value_bytes,
                       is_read ? (count + 7) / 8 * 8 : (count + 63) / 64 * 8)) {
        return swpy_xla_fail(from, XLA_INVALID_ARGUMENT, SWPY_XLA_MISFIT);
    }
    made.operation = (enum sherwood_operation)call->operation;
    made.keys = call->keys->data;
    made.values = call->values == NULL ? NULL : call->values->data;
    made.count = count;
    made.previous = call->previous == NULL ? NULL : call->previous->data;
    made.found = call->found == NULL ? NULL : call->found->data;
    made.flags = made.found != NULL && is_read ? SHERWOOD_FOUND_BYTES : 0;
    struct xla_error *error = check_device(from, table);
    error = error == NULL ? find_stream(from, &made.stream) : error;
    if (error != NULL) {
        return error;
    }
    int status = swpy_device_check(table);
    if (status != SWPY_NONE) {
        char text[TEXT_BYTES];
        (void)snprintf(text, sizeof(text), "an earlier call in the order of a stream failed: %s",
                       swpy_failure());
        return swpy_xla_fail(from, swpy_xla_code(status), text);
    }
    status = swpy_device_call(table, &made);
    return status == SWPY_NONE ? NULL : swpy_xla_fail(from, swpy_xla_code(status), swpy_failure());
}

static struct xla_error *execute(const struct xla_call *from, const struct swpy_xla_call *call)
{
    const struct swpy_table *table = swpy_table_enter(call->table);
    if (table == NULL) {
        return swpy_xla_fail(from, XLA_FAILED_PRECONDITION,
                             "the sherwood.jax.Table of this program no longer exists in this "
                             "process: keep a reference to it, and its Device open");
    }
    struct xla_error *error = run(from, call, table);
    swpy_table_leave(table);
    return error;
}

static struct xla_error *handle(struct xla_call *call)
{
    return swpy_xla_handle(call, execute);
}

uintptr_t swpy_jax_cuda_handler(void)
{
    swpy_tables_survive_forks();
    return (uintptr_t)handle;
}
