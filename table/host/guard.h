/* SPDX-License-Identifier: MIT
 *
 * guard.h - keeps an array as it was at one instant, while it is being written and somebody reads
 * that instant from end to end.
 *
 * The array is cut into pieces. Whoever is about to write a piece that was not read yet copies it
 * first; the reader takes such copies, and all other pieces from the array itself. So nobody waits
 * for a copy of the whole, and what was read is not copied any more. Where there
 * is no memory for copies (copies.h) the instant is lost, and writing goes on.
 *
 * Threads: sw_guard_before_write from any number, in phases that the caller keeps apart from
 * create, leave and destroy; sw_guard_read and sw_guard_destroy from one, the reader; sw_guard_lose
 * from any.
 */
#ifndef SHERWOOD_TABLE_HOST_GUARD_H
#define SHERWOOD_TABLE_HOST_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "table/host/copies.h"

#define SW_GUARD_PIECE 256U /* bytes */

/* What became of a piece: atomic, one byte each. */
enum sw_guard_state {
    SW_GUARD_OPEN,  /* neither read nor copied */
    SW_GUARD_TAKEN, /* somebody reads or copies it: writers wait */
    SW_GUARD_DONE   /* it may be written */
};

struct sw_guard {
    const uint8_t *array; /* constant, like the next two */
    uint64_t bytes;
    uint8_t *states;
    struct sw_copies *copies;

    /* The reader's. */
    uint64_t next; /* piece */
    uint64_t seen; /* pieces before this are done */
    struct sw_chunk *reading;
    uint8_t *buffer;
};

/* Guards `bytes` of an array from now on. NULL: no memory. */
struct sw_guard *sw_guard_create(const void *array, uint64_t bytes);
/* Frees it. Nobody calls sw_guard_before_write any more. */
void sw_guard_destroy(struct sw_guard *guard);
/* Bytes that guarding so many takes at once. */
uint64_t sw_guard_bytes(uint64_t bytes);

/* Some part of the array as it was, each once: *bytes of it at *part, valid until the next call. A
 * last piece that is not whole is filled up with ones. False at the end, and when the instant is
 * lost. */
bool sw_guard_read(struct sw_guard *guard, const void **part, uint64_t *bytes);

/* The instant is not wanted any more, or cannot be kept: nobody waits for the reader. */
void sw_guard_lose(struct sw_guard *guard);
bool sw_guard_is_lost(const struct sw_guard *guard);
/* Lost, and nobody reads the array any more. */
void sw_guard_abandon(struct sw_guard *guard);

/* Before the bytes at `at` are written, which may be outside of the array. Cold, so that code that
 * mostly has no guard is not arranged around the call. */
#if defined(__GNUC__)
__attribute__((cold, noinline))
#endif
void sw_guard_before_write(struct sw_guard *guard, const void *at);

#endif
