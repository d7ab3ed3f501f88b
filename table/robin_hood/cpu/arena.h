/* SPDX-License-Identifier: MIT
 *
 * arena.h - where rows lie, and which of them are free.
 *
 * One range of addresses is reserved for all rows that the table may ever have, and memory is
 * mapped from its beginning on: an arena grows without a copy, and no row moves. Rows that were
 * given back are taken again first, the last one first. Row numbers below `high` are in use or on
 * the stack of free rows, each once (I11).
 *
 * Threads: rows are taken, given back and mapped in write phases, by one thread; a row's bytes
 * belong to the thread that has the row.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ARENA_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ARENA_H

#include <stdint.h>

struct sw_arena {
    uint8_t *rows;
    uint32_t *free; /* a stack, reserved and mapped as the rows are */
    uint32_t value_bytes;
    uint32_t text_bytes; /* of these, the last ones: the text of the key (texts.h) */
    uint32_t stride;     /* of the rows: sw_row_stride */
    uint64_t reserved;   /* rows */
    uint64_t mapped;     /* rows from here on have no memory (I13) */
    uint64_t high;       /* rows from here on were never used */
    uint64_t free_count;
};

/* Reserves addresses. SW_OK, or SW_E_NOMEM; then nothing is owed. */
int sw_arena_open(struct sw_arena *arena, uint32_t value_bytes, uint32_t text_bytes, uint64_t rows);
void sw_arena_close(struct sw_arena *arena);

/* Bytes of memory that so many rows take, with their places on the stack. */
uint64_t sw_arena_bytes(const struct sw_arena *arena, uint64_t rows);

/* Maps at least `rows` rows. SW_E_NOMEM: those that were never used are more than 95 % of the
 * memory available now; or the system refuses. Pages are taken when they are first written. */
int sw_arena_map(struct sw_arena *arena, uint64_t rows);
/* From now on no row from `rows` on is given out. Those in use there are the caller's to move. */
void sw_arena_limit(struct sw_arena *arena, uint64_t rows);
/* Gives back the memory of rows from `rows` on, of which none is in use or free. */
void sw_arena_trim(struct sw_arena *arena, uint64_t rows);

static inline uint8_t *sw_arena_row(const struct sw_arena *arena, uint64_t row)
{
    return arena->rows + row * arena->stride;
}

/* Of a row that is about to be copied so much is prefetched; the processor fetches the rest. */
#define SW_ROW_PREFETCH_BYTES 256U
static inline void sw_row_prefetch(const uint8_t *row, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes && at < SW_ROW_PREFETCH_BYTES; at += 64) {
        __builtin_prefetch(row + at, 0, 3);
    }
}

/* There is one: a table has no more entries than rows are mapped. */
static inline uint32_t sw_arena_take(struct sw_arena *arena)
{
    return arena->free_count > 0 ? arena->free[--arena->free_count] : (uint32_t)arena->high++;
}

static inline void sw_arena_give(struct sw_arena *arena, uint64_t row)
{
    arena->free[arena->free_count++] = (uint32_t)row;
}

/* Gives all rows back. */
static inline void sw_arena_clear(struct sw_arena *arena)
{
    arena->free_count = 0;
    arena->high = 0;
}

#endif
