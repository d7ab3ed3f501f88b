/* SPDX-License-Identifier: MIT
 *
 * times_image.cu - copies the table of expiry times to the host, and looks up keys in the copy.
 */
#include "table/robin_hood/cuda/images/times_image.cuh"

#include <string.h>

#include "table/host/memory.h"
#include "table/robin_hood/cuda/times/expiry.cuh"
#include "table/robin_hood/time_audit.h"

cudaError_t sw_cuda_times_image_take(struct sw_cuda_times_image *image,
                                     const struct sw_cuda_expiry *expiry, bool *done)
{
    const struct sw_cuda_table *times = expiry->times;
    const cudaStream_t stream = expiry->times_queue->stream;
    image->geometry = times->arrays.geometry;
    image->seed = times->config.seed;
    image->slots = sw_memory_map_touched(image->geometry.bytes_total);
    *done = image->slots != NULL;
    if (!*done) {
        return cudaSuccess;
    }
    cudaError_t error = cudaMemcpyAsync(&image->state, times->state, sizeof(image->state),
                                        cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(image->slots, times->arrays.slots, image->geometry.bytes_total,
                                cudaMemcpyDeviceToHost, stream);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

void sw_cuda_times_image_drop(struct sw_cuda_times_image *image)
{
    sw_memory_unmap(image->slots, image->geometry.bytes_total);
    image->slots = NULL;
}

void sw_cuda_times_image_fill(struct sw_cuda_times_image *image, uint32_t slot_bits,
                              struct sw_image_columns *columns, uint32_t first)
{
    const struct sw_audited times = {128, &image->geometry, &image->state, image->slots,
                                     image->seed};
    const uint32_t key_bytes = slot_bits / 16;
    const uint32_t count = columns->count - first;
    if (image->slots != NULL) {
        sw_audited_times(&times, (const uint8_t *)columns->keys + (size_t)first * key_bytes,
                         key_bytes, count, columns->scores + first);
    } else {
        memset(columns->scores + first, 0, count * sizeof(*columns->scores));
    }
}
