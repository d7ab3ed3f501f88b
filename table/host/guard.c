/* SPDX-License-Identifier: MIT
 *
 * guard.c - the states of pieces, and the chunks that copies lie in.
 */
#include "table/host/guard.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table/host/memory.h"
#include "table/host/parts.h"

/* The chunks that are there from the beginning: so many, and a 16th of the array, at most 32 MiB in
 * all. */
#define CHUNKS 16U
#define PART_OF_ARRAY 16U
#define POOL_MAX (32ULL << 20)
#define CHUNK_MIN 4096ULL
/* What the reader copies at once. */
#define BUFFER_BYTES 16384U
/* A writer that finds no chunk waits so long for the reader before it takes more memory; half as
 * long each time that this was in vain. */
#define PATIENCE_NS 5000000ULL
/* All writers together wait so long where there is no memory; then the instant is lost. */
#define WAIT_MAX_NS 1000000000ULL
/* This part of the available memory, 5 %, is left to others. */
#define AVAILABLE_MARGIN 20

struct sw_guard_chunk {
    struct sw_guard_chunk *next;  /* of the list it is in */
    struct sw_guard_chunk *older; /* of all */
    uint8_t *data;
    uint64_t mapped; /* bytes of its own at `data`; 0: they are of the pool */
    uint32_t used;   /* pieces given to writers; under the mutex */
    uint32_t copied; /* .. and filled by them; atomic */
};

struct sw_guard_chunks {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint8_t *pool;
    uint64_t pool_bytes;
    uint64_t chunk_bytes;
    /* Under `mutex`. */
    struct sw_guard_chunk *filling, *free, *full, *last_full, *newest;
    uint64_t patience_ns;
    uint64_t waited_ns; /* where there was no memory */
};

/* --- chunks ----------------------------------------------------------------------------------- */

static uint64_t chunk_bytes_for(uint64_t bytes)
{
    uint64_t pool = bytes / PART_OF_ARRAY < POOL_MAX ? bytes / PART_OF_ARRAY : POOL_MAX;
    uint64_t chunk = pool / CHUNKS / CHUNK_MIN * CHUNK_MIN;
    return chunk > CHUNK_MIN ? chunk : CHUNK_MIN;
}

static uint64_t pieces_of(uint64_t bytes)
{
    return (bytes + SW_GUARD_PIECE - 1) / SW_GUARD_PIECE;
}

uint64_t sw_guard_bytes(uint64_t bytes)
{
    return CHUNKS * chunk_bytes_for(bytes) + pieces_of(bytes);
}

/* Adds a chunk to the free ones. False: no memory for its description. */
static bool add_chunk(struct sw_guard_chunks *chunks, uint8_t *data, uint64_t mapped)
{
    struct sw_guard_chunk *chunk = calloc(1, sizeof(*chunk));
    if (chunk != NULL) {
        *chunk = (struct sw_guard_chunk){
            .next = chunks->free, .older = chunks->newest, .data = data, .mapped = mapped};
        chunks->free = chunks->newest = chunk;
    }
    return chunk != NULL;
}

static bool grow(struct sw_guard_chunks *chunks)
{
    uint64_t available = sw_memory_available();
    uint8_t *data = chunks->chunk_bytes <= available - available / AVAILABLE_MARGIN
                        ? sw_memory_map(chunks->chunk_bytes)
                        : NULL;
    if (data == NULL || !add_chunk(chunks, data, chunks->chunk_bytes)) {
        sw_memory_unmap(data, chunks->chunk_bytes);
        return false;
    }
    return true;
}

static void destroy_chunks(struct sw_guard_chunks *chunks)
{
    while (chunks->newest != NULL) {
        struct sw_guard_chunk *chunk = chunks->newest;
        chunks->newest = chunk->older;
        sw_memory_unmap(chunk->mapped > 0 ? chunk->data : NULL, chunk->mapped);
        free(chunk);
    }
    sw_memory_unmap(chunks->pool, chunks->pool_bytes);
    pthread_cond_destroy(&chunks->changed);
    pthread_mutex_destroy(&chunks->mutex);
    free(chunks);
}

