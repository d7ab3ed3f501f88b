/* SPDX-License-Identifier: MIT
 *
 * image.cu - images of a table on a device.
 */
#include <stdlib.h>

#include "table/robin_hood/cuda/row_image.cuh"

/* Under the mutex. */
static cudaError_t take(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    struct sw_cuda_table *table = queue->table;
    const struct sw_geometry *geometry = &table->arrays.geometry;
    const uint64_t slots_bytes = geometry->slots_total * (table->slot_bits / 8);
    struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS] = {
        {table->arrays.slots, slots_bytes}, {NULL, 0}, {table->state, sizeof(*table->state)}};
    struct sw_cuda_rows_image *image = (struct sw_cuda_rows_image *)calloc(1, sizeof(*image));
    cudaError_t error = cudaSuccess;
    bool done = true;
    if (image == NULL) {
        return cudaSuccess;
    }
    image->kind.slot_bits = table->slot_bits;
    image->kind.mixed = true;
    image->kind.seed = table->config.seed;
    if (sw_cuda_has_rows(table)) {
        error = sw_cuda_rows_image_begin(image, queue, batch->_borrows, &parts[1], &done);
    }
    if (done) {
        error = sw_cuda_image_take(image, queue, parts, batch->_borrows, &done);
    }
    if (!done) {
        sw_cuda_rows_image_end(image);
        free(image);
        return error;
    }
    image->counts[0] = geometry->slots_total;
    batch->_image = (struct sw_cuda_slots_image *)image;
    return error;
}

int sw_cuda_submit_image(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    return sw_cuda_image_submit(queue, batch, [=]() { return take(queue, batch); });
}

int sw_cuda_poll_image(struct sw_batch *batch)
{
    return sw_cuda_image_batch_poll((struct sw_cuda_slots_image *)batch->_image, batch);
}
