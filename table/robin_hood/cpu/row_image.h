/* SPDX-License-Identifier: MIT
 *
 * row_image.h - keeps rows as they were at one instant, while writers change them and an image
 * reads them.
 *
 * The slots of the image, which a guard keeps (table/host/cow_guard.h), map entries to rows. Every
 * row that an entry had at the instant is delivered once. Either the reader copies the row when it
 * reads the slot. Or a writer copies entry and row before it changes or frees the row, and the
 * reader takes the copy. So the image is complete when it has the number of entries that the table
 * had at the instant.
 *
 * Threads: sw_row_image_before_write and _allocated in write phases, from any number of threads,
 * each with its own rows; begin, leave and abandon in exclusive phases; everything else from one
 * thread, the reader.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROW_IMAGE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROW_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "table/host/cow_copies.h"
#include "table/robin_hood/cpu/arena.h"

/* The state of a row; atomic, one byte each. */
enum sw_row_state {
    SW_ROW_OPEN,  /* neither read nor copied */
    SW_ROW_TAKEN, /* a thread copies the row: writers wait */
    SW_ROW_DONE   /* the row may be written */
};

struct sw_row_image {
    const uint8_t *rows; /* constant after begin, as are the next four */
    uint32_t stride, value_bytes;
    uint64_t high; /* the image has no rows from this number on */
    uint64_t room; /* number of rows with a state */
    uint8_t *states;
    struct sw_cow_copies *copies;
    struct sw_arena left; /* arena that the table left to the image; .rows NULL: none */

    /* Used by the reader only. */
    struct sw_chunk *reading;
    uint32_t next; /* index of the chunk's next copy */
};

/* Creates an image for an arena with `rows` mapped rows. Returns NULL if memory is short. */
struct sw_row_image *sw_row_image_create(uint32_t value_bytes, uint64_t rows);
void sw_row_image_destroy(struct sw_row_image *image);
/* Returns the bytes of memory that sw_row_image_create allocates. */
uint64_t sw_row_image_bytes(uint32_t value_bytes, uint64_t rows);

/* Sets the instant of the image. Returns false if some rows have no state. */
bool sw_row_image_begin(struct sw_row_image *image, const struct sw_arena *arena);
/* Passes the arena to the image: the table no longer uses the rows. */
void sw_row_image_leave(struct sw_row_image *image, const struct sw_arena *arena);
/* Marks the image as lost, and waits until no thread reads the rows. */
void sw_row_image_abandon(struct sw_row_image *image);

/* Copies the entry m and its row, unless this is already done. */
#if defined(__GNUC__)
__attribute__((cold, noinline))
#endif
void sw_row_image_keep(struct sw_row_image *image, uint64_t m, uint64_t row);

/* Call this before the row of the entry m is written or freed. `image` may be NULL. */
static inline void sw_row_image_before_write(struct sw_row_image *image, uint64_t m, uint64_t row)
{
    if (image != NULL && row < image->high &&
        __atomic_load_n(&image->states[row], __ATOMIC_ACQUIRE) != SW_ROW_DONE) {
        sw_row_image_keep(image, m, row);
    }
}

/* Call this when an entry gets a free row: the image does not need the row. */
static inline void sw_row_image_allocated(struct sw_row_image *image, uint64_t row)
{
    if (image != NULL && row < image->high) {
        __atomic_store_n(&image->states[row], SW_ROW_DONE, __ATOMIC_RELAXED);
    }
}

/* Takes a row of the arena, for an entry that is new or moves. */
static inline uint32_t sw_row_image_allocate(struct sw_row_image *image, struct sw_arena *arena)
{
    const uint32_t row = sw_arena_take(arena);
    sw_row_image_allocated(image, row);
    return row;
}

/* Copies a row of the image. Returns false if a writer copies or has copied the row. */
bool sw_row_image_take(struct sw_row_image *image, uint64_t row, uint8_t *to);
/* Returns the row of the next entry that a writer has copied, valid until the next call, and sets
 * *m; NULL: none now. Without `any`, it may miss some copies. */
const uint8_t *sw_row_image_next(struct sw_row_image *image, bool any, uint64_t *m);

#endif
