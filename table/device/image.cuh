/* SPDX-License-Identifier: MIT
 *
 * image.cuh - images of a table on a device. The device copies the table's arrays between two write
 * batches. The host then reads the copy piece by piece, on a separate stream.
 *
 * Threads: the channel's thread, which submits all writes of the table (write_combiner.h), takes
 * and polls images. Any one thread reads and drops an image.
 */
#ifndef SHERWOOD_TABLE_DEVICE_IMAGE_CUH
#define SHERWOOD_TABLE_DEVICE_IMAGE_CUH

#include "table/device/channel.cuh"
#include "table/host/image.h"

#define SW_CUDA_IMAGE_PARTS 3
/* Bytes of the pinned memory for the pieces that the host reads. */
#define SW_CUDA_IMAGE_PIECE (8U << 20)

struct sw_cuda_image_part {
    const void *from; /* device, or registered memory of the host */
    uint64_t bytes;
};

struct sw_cuda_image {
    struct sw_cuda_channel_owner *owner;
    cudaStream_t stream;
    cudaEvent_t taken;
    const char *parts[SW_CUDA_IMAGE_PARTS]; /* device: the copies; if borrowed, the table's own
                                               arrays */
    void *memory;                           /* device: memory of all copies; NULL: the image borrows
                                               the table's arrays */
    char *staging;                          /* pinned [SW_CUDA_IMAGE_PIECE] */
    uint64_t began_ns;                      /* when the submission began: from then on no write
                                               begins */
};

/* Allocates memory for the copies, unless `borrow`. `image` must be zeroed. Sets *done to false
 * after an error and if memory is short; then the image is closed. Short memory is not an error. */
cudaError_t sw_cuda_image_open(struct sw_cuda_image *image, struct sw_cuda_channel *channel,
                               const struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS],
                               bool borrow, bool *done);
/* Enqueues the copies after the last write batch and before the next one. Call it under the
 * mutex. */
cudaError_t sw_cuda_image_copy(struct sw_cuda_image *image, struct sw_cuda_channel *channel,
                               const struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS]);
/* Returns SW_PENDING until the copies are complete. Then fills in the results of the SW_BATCH_IMAGE
 * batch. */
int sw_cuda_image_poll(struct sw_cuda_image *image, struct sw_batch *batch);
/* Copies bytes of a part to the host, and waits for the copy. Returns false on a lost table. */
bool sw_cuda_image_fetch(struct sw_cuda_image *image, uint32_t part, uint64_t at, void *to,
                         uint64_t bytes);
/* Frees everything but the struct itself. */
void sw_cuda_image_close(struct sw_cuda_image *image);

/* An image of slots in the format of table/host/image.h. Part 0: the slots. Part 1: the stash,
 * whose entry count is in the state, or nothing. Part 2: a struct sw_state. Allocated by malloc or
 * calloc. */
struct sw_cuda_slots_image : sw_cuda_image {
    struct sw_image_slots kind;
    uint64_t counts[2]; /* slots of parts 0 and 1 */
    bool stash_is_part; /* part 1 is the stash */
    bool began;         /* the state was read */
    bool side;
    uint64_t side_value;
    uint32_t part;
    uint64_t next;         /* slot of the part to copy to the host next */
    uint64_t staged, held; /* slots in the staging memory: read so far, and in all */
};

uint64_t sw_cuda_image_now_ns();

/* Submits a batch of SW_BATCH_IMAGE. `prepare` fills in the parts, allocates and opens an image,
 * and stores its address as a sw_cuda_image in batch->image.memory. If memory is short, `prepare`
 * leaves that member NULL. It runs without the mutex and may wait for the device: other channels
 * submit reads meanwhile. They cannot submit writes, so neither entries nor arrays change before
 * the copies are enqueued. */
template <typename PREPARE>
static inline int sw_cuda_image_submit(struct sw_cuda_channel *channel, struct sw_batch *batch,
                                       PREPARE prepare)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS] = {};
    const uint64_t began_ns = sw_cuda_image_now_ns();
    batch->image.memory = NULL;
    if (sw_cuda_is_lost(owner) ||
        !sw_cuda_check(owner, cudaSetDevice(owner->device), "choosing the device") ||
        !sw_cuda_check(owner, prepare(parts), "preparing an image")) {
        return SW_E_DEVICE;
    }
    struct sw_cuda_image *image = (struct sw_cuda_image *)batch->image.memory;
    batch->status = image == NULL ? SW_E_NOMEM : SW_OK;
    if (image == NULL) {
        return SW_OK;
    }
    image->began_ns = began_ns;
    return sw_cuda_channel_begin(channel) &&
                   sw_cuda_channel_end(channel, sw_cuda_image_copy(image, channel, parts))
               ? SW_OK
               : SW_E_DEVICE;
}

/* Polls a batch of SW_BATCH_IMAGE. `image` is batch->image.memory, or NULL. */
static inline int sw_cuda_image_batch_poll(struct sw_cuda_image *image, struct sw_batch *batch)
{
    int status = image == NULL ? batch->status : sw_cuda_image_poll(image, batch);
    if (status != SW_PENDING) {
        batch->status = status;
    }
    return status;
}

/* Implement image_read and image_drop of sw_backend. */
int sw_cuda_slots_image_read(void *image, struct sw_image_columns *columns);
void sw_cuda_slots_image_drop(void *image);

#endif
