/* SPDX-License-Identifier: MIT
 *
 * backend_image.cu - images of a cuckoo table on CUDA.
 */
#include <stdlib.h>

#include "table/cuckoo/cuda/backend.cuh"
#include "table/cuckoo/cuda/engine.cuh"
#include "table/device/image.cuh"

/* Finds the current arrays. Only the device knows which ones they are, so the function waits for
 * the device. */
template <int BITS> static cudaError_t find_cells(struct sw_cuckoo_queue *queue, const void **cells)
{
    typename sw_cuckoo_kind<BITS>::table copy;
    cudaError_t error = cudaMemcpyAsync(&copy, queue->table->device_table, sizeof(copy),
                                        cudaMemcpyDeviceToHost, queue->stream);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(queue->stream);
    }
    *cells = copy.view.cells;
    return error;
}

cudaError_t sw_cuckoo_prepare_image(struct sw_cuckoo_queue *queue, struct sw_batch *batch,
                                    struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS])
{
    struct sw_cuckoo_device_table *table = queue->table;
    const uint32_t bits = table->config.slot_bits;
    const void *cells = NULL;
    bool done = false;
    cudaError_t error = SW_BY_BITS(bits, find_cells, queue, &cells);
    if (error != cudaSuccess) {
        return error;
    }
    struct sw_cuda_slots_image *image = (struct sw_cuda_slots_image *)calloc(1, sizeof(*image));
    if (image == NULL) {
        return cudaSuccess;
    }
    parts[0] = {cells, table->geometry.cells * (bits / 8)};
    parts[1] = {table->stash, table->geometry.stash_room * (bits / 8)};
    parts[2] = {table->state, sizeof(*table->state)};
    error = sw_cuda_image_open(image, queue, parts, batch->image.borrows, &done);
    if (!done) {
        free(image);
        return error;
    }
    image->kind.slot_bits = bits;
    image->counts[0] = table->geometry.cells;
    image->stash_is_part = true;
    batch->image.memory = image;
    return error;
}
