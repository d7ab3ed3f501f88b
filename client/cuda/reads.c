/* SPDX-License-Identifier: MIT
 *
 * reads.c - several reads whose requests are in flight together.
 *
 * Calls that are more than one request go by themselves, behind the others: with arrays to copy,
 * with more keys than a frame, by a direct read that waits, and in a graph.
 */
#include <sched.h>
#include <stdio.h>

#include "client/cuda/attached.h"
#include "proto/operation.h"

#define GROUP_MAX 32

/* Calls that go together. */
struct group {
    struct sherwood_cuda_call calls[GROUP_MAX];
    size_t numbers[GROUP_MAX]; /* of the caller's array */
    struct sherwood_request requests[GROUP_MAX];
    struct sw_cuda_pending pending[GROUP_MAX];
    bool is_alone[GROUP_MAX]; /* goes by itself */
    uint32_t count;
    uint32_t ended; /* number of calls whose requests are not in flight any more */
};

/* Begins the sentence of this thread with the number of a call. Returns the status. */
static int name_call(size_t number, int status)
{
    char text[SW_CUDA_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "%s", sherwood_cuda_error());
    return sw_cuda_fail(status, "call %zu: %s", number, text);
}

/* --- calls that wait -------------------------------------------------------------------------- */

/* Waits for the oldest request of the group. If another table lies in its place, the call goes
 * once more by itself, which renews the table. Keeps the first failure in *status. */
static void end_oldest(struct sherwood_cuda *cuda, struct group *group, int *status)
{
    const uint32_t at = group->ended++;
    const int ended =
        group->is_alone[at] ? SHERWOOD_OK : sherwood_wait(cuda->client, &group->requests[at]);
    if (ended == SHERWOOD_E_TABLE) {
        group->is_alone[at] = true;
    } else if (ended != SHERWOOD_OK && *status == SHERWOOD_OK) {
        (void)sw_cuda_fail(ended, "%s", sherwood_error(cuda->client));
        *status = name_call(group->numbers[at], ended);
    }
}

/* Submits the request of call `at`. Returns a status. */
static int submit(struct sherwood_cuda *cuda, struct group *group, uint32_t at, int *status)
{
    const struct sw_cuda_part part = {.call = group->calls[at]};
    struct sherwood *client = sw_cuda_client_of(cuda, &part.call);
    sw_cuda_request_of(&part, &group->requests[at]);
    int submitted = sherwood_submit(client, &group->requests[at]);
    while (submitted == SHERWOOD_E_BUSY) {
        if (group->ended < at) {
            end_oldest(cuda, group, status);
        } else if (!sw_cuda_ordered_receive(cuda)) { /* it may not find a request of the group */
            sched_yield();
        }
        submitted = sherwood_submit(client, &group->requests[at]);
    }
    return submitted == SHERWOOD_OK ? submitted
                                    : sw_cuda_fail(submitted, "%s", sherwood_error(cuda->client));
}

/* Registers the arrays of call `at`, and submits it unless it goes by itself. An allocation that is
 * unregistered for them waits for the requests that use it. */
static int begin(struct sherwood_cuda *cuda, struct group *group, uint32_t at, int *status)
{
    const struct sherwood_cuda_call *call = &group->calls[at];
    uint32_t staged = 0;
    int begun = sw_cuda_share_all(cuda, call, &staged);
    group->is_alone[at] = begun != SHERWOOD_OK || staged != 0 || sw_cuda_direct_takes(cuda, call) ||
                          call->count > sw_cuda_frame_keys(cuda, call);
    if (!group->is_alone[at]) {
        begun = submit(cuda, group, at, status);
        group->is_alone[at] = begun != SHERWOOD_OK; /* nothing is in flight */
    }
    return begun == SHERWOOD_OK ? begun : name_call(group->numbers[at], begun);
}

/* Carries out the calls that do not go by themselves. Returns the first failure. */
static int wait_for_group(struct sherwood_cuda *cuda, struct group *group)
{
    int status = SHERWOOD_OK;
    uint32_t begun = 0;
    const int mode = sw_cuda_enter(cuda);
    for (; begun < group->count && status == SHERWOOD_OK; begun++) {
        const int failed = begin(cuda, group, begun, &status);
        status = status == SHERWOOD_OK ? failed : status;
    }
    while (group->ended < begun) {
        end_oldest(cuda, group, &status);
    }
    sw_cuda_leave(cuda, mode);
    return status;
}

/* --- calls in stream order -------------------------------------------------------------------- */

/* Enqueues the calls that do not go by themselves, with the context current: first the steps that
 * begin them all, and then those that wait for them. */
