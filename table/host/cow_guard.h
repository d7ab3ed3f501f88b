/* SPDX-License-Identifier: MIT
 *
 * cow_guard.h - a copy-on-write barrier: one thread reads an array as it was at one instant, while
 * other threads write it.
 *
 * The array is cut into pieces. Before a thread writes a piece that the reader has not read, it
 * copies the piece. The reader gets these copies, and reads all other pieces from the array itself.
 * So no thread waits for a copy of the whole array, and a piece that was read is not copied. If
 * memory for copies (cow_copies.h) is short, the instant is lost and writing continues.
 *
 * Threads: sw_cow_guard_before_write from any number, in phases that the caller keeps apart from
 * create, leave and destroy; sw_cow_guard_read and sw_cow_guard_destroy only from the reader's
 * thread; sw_cow_guard_lose from any.
 */
#ifndef SHERWOOD_TABLE_HOST_COW_GUARD_H
#define SHERWOOD_TABLE_HOST_COW_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "table/host/cow_copies.h"

#define SW_COW_GUARD_PIECE 256U /* bytes */

/* State of a piece: atomic, one byte each. */
enum sw_cow_guard_state {
    SW_COW_GUARD_OPEN,  /* neither read nor copied */
    SW_COW_GUARD_TAKEN, /* a thread reads or copies it: writers of the piece wait */
    SW_COW_GUARD_DONE   /* it may be written */
};

struct sw_cow_guard {
    const uint8_t *array; /* constant, like the next two */
    uint64_t bytes;
    uint8_t *states;
    struct sw_cow_copies *copies;

    /* Used by the reader alone. */
    uint64_t next; /* next piece to read from the array */
    uint64_t seen; /* pieces before this are done */
    struct sw_chunk *reading;
    uint8_t *buffer;
};

/* Guards `bytes` of an array from this call on. Returns NULL if memory is short. */
struct sw_cow_guard *sw_cow_guard_create(const void *array, uint64_t bytes);
/* Frees the guard. No thread may call sw_cow_guard_before_write any more. */
void sw_cow_guard_destroy(struct sw_cow_guard *guard);
/* Returns the bytes that sw_cow_guard_create allocates for the copies and states of an array of
 * `bytes`. */
uint64_t sw_cow_guard_bytes(uint64_t bytes);

/* Sets *part and *bytes to the next part of the array as it was, valid until the next call.
 * Delivers each piece once, in any order. Pads an incomplete last piece with bytes 0xFF. Returns
 * false at the end, and when the instant is lost. */
bool sw_cow_guard_read(struct sw_cow_guard *guard, const void **part, uint64_t *bytes);

/* Marks the instant as lost: the reader no longer wants it, or memory is short. Writers stop
 * waiting for the reader. */
void sw_cow_guard_lose(struct sw_cow_guard *guard);
bool sw_cow_guard_is_lost(const struct sw_cow_guard *guard);
/* Marks the instant as lost, and waits until the reader no longer reads the array. */
void sw_cow_guard_abandon(struct sw_cow_guard *guard);

/* Call it before writing the bytes at `at`; `at` may lie outside the array. May wait for the
 * reader. Cold: most tables have no guard, so the compiler moves the call out of the usual path. */
#if defined(__GNUC__)
__attribute__((cold, noinline))
#endif
void sw_cow_guard_before_write(struct sw_cow_guard *guard, const void *at);

#endif
