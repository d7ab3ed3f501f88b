/* SPDX-License-Identifier: MIT
 *
 * image.c - images in host memory: allocation, and the search for entries.
 */
#include "table/host/image.h"

#include <stdlib.h>

#include "table/host/memory.h"
#include "table/mix.h"

/* --- entries ---------------------------------------------------------------------------------- */

/* The loops copy every slot; the next slot overwrites an EMPTY one. The processor could not predict
 * a branch on EMPTY. */

static void gather_64(const struct sw_image_slots *kind, const uint32_t *words, uint64_t count,
                      uint64_t *at, struct sw_image_columns *columns)
{
    uint32_t *keys = columns->keys, *values = columns->values;
    uint64_t slot = *at;
    uint32_t to = columns->count;
    for (; slot < count && to < columns->room; slot++) {
        uint32_t word = words[2 * slot + 1];
        keys[to] = kind->mixed ? sw_unmix_32(word, kind->seed) : word;
        values[to] = words[2 * slot];
        to += word != UINT32_MAX;
    }
    columns->count = to;
    *at = slot;
}

static void gather_128(const struct sw_image_slots *kind, const uint64_t *words, uint64_t count,
                       uint64_t *at, struct sw_image_columns *columns)
{
    uint64_t *keys = columns->keys, *values = columns->values;
    uint64_t slot = *at;
    uint32_t to = columns->count;
    for (; slot < count && to < columns->room; slot++) {
        uint64_t word = words[2 * slot + 1];
        keys[to] = kind->mixed ? sw_unmix_64(word, kind->seed) : word;
        values[to] = words[2 * slot];
        to += word != UINT64_MAX;
    }
    columns->count = to;
    *at = slot;
}

static void gather_set_64(const struct sw_image_slots *kind, const uint32_t *words, uint64_t count,
                          uint64_t *at, struct sw_image_columns *columns)
{
    uint32_t *keys = columns->keys;
    uint64_t slot = *at;
    uint32_t to = columns->count;
    for (; slot < count && to < columns->room; slot++) {
        keys[to] = sw_unmix_32(words[slot], kind->seed);
        to += words[slot] != UINT32_MAX;
    }
    columns->count = to;
    *at = slot;
}

static void gather_set_128(const struct sw_image_slots *kind, const uint64_t *words, uint64_t count,
                           uint64_t *at, struct sw_image_columns *columns)
{
    uint64_t *keys = columns->keys;
    uint64_t slot = *at;
    uint32_t to = columns->count;
    for (; slot < count && to < columns->room; slot++) {
        keys[to] = sw_unmix_64(words[slot], kind->seed);
        to += words[slot] != UINT64_MAX;
    }
    columns->count = to;
    *at = slot;
}

void sw_image_gather(const struct sw_image_slots *kind, const void *slots, uint64_t count,
                     uint64_t *at, struct sw_image_columns *columns)
{
    if (kind->is_set && kind->slot_bits == 64) {
        gather_set_64(kind, slots, count, at, columns);
    } else if (kind->is_set) {
        gather_set_128(kind, slots, count, at, columns);
    } else if (kind->slot_bits == 64) {
        gather_64(kind, slots, count, at, columns);
    } else {
        gather_128(kind, slots, count, at, columns);
    }
}

void sw_image_add_side(const struct sw_image_slots *kind, uint64_t value,
                       struct sw_image_columns *columns)
{
    const uint32_t at = columns->count++;
    if (kind->slot_bits == 64) {
        ((uint32_t *)columns->keys)[at] =
            kind->mixed ? sw_unmix_32(UINT32_MAX, kind->seed) : UINT32_MAX;
    } else {
        ((uint64_t *)columns->keys)[at] =
            kind->mixed ? sw_unmix_64(UINT64_MAX, kind->seed) : UINT64_MAX;
    }
    if (kind->is_set) {
        return;
    }
    if (kind->slot_bits == 64) {
        ((uint32_t *)columns->values)[at] = (uint32_t)value;
    } else {
        ((uint64_t *)columns->values)[at] = value;
    }
}

/* --- images ----------------------------------------------------------------------------------- */

struct sw_host_image *sw_host_image_create(uint64_t bytes)
{
    struct sw_host_image *image = calloc(1, sizeof(*image));
    if (image == NULL || bytes == 0) {
        return image;
    }
    image->bytes = bytes;
    image->memory = sw_memory_map_touched(bytes);
    if (image->memory == NULL) {
        free(image);
        return NULL;
    }
    return image;
}

int sw_host_image_read(void *context, struct sw_image_columns *columns)
{
    struct sw_host_image *image = context;
    if (image->side && columns->count < columns->room) {
        sw_image_add_side(&image->kind, image->side_value, columns);
        image->side = false;
    }
    while (image->part < SW_HOST_IMAGE_PARTS && columns->count < columns->room) {
        sw_image_gather(&image->kind, image->parts[image->part].slots,
                        image->parts[image->part].count, &image->at, columns);
        if (image->at == image->parts[image->part].count) {
            image->part++;
            image->at = 0;
        }
    }
    return SW_OK;
}

void sw_host_image_drop(void *context)
{
    struct sw_host_image *image = context;
    sw_memory_unmap(image->memory, image->bytes);
    free(image);
}