static int enqueue_group(struct sherwood_cuda *cuda, struct group *group)
{
    int capturing = 0, status = SHERWOOD_OK;
    const int error = cuda->driver.stream_capturing(group->calls[0].stream, &capturing);
    for (uint32_t i = 0; i < group->count; i++) {
        group->is_alone[i] = true;
    }
    for (uint32_t i = 0; i < group->count && status == SHERWOOD_OK; i++) {
        uint32_t staged = error != 0 || capturing != 0; /* the call itself refuses the stream */
        if (staged == 0) {
            sw_cuda_take_turn(cuda);
            status = sw_cuda_share_all(cuda, &group->calls[i], &staged);
            sw_cuda_give_turn(cuda);
        }
        if (staged == 0 && status == SHERWOOD_OK) {
            status = sw_cuda_enqueue_begin(cuda, &group->calls[i], &group->pending[i]);
            group->is_alone[i] = status != SHERWOOD_OK;
        }
        status = status == SHERWOOD_OK ? status : name_call(group->numbers[i], status);
    }
    for (uint32_t i = 0; i < group->count; i++) {
        const int ended =
            group->is_alone[i] ? SHERWOOD_OK : sw_cuda_enqueue_end(cuda, &group->pending[i]);
        status = status == SHERWOOD_OK ? ended : status;
    }
    return status;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Carries out the calls of a group, which keep their tables open. */
static int run_group(struct sherwood_cuda *cuda, struct group *group)
{
    int status = SHERWOOD_OK;
    if (group->calls[0].when != SHERWOOD_CUDA_NOW) {
        int mode;
        (void)sw_driver_enter(&cuda->driver, cuda->context, &mode);
        status = group->calls[0].when == SHERWOOD_CUDA_AFTER
                     ? sw_cuda_wait_for_stream(cuda, group->calls[0].stream)
                     : enqueue_group(cuda, group);
        sw_driver_leave(&cuda->driver, mode);
    }
    if (status == SHERWOOD_OK && group->calls[0].when != SHERWOOD_CUDA_IN_ORDER) {
        status = wait_for_group(cuda, group);
    }
    for (uint32_t i = 0; i < group->count && status == SHERWOOD_OK; i++) {
        status = group->is_alone[i] ? sw_cuda_carry_out(cuda, &group->calls[i]) : SHERWOOD_OK;
        status = status == SHERWOOD_OK ? status : name_call(group->numbers[i], status);
    }
    return status;
}

/* Adds a call with keys to the group. */
static int add_call(struct group *group, const struct sherwood_cuda_call *given, size_t number)
{
    struct sherwood_cuda_call *call = &group->calls[group->count];
    const int status = sw_cuda_read_call(given, call);
    if (status != SHERWOOD_OK) {
        return status;
    }
    if (sw_operation_writes((uint32_t)call->operation) ||
        !sw_operation_takes_device((uint32_t)call->operation) || call->cache != NULL ||
        call->times != NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "only GET and PEEK go together, without the arrays of a cache and "
                            "without times: use sherwood_cuda_call");
    }
    group->numbers[group->count] = number;
    group->count += call->count > 0;
    return SHERWOOD_OK;
}

/* Moves the next calls to the group. *at: the number of the next call. */
static int take_group(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *calls,
                      size_t count, size_t *at, struct group *group)
{
    int status = SHERWOOD_OK;
    for (; *at < count && group->count < GROUP_MAX && status == SHERWOOD_OK; ++*at) {
        const void *place = (const uint8_t *)calls + *at * calls->size;
        const struct sherwood_cuda_call *call = place;
        const uint32_t before = group->count;
        if (call->size != calls->size || call->when != calls->when ||
            call->stream != calls->stream) {
            status =
                sw_cuda_fail(SHERWOOD_E_INVALID,
                             "its size, its stream or when it takes place differs from call 0: "
                             "make them equal");
        }
        status = status == SHERWOOD_OK ? add_call(group, call, *at) : status;
        if (status == SHERWOOD_OK && group->count > before) {
            status = sw_cuda_table_enter(cuda, &group->calls[before]);
            group->count -= status != SHERWOOD_OK;
        }
        status = status == SHERWOOD_OK ? status : name_call(*at, status);
    }
    return status;
}

int sherwood_cuda_reads(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *calls,
                        size_t count)
{
    int status = SHERWOOD_OK;
    if (cuda == NULL || (calls == NULL && count > 0)) {
        return SHERWOOD_E_INVALID;
    }
    for (size_t at = 0; at < count && status == SHERWOOD_OK;) {
        struct group group = {0};
        status = take_group(cuda, calls, count, &at, &group);
        if (status == SHERWOOD_OK && group.count > 0) {
            status = run_group(cuda, &group);
        }
        for (uint32_t i = 0; i < group.count; i++) {
            sw_cuda_table_leave(cuda, &group.calls[i]);
        }
    }
    return status;
}
