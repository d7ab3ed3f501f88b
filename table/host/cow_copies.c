/* SPDX-License-Identifier: MIT
 *
 * cow_copies.c - the chunks of a copy queue, and the wait for a free chunk.
 */
#include "table/host/cow_copies.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "table/host/memory.h"
#include "table/host/parts.h"

/* The pool: CHUNKS chunks allocated at creation, together 1/PART_OF_ARRAY of the array, at most
 * POOL_MAX bytes. A chunk has at least CHUNK_MIN bytes and room for one copy. */
#define CHUNKS 16U
#define PART_OF_ARRAY 16U
#define POOL_MAX (32ULL << 20)
#define CHUNK_MIN 4096ULL
/* A writer that finds no chunk waits this time for the reader before it allocates more memory. Each
 * allocation halves the next wait. */
#define PATIENCE_NS 5000000ULL
/* Limit of the total time that writers wait in vain while memory is short. At this limit the image
 * is lost. */
#define WAIT_MAX_NS 1000000000ULL
/* 1/20 (5 %) of the available memory stays free for others. */
#define AVAILABLE_MARGIN 20

struct sw_cow_copies {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint8_t *pool;
    uint64_t pool_bytes;
    uint64_t chunk_bytes;
    uint32_t copy_bytes;
    bool lost; /* atomic */
    /* Under `mutex`. */
    struct sw_chunk *filling, *free, *full, *last_full, *newest;
    uint64_t patience_ns;
    uint64_t waited_ns; /* total time that writers waited in vain while memory was short */
};

static uint64_t chunk_bytes_for(uint32_t copy_bytes, uint64_t array_bytes)
{
    uint64_t pool = array_bytes / PART_OF_ARRAY < POOL_MAX ? array_bytes / PART_OF_ARRAY : POOL_MAX;
    uint64_t chunk = pool / CHUNKS / CHUNK_MIN * CHUNK_MIN;
    uint64_t least = copy_bytes > CHUNK_MIN ? copy_bytes : CHUNK_MIN;
    return chunk > least ? chunk : least;
}

uint64_t sw_cow_copies_bytes(uint32_t copy_bytes, uint64_t array_bytes)
{
    return CHUNKS * chunk_bytes_for(copy_bytes, array_bytes);
}

/* Adds a chunk to the free list. Returns false if there is no memory for its struct. */
static bool add_chunk(struct sw_cow_copies *copies, uint8_t *data, uint64_t mapped)
{
    struct sw_chunk *chunk = calloc(1, sizeof(*chunk));
    if (chunk != NULL) {
        *chunk = (struct sw_chunk){
            .next = copies->free, .older = copies->newest, .data = data, .mapped = mapped};
        copies->free = copies->newest = chunk;
    }
    return chunk != NULL;
}

static bool grow(struct sw_cow_copies *copies)
{
    uint64_t available = sw_memory_available();
    uint8_t *data = copies->chunk_bytes <= available - available / AVAILABLE_MARGIN
                        ? sw_memory_map(copies->chunk_bytes)
                        : NULL;
    if (data == NULL || !add_chunk(copies, data, copies->chunk_bytes)) {
        sw_memory_unmap(data, copies->chunk_bytes);
        return false;
    }
    return true;
}

void sw_cow_copies_destroy(struct sw_cow_copies *copies)
{
    while (copies->newest != NULL) {
        struct sw_chunk *chunk = copies->newest;
        copies->newest = chunk->older;
        sw_memory_unmap(chunk->mapped > 0 ? chunk->data : NULL, chunk->mapped);
        free(chunk);
    }
    sw_memory_unmap(copies->pool, copies->pool_bytes);
    pthread_cond_destroy(&copies->changed);
    pthread_mutex_destroy(&copies->mutex);
    free(copies);
}

