/* SPDX-License-Identifier: MIT
 *
 * image.h - images of integer tables and key sets: their arrays as they were at one instant, and
 * the entries found in them. The slots of Robin Hood tables and the cells of cuckoo tables have the
 * same layout.
 *
 * Threads: one thread at a time uses an image.
 */
#ifndef SHERWOOD_TABLE_HOST_IMAGE_H
#define SHERWOOD_TABLE_HOST_IMAGE_H

#include "table/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Format of the slots. */
struct sw_image_slots {
    uint32_t slot_bits; /* 64 or 128 */
    bool is_set;        /* slots hold keys alone, in half of these bits; there are no values */
    bool mixed;         /* keys are mixed with `seed` */
    uint64_t seed;
};

/* Adds the entries of `slots` to the columns, from slot *at on, until the columns are full. Sets
 * *at to the first slot that was not read. */
void sw_image_gather(const struct sw_image_slots *kind, const void *slots, uint64_t count,
                     uint64_t *at, struct sw_image_columns *columns);
/* Adds the side entry: its key word is all ones, so it has no slot. The columns must have room for
 * it. */
void sw_image_add_side(const struct sw_image_slots *kind, uint64_t value,
                       struct sw_image_columns *columns);

/* An image in host memory. */
#define SW_HOST_IMAGE_PARTS 2
struct sw_host_image {
    struct sw_image_slots kind;
    struct {
        const void *slots;
        uint64_t count;
    } parts[SW_HOST_IMAGE_PARTS];
    bool side; /* the table has a side entry (without a slot) that was not read yet */
    uint64_t side_value;
    uint32_t part; /* part that is read next, and slot `at` of it */
    uint64_t at;
    void *memory; /* a copy of the arrays; NULL: they are the table's own */
    uint64_t bytes;
};

/* Creates an image with memory for a copy of `bytes`. If `bytes` is 0, the image has no such
 * memory. Touches the memory, so that the copy causes no page faults. Returns NULL if memory is
 * short, or if `bytes` exceed 95 % of the available memory. */
struct sw_host_image *sw_host_image_create(uint64_t bytes);
/* Implement image_read and image_drop of a backend. */
int sw_host_image_read(void *image, struct sw_image_columns *columns);
void sw_host_image_drop(void *image);

#ifdef __cplusplus
}
#endif

#endif
