/* SPDX-License-Identifier: MIT
 *
 * image.cu - copies arrays on the device, and reads the copies.
 */
#include "table/device/image.cuh"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table/operation.h"
#include "table/widths.h"

#define PART_ALIGN 256U

uint64_t sw_cuda_image_now_ns()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

/* --- taking ----------------------------------------------------------------------------------- */

static cudaError_t allocate(struct sw_cuda_image *image, uint64_t bytes)
{
    cudaError_t error = cudaStreamCreateWithFlags(&image->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&image->taken, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaHostAlloc((void **)&image->staging, SW_CUDA_IMAGE_PIECE, cudaHostAllocDefault);
    }
    if (error == cudaSuccess && bytes > 0) {
        error = cudaMalloc(&image->memory, bytes);
    }
    return error;
}

static cudaError_t copy_parts(struct sw_cuda_image *image, struct sw_cuda_channel *channel,
                              const struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS])
{
    char *to = (char *)image->memory;
    cudaError_t error = cudaSuccess;
    for (uint32_t p = 0; p < SW_CUDA_IMAGE_PARTS && error == cudaSuccess; p++) {
        image->parts[p] = to == NULL ? (const char *)parts[p].from : to;
        if (to != NULL && parts[p].bytes > 0) {
            error = cudaMemcpyAsync(to, parts[p].from, parts[p].bytes, cudaMemcpyDefault,
                                    channel->stream);
            to += aligned(parts[p].bytes);
        }
    }
    return error;
}

cudaError_t sw_cuda_image_open(struct sw_cuda_image *image, struct sw_cuda_channel *channel,
                               const struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS],
                               bool borrow, bool *done)
{
    uint64_t bytes = 0;
    for (uint32_t p = 0; p < SW_CUDA_IMAGE_PARTS; p++) {
        bytes += borrow ? 0 : aligned(parts[p].bytes);
    }
    image->owner = channel->owner;
    const cudaError_t error = allocate(image, bytes);
    *done = error == cudaSuccess;
    if (!*done) {
        sw_cuda_image_close(image);
    }
    if (error != cudaErrorMemoryAllocation) {
        return error;
    }
    (void)cudaGetLastError(); /* clears the runtime's last error */
    return cudaSuccess;
}

cudaError_t sw_cuda_image_copy(struct sw_cuda_image *image, struct sw_cuda_channel *channel,
                               const struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS])
{
    cudaError_t error = sw_cuda_wait_for_write(channel);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(channel);
    }
    if (error == cudaSuccess) {
        error = copy_parts(image, channel, parts);
    }
    if (error == cudaSuccess) {
        error = cudaEventRecord(image->taken, channel->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(channel) : error;
}

int sw_cuda_image_poll(struct sw_cuda_image *image, struct sw_batch *batch)
{
    cudaError_t error = cudaSetDevice(image->owner->device);
    if (error == cudaSuccess) {
        error = cudaEventQuery(image->taken);
    }
    if (error == cudaErrorNotReady) {
        return SW_PENDING;
    }
    batch->image.held_ns = sw_cuda_image_now_ns() - image->began_ns;
    return sw_cuda_check(image->owner, error, "the copy of an image") ? SW_OK : SW_E_DEVICE;
}

bool sw_cuda_image_fetch(struct sw_cuda_image *image, uint32_t part, uint64_t at, void *to,
                         uint64_t bytes)
{
    cudaError_t error = cudaSetDevice(image->owner->device);
    if (error == cudaSuccess) {
        error =
            cudaMemcpyAsync(to, image->parts[part] + at, bytes, cudaMemcpyDefault, image->stream);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(image->stream);
    }
    return sw_cuda_check(image->owner, error, "reading an image");
}

void sw_cuda_image_close(struct sw_cuda_image *image)
{
    (void)cudaSetDevice(image->owner->device);
    (void)cudaFree(image->memory);
    (void)cudaFreeHost(image->staging);
    if (image->taken != NULL) {
        (void)cudaEventDestroy(image->taken);
    }
    if (image->stream != NULL) {
        (void)cudaStreamDestroy(image->stream);
    }
    image->memory = NULL;
    image->staging = NULL;
    image->taken = NULL;
    image->stream = NULL;
}

/* --- slots ------------------------------------------------------------------------------------ */

static bool begin(struct sw_cuda_slots_image *image)
{
    struct sw_state *state = (struct sw_state *)(void *)image->staging;
    if (!sw_cuda_image_fetch(image, 2, 0, state, sizeof(*state))) {
        return false;
    }
    image->began = true;
    image->side = state->side_present != 0;
    image->side_value = state->side_value;
    if (image->stash_is_part) {
        image->counts[1] = state->stash_occupied;
    }
    return true;
}

/* Copies the next slots to the staging memory. Returns false on a lost table. */
static bool stage(struct sw_cuda_slots_image *image)
{
    const uint32_t slot_bytes =
        sw_format_slot_bytes(sw_format(image->kind.slot_bits, image->kind.is_set));
    const uint64_t room = SW_CUDA_IMAGE_PIECE / slot_bytes;
    uint64_t left = image->counts[image->part] - image->next;
    image->held = left < room ? left : room;
    image->staged = 0;
    if (!sw_cuda_image_fetch(image, image->part, image->next * slot_bytes, image->staging,
                             image->held * slot_bytes)) {
        return false;
    }
    image->next += image->held;
    return true;
}

int sw_cuda_slots_image_read(void *context, struct sw_image_columns *columns)
{
    struct sw_cuda_slots_image *image = (struct sw_cuda_slots_image *)context;
    if (!image->began && !begin(image)) {
        return SW_E_DEVICE;
    }
    if (image->side && columns->count < columns->room) {
        sw_image_add_side(&image->kind, image->side_value, columns);
        image->side = false;
    }
    while (columns->count < columns->room) {
        if (image->staged < image->held) {
            sw_image_gather(&image->kind, image->staging, image->held, &image->staged, columns);
        } else if (image->next < image->counts[image->part]) {
            if (!stage(image)) {
                return SW_E_DEVICE;
            }
        } else if (image->part == 0) {
            image->part = 1;
            image->next = 0;
        } else {
            break;
        }
    }
    return SW_OK;
}

void sw_cuda_slots_image_drop(void *context)
{
    struct sw_cuda_slots_image *image = (struct sw_cuda_slots_image *)context;
    sw_cuda_image_close(image);
    free(image);
}