struct sw_cow_copies *sw_cow_copies_create(uint32_t copy_bytes, uint64_t array_bytes)
{
    pthread_condattr_t monotonic;
    struct sw_cow_copies *copies = calloc(1, sizeof(*copies));
    if (copies == NULL) {
        return NULL;
    }
    copies->copy_bytes = copy_bytes;
    copies->chunk_bytes = chunk_bytes_for(copy_bytes, array_bytes);
    copies->pool_bytes = CHUNKS * copies->chunk_bytes;
    copies->patience_ns = PATIENCE_NS;
    assert(copy_bytes > 0 && copy_bytes <= copies->chunk_bytes);
    pthread_mutex_init(&copies->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&copies->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    copies->pool = sw_memory_map_touched(copies->pool_bytes);
    bool added = copies->pool != NULL;
    for (uint64_t at = 0; added && at < copies->pool_bytes; at += copies->chunk_bytes) {
        added = add_chunk(copies, copies->pool + at, 0);
    }
    if (!added) {
        sw_cow_copies_destroy(copies);
        return NULL;
    }
    return copies;
}

/* --- writers ---------------------------------------------------------------------------------- */

/* Waits until the reader returns a chunk, at most patience_ns; then allocates another chunk.
 * Returns false if the caller must mark the image as lost. The caller holds the mutex. */
static bool wait_for_chunk(struct sw_cow_copies *copies)
{
    uint64_t began_ns = sw_now_ns();
    uint64_t until = began_ns + copies->patience_ns;
    struct timespec when = {(time_t)(until / 1000000000U), (long)(until % 1000000000U)};
    pthread_cond_timedwait(&copies->changed, &copies->mutex, &when);
    if (copies->free != NULL || copies->filling != NULL) {
        copies->patience_ns = PATIENCE_NS;
        return true;
    }
    if (sw_now_ns() < until) { /* the wait ended before the time was over */
        return true;
    }
    if (grow(copies)) {
        copies->patience_ns /= 2;
        return true;
    }
    copies->patience_ns = PATIENCE_NS;
    copies->waited_ns += sw_now_ns() - began_ns;
    return copies->waited_ns < WAIT_MAX_NS;
}

static void put_full(struct sw_cow_copies *copies)
{
    struct sw_chunk *chunk = copies->filling;
    assert(chunk != NULL && chunk->used > 0);
    chunk->next = NULL;
    *(copies->full != NULL ? &copies->last_full->next : &copies->full) = chunk;
    copies->last_full = chunk;
    copies->filling = NULL;
}

uint8_t *sw_cow_copies_reserve(struct sw_cow_copies *copies, struct sw_chunk **of)
{
    uint8_t *place = NULL;
    if (sw_cow_copies_are_lost(copies)) {
        return NULL;
    }
    pthread_mutex_lock(&copies->mutex);
    while (place == NULL && !sw_cow_copies_are_lost(copies)) {
        if (copies->filling == NULL && copies->free != NULL) {
            copies->filling = copies->free;
            copies->free = copies->filling->next;
        }
        struct sw_chunk *chunk = copies->filling;
        if (chunk == NULL) {
            if (!wait_for_chunk(copies)) {
                __atomic_store_n(&copies->lost, true, __ATOMIC_RELEASE);
                pthread_cond_broadcast(&copies->changed);
            }
            continue;
        }
        place = chunk->data + (uint64_t)chunk->used++ * copies->copy_bytes;
        *of = chunk;
        assert((uint64_t)chunk->used * copies->copy_bytes <= copies->chunk_bytes);
        if (((uint64_t)chunk->used + 1) * copies->copy_bytes > copies->chunk_bytes) {
            put_full(copies);
        }
    }
    pthread_mutex_unlock(&copies->mutex);
    return place;
}

void sw_cow_copies_filled(struct sw_chunk *chunk)
{
    __atomic_fetch_add(&chunk->filled, 1, __ATOMIC_RELEASE);
}

/* --- the reader ------------------------------------------------------------------------------- */

static bool is_filled(const struct sw_chunk *chunk)
{
    return chunk != NULL && __atomic_load_n(&chunk->filled, __ATOMIC_ACQUIRE) == chunk->used;
}

struct sw_chunk *sw_cow_copies_take(struct sw_cow_copies *copies, struct sw_chunk *last, bool any)
{
    struct sw_chunk *taken = NULL;
    pthread_mutex_lock(&copies->mutex);
    if (last != NULL) {
        assert(last->filled == last->used);
        last->used = last->filled = 0;
        last->next = copies->free;
        copies->free = last;
        pthread_cond_broadcast(&copies->changed);
    }
    if (is_filled(copies->full)) {
        taken = copies->full;
        copies->full = taken->next;
    } else if (any && copies->full == NULL && is_filled(copies->filling)) {
        taken = copies->filling;
        copies->filling = NULL;
    }
    pthread_mutex_unlock(&copies->mutex);
    return taken;
}

/* --- losing ----------------------------------------------------------------------------------- */

void sw_cow_copies_lose(struct sw_cow_copies *copies)
{
    pthread_mutex_lock(&copies->mutex);
    __atomic_store_n(&copies->lost, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&copies->changed);
    pthread_mutex_unlock(&copies->mutex);
}

bool sw_cow_copies_are_lost(const struct sw_cow_copies *copies)
{
    return __atomic_load_n(&copies->lost, __ATOMIC_ACQUIRE);
}
