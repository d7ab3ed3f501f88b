/* SPDX-License-Identifier: MIT
 *
 * staging.c - calls on memory that the server cannot map: pools, managed memory, expandable
 * segments of torch, and small allocations. A stage is memory of the library, registered once. A
 * call copies keys and operands into it, and the answers out of it, on a stream. A call that does
 * not fit goes in pieces.
 *
 * In stream order the copies are steps of the caller's stream, and the host does not wait. An event
 * behind the last copy keeps the next call from the stage, whatever its stream is.
 */
#include <string.h>

#include "client/cuda/attached.h"

/* Arrays in a stage begin at multiples of this, as an allocation does: kernels read vectors. */
#define ALIGN_BYTES ((uint64_t)256)
#define UNIT_BYTES ((uint64_t)2 << 20)
/* A piece has a multiple of this number of keys, so that found bits begin with a word. */
#define PIECE_KEYS 64
#define IS_IN(array) ((array) < SW_CUDA_PREVIOUS)

/* --- stages ----------------------------------------------------------------------------------- */

void sw_cuda_stages_open(struct sherwood_cuda *cuda)
{
    pthread_mutex_init(&cuda->staging, NULL);
    pthread_mutex_init(&cuda->waiting.turn, NULL);
    for (int i = 0; i < SHERWOOD_CUDA_STAGES_MAX; i++) {
        pthread_mutex_init(&cuda->stages[i].turn, NULL);
    }
    cuda->stage_bytes = SHERWOOD_CUDA_STAGE_BYTES;
}

static void close_stage(const struct sw_driver *driver, struct sw_cuda_stage *stage)
{
    if (stage->event != NULL) {
        (void)driver->event_destroy(stage->event);
    }
    if (stage->memory != 0) {
        (void)driver->memory_free(stage->memory);
    }
    pthread_mutex_destroy(&stage->turn);
}

void sw_cuda_stages_close(struct sherwood_cuda *cuda)
{
    const struct sw_driver *driver = &cuda->driver;
    int mode = 0;
    const bool entered = cuda->context != NULL && sw_driver_enter(driver, cuda->context, &mode);
    if (entered) {
        sw_cuda_wait_for_stages(cuda);
    }
    for (int i = 0; i < SHERWOOD_CUDA_STAGES_MAX; i++) {
        close_stage(driver, &cuda->stages[i]);
    }
    close_stage(driver, &cuda->waiting);
    if (cuda->copies != NULL) {
        (void)driver->stream_destroy(cuda->copies);
    }
    if (entered) {
        sw_driver_leave(driver, mode);
    }
    pthread_mutex_destroy(&cuda->staging);
}

