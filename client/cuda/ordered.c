/* SPDX-License-Identifier: MIT
 *
 * ordered.c - calls in the order of a stream.
 *
 *   the caller   enqueues on its stream: ready = ticket; wait until done >= ticket
 *   the thread   sees ready, submits the request, sees its answer, sets done = ticket
 *
 * A direct read (direct.c) has kernels on its stream that write `ready` or `done` instead.
 *
 * The words lie in host memory that the device reads and writes. The server knows nothing of
 * streams, and a stream that never reaches a call delays only its own calls. After an error the
 * thread also sets `done`, so the stream goes on.
 *
 * A later ticket uses the words again once `done` is set: then the stream has written `ready`. The
 * stream may not have read `done` yet, but `done` only grows.
 */
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "client/cuda/attached.h"

/* Idle polls before the thread begins to sleep between polls, while no request is in flight. */
#define IDLE_LOOKS 2000
#define SLEEP_US 20
/* Idle polls before the sleeps get longer, after about 0.25 s: a long kernel, or a graph without
 * replays, then costs little of a processor. */
#define LATE_LOOKS (IDLE_LOOKS + 10000)
#define LATE_SLEEP_US 500

/* --- the thread ------------------------------------------------------------------------------- */

/* Call it with `turn` locked. */
static void submit(struct sherwood_cuda *cuda, struct sw_cuda_ordered *ordered)
{
    struct sherwood_request *request = &ordered->request;
    const struct sherwood_cuda_call *call = &ordered->part.call;
    pthread_mutex_lock(&cuda->lock);
    ordered->state = SW_ORDERED_FLIES;
    pthread_mutex_unlock(&cuda->lock);
    if (ordered->is_direct) {
        sw_cuda_direct_missed(cuda);
    }
    if (cuda->outlived) {
        sw_cuda_ordered_finish(cuda, ordered, SHERWOOD_E_INVALID, "the handle is closed");
        return;
    }
    if (ordered->captured) { /* another replay */
        sw_cuda_clear_counts(call);
    }
    int status = sw_cuda_share_all(cuda, call, NULL);
    if (status != SHERWOOD_OK) {
        sw_cuda_ordered_finish(cuda, ordered, status, sherwood_cuda_error());
        return;
    }
    struct sherwood *client = sw_cuda_client_of(cuda, call);
    if (call->count > sw_cuda_frame_keys(cuda, call)) {
        status = sw_cuda_run_call(cuda, call);
        sw_cuda_ordered_finish(cuda, ordered, status, sherwood_error(cuda->client));
        return;
    }
    sw_cuda_request_of(&ordered->part, request);
    request->user = ordered;
    status = sherwood_submit(client, request);
    if (status == SHERWOOD_E_BUSY) {
        pthread_mutex_lock(&cuda->lock);
        ordered->state = SW_ORDERED_WAITS; /* the next poll tries again */
        pthread_mutex_unlock(&cuda->lock);
    } else if (status != SHERWOOD_OK) {
        sw_cuda_ordered_finish(cuda, ordered, status, sherwood_error(cuda->client));
    }
}

/* Acquire: the stream wrote the call's keys before the ticket. */
static bool is_ready(const struct sherwood_cuda *cuda, int slot)
{
    const uint32_t ready = __atomic_load_n(&cuda->words[slot].ready, __ATOMIC_ACQUIRE);
    return (int32_t)(ready - cuda->ordered[slot].ticket) >= 0;
}

/* Have the kernels of a direct read ended a call that is no replay? Acquire, as above. */
static bool is_read(const struct sherwood_cuda *cuda, int slot)
{
    const struct sw_cuda_ordered *ordered = &cuda->ordered[slot];
    const uint32_t done = __atomic_load_n(&cuda->words[slot].done, __ATOMIC_ACQUIRE);
    return ordered->is_direct && !ordered->captured && (int32_t)(done - ordered->ticket) >= 0;
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
    int ready[SW_CUDA_ENTRIES];
    int count = 0;
    bool any = false;
    *flies = false;
    pthread_mutex_lock(&cuda->lock);
    const int entries = cuda->captured > 0 ? SW_CUDA_ENTRIES : SHERWOOD_CUDA_ORDERED_MAX;
    for (int i = 0; i < entries; i++) {
        *flies |= cuda->ordered[i].state == SW_ORDERED_FLIES;
        if (cuda->ordered[i].state == SW_ORDERED_WAITS && is_ready(cuda, i)) {
            ready[count++] = i;
        } else if (cuda->ordered[i].state == SW_ORDERED_WAITS && is_read(cuda, i)) {
            cuda->ordered[i].state = SW_ORDERED_FREE;
            cuda->under_way--;
            any = true;
        }
    }
    if (any) {
        pthread_cond_broadcast(&cuda->changed);
    }
    pthread_mutex_unlock(&cuda->lock);
    if (count == 0 && !*flies) {
        return any;
    }
    take_turn_last(cuda);
    for (int i = 0; i < count; i++) {
        submit(cuda, &cuda->ordered[ready[i]]);
        any = true;
    }
    any |= sw_cuda_ordered_receive(cuda);
    sw_cuda_give_turn(cuda);
    *flies |= any;
    return any;
}

