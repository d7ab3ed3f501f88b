/* SPDX-License-Identifier: MIT
 *
 * backend_image.cu - images of a cache on CUDA: digests, and entries with their values.
 */
#include <stdlib.h>

#include "table/cache/cuda/backend.cuh"
#include "table/cache/image.h"
#include "table/device/image.cuh"

#define PART_DIGESTS 0
#define PART_ENTRIES 1 /* entries and values: the values lie after the entries or among them, */
#define PART_VALUES 2  /* or have memory of their own */

struct cache_image : sw_cuda_image {
    struct sw_cache_slots slots; /* sizes and strides */
    uint32_t key_bytes;
    uint32_t values_part; /* PART_ENTRIES, or PART_VALUES */
    uint64_t values_at;   /* offset of the values in that part */
    uint64_t next;        /* the next slot to stage */
    struct sw_cache_slots staged;
    uint64_t looked, held; /* slots in the staging memory: read so far, and in all */
};

uint64_t sw_cache_cuda_image_bytes(const struct sw_cache_cuda_table *table)
{
    uint64_t buckets = __atomic_load_n(&table->growth.buckets, __ATOMIC_RELAXED);
    return buckets *
           (SW_CACHE_BUCKET_SLOTS + sw_cache_entries_bytes(table->arrays.slots.value_bytes));
}

static void describe(struct cache_image *image, const struct sw_cache_cuda_table *table)
{
    const struct sw_cache_slots *slots = &table->arrays.slots;
    uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    image->slots = *slots;
    image->key_bytes = table->key_bytes;
    image->values_part = slots->apart ? PART_VALUES : PART_ENTRIES;
    image->values_at = slots->apart ? 0 : capacity * sizeof(struct sw_cache_entry);
}

cudaError_t sw_cache_cuda_prepare_image(struct sw_cache_cuda_queue *queue, struct sw_batch *batch,
                                        struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS])
{
    struct sw_cache_cuda_table *table = queue->table;
    const struct sw_cache_slots *slots = &table->arrays.slots;
    parts[PART_DIGESTS] = {slots->digests, slots->buckets * SW_CACHE_BUCKET_SLOTS};
    const uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    const uint64_t values = slots->apart ? capacity * slots->value_bytes : 0;
    parts[PART_ENTRIES] = {slots->entries,
                           slots->buckets * sw_cache_entries_bytes(slots->value_bytes) - values};
    parts[PART_VALUES] = {slots->values, values};
    struct cache_image *image = (struct cache_image *)calloc(1, sizeof(*image));
    bool done = false;
    if (image == NULL) {
        return cudaSuccess;
    }
    const cudaError_t error = sw_cuda_image_open(image, queue, parts, batch->image.borrows, &done);
    if (!done) {
        free(image);
        return error;
    }
    describe(image, table);
    batch->image.epoch = table->epoch;
    batch->image.memory = image;
    return error;
}

/* Copies the next slots to the staging memory: digests, entries, values. Returns false on a lost
 * table. */
static bool stage(struct cache_image *image)
{
    const uint32_t entry = image->slots.entry_stride;
    const bool among = !image->slots.apart && image->slots.value_stride == entry;
    const uint32_t value = among ? 0 : image->slots.value_stride;
    const uint64_t room = SW_CUDA_IMAGE_PIECE / (1 + entry + value) / 64 * 64;
    const uint64_t left = image->slots.buckets * SW_CACHE_BUCKET_SLOTS - image->next;
    uint8_t *staging = (uint8_t *)image->staging;
    image->held = left < room ? left : room;
    image->looked = 0;
    image->staged = image->slots;
    image->staged.digests = staging;
    image->staged.entries = staging + room;
    image->staged.values = value == 0 ? image->staged.entries + sizeof(struct sw_cache_entry)
                                      : staging + room * (1 + entry);
    if (!sw_cuda_image_fetch(image, PART_DIGESTS, image->next, image->staged.digests,
                             image->held) ||
        !sw_cuda_image_fetch(image, PART_ENTRIES, image->next * entry, image->staged.entries,
                             image->held * entry) ||
        (value != 0 &&
         !sw_cuda_image_fetch(image, image->values_part, image->values_at + image->next * value,
                              image->staged.values, image->held * value))) {
        return false;
    }
    image->next += image->held;
    return true;
}

int sw_cache_cuda_image_read(void *context, struct sw_image_columns *columns)
{
    struct cache_image *image = (struct cache_image *)context;
    while (columns->count < columns->room) {
        if (image->looked < image->held) {
            sw_cache_image_gather(&image->staged, image->key_bytes, image->held, &image->looked,
                                  columns);
        } else if (image->next == image->slots.buckets * SW_CACHE_BUCKET_SLOTS) {
            break;
        } else if (!stage(image)) {
            return SW_E_DEVICE;
        }
    }
    return SW_OK;
}

void sw_cache_cuda_image_drop(void *context)
{
    struct cache_image *image = (struct cache_image *)context;
    sw_cuda_image_close(image);
    free(image);
}

void sw_cache_cuda_restore(struct sw_cache_cuda_table *table, const struct sw_batch *batch,
                           struct sw_cache_table_batch *all)
{
    if (batch->restores) {
        all->slots.policy = SW_CACHE_CUSTOM;
        sw_cache_image_clocks(table->arrays.slots.policy, table->epoch, batch->scores, batch->count,
                              &table->clock, &table->rounds);
    }
}
