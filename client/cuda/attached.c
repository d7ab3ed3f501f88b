/* SPDX-License-Identifier: MIT
 *
 * attached.c - the sentence of the last error of a thread, the turn of the threads that use the
 * handle, and the call of libsherwood.
 */
#include "client/cuda/attached.h"
#include "proto/operation.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char sentence[SW_CUDA_TEXT_BYTES];

int sw_cuda_fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return status;
}

const char *sherwood_cuda_error(void)
{
    return sentence;
}

void sw_cuda_take_turn(struct sherwood_cuda *cuda)
{
    /* relaxed: a hint for fairness; the mutex orders everything else */
    __atomic_fetch_add(&cuda->wanted, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&cuda->turn);
    __atomic_fetch_sub(&cuda->wanted, 1, __ATOMIC_RELAXED);
}

void sw_cuda_give_turn(struct sherwood_cuda *cuda)
{
    pthread_mutex_unlock(&cuda->turn);
}

int sw_cuda_enter(struct sherwood_cuda *cuda)
{
    int mode;
    sw_cuda_take_turn(cuda);
    (void)sw_driver_enter(&cuda->driver, cuda->context, &mode);
    return mode;
}

void sw_cuda_leave(struct sherwood_cuda *cuda, int mode)
{
    sw_driver_leave(&cuda->driver, mode);
    sw_cuda_give_turn(cuda);
}

/* Does the call have more than sherwood_run takes? */
static bool has_details(const struct sherwood_cuda_call *call)
{
    return call->cache != NULL || call->times != NULL || call->scale != 0 || call->range_bytes != 0;
}

/* The server needs memory for arrays that it copies, so fewer keys may fit into a frame. */
uint64_t sw_cuda_frame_keys(const struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    const struct sherwood *client = sw_cuda_client_of(cuda, call);
    if (!has_details(call) && sw_operation_takes_device((uint32_t)call->operation)) {
        return sherwood_server(client)->frame_ops_max;
    }
    struct sherwood_request request;
    struct sw_cuda_part part;
    sw_cuda_part_at(cuda, call, 0, call->count, &part);
    sw_cuda_request_of(&part, &request);
    return sherwood_frame_keys(client, &request) / 64 * 64;
}

/* Submits a request and waits for it. Calls in stream order may have all requests in flight. */
static int run_request(struct sherwood_cuda *cuda, struct sherwood *client,
                       struct sherwood_request *request)
{
    int status = sherwood_submit(client, request);
    while (status == SHERWOOD_E_BUSY) {
        if (!sw_cuda_ordered_receive(cuda)) {
            sched_yield();
        }
        status = sherwood_submit(client, request);
    }
    return status == SHERWOOD_OK ? sherwood_wait(client, request) : status;
}

/* Runs a call frame by frame, so that the evicted entries of each lie behind those before. */
static int run_details(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    struct sherwood *client = sw_cuda_client_of(cuda, call);
    const uint64_t most = sw_cuda_frame_keys(cuda, call);
    int status = SHERWOOD_OK;
    for (uint64_t at = 0; at < call->count && status == SHERWOOD_OK; at += most) {
        struct sherwood_request request;
        struct sw_cuda_part part;
        sw_cuda_part_at(cuda, call, at, call->count - at < most ? call->count - at : most, &part);
        sw_cuda_request_of(&part, &request);
        status = run_request(cuda, client, &request);
        if (status == SHERWOOD_OK) {
            sw_cuda_add_counts(&part);
        }
    }
    return status;
}

int sw_cuda_run_call(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    if (has_details(call)) {
        return run_details(cuda, call);
    }
    struct sherwood *client = sw_cuda_client_of(cuda, call);
    return call->flags == 0 ? sherwood_run(client, call->operation, call->keys, call->values,
                                           call->count, call->previous, call->found)
                            : sherwood_read_found_bytes(client, call->operation, call->keys,
                                                        call->count, call->previous, call->found);
}
