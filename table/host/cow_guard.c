/* SPDX-License-Identifier: MIT
 *
 * cow_guard.c - the states of pieces, and the reader.
 */
#include "table/host/cow_guard.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "table/host/memory.h"

/* Most bytes that the reader copies per call of sw_cow_guard_read. */
#define BUFFER_BYTES 16384U

static uint64_t pieces_of(uint64_t bytes)
{
    return (bytes + SW_COW_GUARD_PIECE - 1) / SW_COW_GUARD_PIECE;
}

uint64_t sw_cow_guard_bytes(uint64_t bytes)
{
    return sw_cow_copies_bytes(SW_COW_GUARD_PIECE, bytes) + pieces_of(bytes);
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void copy_piece(const struct sw_cow_guard *guard, uint64_t piece, uint8_t *to)
{
    uint64_t at = piece * SW_COW_GUARD_PIECE;
    assert(at < guard->bytes);
    uint64_t left = guard->bytes - at;
    if (left < SW_COW_GUARD_PIECE) {
        memset(to + left, 0xFF, (size_t)(SW_COW_GUARD_PIECE - left));
    }
    memcpy(to, guard->array + at, (size_t)(left < SW_COW_GUARD_PIECE ? left : SW_COW_GUARD_PIECE));
}

/* Returns true if the caller has taken the piece, false if another thread took it before. */
static bool take_piece(struct sw_cow_guard *guard, uint64_t piece)
{
    uint8_t was = SW_COW_GUARD_OPEN;
    return __atomic_compare_exchange_n(&guard->states[piece], &was, SW_COW_GUARD_TAKEN, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool is_done(const struct sw_cow_guard *guard, uint64_t piece)
{
    return __atomic_load_n(&guard->states[piece], __ATOMIC_ACQUIRE) == SW_COW_GUARD_DONE;
}

static void finish_piece(struct sw_cow_guard *guard, uint64_t piece)
{
    assert(__atomic_load_n(&guard->states[piece], __ATOMIC_RELAXED) == SW_COW_GUARD_TAKEN);
    __atomic_store_n(&guard->states[piece], SW_COW_GUARD_DONE, __ATOMIC_RELEASE);
}

static void keep(struct sw_cow_guard *guard, uint64_t piece)
{
    struct sw_chunk *chunk = NULL;
    if (!take_piece(guard, piece)) {
        while (!is_done(guard, piece)) {
            sched_yield();
        }
        return;
    }
    uint8_t *place = sw_cow_copies_reserve(guard->copies, &chunk);
    if (place != NULL) {
        copy_piece(guard, piece, place);
        sw_cow_copies_filled(chunk);
    }
    finish_piece(guard, piece);
}

void sw_cow_guard_before_write(struct sw_cow_guard *guard, const void *at)
{
    uint64_t offset = (uint64_t)((uintptr_t)at - (uintptr_t)guard->array);
    if (offset < guard->bytes && !is_done(guard, offset / SW_COW_GUARD_PIECE)) {
        keep(guard, offset / SW_COW_GUARD_PIECE);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Gives the chunk that was read back, and takes another one. Returns false if there is none. */
static bool take_chunk(struct sw_cow_guard *guard, bool any)
{
    guard->reading = sw_cow_copies_take(guard->copies, guard->reading, any);
    return guard->reading != NULL;
}

/* Copies pieces that no other thread has taken; returns their bytes. It does not wait for a piece
 * that a writer has taken, because the writer may be waiting for a chunk. */
static uint64_t copy_pieces(struct sw_cow_guard *guard)
{
    const uint64_t pieces = pieces_of(guard->bytes);
    uint64_t bytes = 0;
    for (; guard->next < pieces && bytes < BUFFER_BYTES; guard->next++) {
        if (take_piece(guard, guard->next)) {
            copy_piece(guard, guard->next, guard->buffer + bytes);
            finish_piece(guard, guard->next);
            bytes += SW_COW_GUARD_PIECE;
        }
    }
    return bytes;
}

/* Takes one of the last chunks, after every piece was taken. Returns false if no chunk is left or
 * the instant is lost. */
static bool take_rest(struct sw_cow_guard *guard)
{
    const uint64_t pieces = pieces_of(guard->bytes);
    while (guard->seen < pieces && !sw_cow_guard_is_lost(guard)) {
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

bool sw_cow_guard_read(struct sw_cow_guard *guard, const void **part, uint64_t *bytes)
{
    if (!take_chunk(guard, false)) {
        *part = guard->buffer;
        *bytes = copy_pieces(guard);
        if (*bytes > 0 || !take_rest(guard)) {
            return *bytes > 0 && !sw_cow_guard_is_lost(guard);
        }
    }
    *part = guard->reading->data;
    *bytes = (uint64_t)guard->reading->used * SW_COW_GUARD_PIECE;
    return !sw_cow_guard_is_lost(guard);
}

/* --- life ------------------------------------------------------------------------------------- */

struct sw_cow_guard *sw_cow_guard_create(const void *array, uint64_t bytes)
{
    struct sw_cow_guard *guard = calloc(1, sizeof(*guard));
    if (guard == NULL) {
        return NULL;
    }
    guard->array = array;
    guard->bytes = bytes;
    guard->states = sw_memory_map_touched(pieces_of(bytes));
    guard->buffer = malloc(BUFFER_BYTES);
    guard->copies = sw_cow_copies_create(SW_COW_GUARD_PIECE, bytes);
    if (guard->states == NULL || guard->buffer == NULL || guard->copies == NULL) {
        sw_cow_guard_destroy(guard);
        return NULL;
    }
    return guard;
}

void sw_cow_guard_destroy(struct sw_cow_guard *guard)
{
    sw_memory_unmap(guard->states, pieces_of(guard->bytes));
    free(guard->buffer);
    if (guard->copies != NULL) {
        sw_cow_copies_destroy(guard->copies);
    }
    free(guard);
}

bool sw_cow_guard_is_lost(const struct sw_cow_guard *guard)
{
    return sw_cow_copies_are_lost(guard->copies);
}

void sw_cow_guard_lose(struct sw_cow_guard *guard)
{
    sw_cow_copies_lose(guard->copies);
}

void sw_cow_guard_abandon(struct sw_cow_guard *guard)
{
    sw_cow_guard_lose(guard);
    for (uint64_t piece = 0; piece < pieces_of(guard->bytes); piece++) {
        keep(guard, piece);
    }
}
