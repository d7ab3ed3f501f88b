/* SPDX-License-Identifier: MIT
 *
 * ordered.c - calls in the order of a stream.
 *
 *   the caller   enqueues on its stream: ready = ticket; wait until done >= ticket
 *   the thread   sees ready, submits the request, sees its answer, sets done = ticket
 *
 * The words lie in host memory that the device reads and writes. The server knows nothing of
 * streams, and a stream that never reaches a call delays only its own calls. After an error the
 * thread also sets `done`, so the stream goes on.
 *
 * A later ticket uses the words again once `done` is set: then the stream has written `ready`. The
 * stream may not have read `done` yet, but `done` only grows.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cuda/attached.h"

/* Idle polls before the thread begins to sleep between polls, while no request is in flight. */
#define IDLE_LOOKS 2000
#define SLEEP_US 20

/* --- the thread ------------------------------------------------------------------------------- */

static void finish(struct sherwood_cuda *cuda, struct sw_cuda_ordered *ordered, int status,
                   const char *text)
{
    const size_t slot = (size_t)(ordered - cuda->ordered);
    /* release: the stream that waits for this word then reads the answers */
    __atomic_store_n(&cuda->words[slot].done, ordered->ticket, __ATOMIC_RELEASE);
    pthread_mutex_lock(&cuda->lock);
    if (status != SHERWOOD_OK && cuda->failure == SHERWOOD_OK) {
        cuda->failure = status;
        (void)snprintf(cuda->failure_text, sizeof(cuda->failure_text), "%s", text);
    }
    ordered->state = SW_ORDERED_FREE;
    cuda->under_way--;
    pthread_cond_broadcast(&cuda->changed);
    pthread_mutex_unlock(&cuda->lock);
}

/* Call it with `turn` locked. */
static void submit(struct sherwood_cuda *cuda, struct sw_cuda_ordered *ordered)
{
    struct sherwood_request *request = &ordered->request;
    const struct sherwood_cuda_call *call = &ordered->call;
    int status = sw_cuda_share_all(cuda, call, NULL);
    if (status != SHERWOOD_OK) {
        finish(cuda, ordered, status, sherwood_cuda_error());
        return;
    }
    if (call->count > sherwood_server(cuda->client)->frame_ops_max) {
        status = sw_cuda_run_call(cuda, call);
        finish(cuda, ordered, status, sherwood_error(cuda->client));
        return;
    }
    request->operation = call->operation;
    request->flags = call->flags;
    request->keys = call->keys;
    request->values = call->values;
    request->count = (uint32_t)call->count;
    request->previous = call->previous;
    request->found = call->found;
    request->user = ordered;
    status = sherwood_submit(cuda->client, request);
    if (status == SHERWOOD_E_BUSY) {
        return; /* the next poll tries again */
    }
    if (status != SHERWOOD_OK) {
        finish(cuda, ordered, status, sherwood_error(cuda->client));
        return;
    }
    pthread_mutex_lock(&cuda->lock);
    ordered->state = SW_ORDERED_FLIES;
    pthread_mutex_unlock(&cuda->lock);
}

/* Finishes the requests whose replies have arrived. Returns whether any has. */
static bool receive(struct sherwood_cuda *cuda)
{
    struct sherwood_request *request = NULL;
    bool any = false;
    for (;;) {
        int status = sherwood_wait_any_for(cuda->client, &request, 0);
        if (request == NULL) {
            return any;
        }
        finish(cuda, request->user, status, sherwood_error(cuda->client));
        any = true;
    }
}

/* Acquire: the stream wrote the call's keys before the ticket. */
static bool is_ready(const struct sherwood_cuda *cuda, int slot)
{
    const uint32_t ready = __atomic_load_n(&cuda->words[slot].ready, __ATOMIC_ACQUIRE);
    return (int32_t)(ready - cuda->ordered[slot].ticket) >= 0;
}

