/* SPDX-License-Identifier: MIT
 *
 * row_image.cu - copies the rows of an image and reads them: reads the row numbers of a piece from
 * its slots, then gathers the rows.
 */
#include "table/robin_hood/cuda/images/row_image.cuh"

#include <string.h>

#include "table/host/memory.h"

/* Maximum number of rows of a piece. Their bytes are also at most SW_CUDA_IMAGE_PIECE. */
#define ROOM_MAX 65536U

/* --- taking ----------------------------------------------------------------------------------- */

static cudaError_t read_stack(const struct sw_cuda_arena *arena, struct sw_cuda_row_stack *stack,
                              cudaStream_t stream)
{
    cudaError_t error =
        cudaMemcpyAsync(stack, arena->view.stack, sizeof(*stack), cudaMemcpyDeviceToHost, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

static cudaError_t allocate(struct sw_cuda_rows_image *image, bool in_host)
{
    const uint32_t by_bytes = SW_CUDA_IMAGE_PIECE / image->view.value_bytes;
    const unsigned int flags = cudaHostAllocMapped | cudaHostAllocPortable;
    image->room = by_bytes < ROOM_MAX ? by_bytes : ROOM_MAX;
    cudaError_t error =
        cudaHostAlloc(&image->numbers, (size_t)image->room * (image->kind.slot_bits / 16), flags);
    if (error == cudaSuccess && !in_host) {
        error = cudaHostAlloc((void **)&image->packed,
                              (size_t)image->room * image->view.value_bytes, flags);
    }
    return error;
}

/* Copies `count` rows to host memory. Returns cudaErrorMemoryAllocation if memory is short. The
 * device must not write meanwhile. The processor copies rows in host memory: they lie in pieces
 * that were pinned one by one, and the CUDA runtime refuses a copy that crosses from one piece to
 * the next. */
static cudaError_t copy_in_host(struct sw_cuda_rows_image *image, bool in_host, uint64_t count,
                                cudaStream_t stream)
{
    struct sw_cuda_rows *view = &image->view;
    const uint64_t bytes = count * view->stride;
    const uint64_t first = (count < view->split ? count : view->split) * view->stride;
    const uint64_t on_device = in_host ? 0 : first;
    if (bytes == 0) {
        return cudaSuccess;
    }
    image->host = (uint8_t *)sw_memory_map_touched(bytes);
    if (image->host == NULL) {
        return cudaErrorMemoryAllocation;
    }
    image->host_bytes = bytes;
    cudaError_t error = on_device > 0 ? cudaMemcpyAsync(image->host, view->rows, on_device,
                                                        cudaMemcpyDeviceToHost, stream)
                                      : cudaSuccess;
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(stream);
    }
    if (error == cudaSuccess && in_host) {
        memcpy(image->host, view->rows, first);
    }
    if (error == cudaSuccess && bytes > first) {
        memcpy(image->host + first, view->further + first, bytes - first);
    }
    view->rows = image->host;
    view->split = count;
    return error;
}

cudaError_t sw_cuda_rows_image_begin(struct sw_cuda_rows_image *image, struct sw_cuda_queue *queue,
                                     bool borrow, struct sw_cuda_image_part *part, bool *done)
{
    const struct sw_cuda_arena *arena = &queue->table->arena;
    const bool some_in_host = arena->rows.in_host || arena->further.base != NULL;
    const bool copies = some_in_host && !borrow;
    struct sw_cuda_row_stack stack = {};
    image->view = arena->view;
    cudaError_t error = read_stack(arena, &stack, queue->stream);
    *part = {image->view.rows, some_in_host ? 0 : stack.high * arena->view.stride};
    if (error == cudaSuccess) {
        error = allocate(image, arena->rows.in_host || copies);
    }
    if (error == cudaSuccess && copies) {
        error = copy_in_host(image, arena->rows.in_host, stack.high, queue->stream);
    }
    *done = error == cudaSuccess;
    if (!*done) {
        sw_cuda_rows_image_end(image);
    }
    if (error != cudaErrorMemoryAllocation) {
        return error;
    }
    (void)cudaGetLastError(); /* leaves the context as it was */
    return cudaSuccess;
}

void sw_cuda_rows_image_end(struct sw_cuda_rows_image *image)
{
    (void)cudaFreeHost(image->numbers);
    (void)cudaFreeHost(image->packed);
    sw_memory_unmap(image->host, image->host_bytes);
    image->numbers = NULL;
    image->packed = NULL;
    image->host = NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

template <int BITS>
static cudaError_t launch_gather(const struct sw_cuda_rows_image *image, uint32_t count)
{
    struct sw_cuda_rows view = image->view;
    view.rows = (uint8_t *)image->parts[1];
    return sw_cuda_launch_row_gather<BITS>(&view, image->numbers, BITS / 16, count, image->packed,
                                           image->stream);
}

/* The device gathers the rows into pinned memory. */
static bool gather_on_device(struct sw_cuda_rows_image *image, uint32_t count, uint8_t *to)
{
    cudaError_t error = cudaSetDevice(image->owner->device);
    if (error == cudaSuccess) {
        error = SW_BY_BITS(image->kind.slot_bits, launch_gather, image, count);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(image->stream);
    }
    if (!sw_cuda_check(image->owner, error, "reading the rows of an image")) {
        return false;
    }
    memcpy(to, image->packed, (size_t)count * image->view.value_bytes);
    return true;
}

static void gather_in_host(const struct sw_cuda_rows_image *image, uint32_t count, uint8_t *to)
{
    const struct sw_cuda_rows *view = &image->view;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t row = image->kind.slot_bits == 64 ? ((const uint32_t *)image->numbers)[i]
                                                         : ((const uint64_t *)image->numbers)[i];
        memcpy(to + (size_t)i * view->value_bytes, sw_cuda_row_at(view, row), view->value_bytes);
    }
}

int sw_cuda_rows_image_read(struct sw_cuda_rows_image *image, struct sw_image_columns *columns)
{
    const size_t key_bytes = image->kind.slot_bits / 16;
    while (columns->count < columns->room) {
        const uint32_t left = columns->room - columns->count;
        uint8_t *to = (uint8_t *)columns->values + (size_t)columns->count * image->view.value_bytes;
        struct sw_image_columns piece = {};
        piece.room = left < image->room ? left : image->room;
        piece.keys = (uint8_t *)columns->keys + columns->count * key_bytes;
        piece.values = image->numbers;
        int status = sw_cuda_slots_image_read(image, &piece);
        if (status != SW_OK || piece.count == 0) {
            return status;
        }
        if (image->packed == NULL) {
            gather_in_host(image, piece.count, to);
        } else if (!gather_on_device(image, piece.count, to)) {
            return SW_E_DEVICE;
        }
        columns->count += piece.count;
    }
    return SW_OK;
}
