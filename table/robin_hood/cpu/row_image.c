/* SPDX-License-Identifier: MIT
 *
 * row_image.c - the states of rows, and copies of entries with their rows.
 */
#include "table/robin_hood/cpu/row_image.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "table/host/memory.h"
#include "table/robin_hood/rows.h"

/* Returns the bytes of a copy: m, then the row. */
static uint32_t copy_bytes(uint32_t value_bytes)
{
    return (uint32_t)sizeof(uint64_t) + (value_bytes + 7) / 8 * 8;
}

static uint64_t rows_bytes(uint32_t value_bytes, uint64_t rows)
{
    return rows * sw_row_stride(value_bytes);
}

uint64_t sw_row_image_bytes(uint32_t value_bytes, uint64_t rows)
{
    return rows + sw_cow_copies_bytes(copy_bytes(value_bytes), rows_bytes(value_bytes, rows));
}

/* --- writers ---------------------------------------------------------------------------------- */

/* Claims a row. Returns true if the caller now owns the row; false if another thread owns or owned
 * it. */
static bool claim(struct sw_row_image *image, uint64_t row)
{
    uint8_t was = SW_ROW_OPEN;
    return __atomic_compare_exchange_n(&image->states[row], &was, SW_ROW_TAKEN, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void finish(struct sw_row_image *image, uint64_t row)
{
    __atomic_store_n(&image->states[row], SW_ROW_DONE, __ATOMIC_RELEASE);
}

static void wait_for(struct sw_row_image *image, uint64_t row)
{
    while (__atomic_load_n(&image->states[row], __ATOMIC_ACQUIRE) != SW_ROW_DONE) {
        sched_yield();
    }
}

void sw_row_image_keep(struct sw_row_image *image, uint64_t m, uint64_t row)
{
    struct sw_chunk *chunk = NULL;
    if (!claim(image, row)) {
        wait_for(image, row);
        return;
    }
    uint8_t *place = sw_cow_copies_reserve(image->copies, &chunk);
    if (place != NULL) {
        memcpy(place, &m, sizeof(m));
        memcpy(place + sizeof(m), image->rows + row * image->stride, image->value_bytes);
        sw_cow_copies_filled(chunk);
    }
    finish(image, row);
}

/* --- the reader ------------------------------------------------------------------------------- */

bool sw_row_image_take(struct sw_row_image *image, uint64_t row, uint8_t *to)
{
    if (!claim(image, row)) {
        return false;
    }
    memcpy(to, image->rows + row * image->stride, image->value_bytes);
    finish(image, row);
    return true;
}

const uint8_t *sw_row_image_next(struct sw_row_image *image, bool any, uint64_t *m)
{
    if (image->reading == NULL || image->next == image->reading->used) {
        image->reading = sw_cow_copies_take(image->copies, image->reading, any);
        image->next = 0;
    }
    if (image->reading == NULL) {
        return NULL;
    }
    const uint8_t *copy =
        image->reading->data + (uint64_t)image->next++ * copy_bytes(image->value_bytes);
    memcpy(m, copy, sizeof(*m));
    return copy + sizeof(*m);
}

/* --- life ------------------------------------------------------------------------------------- */

struct sw_row_image *sw_row_image_create(uint32_t value_bytes, uint64_t rows)
{
    struct sw_row_image *image = calloc(1, sizeof(*image));
    if (image == NULL) {
        return NULL;
    }
    image->value_bytes = value_bytes;
    image->room = rows;
    image->states = sw_memory_map_touched(rows);
    image->copies = sw_cow_copies_create(copy_bytes(value_bytes), rows_bytes(value_bytes, rows));
    if (image->states == NULL || image->copies == NULL) {
        sw_row_image_destroy(image);
        return NULL;
    }
    return image;
}

void sw_row_image_destroy(struct sw_row_image *image)
{
    sw_memory_unmap(image->states, image->room);
    if (image->copies != NULL) {
        sw_cow_copies_destroy(image->copies);
    }
    sw_arena_close(&image->left);
    free(image);
}

bool sw_row_image_begin(struct sw_row_image *image, const struct sw_arena *arena)
{
    image->rows = arena->rows;
    image->stride = arena->stride;
    image->high = arena->high;
    return arena->high <= image->room;
}

void sw_row_image_leave(struct sw_row_image *image, const struct sw_arena *arena)
{
    image->left = *arena;
}

void sw_row_image_abandon(struct sw_row_image *image)
{
    sw_cow_copies_lose(image->copies);
    for (uint64_t row = 0; row < image->high; row++) {
        if (claim(image, row)) {
            finish(image, row);
        } else {
            wait_for(image, row);
        }
    }
}
