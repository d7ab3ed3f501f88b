/* SPDX-License-Identifier: MIT
 *
 * arena.c - reserves and maps the memory of rows.
 */
#include "table/robin_hood/cpu/arena.h"

#include <assert.h>
#include <stddef.h>
#include <sys/mman.h>

#include "table/host/memory.h"
#include "table/robin_hood/rows.h"

/* Memory is mapped in pieces of this many bytes: a huge page. */
#define PIECE_BYTES (2ULL << 20)
/* 1 / 20 of the available memory, 5 %, stays free for other users. */
#define AVAILABLE_MARGIN 20

static uint64_t whole_pieces(uint64_t bytes)
{
    return (bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
}

static void *reserve(uint64_t bytes)
{
    if (bytes > (uint64_t)PTRDIFF_MAX) {
        return NULL;
    }
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int sw_arena_open(struct sw_arena *arena, uint32_t value_bytes, uint32_t key_string_bytes,
                  uint64_t rows)
{
    *arena = (struct sw_arena){.value_bytes = value_bytes,
                               .key_string_bytes = key_string_bytes,
                               .stride = sw_row_stride(value_bytes),
                               .reserved = rows};
    arena->rows = reserve(whole_pieces(rows * arena->stride));
    arena->free = reserve(whole_pieces(rows * sizeof(*arena->free)));
    if (arena->rows == NULL || arena->free == NULL) {
        sw_arena_close(arena);
        return SW_E_NOMEM;
    }
    return SW_OK;
}

void sw_arena_close(struct sw_arena *arena)
{
    sw_memory_unmap(arena->rows, whole_pieces(arena->reserved * arena->stride));
    sw_memory_unmap(arena->free, whole_pieces(arena->reserved * sizeof(*arena->free)));
    *arena = (struct sw_arena){0};
}

uint64_t sw_arena_bytes(const struct sw_arena *arena, uint64_t rows)
{
    return whole_pieces(rows * arena->stride) + whole_pieces(rows * sizeof(*arena->free));
}

/* Makes the pieces between two sizes accessible, both in bytes. */
static int map_pieces(void *memory, uint64_t from, uint64_t to)
{
    from = whole_pieces(from);
    to = whole_pieces(to);
    uint8_t *first = (uint8_t *)memory + from;
    if (from < to && mprotect(first, (size_t)(to - from), PROT_READ | PROT_WRITE) != 0) {
        return SW_E_NOMEM;
    }
    if (from < to) {
        /* advice: a kernel without huge pages serves small ones */
        (void)madvise(first, (size_t)(to - from), MADV_HUGEPAGE);
    }
    return SW_OK;
}

int sw_arena_map(struct sw_arena *arena, uint64_t rows)
{
    const uint64_t available = sw_memory_available();
    assert(arena->high <= arena->mapped && rows <= arena->reserved);
    if (rows <= arena->mapped) {
        return SW_OK;
    }
    if ((rows - arena->high) * arena->stride > available - available / AVAILABLE_MARGIN ||
        map_pieces(arena->rows, arena->mapped * arena->stride, rows * arena->stride) != SW_OK ||
        map_pieces(arena->free, arena->mapped * sizeof(*arena->free),
                   rows * sizeof(*arena->free)) != SW_OK) {
        return SW_E_NOMEM;
    }
    arena->mapped = rows;
    return SW_OK;
}

/* Releases the pieces after a size. If the system refuses, only more memory stays in use. */
static void unmap_pieces(void *memory, uint64_t from, uint64_t to)
{
    from = whole_pieces(from);
    to = whole_pieces(to);
    uint8_t *first = (uint8_t *)memory + from;
    if (from < to && madvise(first, (size_t)(to - from), MADV_DONTNEED) == 0) {
        (void)mprotect(first, (size_t)(to - from), PROT_NONE);
    }
}

void sw_arena_limit(struct sw_arena *arena, uint64_t rows)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < arena->free_count; i++) {
        if (arena->free[i] < rows) {
            arena->free[kept++] = arena->free[i];
        }
    }
    arena->free_count = kept;
    arena->high = arena->high < rows ? arena->high : rows;
}

void sw_arena_trim(struct sw_arena *arena, uint64_t rows)
{
    assert(rows <= arena->mapped && arena->high <= rows);
    assert(arena->free_count <= arena->high);
    unmap_pieces(arena->rows, rows * arena->stride, arena->mapped * arena->stride);
    unmap_pieces(arena->free, rows * sizeof(*arena->free), arena->mapped * sizeof(*arena->free));
    arena->mapped = rows;
}
