/* SPDX-License-Identifier: MIT
 *
 * image.c - images of a table, for all engines.
 */
#include "table/image.h"

#include <assert.h>
#include <stdlib.h>

#include "table/expiring.h"
#include "table/instance.h"
#include "table/table.h"

struct sw_image {
    struct sw_table *table;
    const struct sw_backend *backend;
    void *memory; /* the backend's */
    uint64_t sequence;
    uint64_t epoch;
    uint64_t held_ns;
    bool expires;
};

static int run_image_batch(struct sw_queue *queue, struct sw_batch *batch)
{
    int status = sw_queue_submit(queue, batch);
    if (status != SW_OK) {
        return status;
    }
    do {
        status = sw_batch_poll(queue, batch);
    } while (status == SW_PENDING);
    return status;
}

int sw_image_take(struct sw_queue *queue, bool borrow, struct sw_image **out)
{
    const struct sw_backend *backend = queue->table->backend;
    struct sw_batch batch = {.kind = SW_BATCH_IMAGE, .image.borrows = borrow};
    *out = NULL;
    if (backend->image_read == NULL) {
        return SW_E_UNSUPPORTED;
    }
    struct sw_image *image = calloc(1, sizeof(*image));
    if (image == NULL) {
        return SW_E_NOMEM;
    }
    int status = run_image_batch(queue, &batch);
    if (status != SW_OK) {
        if (batch.image.memory != NULL) { /* a step after the image failed */
            backend->image_drop(batch.image.memory);
        }
        free(image);
        return status;
    }
    *image = (struct sw_image){queue->table,         backend,           batch.image.memory,
                               batch.image.sequence, batch.image.epoch, batch.image.held_ns,
                               batch.image.expires};
    atomic_fetch_add_explicit(&queue->table->images, 1, memory_order_relaxed);
    *out = image;
    return SW_OK;
}

uint64_t sw_image_bytes(const struct sw_table *table)
{
    return table->backend->image_read == NULL ? 0 : sw_table_facts_of(table).image_bytes;
}

uint64_t sw_image_sequence(const struct sw_image *image)
{
    return image->sequence;
}

uint64_t sw_image_held_ns(const struct sw_image *image)
{
    return image->held_ns;
}

bool sw_image_expires(const struct sw_image *image)
{
    return image->expires;
}

uint64_t sw_image_epoch(const struct sw_image *image)
{
    return image->epoch;
}

int sw_image_read(struct sw_image *image, uint32_t count, void *keys, void *values,
                  uint64_t *scores, uint32_t *got)
{
    struct sw_image_columns columns = {
        .room = count, .keys = keys, .values = values, .scores = scores};
    int status = image->backend->image_read(image->memory, &columns);
    assert(columns.count <= count);
    *got = columns.count;
    return status;
}

void sw_image_drop(struct sw_image *image)
{
    if (image != NULL) {
        assert(sw_table_images(image->table) > 0);
        image->backend->image_drop(image->memory);
        atomic_fetch_sub_explicit(&image->table->images, 1, memory_order_relaxed);
        free(image);
    }
}

void sw_image_claim(struct sw_table *table)
{
    atomic_fetch_add_explicit(&table->image_claims, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->claims_begun, 1, memory_order_release);
}

void sw_image_unclaim(struct sw_table *table)
{
    assert(sw_image_is_claimed(table));
    atomic_fetch_sub_explicit(&table->image_claims, 1, memory_order_release);
}

bool sw_image_is_claimed(const struct sw_table *table)
{
    return atomic_load_explicit(&table->image_claims, memory_order_acquire) > 0;
}

uint32_t sw_image_claims(const struct sw_table *table)
{
    return atomic_load_explicit(&table->claims_begun, memory_order_acquire);
}

uint32_t sw_table_images(const struct sw_table *table)
{
    return atomic_load_explicit(&table->images, memory_order_relaxed);
}

void sw_table_set_sequence(struct sw_table *table, uint64_t sequence)
{
    if (table->combines) {
        sw_combiner_set_sequence(&table->combiner, sequence);
    } else {
        table->backend->set_sequence(table->memory, sequence);
    }
}

uint64_t sw_table_last_given(struct sw_table *table)
{
    if (!table->combines) {
        return table->backend->last_sequence(table->memory);
    }
    pthread_mutex_lock(&table->combiner.lock); /* writes take their numbers under this lock */
    const uint64_t last = sw_combiner_last_sequence(&table->combiner);
    pthread_mutex_unlock(&table->combiner.lock);
    return last;
}

uint64_t sw_table_last_sequence(struct sw_table *table)
{
    return table->combines ? sw_combiner_last_sequence(&table->combiner)
                           : table->backend->last_sequence(table->memory);
}