/* Locks `turn` after the calls that wait on the host. */
static void take_turn_last(struct sherwood_cuda *cuda)
{
    while (__atomic_load_n(&cuda->wanted, __ATOMIC_RELAXED) != 0) {
        sched_yield();
    }
    pthread_mutex_lock(&cuda->turn);
}

/* Polls all calls once. Returns whether any call advanced. *flies: whether requests are in flight.
 */
static bool poll_calls(struct sherwood_cuda *cuda, bool *flies)
{
    int ready[SHERWOOD_CUDA_ORDERED_MAX];
    int count = 0;
    bool any = false;
    *flies = false;
    pthread_mutex_lock(&cuda->lock);
    for (int i = 0; i < SHERWOOD_CUDA_ORDERED_MAX; i++) {
        *flies |= cuda->ordered[i].state == SW_ORDERED_FLIES;
        if (cuda->ordered[i].state == SW_ORDERED_WAITS && is_ready(cuda, i)) {
            ready[count++] = i;
        }
    }
    pthread_mutex_unlock(&cuda->lock);
    if (count == 0 && !*flies) {
        return false;
    }
    take_turn_last(cuda);
    for (int i = 0; i < count; i++) {
        submit(cuda, &cuda->ordered[ready[i]]);
        any = true;
    }
    any |= receive(cuda);
    sw_cuda_give_turn(cuda);
    *flies |= any;
    return any;
}

static void *run_thread(void *argument)
{
    struct sherwood_cuda *cuda = argument;
    uint32_t idle = 0;
    (void)cuda->driver.context_push(cuda->context);
    pthread_mutex_lock(&cuda->lock);
    while (!cuda->ends || cuda->under_way > 0) {
        if (cuda->under_way == 0) {
            pthread_cond_wait(&cuda->changed, &cuda->lock);
            continue;
        }
        pthread_mutex_unlock(&cuda->lock);
        bool flies;
        if (poll_calls(cuda, &flies)) {
            idle = 0;
        } else if (flies || ++idle < IDLE_LOOKS) {
            sched_yield();
        } else {
            usleep(SLEEP_US);
        }
        pthread_mutex_lock(&cuda->lock);
    }
    pthread_mutex_unlock(&cuda->lock);
    return NULL;
}

/* --- the callers ------------------------------------------------------------------------------ */

/* The first call allocates the words and starts the thread. Call it with `lock` locked. */
static int start(struct sherwood_cuda *cuda)
{
    const size_t bytes = SHERWOOD_CUDA_ORDERED_MAX * sizeof(*cuda->words);
    int error = 0;
    if (cuda->words == NULL) {
        error = cuda->driver.host_allocate((void **)&cuda->words, bytes,
                                           SW_DRIVER_HOST_PORTABLE | SW_DRIVER_HOST_MAPPED);
        if (error == 0) {
            memset(cuda->words, 0, bytes);
            error = cuda->driver.host_address(&cuda->words_address, cuda->words, 0);
        }
    }
    if (error != 0) {
        return sw_cuda_fail(SHERWOOD_E_NOMEM,
                            "cannot allocate memory that host and device share: %s",
                            sw_driver_text(&cuda->driver, error));
    }
    if (!cuda->has_thread) {
        cuda->has_thread = pthread_create(&cuda->thread, NULL, run_thread, cuda) == 0;
    }
    return cuda->has_thread ? SHERWOOD_OK : sw_cuda_fail(SHERWOOD_E_NOMEM, "cannot start a thread");
}

