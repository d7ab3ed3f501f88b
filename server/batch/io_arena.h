/* SPDX-License-Identifier: MIT
 *
 * io_arena.h - a loop's I/O memory: what frames are received into and answered from.
 *
 * One region of table I/O memory (pinned and mapped on CUDA), handed out in whole pages of 4 KiB by
 * first fit over a sorted array of free extents. A loop has at most a few thousand frames in
 * flight, so the array is short. One owner thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_IO_ARENA_H
#define SHERWOOD_SERVER_BATCH_IO_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

#define SW_IO_PAGE 4096

struct sw_io_extent {
    size_t first; /* page */
    size_t pages;
};

struct sw_io_arena {
    struct sw_table *table;
    uint8_t *memory;
    size_t pages;
    size_t pages_used;                 /* read by other threads: relaxed stores */
    struct sw_io_extent *free_extents; /* ascending, never adjacent */
    size_t free_count;
};

/* Returns 0, or -1 if there is no memory. `bytes` is rounded down to whole pages. */
int sw_io_arena_init(struct sw_io_arena *arena, struct sw_table *table, size_t bytes);
void sw_io_arena_fini(struct sw_io_arena *arena);

/* NULL if no free extent is large enough. Aligned to a page. */
void *sw_io_arena_alloc(struct sw_io_arena *arena, size_t bytes);
/* `bytes` as given to alloc. */
void sw_io_arena_free(struct sw_io_arena *arena, void *memory, size_t bytes);

/* Asserts that free extents ascend, do not touch, and are what is not in use. */
void sw_io_arena_check(const struct sw_io_arena *arena);

#endif