static struct sw_guard_chunks *create_chunks(uint64_t bytes)
{
    pthread_condattr_t monotonic;
    struct sw_guard_chunks *chunks = calloc(1, sizeof(*chunks));
    if (chunks == NULL) {
        return NULL;
    }
    chunks->chunk_bytes = chunk_bytes_for(bytes);
    chunks->pool_bytes = CHUNKS * chunks->chunk_bytes;
    chunks->patience_ns = PATIENCE_NS;
    pthread_mutex_init(&chunks->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&chunks->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    chunks->pool = sw_memory_map_touched(chunks->pool_bytes);
    bool added = chunks->pool != NULL;
    for (uint64_t at = 0; added && at < chunks->pool_bytes; at += chunks->chunk_bytes) {
        added = add_chunk(chunks, chunks->pool + at, 0);
    }
    if (!added) {
        destroy_chunks(chunks);
        return NULL;
    }
    return chunks;
}

/* Waits until the reader has given something back, or for long enough. Returns false if the guard
 * is to be lost. The mutex is held. */
static bool wait_for_chunk(struct sw_guard_chunks *chunks)
{
    uint64_t began_ns = sw_now_ns();
    uint64_t until = began_ns + chunks->patience_ns;
    struct timespec when = {(time_t)(until / 1000000000U), (long)(until % 1000000000U)};
    pthread_cond_timedwait(&chunks->changed, &chunks->mutex, &when);
    if (chunks->free != NULL || chunks->filling != NULL) {
        chunks->patience_ns = PATIENCE_NS;
        return true;
    }
    if (sw_now_ns() < until) { /* woken for another reason */
        return true;
    }
    if (grow(chunks)) {
        chunks->patience_ns /= 2;
        return true;
    }
    chunks->patience_ns = PATIENCE_NS;
    chunks->waited_ns += sw_now_ns() - began_ns;
    return chunks->waited_ns < WAIT_MAX_NS;
}

static void put_full(struct sw_guard_chunks *chunks)
{
    struct sw_guard_chunk *chunk = chunks->filling;
    chunk->next = NULL;
    *(chunks->full != NULL ? &chunks->last_full->next : &chunks->full) = chunk;
    chunks->last_full = chunk;
    chunks->filling = NULL;
}

/* Room for a copy of a piece, in *of; NULL if the guard is lost. */
static uint8_t *reserve(struct sw_guard *guard, struct sw_guard_chunk **of)
{
    struct sw_guard_chunks *chunks = guard->chunks;
    uint8_t *place = NULL;
    pthread_mutex_lock(&chunks->mutex);
    while (place == NULL && !sw_guard_is_lost(guard)) {
        if (chunks->filling == NULL && chunks->free != NULL) {
            chunks->filling = chunks->free;
            chunks->free = chunks->filling->next;
        }
        struct sw_guard_chunk *chunk = chunks->filling;
        if (chunk == NULL) {
            if (!wait_for_chunk(chunks)) {
                __atomic_store_n(&guard->lost, true, __ATOMIC_RELEASE);
                pthread_cond_broadcast(&chunks->changed);
            }
            continue;
        }
        place = chunk->data + (uint64_t)chunk->used++ * SW_GUARD_PIECE;
        *of = chunk;
        if ((uint64_t)chunk->used * SW_GUARD_PIECE == chunks->chunk_bytes) {
            put_full(chunks);
        }
    }
    pthread_mutex_unlock(&chunks->mutex);
    return place;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void copy_piece(const struct sw_guard *guard, uint64_t piece, uint8_t *to)
{
    uint64_t at = piece * SW_GUARD_PIECE;
    uint64_t left = guard->bytes - at;
    if (left < SW_GUARD_PIECE) {
        memset(to + left, 0xFF, (size_t)(SW_GUARD_PIECE - left));
    }
    memcpy(to, guard->array + at, (size_t)(left < SW_GUARD_PIECE ? left : SW_GUARD_PIECE));
}

/* True if the piece is the caller's now; false if it is, or was, another one's. */
static bool take_piece(struct sw_guard *guard, uint64_t piece)
{
    uint8_t was = SW_GUARD_OPEN;
    return __atomic_compare_exchange_n(&guard->states[piece], &was, SW_GUARD_TAKEN, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool is_done(const struct sw_guard *guard, uint64_t piece)
{
    return __atomic_load_n(&guard->states[piece], __ATOMIC_ACQUIRE) == SW_GUARD_DONE;
}

static void finish_piece(struct sw_guard *guard, uint64_t piece)
{
    __atomic_store_n(&guard->states[piece], SW_GUARD_DONE, __ATOMIC_RELEASE);
}

static void keep(struct sw_guard *guard, uint64_t piece)
{
    struct sw_guard_chunk *chunk = NULL;
    if (!take_piece(guard, piece)) {
        while (!is_done(guard, piece)) {
            sched_yield();
        }
        return;
    }
    uint8_t *place = sw_guard_is_lost(guard) ? NULL : reserve(guard, &chunk);
    if (place != NULL) {
        copy_piece(guard, piece, place);
        __atomic_fetch_add(&chunk->copied, 1, __ATOMIC_RELEASE);
    }
    finish_piece(guard, piece);
}

void sw_guard_before_write(struct sw_guard *guard, const void *at)
{
    uint64_t offset = (uint64_t)((uintptr_t)at - (uintptr_t)guard->array);
    if (offset < guard->bytes && !is_done(guard, offset / SW_GUARD_PIECE)) {
        keep(guard, offset / SW_GUARD_PIECE);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static void give_back(struct sw_guard *guard)
{
    struct sw_guard_chunks *chunks = guard->chunks;
    struct sw_guard_chunk *chunk = guard->reading;
    guard->reading = NULL;
    if (chunk != NULL) {
        chunk->used = chunk->copied = 0;
        pthread_mutex_lock(&chunks->mutex);
        chunk->next = chunks->free;
        chunks->free = chunk;
        pthread_cond_broadcast(&chunks->changed);
        pthread_mutex_unlock(&chunks->mutex);
    }
}

/* A chunk that is full and copied; with `is_end`, when no piece is copied any more, also the one
 * that is not full. */
static bool take_chunk(struct sw_guard *guard, bool is_end)
{
    struct sw_guard_chunks *chunks = guard->chunks;
    pthread_mutex_lock(&chunks->mutex);
    struct sw_guard_chunk *chunk = chunks->full;
    if (chunk != NULL && __atomic_load_n(&chunk->copied, __ATOMIC_ACQUIRE) == chunk->used) {
        chunks->full = chunk->next;
        guard->reading = chunk;
    } else if (chunk == NULL && is_end) {
        guard->reading = chunks->filling;
        chunks->filling = NULL;
    }
    pthread_mutex_unlock(&chunks->mutex);
    return guard->reading != NULL;
}

/* Copies pieces that nobody else has taken; returns their bytes. A piece that a writer has taken is
 * not waited for: the writer may wait for a chunk. */
static uint64_t copy_pieces(struct sw_guard *guard)
{
    const uint64_t pieces = pieces_of(guard->bytes);
    uint64_t bytes = 0;
    for (; guard->next < pieces && bytes < BUFFER_BYTES; guard->next++) {
        if (take_piece(guard, guard->next)) {
            copy_piece(guard, guard->next, guard->buffer + bytes);
            finish_piece(guard, guard->next);
            bytes += SW_GUARD_PIECE;
        }
    }
    return bytes;
}

/* The rest of the chunks, once every piece is taken. False: there is none, or the guard is lost. */
static bool take_rest(struct sw_guard *guard)
{
    const uint64_t pieces = pieces_of(guard->bytes);
    while (guard->seen < pieces && !sw_guard_is_lost(guard)) {
        if (is_done(guard, guard->seen)) {
            guard->seen++;
        } else if (take_chunk(guard, false)) {
            return true;
        } else {
            sched_yield();
        }
    }
    return take_chunk(guard, true);
}

bool sw_guard_read(struct sw_guard *guard, const void **part, uint64_t *bytes)
{
    give_back(guard);
    if (!take_chunk(guard, false)) {
        *part = guard->buffer;
        *bytes = copy_pieces(guard);
        if (*bytes > 0 || !take_rest(guard)) {
            return *bytes > 0 && !sw_guard_is_lost(guard);
        }
    }
    *part = guard->reading->data;
    *bytes = (uint64_t)guard->reading->used * SW_GUARD_PIECE;
    return !sw_guard_is_lost(guard);
}

/* --- life ------------------------------------------------------------------------------------- */

struct sw_guard *sw_guard_create(const void *array, uint64_t bytes)
{
    struct sw_guard *guard = calloc(1, sizeof(*guard));
    if (guard == NULL) {
        return NULL;
    }
    guard->array = array;
    guard->bytes = bytes;
    guard->states = sw_memory_map_touched(pieces_of(bytes));
    guard->buffer = malloc(BUFFER_BYTES);
    guard->chunks = create_chunks(bytes);
    if (guard->states == NULL || guard->buffer == NULL || guard->chunks == NULL) {
        sw_guard_destroy(guard);
        return NULL;
    }
    return guard;
}

void sw_guard_destroy(struct sw_guard *guard)
{
    sw_memory_unmap(guard->states, pieces_of(guard->bytes));
    free(guard->buffer);
    if (guard->chunks != NULL) {
        destroy_chunks(guard->chunks);
    }
    free(guard);
}

bool sw_guard_is_lost(const struct sw_guard *guard)
{
    return __atomic_load_n(&guard->lost, __ATOMIC_ACQUIRE);
}

void sw_guard_lose(struct sw_guard *guard)
{
    pthread_mutex_lock(&guard->chunks->mutex);
    __atomic_store_n(&guard->lost, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&guard->chunks->changed);
    pthread_mutex_unlock(&guard->chunks->mutex);
}

void sw_guard_abandon(struct sw_guard *guard)
{
    sw_guard_lose(guard);
    for (uint64_t piece = 0; piece < pieces_of(guard->bytes); piece++) {
        keep(guard, piece);
    }
}