/* Returns whether the thread ends. Call it with `lock` locked. */
static bool is_over(const struct sherwood_cuda *cuda)
{
    return cuda->ends && cuda->under_way == 0 && cuda->captured == 0 &&
           (!cuda->outlived || cuda->closed);
}

static void *run_thread(void *argument)
{
    struct sherwood_cuda *cuda = argument;
    uint32_t idle = 0;
    int mode;
    (void)sw_driver_enter(&cuda->driver, cuda->context, &mode);
    (void)prctl(PR_SET_TIMERSLACK, 1UL); /* a sleep of SLEEP_US otherwise takes 50 us more */
    pthread_mutex_lock(&cuda->lock);
    while (!is_over(cuda)) {
        if (cuda->under_way == 0 && cuda->captured == 0) {
            pthread_cond_wait(&cuda->changed, &cuda->lock);
            continue;
        }
        pthread_mutex_unlock(&cuda->lock);
        bool flies;
        if (poll_calls(cuda, &flies)) {
            idle = 0;
        } else if (flies || idle < IDLE_LOOKS) {
            idle += !flies;
            sched_yield();
        } else {
            usleep(idle < LATE_LOOKS ? SLEEP_US : LATE_SLEEP_US);
            idle += idle < LATE_LOOKS;
        }
        pthread_mutex_lock(&cuda->lock);
    }
    const bool outlived = cuda->outlived;
    pthread_mutex_unlock(&cuda->lock);
    if (outlived) {
        sw_driver_leave(&cuda->driver, mode);
        sw_cuda_free(cuda);
    }
    return NULL;
}

/* --- the callers ------------------------------------------------------------------------------ */

