/* SPDX-License-Identifier: MIT
 *
 * copies.h - copies of what is about to be overwritten, from the threads that write to the one that
 * reads an image.
 *
 * Copies have one size, and lie in chunks that the reader gives back: where writers are faster than
 * the reader they wait for it a little, then take more memory, and where there is none the image is
 * lost, and writing goes on.
 *
 * Threads: sw_copies_reserve, sw_copies_filled and sw_copies_lose from any number; sw_copies_take
 * and sw_copies_destroy from one, the reader.
 */
#ifndef SHERWOOD_TABLE_HOST_COPIES_H
#define SHERWOOD_TABLE_HOST_COPIES_H

#include <stdbool.h>
#include <stdint.h>

struct sw_copies;

/* A number of copies, one behind the other. */
struct sw_chunk {
    struct sw_chunk *next;  /* of the list it is in */
    struct sw_chunk *older; /* of all */
    uint8_t *data;
    uint64_t mapped; /* bytes of its own at `data`; 0: they are of the pool */
    uint32_t used;   /* copies given to writers; constant once the reader has the chunk */
    uint32_t filled; /* .. and filled by them; atomic */
};

/* Of `copy_bytes` each, made of an array of `array_bytes`. NULL: no memory. */
struct sw_copies *sw_copies_create(uint32_t copy_bytes, uint64_t array_bytes);
void sw_copies_destroy(struct sw_copies *copies);
/* Bytes that are taken at once. */
uint64_t sw_copies_bytes(uint32_t copy_bytes, uint64_t array_bytes);

/* Room for a copy, in the chunk *of; NULL if the image is lost. */
uint8_t *sw_copies_reserve(struct sw_copies *copies, struct sw_chunk **of);
void sw_copies_filled(struct sw_chunk *chunk);

/* Gives `last`, which may be NULL, back, and returns another chunk, of which all that is used is
 * filled; NULL: there is none now. It is a full one, or with `any` one that has copies. */
struct sw_chunk *sw_copies_take(struct sw_copies *copies, struct sw_chunk *last, bool any);

/* The image is not wanted any more, or cannot be kept: nobody waits for the reader. */
void sw_copies_lose(struct sw_copies *copies);
bool sw_copies_are_lost(const struct sw_copies *copies);

#endif