uint64_t sw_cuda_unit_bytes(uint64_t bytes)
{
    return (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
}

/* Allocates and registers the memory of a stage. */
static int open_memory(struct sherwood_cuda *cuda, struct sw_cuda_stage *stage)
{
    const uint64_t bytes = sw_cuda_unit_bytes(cuda->stage_bytes);
    uintptr_t memory = 0;
    int error = cuda->driver.memory_allocate(&memory, bytes);
    if (error != 0) {
        return sw_cuda_fail(
            SHERWOOD_E_NOMEM, "cannot allocate %llu bytes on device %d to copy arrays through: %s",
            (unsigned long long)bytes, cuda->ordinal, sw_driver_text(&cuda->driver, error));
    }
    sw_cuda_take_turn(cuda);
    int status = sw_cuda_share(cuda, (const void *)memory, bytes, "bytes", NULL);
    sw_cuda_give_turn(cuda);
    if (status != SHERWOOD_OK) {
        (void)cuda->driver.memory_free(memory);
        return status;
    }
    stage->memory = memory;
    return SHERWOOD_OK;
}

/* Makes what a stage lacks, with its `turn` locked: memory, and the stream of `waiting` or the
 * event of another one. */
static int open_stage(struct sherwood_cuda *cuda, struct sw_cuda_stage *stage)
{
    const struct sw_driver *driver = &cuda->driver;
    int error = 0;
    if (stage == &cuda->waiting && cuda->copies == NULL) {
        error = driver->stream_create(&cuda->copies, SW_DRIVER_STREAM_NON_BLOCKING);
    } else if (stage != &cuda->waiting && stage->event == NULL) {
        error = driver->event_create(&stage->event, SW_DRIVER_EVENT_NO_TIMING);
    }
    if (error != 0) {
        return sw_cuda_fail(SHERWOOD_E_NOMEM, "cannot create a stream or an event: %s",
                            sw_driver_text(driver, error));
    }
    return stage->memory != 0 ? SHERWOOD_OK : open_memory(cuda, stage);
}

/* Locks the stage of a stream: the one that it used last, an unused one, or the least recently used
 * one. */
static struct sw_cuda_stage *take_stage(struct sherwood_cuda *cuda, void *stream)
{
    struct sw_cuda_stage *best = &cuda->stages[0];
    pthread_mutex_lock(&cuda->staging);
    for (int i = 0; i < SHERWOOD_CUDA_STAGES_MAX; i++) {
        struct sw_cuda_stage *stage = &cuda->stages[i];
        if (stage->used != 0 && stage->stream == stream) {
            best = stage;
            break;
        }
        best = stage->used < best->used ? stage : best;
    }
    best->stream = stream;
    best->used = ++cuda->stage_clock;
    pthread_mutex_unlock(&cuda->staging);
    pthread_mutex_lock(&best->turn);
    return best;
}

/* --- pieces ----------------------------------------------------------------------------------- */

/* A piece of a call: the call on the stage, and the copies. */
struct piece {
    struct sw_cuda_part part;
    uintptr_t stage[SW_CUDA_ARRAYS], array[SW_CUDA_ARRAYS];
    uint64_t bytes[SW_CUDA_ARRAYS]; /* 0: not copied */
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* Returns the number of keys of the largest piece, a multiple of PIECE_KEYS, or 0. */
static uint64_t piece_keys(const struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                           uint32_t staged)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < SW_CUDA_ARRAYS; i++) {
        bytes += (staged >> i & 1) * sw_cuda_array_bytes(cuda, call, i, PIECE_KEYS);
    }
    return (cuda->stage_bytes - SW_CUDA_ARRAYS * ALIGN_BYTES) / bytes * PIECE_KEYS;
}

static void make_piece(const struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                       uint32_t staged, uintptr_t memory, uint64_t at, uint64_t count,
                       struct piece *piece)
{
    *piece = (struct piece){0};
    sw_cuda_part_at(cuda, call, at, count, &piece->part);
    for (uint32_t i = 0; i < SW_CUDA_ARRAYS; i++) {
        piece->array[i] = piece->stage[i] = sw_cuda_array_at(&piece->part.call, i);
        if (piece->array[i] != 0 && (staged >> i & 1) != 0) {
            piece->bytes[i] = sw_cuda_array_bytes(cuda, call, i, count);
            piece->stage[i] = memory;
            memory += aligned(piece->bytes[i]);
        }
    }
    sw_cuda_part_of(call, piece->stage, count, &piece->part);
}

/* Enqueues the copies into the stage, or those out of it. */
static int copy(struct sherwood_cuda *cuda, const struct piece *piece, bool in, void *stream)
{
    for (uint32_t i = 0; i < SW_CUDA_ARRAYS; i++) {
        if (piece->bytes[i] == 0 || IS_IN(i) != in) {
            continue;
        }
        int error =
            cuda->driver.copy(in ? piece->stage[i] : piece->array[i],
                              in ? piece->array[i] : piece->stage[i], piece->bytes[i], stream);
        if (error != 0) {
            return sw_cuda_fail(SHERWOOD_E_INVALID, "cannot copy the arrays of the call: %s",
                                sw_driver_text(&cuda->driver, error));
        }
        /* relaxed: a statistic */
        __atomic_fetch_add(&cuda->staged_bytes, piece->bytes[i], __ATOMIC_RELAXED);
    }
    return SHERWOOD_OK;
}

