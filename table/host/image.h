/* SPDX-License-Identifier: MIT
 *
 * image.h - images of tables of integers: their arrays as they were at one instant, and what of
 * them are entries. Robin Hood's slots and cuckoo's cells are laid out alike.
 *
 * Threads: an image belongs to one at a time.
 */
#ifndef SHERWOOD_TABLE_HOST_IMAGE_H
#define SHERWOOD_TABLE_HOST_IMAGE_H

#include "table/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the words of slots mean. */
struct sw_image_slots {
    uint32_t slot_bits; /* 64 or 128 */
    bool mixed;         /* keys are mixed with `seed` */
    uint64_t seed;
};

/* Adds the entries among `slots`, from number *at on, until the columns are full; *at receives the
 * first one that was not looked at. */
void sw_image_gather(const struct sw_image_slots *kind, const void *slots, uint64_t count,
                     uint64_t *at, struct sw_image_columns *columns);
/* Adds the entry whose word for the key is all ones, which has no slot. There is room for it. */
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
    bool side; /* there is an entry without a slot, and it was not read */
    uint64_t side_value;
    uint32_t part; /* where reading is */
    uint64_t at;
    void *memory; /* a copy of the arrays; NULL: they are the table's own */
    uint64_t bytes;
};

/* A new image, with memory for a copy of so many bytes, touched already so that copying takes no
 * longer than it must; without a copy if `bytes` is 0. NULL: there is no memory for it, or less
 * than the system should keep. */
struct sw_host_image *sw_host_image_create(uint64_t bytes);
/* image_read and image_drop of a backend. */
int sw_host_image_read(void *image, struct sw_image_columns *columns);
void sw_host_image_drop(void *image);

#ifdef __cplusplus
}
#endif

#endif