/* Takes a free entry; waits for one. Call it with `lock` locked. */
static struct sw_cuda_ordered *take_ordered_entry(struct sherwood_cuda *cuda)
{
    for (;;) {
        for (int i = 0; i < SHERWOOD_CUDA_ORDERED_MAX; i++) {
            struct sw_cuda_ordered *ordered = &cuda->ordered[i];
            if (ordered->state == SW_ORDERED_FREE) {
                memset(ordered, 0, sizeof(*ordered));
                ordered->state = SW_ORDERED_TAKEN;
                ordered->ticket = ++cuda->tickets;
                cuda->words[i].ready = ordered->ticket - 1;
                __atomic_store_n(&cuda->words[i].done, ordered->ticket - 1, __ATOMIC_RELEASE);
                cuda->under_way++;
                return ordered;
            }
        }
        pthread_cond_wait(&cuda->changed, &cuda->lock);
    }
}

static void set_state(struct sherwood_cuda *cuda, struct sw_cuda_ordered *ordered,
                      enum sw_cuda_ordered_state state)
{
    pthread_mutex_lock(&cuda->lock);
    ordered->state = state;
    cuda->under_way -= state == SW_ORDERED_FREE;
    pthread_cond_broadcast(&cuda->changed);
    pthread_mutex_unlock(&cuda->lock);
}

/* Call it without `lock`: a full stream blocks here until earlier calls are done. */
static int enqueue(struct sherwood_cuda *cuda, struct sw_cuda_ordered *ordered, void *stream)
{
    const uintptr_t words =
        cuda->words_address + (size_t)(ordered - cuda->ordered) * sizeof(*cuda->words);
    const uint32_t ticket = ordered->ticket; /* a copy: before this function returns, the call may
                                                be done and another may have its entry */
    int error =
        cuda->driver.stream_write(stream, words + offsetof(struct sw_cuda_words, ready), ticket, 0);
    set_state(cuda, ordered, error == 0 ? SW_ORDERED_WAITS : SW_ORDERED_FREE);
    if (error == 0) {
        error = cuda->driver.stream_wait(stream, words + offsetof(struct sw_cuda_words, done),
                                         ticket, SW_DRIVER_WAIT_AT_LEAST);
    }
    return error == 0 ? SHERWOOD_OK
                      : sw_cuda_fail(SHERWOOD_E_INVALID, "cannot enqueue on the stream: %s",
                                     sw_driver_text(&cuda->driver, error));
}

int sw_cuda_enqueue(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    struct sw_cuda_ordered *ordered = NULL;
    pthread_mutex_lock(&cuda->lock);
    int status = start(cuda);
    if (status == SHERWOOD_OK) {
        ordered = take_ordered_entry(cuda);
        ordered->request = (struct sherwood_request)SHERWOOD_REQUEST_INIT;
        ordered->call = *call;
    }
    pthread_mutex_unlock(&cuda->lock);
    return status == SHERWOOD_OK ? enqueue(cuda, ordered, call->stream) : status;
}

/* Returns the first failure since the last such call, and clears it. Call it with `lock` locked. */
static int take_failure(struct sherwood_cuda *cuda)
{
    int status = cuda->failure;
    cuda->failure = SHERWOOD_OK;
    return status == SHERWOOD_OK ? status : sw_cuda_fail(status, "%s", cuda->failure_text);
}

int sw_cuda_ordered_check(struct sherwood_cuda *cuda, bool waits)
{
    pthread_mutex_lock(&cuda->lock);
    while (waits && cuda->under_way > 0) {
        pthread_cond_wait(&cuda->changed, &cuda->lock);
    }
    int status = take_failure(cuda);
    pthread_mutex_unlock(&cuda->lock);
    return status;
}

void sw_cuda_ordered_close(struct sherwood_cuda *cuda)
{
    void *context;
    if (cuda->has_thread) {
        pthread_mutex_lock(&cuda->lock);
        cuda->ends = true;
        pthread_cond_broadcast(&cuda->changed);
        pthread_mutex_unlock(&cuda->lock);
        pthread_join(cuda->thread, NULL);
    }
    if (cuda->words != NULL && cuda->driver.context_push(cuda->context) == 0) {
        (void)cuda->driver.host_free(cuda->words);
        (void)cuda->driver.context_pop(&context);
    }
}
