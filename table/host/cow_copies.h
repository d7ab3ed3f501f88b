/* SPDX-License-Identifier: MIT
 *
 * cow_copies.h - a copy queue: threads that are about to overwrite parts of an array pass copies of
 * them to the thread that reads an image.
 *
 * All copies have the same size and lie in chunks, which the reader returns for reuse. If writers
 * are faster than the reader, they wait briefly for a free chunk and then allocate more memory. If
 * memory is short, the image is lost and writing continues.
 *
 * Threads: sw_cow_copies_reserve, sw_cow_copies_filled and sw_cow_copies_lose from any number;
 * sw_cow_copies_take and sw_cow_copies_destroy only from the reader's thread.
 */
#ifndef SHERWOOD_TABLE_HOST_COW_COPIES_H
#define SHERWOOD_TABLE_HOST_COW_COPIES_H

#include <stdbool.h>
#include <stdint.h>

struct sw_cow_copies;

/* Consecutive copies. */
struct sw_chunk {
    struct sw_chunk *next;  /* next chunk of the same list */
    struct sw_chunk *older; /* the chunk created before this one */
    uint8_t *data;
    uint64_t mapped; /* bytes of the mapping of this chunk; 0: `data` points into the pool */
    uint32_t used;   /* copies reserved by writers; constant once the reader has the chunk */
    uint32_t filled; /* copies that writers have filled; atomic */
};

/* Creates a queue of copies of `copy_bytes` each, for an array of `array_bytes`. Returns NULL if
 * memory is short. */
struct sw_cow_copies *sw_cow_copies_create(uint32_t copy_bytes, uint64_t array_bytes);
void sw_cow_copies_destroy(struct sw_cow_copies *copies);
/* Returns the bytes that sw_cow_copies_create allocates for the first chunks. */
uint64_t sw_cow_copies_bytes(uint32_t copy_bytes, uint64_t array_bytes);

/* Returns room for one copy and sets *of to its chunk; NULL if the image is lost. May wait for the
 * reader. The caller fills the copy, then calls sw_cow_copies_filled. */
uint8_t *sw_cow_copies_reserve(struct sw_cow_copies *copies, struct sw_chunk **of);
void sw_cow_copies_filled(struct sw_chunk *chunk);

/* Gives the chunk `last` (may be NULL) back for reuse. Returns the next full chunk. If no chunk is
 * full and `any` is true, returns the chunk that writers fill. NULL: there is no such chunk, or
 * writers have not filled all its reserved copies yet. */
struct sw_chunk *sw_cow_copies_take(struct sw_cow_copies *copies, struct sw_chunk *last, bool any);

/* Marks the image as lost: the reader no longer wants it, or memory is short. Writers stop waiting
 * for the reader. */
void sw_cow_copies_lose(struct sw_cow_copies *copies);
bool sw_cow_copies_are_lost(const struct sw_cow_copies *copies);

#endif
