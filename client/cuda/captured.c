/* SPDX-License-Identifier: MIT
 *
 * captured.c - calls that are captured into a graph of CUDA.
 *
 *   the graph    ready = 1; wait until done >= 1; done = 0. Or a direct read, which sets done = 0
 *                and then writes ready or done (direct.c); wait until done >= 1
 *   the thread   sees ready, submits the request, sees its answer, sets ready = 0 and done = 1
 *
 * Each replay of the graph carries out the call with the same arrays. The entry of a captured call
 * belongs to the graph: a user object of CUDA releases it with the graph. Replays of one graph run
 * one after another, so an entry serves one at a time.
 */
#include "client/cuda/attached.h"

/* The driver calls it when the graph and all its executable copies are gone, on any thread. It may
 * call no function of CUDA. */
static void release(void *argument)
{
    struct sw_cuda_ordered *entry = argument;
    sw_cuda_ordered_release(entry->cuda, entry);
}

/* Makes the memory of an entry large enough. It stays with the entry, for the next call there. */
static int open_memory(struct sherwood_cuda *cuda, struct sw_cuda_ordered *entry, uint64_t bytes)
{
    const struct sw_driver *driver = &cuda->driver;
    if (bytes > cuda->stage_bytes) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "a captured call copies %llu bytes, and a stage has %llu: capture "
                            "smaller calls, or give sherwood_cuda_stage more",
                            (unsigned long long)bytes, (unsigned long long)cuda->stage_bytes);
    }
    if (bytes <= entry->memory_bytes) {
        return SHERWOOD_OK;
    }
    if (entry->memory != 0) {
        (void)driver->memory_free(entry->memory);
    }
    entry->memory = 0;
    entry->memory_bytes = 0;
    const int error = driver->memory_allocate(&entry->memory, sw_cuda_unit_bytes(bytes));
    if (error != 0) {
        return sw_cuda_fail(SHERWOOD_E_NOMEM, "cannot allocate %llu bytes for a captured call: %s",
                            (unsigned long long)bytes, sw_driver_text(driver, error));
    }
    entry->memory_bytes = sw_cuda_unit_bytes(bytes);
    sw_cuda_take_turn(cuda);
    int status =
        sw_cuda_share(cuda, (const void *)entry->memory, entry->memory_bytes, "bytes", NULL);
    sw_cuda_give_turn(cuda);
    return status;
}

/* Gives an entry to the graph. If that fails, the entry is free again. */
static int give_to_graph(struct sherwood_cuda *cuda, struct sw_cuda_ordered *entry, void *graph)
{
    const struct sw_driver *driver = &cuda->driver;
    void *object = NULL;
    int error =
        driver->object_create(&object, entry, release, 1, SW_DRIVER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (error != 0) {
        release(entry);
    } else {
        error = driver->graph_retain(graph, object, 1, SW_DRIVER_GRAPH_MOVE);
        if (error != 0) {
            (void)driver->object_release(object, 1);
        }
    }
    return error == 0 ? SHERWOOD_OK
                      : sw_cuda_fail(SHERWOOD_E_INVALID, "cannot add the call to the graph: %s",
                                     sw_driver_text(driver, error));
}

/* Records the steps of a call, whose arrays may be those of a stage. */
static int record(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call, void *argument)
{
    const struct sw_driver *driver = &cuda->driver;
    struct sw_cuda_ordered *entry = argument;
    const uintptr_t words = sw_cuda_words_of(cuda, entry);
    const uintptr_t done = words + offsetof(struct sw_cuda_words, done);
    sw_cuda_part_at(cuda, call, 0, call->count, &entry->part);
    entry->is_direct = sw_cuda_direct_takes(cuda, call);
    int error =
        entry->is_direct
            ? sw_cuda_direct_enqueue(cuda, entry, words, call)
            : driver->stream_write(call->stream, words + offsetof(struct sw_cuda_words, ready),
                                   entry->ticket, 0);
    if (error == 0) {
        error = driver->stream_wait(call->stream, done, entry->ticket, SW_DRIVER_WAIT_AT_LEAST);
    }
    if (error == 0 && !entry->is_direct) {
        error = driver->stream_write(call->stream, done, 0, 0);
    }
    return error == 0 ? SHERWOOD_OK
                      : sw_cuda_fail(SHERWOOD_E_INVALID, "cannot capture the call: %s",
                                     sw_driver_text(driver, error));
}

static int capture(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                   uint32_t staged, void *graph)
{
    struct sw_cuda_ordered *entry = NULL;
    int status = sw_cuda_ordered_take(cuda, true, &entry);
    if (status != SHERWOOD_OK) {
        return status;
    }
    status = give_to_graph(cuda, entry, graph);
    if (status == SHERWOOD_OK && staged != 0) {
        status = open_memory(cuda, entry, sw_cuda_copied_bytes(cuda, call, staged));
    }
    if (status == SHERWOOD_OK) {
        status = sw_cuda_with_copies(cuda, call, staged, entry->memory, record, entry);
    }
    if (status == SHERWOOD_OK) {
        sw_cuda_ordered_begin(cuda, entry);
    }
    return status; /* after a failure the graph still has the entry, and never runs */
}

int sw_cuda_capture(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    const struct sw_driver *driver = &cuda->driver;
    int capturing = 0;
    uint64_t id;
    void *graph = NULL;
    int error = driver->stream_capture(call->stream, &capturing, &id, &graph, NULL, NULL);
    if (error != 0 || capturing != SW_DRIVER_CAPTURES || graph == NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the stream's capture has failed: begin it again (%s)",
                            sw_driver_text(driver, error));
    }
    uint32_t staged = 0;
    sw_cuda_take_turn(cuda);
    int status = sw_cuda_share_all(cuda, call, &staged);
    sw_cuda_give_turn(cuda);
    if (status == SHERWOOD_OK) {
        status = capture(cuda, call, staged, graph);
    }
    return status;
}
