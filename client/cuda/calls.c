/* SPDX-License-Identifier: MIT
 *
 * calls.c - the calls on keys: each is a sherwood_cuda_call.
 */
#include <string.h>

#include "client/cuda/attached.h"

/* Asks first whether the stream is captured: waiting would end the capture. */
int sw_cuda_wait_for_stream(const struct sherwood_cuda *cuda, void *stream)
{
    int capturing = 0;
    int error = cuda->driver.stream_capturing(stream, &capturing);
    if (error == 0 && capturing == 0) {
        error = cuda->driver.stream_synchronize(stream);
    }
    if (capturing != 0) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "a call that waits cannot be captured: make the call in the order of "
                            "the stream");
    }
    return error == 0 ? SHERWOOD_OK
                      : sw_cuda_fail(SHERWOOD_E_INVALID, "cannot wait for the stream: %s",
                                     sw_driver_text(&cuda->driver, error));
}

/* Enqueues a call on its stream, with the context current. */
static int enqueue(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    uint32_t staged = 0;
    int capturing = 0;
    if (cuda->driver.stream_capturing(call->stream, &capturing) != 0) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the stream belongs to another device, or is the default stream during "
                            "a capture: use an ordinary stream of the handle's device");
    }
    if (capturing != 0) {
        return sw_cuda_capture(cuda, call);
    }
    sw_cuda_take_turn(cuda);
    int status = sw_cuda_share_all(cuda, call, &staged);
    sw_cuda_give_turn(cuda);
    if (status != SHERWOOD_OK) {
        return status;
    }
    return staged == 0 ? sw_cuda_enqueue(cuda, call) : sw_cuda_enqueue_staged(cuda, call, staged);
}

/* Carries out a call that waits by a direct read. Returns false if it has not. */
static bool read_directly(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                          int *status)
{
    uint32_t staged = 0; /* the kernels of this process need no copies */
    int capturing = 0;
    if (call->when == SHERWOOD_CUDA_AFTER &&
        (cuda->driver.stream_capturing(call->stream, &capturing) != 0 || capturing != 0)) {
        return false;
    }
    sw_cuda_take_turn(cuda);
    *status = sw_cuda_share_all(cuda, call, &staged);
    sw_cuda_give_turn(cuda);
    return *status != SHERWOOD_OK || sw_cuda_direct_read(cuda, call);
}

/* Waits for the earlier work of a call. Sets *is_done if the call is carried out. With the context
 * current. */
static int begin(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call, bool *is_done)
{
    int status = SHERWOOD_OK;
    *is_done = true;
    if (call->when == SHERWOOD_CUDA_IN_ORDER) {
        return enqueue(cuda, call);
    }
    if (sw_cuda_direct_takes(cuda, call) && read_directly(cuda, call, &status)) {
        return status;
    }
    *is_done = false;
    return call->when == SHERWOOD_CUDA_AFTER ? sw_cuda_wait_for_stream(cuda, call->stream)
                                             : SHERWOOD_OK;
}

/* The struct of the first version ended before this field. */
#define FIRST_BYTES offsetof(struct sherwood_cuda_call, cache)
int sw_cuda_read_call(const struct sherwood_cuda_call *given, struct sherwood_cuda_call *call)
{
    const size_t size = given->size;
    bool is_known =
        size == FIRST_BYTES || (size >= sizeof(*call) && size <= SW_CUDA_STRUCT_BYTES_MAX);
    for (size_t i = sizeof(*call); is_known && i < size; i++) {
        is_known = ((const uint8_t *)given)[i] == 0;
    }
    if (!is_known) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the call has %zu bytes, and this library's has %zu: begin with "
                            "SHERWOOD_CUDA_CALL_INIT, and use the header of this library",
                            size, sizeof(*call));
    }
    *call = (struct sherwood_cuda_call){0};
    memcpy(call, given, size < sizeof(*call) ? size : sizeof(*call));
    call->_counts = call->cache;
    sw_cuda_clear_counts(call);
    return SHERWOOD_OK;
}

