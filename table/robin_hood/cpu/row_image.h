/* SPDX-License-Identifier: MIT
 *
 * row_image.h - keeps rows as they were at one instant, while they are being written and an image
 * reads them.
 *
 * The slots of the image, which a guard keeps (table/host/guard.h), tell which entry has which row.
 * Every row that some entry had at the instant leaves once: the reader copies it when it comes upon
 * its slot, or a writer copied entry and row before it changed the row or gave it back, and the
 * reader takes the copy. So the image has all of its entries when it has as many as there were.
 *
 * Threads: sw_row_image_before_write and _given_out in write phases, from any number with a row
 * each; begin, leave_to and abandon alone; everything else from one, the reader.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROW_IMAGE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROW_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "table/host/copies.h"
#include "table/robin_hood/cpu/arena.h"

/* What became of a row: atomic, one byte each. */
enum sw_row_state {
    SW_ROW_OPEN,  /* neither read nor copied */
    SW_ROW_TAKEN, /* somebody copies it: writers wait */
    SW_ROW_DONE   /* it may be written */
};

struct sw_row_image {
    const uint8_t *rows; /* constant from begin on, like the next four */
    uint32_t stride, value_bytes;
    uint64_t high; /* no entry of the image has a row from here on */
    uint64_t room; /* rows that there are states for */
    uint8_t *states;
    struct sw_copies *copies;
    struct sw_arena left; /* rows that the table has left to the image; .rows NULL: none */

    /* The reader's. */
    struct sw_chunk *reading;
    uint32_t next; /* of the chunk's copies */
};

/* For an arena that has `rows` rows mapped. NULL: no memory. */
struct sw_row_image *sw_row_image_create(uint32_t value_bytes, uint64_t rows);
void sw_row_image_destroy(struct sw_row_image *image);
/* Bytes that it takes at once. */
uint64_t sw_row_image_bytes(uint32_t value_bytes, uint64_t rows);

/* The instant. False if there are rows for which there are no states. */
bool sw_row_image_begin(struct sw_row_image *image, const struct sw_arena *arena);
/* The table does not use the rows any more: they are the image's. */
void sw_row_image_leave(struct sw_row_image *image, const struct sw_arena *arena);
/* Lost, and nobody reads the rows any more. */
void sw_row_image_abandon(struct sw_row_image *image);

/* Copies the entry m and its row, unless that has been done. */
#if defined(__GNUC__)
__attribute__((cold, noinline))
#endif
void sw_row_image_keep(struct sw_row_image *image, uint64_t m, uint64_t row);

/* Before the row of the entry m is written, or given back. There may be no image. */
static inline void sw_row_image_before_write(struct sw_row_image *image, uint64_t m, uint64_t row)
{
    if (image != NULL && row < image->high &&
        __atomic_load_n(&image->states[row], __ATOMIC_ACQUIRE) != SW_ROW_DONE) {
        sw_row_image_keep(image, m, row);
    }
}

/* An entry gets the row, which was free: the image wants nothing of it. */
static inline void sw_row_image_given_out(struct sw_row_image *image, uint64_t row)
{
    if (image != NULL && row < image->high) {
        __atomic_store_n(&image->states[row], SW_ROW_DONE, __ATOMIC_RELAXED);
    }
}

/* A row of the arena for an entry that is new, or that moves. */
static inline uint32_t sw_row_image_give_out(struct sw_row_image *image, struct sw_arena *arena)
{
    const uint32_t row = sw_arena_take(arena);
    sw_row_image_given_out(image, row);
    return row;
}

/* Copies a row of the image; false: a writer does that, or has done it. */
bool sw_row_image_take(struct sw_row_image *image, uint64_t row, uint8_t *to);
/* The next entry that a writer has copied, and its row, valid until the next call; NULL: there is
 * none now. Without `any` some that are there may not be found. */
const uint8_t *sw_row_image_next(struct sw_row_image *image, bool any, uint64_t *m);

#endif
