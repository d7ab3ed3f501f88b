/* SPDX-License-Identifier: MIT
 *
 * io_arena.c - first fit over an array of free extents.
 */
#include "server/batch/io_arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "table/batch.h"

int sw_io_arena_init(struct sw_io_arena *arena, struct sw_table *table, size_t bytes)
{
    memset(arena, 0, sizeof(*arena));
    arena->table = table;
    arena->pages = bytes / SW_IO_PAGE;
    /* Free extents are never adjacent, so there is at most one for two pages (rounded up). */
    arena->free_extents = calloc(arena->pages / 2 + 1, sizeof(*arena->free_extents));
    arena->memory = sw_io_alloc(table, arena->pages * SW_IO_PAGE);
    if (arena->pages == 0 || arena->free_extents == NULL || arena->memory == NULL) {
        sw_io_arena_fini(arena);
        return -1;
    }
    arena->free_extents[0].pages = arena->pages;
    arena->free_count = 1;
    return 0;
}

void sw_io_arena_fini(struct sw_io_arena *arena)
{
    if (arena->memory != NULL) {
        sw_io_free(arena->table, arena->memory, arena->pages * SW_IO_PAGE);
    }
    free(arena->free_extents);
    memset(arena, 0, sizeof(*arena));
}

static size_t pages_of(size_t bytes)
{
    return bytes / SW_IO_PAGE + (bytes % SW_IO_PAGE != 0);
}

static void set_used(struct sw_io_arena *arena, size_t pages_used)
{
    __atomic_store_n(&arena->pages_used, pages_used, __ATOMIC_RELAXED);
}

void *sw_io_arena_alloc(struct sw_io_arena *arena, size_t bytes)
{
    size_t pages = pages_of(bytes);
    for (size_t i = 0; i < arena->free_count; i++) {
        struct sw_io_extent *extent = &arena->free_extents[i];
        if (extent->pages < pages) {
            continue;
        }
        void *memory = arena->memory + extent->first * SW_IO_PAGE;
        extent->first += pages;
        extent->pages -= pages;
        if (extent->pages == 0) {
            arena->free_count--;
            memmove(extent, extent + 1, (arena->free_count - i) * sizeof(*extent));
        }
        set_used(arena, arena->pages_used + pages);
        return memory;
    }
    return NULL;
}

/* Index of the first free extent that starts after `page`. */
static size_t extent_after(const struct sw_io_arena *arena, size_t page)
{
    size_t low = 0;
    size_t high = arena->free_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (arena->free_extents[middle].first > page) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

void sw_io_arena_free(struct sw_io_arena *arena, void *memory, size_t bytes)
{
    size_t first = (size_t)((uint8_t *)memory - arena->memory) / SW_IO_PAGE;
    size_t pages = pages_of(bytes);
    size_t at = extent_after(arena, first);
    assert(pages > 0 && pages <= arena->pages_used && first + pages <= arena->pages);
    struct sw_io_extent *next = &arena->free_extents[at];
    struct sw_io_extent *before = at > 0 ? next - 1 : NULL;
    bool joins_before = before != NULL && before->first + before->pages == first;
    bool joins_next = at < arena->free_count && first + pages == next->first;

    set_used(arena, arena->pages_used - pages);
    if (joins_before && joins_next) {
        before->pages += pages + next->pages;
        arena->free_count--;
        memmove(next, next + 1, (arena->free_count - at) * sizeof(*next));
    } else if (joins_before) {
        before->pages += pages;
    } else if (joins_next) {
        next->first = first;
        next->pages += pages;
    } else {
        memmove(next + 1, next, (arena->free_count - at) * sizeof(*next));
        next->first = first;
        next->pages = pages;
        arena->free_count++;
    }
}

bool sw_io_arena_is_half_used(const struct sw_io_arena *arena, uint64_t bytes)
{
    return bytes > 0 && arena->pages_used > 0 &&
           arena->pages_used + bytes / SW_IO_PAGE >= arena->pages / 2;
}

void sw_io_arena_check(const struct sw_io_arena *arena)
{
    size_t free_pages = 0;
    for (size_t i = 0; i < arena->free_count; i++) {
        const struct sw_io_extent *extent = &arena->free_extents[i];
        assert(extent->pages > 0 && extent->first + extent->pages <= arena->pages);
        assert(i == 0 || extent[-1].first + extent[-1].pages < extent->first);
        free_pages += extent->pages;
    }
    assert(free_pages + arena->pages_used == arena->pages);
    (void)free_pages;
}