static int wait_for_copies(const struct sherwood_cuda *cuda)
{
    const int error = cuda->driver.stream_synchronize(cuda->copies);
    return error == 0 ? SHERWOOD_OK
                      : sw_cuda_fail(SHERWOOD_E_INVALID, "cannot copy the arrays of the call: %s",
                                     sw_driver_text(&cuda->driver, error));
}

/* Limits the copies to the entries that were evicted. */
static void note_evicted(const struct sherwood_cuda *cuda, struct piece *piece)
{
    for (uint32_t i = SW_CUDA_EVICTED_KEYS; i < SW_CUDA_ARRAYS; i++) {
        if (piece->bytes[i] != 0) {
            piece->bytes[i] =
                sw_cuda_array_bytes(cuda, &piece->part.call, i, piece->part.cache.evicted_count);
        }
    }
}

/* Carries out a piece on the host. It counts by itself, because its arrays of evicted entries begin
 * with the stage. */
static int run_piece(struct sherwood_cuda *cuda, struct piece *piece)
{
    struct sherwood_cache *counts = piece->part.call._counts;
    piece->part.call._counts = counts != NULL ? &piece->part.cache : NULL;
    int status = copy(cuda, piece, true, cuda->copies);
    if (status == SHERWOOD_OK) {
        status = wait_for_copies(cuda);
    }
    if (status == SHERWOOD_OK) {
        sw_cuda_take_turn(cuda);
        status = sw_cuda_share_and_run(cuda, &piece->part.call, NULL);
        sw_cuda_give_turn(cuda);
    }
    if (status == SHERWOOD_OK) {
        note_evicted(cuda, piece);
        piece->part.call._counts = counts;
        sw_cuda_add_counts(&piece->part);
        status = copy(cuda, piece, false, cuda->copies);
    }
    return status;
}

/* Enqueues a piece on its stream: the copies in, what `run` enqueues, the copies out. */
static int enqueue_steps(struct sherwood_cuda *cuda, const struct piece *piece,
                         int (*run)(struct sherwood_cuda *, const struct sherwood_cuda_call *,
                                    void *argument),
                         void *argument)
{
    const struct sherwood_cuda_call *call = &piece->part.call;
    int status = copy(cuda, piece, true, call->stream);
    if (status == SHERWOOD_OK) {
        status = run(cuda, call, argument);
    }
    return status == SHERWOOD_OK ? copy(cuda, piece, false, call->stream) : status;
}

static int enqueue_call(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                        void *argument)
{
    (void)argument;
    return sw_cuda_enqueue(cuda, call);
}

static int enqueue_piece(struct sherwood_cuda *cuda, struct piece *piece)
{
    return enqueue_steps(cuda, piece, enqueue_call, NULL);
}

uint64_t sw_cuda_copied_bytes(const struct sherwood_cuda *cuda,
                              const struct sherwood_cuda_call *call, uint32_t staged)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < SW_CUDA_ARRAYS; i++) {
        bytes += (staged >> i & 1) * aligned(sw_cuda_array_bytes(cuda, call, i, call->count));
    }
    return bytes;
}

int sw_cuda_with_copies(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                        uint32_t staged, uintptr_t memory,
                        int (*run)(struct sherwood_cuda *, const struct sherwood_cuda_call *,
                                   void *argument),
                        void *argument)
{
    struct piece piece;
    make_piece(cuda, call, staged, memory, 0, call->count, &piece);
    return enqueue_steps(cuda, &piece, run, argument);
}

/* Carries out all pieces of a call through a stage. */
static int run_pieces(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                      uint32_t staged, const struct sw_cuda_stage *stage,
                      int (*run)(struct sherwood_cuda *, struct piece *))
{
    const uint64_t keys = piece_keys(cuda, call, staged);
    if (keys == 0) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "%d keys and their rows do not fit into the %llu bytes that arrays are "
                            "copied through: give sherwood_cuda_stage more",
                            PIECE_KEYS, (unsigned long long)cuda->stage_bytes);
    }
    /* the evicted entries of a piece go behind those of earlier ones, which have not run yet */
    if (run == enqueue_piece && keys < call->count &&
        sw_cuda_array_at(call, SW_CUDA_EVICTED_KEYS) != 0) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the arrays of %zu keys do not fit into the %llu bytes that arrays are "
                            "copied through, and evicted entries of several pieces need a call "
                            "that waits: give sherwood_cuda_stage more, or fewer keys",
                            call->count, (unsigned long long)cuda->stage_bytes);
    }
    int status = SHERWOOD_OK;
    for (uint64_t at = 0; at < call->count && status == SHERWOOD_OK; at += keys) {
        const uint64_t left = call->count - at;
        struct piece piece;
        make_piece(cuda, call, staged, stage->memory, at, left < keys ? left : keys, &piece);
        status = run(cuda, &piece);
    }
    return status;
}

