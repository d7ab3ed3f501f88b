/* SPDX-License-Identifier: MIT
 *
 * arena.h - the memory of rows, and the stack of free rows.
 *
 * The arena reserves one address range for the maximum number of rows, and maps memory from its
 * beginning on. So an arena grows without a copy, and no row moves. Freed rows are reused first,
 * the last one first. Each row number below `high` is either in use or once on the stack of free
 * rows (I11).
 *
 * Threads: one thread takes, frees and maps rows, in write phases. The bytes of a row belong to the
 * thread that has the row.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ARENA_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ARENA_H

#include <stdint.h>

struct sw_arena {
    uint8_t *rows;
    uint32_t *free; /* a stack, reserved and mapped like the rows */
    uint32_t value_bytes;
    uint32_t key_string_bytes; /* bytes of the key string, at the end of the value (key_strings.h);
                                  part of value_bytes */
    uint32_t stride;           /* of the rows: sw_row_stride */
    uint64_t reserved;         /* rows */
    uint64_t mapped;           /* rows from this number on have no memory (I13) */
    uint64_t high;             /* rows from this number on were never used */
    uint64_t free_count;
};

/* Reserves addresses. Returns SW_OK, or SW_E_NOMEM; then it holds no resources. */
int sw_arena_open(struct sw_arena *arena, uint32_t value_bytes, uint32_t key_string_bytes,
                  uint64_t rows);
void sw_arena_close(struct sw_arena *arena);

/* Returns the bytes of memory for `rows` rows and their places on the stack. */
uint64_t sw_arena_bytes(const struct sw_arena *arena, uint64_t rows);

/* Maps at least `rows` rows. Returns SW_E_NOMEM if the never-used rows among them need more than 95
 * % of the memory available now, or if the system refuses. The system allocates pages at the first
 * write. */
int sw_arena_map(struct sw_arena *arena, uint64_t rows);
/* Excludes rows from `rows` on from reuse. The caller must move the rows in use there. */
void sw_arena_limit(struct sw_arena *arena, uint64_t rows);
/* Unmaps the memory of rows from `rows` on. No such row may be in use or free. */
void sw_arena_trim(struct sw_arena *arena, uint64_t rows);

static inline uint8_t *sw_arena_row(const struct sw_arena *arena, uint64_t row)
{
    return arena->rows + row * arena->stride;
}

/* Bytes of a row to prefetch before a copy; the hardware prefetches the rest. */
#define SW_ROW_PREFETCH_BYTES 256U
static inline void sw_row_prefetch(const uint8_t *row, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes && at < SW_ROW_PREFETCH_BYTES; at += 64) {
        __builtin_prefetch(row + at, 0, 3);
    }
}

/* Takes a row. It always succeeds: the number of entries never exceeds the mapped rows. */
static inline uint32_t sw_arena_take(struct sw_arena *arena)
{
    return arena->free_count > 0 ? arena->free[--arena->free_count] : (uint32_t)arena->high++;
}

static inline void sw_arena_give(struct sw_arena *arena, uint64_t row)
{
    arena->free[arena->free_count++] = (uint32_t)row;
}

/* Frees all rows. */
static inline void sw_arena_clear(struct sw_arena *arena)
{
    arena->free_count = 0;
    arena->high = 0;
}

#endif
