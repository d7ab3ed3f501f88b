/* SPDX-License-Identifier: MIT
 *
 * launch_buffers.cu - lends launch buffers, and allocates them.
 */
#include "table/device/launch_buffers.cuh"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "table/device/pool.cuh"
#include "table/device/zeroed.cuh"
#include "table/host/parts.h"

/* --- memory ----------------------------------------------------------------------------------- */

/* Replaces the device memory of a buffer. After a failure the buffer has its old memory. */
static cudaError_t allocate(struct sw_cuda_launch_buffer *buffer, size_t bytes)
{
    void *memory;
    const cudaError_t error = sw_cuda_allocate_zeroed(&memory, bytes);
    if (error != cudaSuccess) {
        return error;
    }
    (void)cudaFree(buffer->memory);
    buffer->memory = memory;
    buffer->bytes = bytes;
    return cudaSuccess;
}

cudaError_t sw_cuda_launch_buffer_open(struct sw_cuda_launch_buffer *buffer, size_t bytes,
                                       size_t host_bytes)
{
    cudaError_t error = cudaSuccess;
    if (buffer->gathered == NULL) {
        error = cudaEventCreateWithFlags(&buffer->gathered, cudaEventDisableTiming);
    }
    if (error == cudaSuccess && buffer->host == NULL) {
        error =
            cudaHostAlloc(&buffer->host, host_bytes, cudaHostAllocMapped | cudaHostAllocPortable);
    }
    return error == cudaSuccess && buffer->bytes < bytes ? allocate(buffer, bytes) : error;
}

void sw_cuda_launch_buffer_close(struct sw_cuda_launch_buffer *buffer)
{
    (void)cudaFree(buffer->memory);
    (void)cudaFreeHost(buffer->host);
    if (buffer->gathered != NULL) {
        (void)cudaEventDestroy(buffer->gathered);
    }
    memset(buffer, 0, sizeof(*buffer));
}

void sw_cuda_launch_buffers_open(struct sw_cuda_launch_buffers *set, int device)
{
    memset(set, 0, sizeof(*set));
    set->device = device;
    /* the default attributes of Linux need no resources, so this cannot fail */
    pthread_mutex_init(&set->mutex, NULL);
}

void sw_cuda_launch_buffers_close(struct sw_cuda_launch_buffers *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        sw_cuda_launch_buffer_close(&set->buffers[i]);
    }
    pthread_mutex_destroy(&set->mutex);
}

/* --- loans; under the mutex unless it says otherwise -------------------------------------------
 */

/* M7: the device writes the ticket last. */
static bool is_complete(const struct sw_cuda_launch_buffer *buffer)
{
    return __atomic_load_n(buffer->done, __ATOMIC_ACQUIRE) == buffer->ticket;
}

static bool is_usable(const struct sw_cuda_launch_buffer *buffer)
{
    return buffer->state == SW_CUDA_BUFFER_FREE ||
           (buffer->state == SW_CUDA_BUFFER_RUNNING && is_complete(buffer));
}

/* Returns whether buffer `a` is the better one for a launch that needs `bytes`: first one that is
 * large enough, then one that is free, then the smallest that is large enough, or the largest. */
static bool is_better(const struct sw_cuda_launch_buffer *a, const struct sw_cuda_launch_buffer *b,
                      size_t bytes)
{
    const bool fits = a->bytes >= bytes;
    if (fits != (b->bytes >= bytes)) {
        return fits;
    }
    if (a->state != b->state) {
        return a->state == SW_CUDA_BUFFER_FREE;
    }
    return fits ? a->bytes < b->bytes : a->bytes > b->bytes;
}

/* Returns the best usable buffer, or an unused place for one; NULL: there is neither. */
static struct sw_cuda_launch_buffer *choose(struct sw_cuda_launch_buffers *set, size_t bytes)
{
    struct sw_cuda_launch_buffer *best = NULL;
    for (uint32_t i = 0; i < set->count; i++) {
        struct sw_cuda_launch_buffer *buffer = &set->buffers[i];
        if (is_usable(buffer) && (best == NULL || is_better(buffer, best, bytes))) {
            best = buffer;
        }
    }
    const bool is_short =
        best == NULL || (best->bytes < bytes && best->state != SW_CUDA_BUFFER_FREE);
    return is_short && set->count < SW_CUDA_LAUNCH_BUFFERS_MAX ? &set->buffers[set->count++] : best;
}

/* Takes a usable buffer. Moves the results of the launch that has it. Returns false if there is no
 * host memory for them. */
