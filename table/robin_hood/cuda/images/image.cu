/* SPDX-License-Identifier: MIT
 *
 * image.cu - images of a table on a device.
 */
#include <stdlib.h>

#include "table/robin_hood/cuda/images/row_image.cuh"
#include "table/robin_hood/cuda/times/expiry.cuh"

/* Prepares the parts of an image. Copies rows in host memory and the expiry times here. */
static cudaError_t prepare(struct sw_cuda_queue *queue, struct sw_batch *batch,
                           struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS])
{
    struct sw_cuda_table *table = queue->table;
    const struct sw_geometry *geometry = &table->arrays.geometry;
    const uint64_t slots_bytes = geometry->slots_total * (sw_format_slot_bytes(table->format));
    struct sw_cuda_rows_image *image = (struct sw_cuda_rows_image *)calloc(1, sizeof(*image));
    cudaError_t error = cudaSuccess;
    bool done = true;
    if (image == NULL) {
        return cudaSuccess;
    }
    parts[0] = {table->arrays.slots, slots_bytes};
    parts[2] = {table->state, sizeof(*table->state)};
    image->kind.slot_bits = table->slot_bits;
    image->kind.is_set = sw_cuda_is_set(table);
    image->kind.mixed = true;
    image->kind.seed = table->config.seed;
    if (sw_cuda_keeps_times(table)) {
        error = sw_cuda_times_image_take(&image->times, table->expiry, &done);
        batch->image.expires = true;
    }
    if (done && error == cudaSuccess && sw_cuda_has_rows(table)) {
        error = sw_cuda_rows_image_begin(image, queue, batch->image.borrows, &parts[1], &done);
    }
    if (done && error == cudaSuccess) {
        error = sw_cuda_image_open(image, queue, parts, batch->image.borrows, &done);
    }
    if (!done || error != cudaSuccess) {
        sw_cuda_rows_image_end(image);
        sw_cuda_times_image_drop(&image->times);
        free(image);
        return error;
    }
    image->counts[0] = geometry->slots_total;
    batch->image.memory = (struct sw_cuda_slots_image *)image;
    return error;
}

int sw_cuda_submit_image(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    if (!sw_cuda_tidy(queue)) { /* an image has the canonical layout */
        return SW_E_DEVICE;
    }
    return sw_cuda_image_submit(queue, batch, [=](struct sw_cuda_image_part *parts) {
        return prepare(queue, batch, parts);
    });
}

int sw_cuda_poll_image(struct sw_batch *batch)
{
    return sw_cuda_image_batch_poll((struct sw_cuda_slots_image *)batch->image.memory, batch);
}

/* --- reading ---------------------------------------------------------------------------------- */

int sw_cuda_image_read(void *context, struct sw_image_columns *columns)
{
    struct sw_cuda_rows_image *image =
        (struct sw_cuda_rows_image *)(struct sw_cuda_slots_image *)context;
    const uint32_t first = columns->count;
    const bool rows = image->view.value_bytes != 0;
    const int status =
        rows ? sw_cuda_rows_image_read(image, columns) : sw_cuda_slots_image_read(context, columns);
    if (status == SW_OK && columns->scores != NULL) {
        sw_cuda_times_image_fill(&image->times, image->kind.slot_bits, columns, first);
    }
    return status;
}

void sw_cuda_image_drop(void *context)
{
    struct sw_cuda_rows_image *image =
        (struct sw_cuda_rows_image *)(struct sw_cuda_slots_image *)context;
    (void)cudaSetDevice(image->owner->device);
    sw_cuda_rows_image_end(image);
    sw_cuda_times_image_drop(&image->times);
    sw_cuda_slots_image_drop(context);
}
