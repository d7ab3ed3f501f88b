/* SPDX-License-Identifier: MIT
 *
 * image.c - images of a cache in host memory, and the search for entries in any image of a cache.
 */
#include "table/cache/image.h"

#include <stdlib.h>
#include <string.h>

#include "table/cache/cpu.h"
#include "table/cache/cpu_table.h"
#include "table/host/memory.h"
#include "table/host/parts.h"

struct cache_image {
    struct sw_cache_slots slots;
    uint32_t key_bytes;
    uint64_t at;
    void *memory; /* a copy of the arrays; NULL: they are the cache's own */
    uint64_t bytes;
};

static void copy_cache_entry(const struct sw_cache_slots *slots, uint32_t key_bytes, uint64_t slot,
                             struct sw_image_columns *columns)
{
    const struct sw_cache_entry *entry = sw_cache_entry_at(slots, slot);
    uint32_t to = columns->count++;
    if (key_bytes == 4) {
        ((uint32_t *)columns->keys)[to] = (uint32_t)entry->key;
    } else {
        ((uint64_t *)columns->keys)[to] = entry->key;
    }
    memcpy((uint8_t *)columns->values + (size_t)to * slots->value_bytes,
           sw_cache_value_at(slots, slot), slots->value_bytes);
    if (columns->scores != NULL) {
        columns->scores[to] = entry->score;
    }
}

void sw_cache_image_gather(const struct sw_cache_slots *slots, uint32_t key_bytes, uint64_t count,
                           uint64_t *at, struct sw_image_columns *columns)
{
    uint64_t slot = *at;
    for (; slot < count && columns->count < columns->room; slot++) {
        if (slots->digests[slot] != 0) {
            copy_cache_entry(slots, key_bytes, slot, columns);
        }
    }
    *at = slot;
}

static struct cache_image *create(uint64_t bytes)
{
    struct cache_image *image = calloc(1, sizeof(*image));
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

/* Copies entries in whole words, because reads change scores meanwhile. */
static void copy_entries(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    uint64_t *out = (uint64_t *)(void *)to;
    const uint64_t *in = (const uint64_t *)(const void *)from;
    for (uint64_t i = 0; i < bytes / sizeof(*in); i++) {
        out[i] = __atomic_load_n(&in[i], __ATOMIC_RELAXED);
    }
}

/* Copies the arrays to the image, in a read phase of the table. Returns false if the cache has
 * grown since the image's memory was allocated; then the arrays do not fit. */
static bool fill(const struct sw_cache_cpu_table *table, struct cache_image *image)
{
    image->slots = table->slots;
    image->key_bytes = table->key_bytes;
    if (image->memory == NULL) {
        return true;
    }
    if (image->bytes != table->bytes) {
        return false;
    }
    const struct sw_cache_slots *from = &table->slots;
    const uint64_t before = (uint64_t)(from->entries - from->digests);
    const uint64_t entries = from->buckets * SW_CACHE_BUCKET_SLOTS * from->entry_stride;
    sw_cache_cpu_carve(&image->slots, image->memory);
    memcpy(image->memory, table->memory, (size_t)before);
    copy_entries(image->slots.entries, from->entries, entries);
    memcpy(image->slots.entries + entries, from->entries + entries,
           (size_t)(table->bytes - before - entries));
    return true;
}

void sw_cache_cpu_take_image(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    bool filled = false;
    while (!filled) {
        uint64_t bytes = __atomic_load_n(&table->growth.bytes, __ATOMIC_RELAXED);
        struct cache_image *image = create(batch->image.borrows ? 0 : bytes);
        if (image == NULL) {
            batch->status = SW_E_NOMEM;
            return;
        }
        sw_phase_lock_enter_read(&table->phases);
        const bool is_long = image->memory != NULL && sw_pass_is_long(table->bytes, &table->tuning);
        if (is_long) {
            sw_phase_lock_lengthen_read(&table->phases);
        }
        batch->image.sequence = sw_phase_lock_writers(&table->phases);
        uint64_t began_ns = sw_now_ns();
        batch->image.epoch = table->epoch;
        filled = fill(table, image);
        batch->image.held_ns = sw_now_ns() - began_ns;
        if (is_long) {
            sw_phase_lock_leave_long_read(&table->phases);
        } else {
            sw_phase_lock_leave_read(&table->phases);
        }
        batch->image.memory = filled ? image : NULL;
        if (!filled) {
            sw_cache_cpu_image_drop(image);
        }
    }
}

int sw_cache_cpu_image_read(void *context, struct sw_image_columns *columns)
{
    struct cache_image *image = context;
    sw_cache_image_gather(&image->slots, image->key_bytes,
                          image->slots.buckets * SW_CACHE_BUCKET_SLOTS, &image->at, columns);
    return SW_OK;
}

void sw_cache_cpu_image_drop(void *context)
{
    struct cache_image *image = context;
    sw_memory_unmap(image->memory, image->bytes);
    free(image);
}

void sw_cache_image_clocks(uint32_t policy, uint64_t epoch, const uint64_t *scores, uint32_t count,
                           uint64_t *clock, uint64_t *rounds)
{
    for (uint32_t i = 0; i < count; i++) {
        if (policy == SW_CACHE_LRU && scores[i] >= *clock) {
            *clock = scores[i] < UINT64_MAX ? scores[i] + 1 : scores[i];
        } else if (policy == SW_CACHE_EPOCH_LRU && scores[i] >> 32 == epoch &&
                   (scores[i] & UINT32_MAX) >= *rounds) {
            *rounds = (scores[i] & UINT32_MAX) + 1;
        }
    }
}