static bool take(struct sw_cuda_launch_buffers *set, struct sw_cuda_launch_buffer *buffer)
{
    if (buffer->state == SW_CUDA_BUFFER_RUNNING) {
        struct sw_cuda_buffer_loan *loan = buffer->loan;
        loan->moved = malloc(loan->result_bytes);
        if (loan->moved == NULL) {
            return false;
        }
        memcpy(loan->moved, loan->results, loan->result_bytes);
        loan->buffer = NULL;
    } else {
        __atomic_fetch_add(&set->taken, 1, __ATOMIC_RELAXED);
    }
    buffer->state = SW_CUDA_BUFFER_LENT;
    return true;
}

static void release(struct sw_cuda_launch_buffers *set, struct sw_cuda_launch_buffer *buffer)
{
    buffer->state = SW_CUDA_BUFFER_FREE;
    __atomic_fetch_sub(&set->taken, 1, __ATOMIC_RELAXED);
}

/* Enlarges a buffer that the thread has taken. Unlocks the mutex meanwhile. If there is no memory,
 * releases the buffer. */
static cudaError_t enlarge(struct sw_cuda_launch_buffers *set, struct sw_cuda_launch_buffer *buffer,
                           size_t bytes)
{
    const size_t before = buffer->bytes;
    pthread_mutex_unlock(&set->mutex);
    cudaError_t error = cudaSetDevice(set->device);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_buffer_open(buffer, bytes, set->host_bytes);
    }
    __atomic_fetch_add(&set->bytes, buffer->bytes - before, __ATOMIC_RELAXED);
    pthread_mutex_lock(&set->mutex);
    if (error != cudaSuccess) {
        release(set, buffer);
    }
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* clears it, so that the next launch does not report it */
        set->short_until_ns = sw_now_ns() + SW_CUDA_RETRY_NS;
    }
    return error;
}

/* Returns a buffer that is large enough and has a launch; NULL: there is none. `only` excludes
 * those that are being enqueued. */
static const struct sw_cuda_launch_buffer *find_large(const struct sw_cuda_launch_buffers *set,
                                                      size_t bytes, bool only)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct sw_cuda_launch_buffer *buffer = &set->buffers[i];
        if (buffer->bytes >= bytes && buffer->state != SW_CUDA_BUFFER_BROKEN &&
            (!only || buffer->state == SW_CUDA_BUFFER_RUNNING)) {
            return buffer;
        }
    }
    return NULL;
}

/* Waits for a buffer that is large enough. Unlocks the mutex meanwhile. */
static cudaError_t wait_for_one(struct sw_cuda_launch_buffers *set, size_t bytes)
{
    const struct sw_cuda_launch_buffer *buffer = find_large(set, bytes, true);
    if (buffer == NULL) { /* another thread is about to start a launch, or to return its buffer */
        const bool is_any = find_large(set, bytes, false) != NULL;
        pthread_mutex_unlock(&set->mutex);
        sched_yield();
        pthread_mutex_lock(&set->mutex);
        return is_any ? cudaSuccess : cudaErrorMemoryAllocation;
    }
    const cudaStream_t stream = buffer->stream;
    const struct sw_cuda_buffer_loan *loan = buffer->loan;
    const uint64_t ticket = buffer->ticket;
    pthread_mutex_unlock(&set->mutex);
    cudaError_t error = cudaSetDevice(set->device);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(stream); /* the launcher's, so it stays open */
    }
    pthread_mutex_lock(&set->mutex);
    const bool is_lost = error == cudaSuccess && buffer->state == SW_CUDA_BUFFER_RUNNING &&
                         buffer->loan == loan && buffer->ticket == ticket && !is_complete(buffer);
    return is_lost ? cudaErrorUnknown : error;
}

cudaError_t sw_cuda_buffer_borrow(struct sw_cuda_launch_buffers *set, size_t bytes,
                                  struct sw_cuda_buffer_loan *loan)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&set->mutex);
    while (loan->buffer == NULL && error == cudaSuccess) {
        struct sw_cuda_launch_buffer *buffer = choose(set, bytes);
        const bool fits = buffer != NULL && buffer->bytes >= bytes;
        const bool may = fits || sw_now_ns() >= set->short_until_ns;
        if (buffer == NULL || !may || !take(set, buffer)) {
            error = wait_for_one(set, buffer == NULL ? 0 : bytes); /* any may be enlarged */
            continue;
        }
        if (!fits) {
            error = enlarge(set, buffer, bytes);
            if (error == cudaErrorMemoryAllocation) {
                error = cudaSuccess; /* waits for another buffer */
                continue;
            }
        }
        loan->buffer = error == cudaSuccess ? buffer : NULL;
    }
    pthread_mutex_unlock(&set->mutex);
    return error;
}