int sw_cuda_carry_out(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    if (call->when != SHERWOOD_CUDA_NOW || sw_cuda_direct_takes(cuda, call)) {
        bool is_done;
        int mode;
        (void)sw_driver_enter(&cuda->driver, cuda->context, &mode);
        int status = begin(cuda, call, &is_done);
        sw_driver_leave(&cuda->driver, mode);
        if (is_done || status != SHERWOOD_OK) {
            return status;
        }
    }
    uint32_t staged = 0;
    const int mode = sw_cuda_enter(cuda);
    int status = sw_cuda_share_and_run(cuda, call, &staged);
    sw_cuda_leave(cuda, mode);
    return status != SHERWOOD_OK || staged == 0 ? status : sw_cuda_run_staged(cuda, call, staged);
}

int sherwood_cuda_call(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *given)
{
    struct sherwood_cuda_call call;
    if (cuda == NULL || given == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int status = sw_cuda_read_call(given, &call);
    if (status != SHERWOOD_OK || call.count == 0) {
        return status;
    }
    status = sw_cuda_table_enter(cuda, &call);
    if (status == SHERWOOD_OK) {
        status = sw_cuda_carry_out(cuda, &call);
        sw_cuda_table_leave(cuda, &call);
    }
    return status;
}

static struct sherwood_cuda_call call_of(enum sherwood_operation operation, const void *keys,
                                         const void *values, size_t count, void *previous,
                                         uint64_t *found)
{
    return (struct sherwood_cuda_call){.size = sizeof(struct sherwood_cuda_call),
                                       .operation = operation,
                                       .keys = keys,
                                       .values = values,
                                       .count = count,
                                       .previous = previous,
                                       .found = found};
}

int sherwood_cuda_run(struct sherwood_cuda *cuda, enum sherwood_operation operation,
                      const void *keys, const void *values, size_t count, void *previous,
                      uint64_t *found)
{
    const struct sherwood_cuda_call call = call_of(operation, keys, values, count, previous, found);
    return sherwood_cuda_call(cuda, &call);
}

int sherwood_cuda_run_on(struct sherwood_cuda *cuda, enum sherwood_operation operation,
                         const void *keys, const void *values, size_t count, void *previous,
                         uint64_t *found, sherwood_cuda_stream stream)
{
    struct sherwood_cuda_call call = call_of(operation, keys, values, count, previous, found);
    call.when = SHERWOOD_CUDA_IN_ORDER;
    call.stream = stream;
    return sherwood_cuda_call(cuda, &call);
}

int sherwood_cuda_get(struct sherwood_cuda *cuda, const void *keys, size_t count, void *values,
                      uint64_t *found, sherwood_cuda_stream stream)
{
    return sherwood_cuda_run_on(cuda, SHERWOOD_GET, keys, NULL, count, values, found, stream);
}

int sherwood_cuda_set(struct sherwood_cuda *cuda, const void *keys, const void *values,
                      size_t count, sherwood_cuda_stream stream)
{
    return sherwood_cuda_run_on(cuda, SHERWOOD_SET, keys, values, count, NULL, NULL, stream);
}

int sherwood_cuda_delete(struct sherwood_cuda *cuda, const void *keys, size_t count,
                         uint64_t *found, sherwood_cuda_stream stream)
{
    return sherwood_cuda_run_on(cuda, SHERWOOD_DELETE, keys, NULL, count, NULL, found, stream);
}

int sherwood_cuda_check(struct sherwood_cuda *cuda, bool waits)
{
    if (cuda == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int status = sw_cuda_ordered_check(cuda, waits);
    if (waits) {
        int mode;
        (void)sw_driver_enter(&cuda->driver, cuda->context, &mode);
        sw_cuda_wait_for_stages(cuda);
        sw_driver_leave(&cuda->driver, mode);
    }
    return status;
}
