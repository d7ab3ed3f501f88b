/* SPDX-License-Identifier: MIT
 *
 * io_arena.h - the allocator of a loop's I/O memory, which holds the bodies of frames and replies.
 *
 * It allocates whole pages of 4 KiB from one region of the table's I/O memory (pinned and mapped on
 * CUDA), by first fit over a sorted array of free extents. A loop has at most a few thousand frames
 * in flight, so the array is short. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_IO_ARENA_H
#define SHERWOOD_SERVER_BATCH_IO_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_table;

#define SW_IO_PAGE 4096

struct sw_io_extent {
    size_t first; /* index of the first page */
    size_t pages; /* number of pages */
};

struct sw_io_arena {
    struct sw_table *table;
    uint8_t *memory;
    size_t pages;                      /* size of the region */
    size_t pages_used;                 /* atomic: written by the loop, read by other threads */
    struct sw_io_extent *free_extents; /* ascending, and never adjacent */
    size_t free_count;
};

/* `bytes` is rounded down to whole pages. Borrows the table. Returns 0, or -1 if there is no
 * memory; then nothing is left to free. */
int sw_io_arena_init(struct sw_io_arena *arena, struct sw_table *table, size_t bytes);
void sw_io_arena_fini(struct sw_io_arena *arena);

/* Returns memory aligned to a page, or NULL if no free extent is large enough. */
void *sw_io_arena_alloc(struct sw_io_arena *arena, size_t bytes);
/* Frees memory; `bytes` is the size that was given to sw_io_arena_alloc. */
void sw_io_arena_free(struct sw_io_arena *arena, void *memory, size_t bytes);

/* Would half of the region be in use with `bytes` more, beside memory that is in use now? */
bool sw_io_arena_is_half_used(const struct sw_io_arena *arena, uint64_t bytes);

/* Asserts that the free extents are sorted and not adjacent, and that they and the pages in use add
 * up to the region. */
void sw_io_arena_check(const struct sw_io_arena *arena);

#endif