/* The first call allocates the words and starts the thread. Call it with `lock` locked. */
static int start(struct sherwood_cuda *cuda)
{
    const size_t bytes = SW_CUDA_ENTRIES * sizeof(*cuda->words);
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

/* Takes a free entry of the captured calls, or returns NULL. Call it with `lock` locked. */
static struct sw_cuda_ordered *take_captured_entry(struct sherwood_cuda *cuda)
{
    for (int i = SHERWOOD_CUDA_ORDERED_MAX; i < SW_CUDA_ENTRIES; i++) {
        struct sw_cuda_ordered *ordered = &cuda->ordered[i];
        if (ordered->state == SW_ORDERED_FREE) {
            ordered->cuda = cuda;
            ordered->ticket = 1;
            ordered->captured = true;
            ordered->dropped = false;
            ordered->state = SW_ORDERED_TAKEN;
            cuda->words[i] = (struct sw_cuda_words){0};
            cuda->captured++;
            return ordered;
        }
    }
    (void)sw_cuda_fail(SHERWOOD_E_BUSY,
                       "the graphs of this handle have %d calls already: destroy one of the graphs",
                       SHERWOOD_CUDA_CAPTURED_MAX);
    return NULL;
}

int sw_cuda_ordered_take(struct sherwood_cuda *cuda, bool captured, struct sw_cuda_ordered **entry)
{
    pthread_mutex_lock(&cuda->lock);
    int status = start(cuda);
    if (status == SHERWOOD_OK) {
        *entry = captured ? take_captured_entry(cuda) : take_ordered_entry(cuda);
        status = *entry != NULL ? SHERWOOD_OK : SHERWOOD_E_BUSY;
    }
    pthread_mutex_unlock(&cuda->lock);
    return status;
}

void sw_cuda_ordered_begin(struct sherwood_cuda *cuda, struct sw_cuda_ordered *entry)
{
    pthread_mutex_lock(&cuda->lock);
    entry->state = SW_ORDERED_WAITS;
    pthread_cond_broadcast(&cuda->changed); /* the thread polls from now on */
    pthread_mutex_unlock(&cuda->lock);
}

void sw_cuda_ordered_release(struct sherwood_cuda *cuda, struct sw_cuda_ordered *entry)
{
    pthread_mutex_lock(&cuda->lock);
    if (entry->state == SW_ORDERED_FLIES) {
        entry->dropped = true;
    } else {
        entry->state = SW_ORDERED_FREE;
        cuda->captured--;
    }
    pthread_cond_broadcast(&cuda->changed);
    pthread_mutex_unlock(&cuda->lock);
}

bool sw_cuda_ordered_uses(struct sherwood_cuda *cuda, uint32_t table)
{
    bool any = false;
    pthread_mutex_lock(&cuda->lock);
    for (int i = 0; i < SW_CUDA_ENTRIES && !any; i++) {
        const struct sw_cuda_ordered *ordered = &cuda->ordered[i];
        any = ordered->state != SW_ORDERED_FREE && ordered->part.call.table == table;
    }
    pthread_mutex_unlock(&cuda->lock);
    return any;
}

uintptr_t sw_cuda_words_of(const struct sherwood_cuda *cuda, const struct sw_cuda_ordered *entry)
{
    return cuda->words_address + (size_t)(entry - cuda->ordered) * sizeof(*cuda->words);
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
int sw_cuda_enqueue_begin(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                          struct sw_cuda_pending *pending)
{
    struct sw_cuda_ordered *ordered = NULL;
    int status = sw_cuda_ordered_take(cuda, false, &ordered);
    if (status != SHERWOOD_OK) {
        return status;
    }
    sw_cuda_part_at(cuda, call, 0, call->count, &ordered->part);
    ordered->is_direct = sw_cuda_direct_takes(cuda, call);
    const uintptr_t words = sw_cuda_words_of(cuda, ordered);
    /* copies: before this function returns, the call may be done and another may have its entry */
    *pending = (struct sw_cuda_pending){.stream = call->stream,
                                        .done = words + offsetof(struct sw_cuda_words, done),
                                        .ticket = ordered->ticket};
    int error =
        ordered->is_direct
            ? sw_cuda_direct_enqueue(cuda, ordered, words, &ordered->part.call)
            : cuda->driver.stream_write(call->stream, words + offsetof(struct sw_cuda_words, ready),
                                        pending->ticket, 0);
    set_state(cuda, ordered, error == 0 ? SW_ORDERED_WAITS : SW_ORDERED_FREE);
    return error == 0 ? SHERWOOD_OK
                      : sw_cuda_fail(SHERWOOD_E_INVALID, "cannot enqueue on the stream: %s",
                                     sw_driver_text(&cuda->driver, error));
}

int sw_cuda_enqueue_end(struct sherwood_cuda *cuda, const struct sw_cuda_pending *pending)
{
    const int error = cuda->driver.stream_wait(pending->stream, pending->done, pending->ticket,
                                               SW_DRIVER_WAIT_AT_LEAST);
    return error == 0 ? SHERWOOD_OK
                      : sw_cuda_fail(SHERWOOD_E_INVALID, "cannot enqueue on the stream: %s",
                                     sw_driver_text(&cuda->driver, error));
}

int sw_cuda_enqueue(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    struct sw_cuda_pending pending;
    const int status = sw_cuda_enqueue_begin(cuda, call, &pending);
    return status == SHERWOOD_OK ? sw_cuda_enqueue_end(cuda, &pending) : status;
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

/* Returns whether a request is in flight. Call it with `lock` locked. */
static bool has_flight(const struct sherwood_cuda *cuda)
{
    for (int i = 0; i < SW_CUDA_ENTRIES; i++) {
        if (cuda->ordered[i].state == SW_ORDERED_FLIES) {
            return true;
        }
    }
    return false;
}

bool sw_cuda_ordered_close(struct sherwood_cuda *cuda)
{
    if (!cuda->has_thread) {
        return true;
    }
    pthread_mutex_lock(&cuda->lock);
    cuda->ends = true;
    pthread_cond_broadcast(&cuda->changed);
    while (cuda->under_way > 0) {
        pthread_cond_wait(&cuda->changed, &cuda->lock);
    }
    pthread_mutex_unlock(&cuda->lock);
    sw_cuda_take_turn(cuda);
    pthread_mutex_lock(&cuda->lock);
    while (has_flight(cuda)) { /* of a replay: receive it here, with `turn` locked */
        pthread_mutex_unlock(&cuda->lock);
        (void)sw_cuda_ordered_receive(cuda);
        pthread_mutex_lock(&cuda->lock);
    }
    cuda->outlived = cuda->captured > 0;
    const bool outlived = cuda->outlived;
    pthread_mutex_unlock(&cuda->lock);
    sw_cuda_give_turn(cuda);
    if (outlived) {
        pthread_detach(cuda->thread);
    } else {
        pthread_join(cuda->thread, NULL);
    }
    return !outlived;
}

void sw_cuda_ordered_closed(struct sherwood_cuda *cuda)
{
    pthread_mutex_lock(&cuda->lock);
    cuda->closed = true;
    pthread_cond_broadcast(&cuda->changed);
    pthread_mutex_unlock(&cuda->lock); /* the thread may free the handle from here on */
}