/* --- calls ------------------------------------------------------------------------------------ */

int sw_cuda_run_staged(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                       uint32_t staged)
{
    struct sw_cuda_stage *stage = &cuda->waiting;
    int mode;
    pthread_mutex_lock(&stage->turn);
    (void)sw_driver_enter(&cuda->driver, cuda->context, &mode);
    int status = open_stage(cuda, stage);
    if (status == SHERWOOD_OK) {
        status = run_pieces(cuda, call, staged, stage, run_piece);
        const int copied = wait_for_copies(cuda); /* also after a failure: the next call copies */
        status = status == SHERWOOD_OK ? copied : status;
    }
    sw_driver_leave(&cuda->driver, mode);
    pthread_mutex_unlock(&stage->turn);
    return status;
}

int sw_cuda_enqueue_staged(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                           uint32_t staged)
{
    struct sw_cuda_stage *stage = take_stage(cuda, call->stream);
    int status = open_stage(cuda, stage);
    if (status == SHERWOOD_OK) {
        int error = cuda->driver.stream_wait_event(call->stream, stage->event, 0);
        if (error == 0) {
            status = run_pieces(cuda, call, staged, stage, enqueue_piece);
            error = cuda->driver.event_record(stage->event, call->stream);
        }
        if (error != 0 && status == SHERWOOD_OK) {
            status = sw_cuda_fail(SHERWOOD_E_INVALID, "cannot enqueue on the stream: %s",
                                  sw_driver_text(&cuda->driver, error));
        }
    }
    pthread_mutex_unlock(&stage->turn);
    return status;
}

void sw_cuda_wait_for_stages(struct sherwood_cuda *cuda)
{
    for (int i = 0; i < SHERWOOD_CUDA_STAGES_MAX; i++) {
        struct sw_cuda_stage *stage = &cuda->stages[i];
        pthread_mutex_lock(&stage->turn);
        if (stage->event != NULL) {
            /* after an error of the device, the program's next call of CUDA reports it */
            (void)cuda->driver.event_synchronize(stage->event);
        }
        pthread_mutex_unlock(&stage->turn);
    }
}

/* --- the interface ---------------------------------------------------------------------------- */

int sherwood_cuda_stage(struct sherwood_cuda *cuda, uint64_t bytes)
{
    if (cuda == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (bytes < SHERWOOD_CUDA_STAGE_BYTES_MIN) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "a stage of %llu bytes is too small: give %u or more",
                            (unsigned long long)bytes, SHERWOOD_CUDA_STAGE_BYTES_MIN);
    }
    pthread_mutex_lock(&cuda->waiting.turn);
    pthread_mutex_lock(&cuda->staging);
    const bool late = cuda->waiting.memory != 0 || cuda->stage_clock > 0;
    if (!late) {
        cuda->stage_bytes = bytes;
    }
    pthread_mutex_unlock(&cuda->staging);
    pthread_mutex_unlock(&cuda->waiting.turn);
    return !late ? SHERWOOD_OK
                 : sw_cuda_fail(SHERWOOD_E_INVALID,
                                "the handle has copied arrays already: call sherwood_cuda_stage "
                                "before the first call");
}

uint64_t sherwood_cuda_staged_bytes(const struct sherwood_cuda *cuda)
{
    return cuda == NULL ? 0 : __atomic_load_n(&cuda->staged_bytes, __ATOMIC_RELAXED);
}