void sw_cuda_buffer_started(struct sw_cuda_launch_buffers *set, struct sw_cuda_buffer_loan *loan,
                            const uint64_t *done, uint64_t ticket, cudaStream_t stream)
{
    struct sw_cuda_launch_buffer *buffer = loan->buffer;
    pthread_mutex_lock(&set->mutex);
    buffer->loan = loan;
    buffer->done = done;
    buffer->ticket = ticket;
    buffer->stream = stream;
    buffer->state = SW_CUDA_BUFFER_RUNNING;
    pthread_mutex_unlock(&set->mutex);
}

/* Ends the time in which another thread may take the buffer. Locks the mutex. */
static struct sw_cuda_launch_buffer *keep(struct sw_cuda_launch_buffers *set,
                                          struct sw_cuda_buffer_loan *loan)
{
    pthread_mutex_lock(&set->mutex);
    struct sw_cuda_launch_buffer *buffer = loan->buffer;
    if (buffer != NULL) {
        buffer->state = SW_CUDA_BUFFER_LENT;
    }
    pthread_mutex_unlock(&set->mutex);
    return buffer;
}

const void *sw_cuda_buffer_results(struct sw_cuda_launch_buffers *set,
                                   struct sw_cuda_buffer_loan *loan)
{
    return keep(set, loan) != NULL ? loan->results : loan->moved;
}

/* Ends the loan. The buffer is in this state afterwards. */
static void end(struct sw_cuda_launch_buffers *set, struct sw_cuda_buffer_loan *loan,
                enum sw_cuda_buffer_state state)
{
    pthread_mutex_lock(&set->mutex);
    if (loan->buffer != NULL) {
        loan->buffer->state = state;
        __atomic_fetch_sub(&set->taken, state == SW_CUDA_BUFFER_FREE, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&set->mutex);
    free(loan->moved);
    memset(loan, 0, sizeof(*loan));
}

void sw_cuda_buffer_return(struct sw_cuda_launch_buffers *set, struct sw_cuda_buffer_loan *loan)
{
    end(set, loan, SW_CUDA_BUFFER_FREE);
}

/* A launch that failed may have left its counters in the buffer. */
void sw_cuda_buffer_abandon(struct sw_cuda_launch_buffers *set, struct sw_cuda_buffer_loan *loan,
                            cudaStream_t stream, cudaStream_t gathers)
{
    const struct sw_cuda_launch_buffer *buffer = keep(set, loan);
    cudaError_t error = cudaSuccess;
    if (buffer != NULL) {
        error = cudaStreamSynchronize(gathers);
        const cudaError_t waited = cudaStreamSynchronize(stream);
        error = error == cudaSuccess ? waited : error;
        error = error == cudaSuccess ? cudaMemset(buffer->memory, 0, buffer->bytes) : error;
        (void)cudaGetLastError(); /* the table is lost already */
    }
    end(set, loan, error == cudaSuccess ? SW_CUDA_BUFFER_FREE : SW_CUDA_BUFFER_BROKEN);
}

/* Times that a launch had to wait before the next one waits for the device. */
#define IDLE_POLLS 65536

/* Returns whether every launch that has a buffer still runs. From time to time, and if a launch has
 * failed, returns false: then the borrower waits for the device, which reports its loss. */
static bool all_run(struct sw_cuda_launch_buffers *set)
{
    bool all = true;
    pthread_mutex_lock(&set->mutex);
    for (uint32_t i = 0; i < set->count && all; i++) {
        all = !is_usable(&set->buffers[i]) && set->buffers[i].state != SW_CUDA_BUFFER_BROKEN;
    }
    all = all && ++set->idle_polls % IDLE_POLLS != 0;
    pthread_mutex_unlock(&set->mutex);
    return all;
}

bool sw_cuda_launch_buffers_are_taken(struct sw_cuda_launch_buffers *set)
{
    return __atomic_load_n(&set->taken, __ATOMIC_RELAXED) == SW_CUDA_LAUNCH_BUFFERS_MAX &&
           all_run(set);
}

cudaError_t sw_cuda_launch_buffers_reserve(struct sw_cuda_launch_buffers *set, size_t *bytes,
                                           size_t host_bytes)
{
    struct sw_cuda_buffer_loan loan = {};
    pthread_mutex_lock(&set->mutex);
    set->host_bytes = host_bytes;
    set->short_until_ns = 0;
    const bool has = find_large(set, *bytes, false) != NULL;
    pthread_mutex_unlock(&set->mutex);
    if (has) {
        *bytes = 0;
        return cudaSuccess;
    }
    const cudaError_t error = sw_cuda_buffer_borrow(set, *bytes, &loan);
    if (error == cudaSuccess) {
        sw_cuda_buffer_return(set, &loan);
    }
    return error;
}
