/* SPDX-License-Identifier: MIT
 *
 * image.cuh - images of a table on a device: its arrays are copied there between two write batches,
 * and the host reads the copy piece by piece, on a stream of its own.
 *
 * Threads: taken and polled by the thread of the channel, which is that of all writes of the table
 * (combine.h); read and dropped by any one.
 */
#ifndef SHERWOOD_TABLE_DEVICE_IMAGE_CUH
#define SHERWOOD_TABLE_DEVICE_IMAGE_CUH

#include "table/device/channel.cuh"
#include "table/host/image.h"

#define SW_CUDA_IMAGE_PARTS 3
/* Pieces that the host reads; pinned. */
#define SW_CUDA_IMAGE_PIECE (8U << 20)

struct sw_cuda_image_part {
    const void *from; /* device */
    uint64_t bytes;
};

struct sw_cuda_image {
    struct sw_cuda_channel_owner *owner;
    cudaStream_t stream;
    cudaEvent_t taken;
    const char *parts[SW_CUDA_IMAGE_PARTS]; /* device: the copies, or what they are of */
    void *memory;                           /* device: all copies; NULL: borrowed */
    char *staging;                          /* pinned [SW_CUDA_IMAGE_PIECE] */
    uint64_t began_ns;                      /* since when no write begins */
};

/* Has memory for the copies. *done is false after an error and, without one, if there is no memory;
 * nothing is left open then. Zeroed memory is what it takes. */
cudaError_t sw_cuda_image_open(struct sw_cuda_image *image, struct sw_cuda_channel *channel,
                               const struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS],
                               bool borrow, bool *done);
/* Under the mutex: enqueues the copies behind the last write batch, and before what comes next. */
cudaError_t sw_cuda_image_copy(struct sw_cuda_image *image, struct sw_cuda_channel *channel,
                               const struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS]);
/* SW_PENDING until the copies are made. Fills in what a batch of SW_BATCH_IMAGE tells. */
int sw_cuda_image_poll(struct sw_cuda_image *image, struct sw_batch *batch);
/* Copies bytes of a part to the host, and waits for them. False on a lost table. */
bool sw_cuda_image_fetch(struct sw_cuda_image *image, uint32_t part, uint64_t at, void *to,
                         uint64_t bytes);
/* Frees everything but the struct itself. */
void sw_cuda_image_close(struct sw_cuda_image *image);

/* An image of slots as those of table/host/image.h: part 0 the slots, part 1 slots of which as many
 * count as the state says are in the stash (or none), part 2 a struct sw_state. From malloc. */
struct sw_cuda_slots_image : sw_cuda_image {
    struct sw_image_slots kind;
    uint64_t counts[2]; /* slots of parts 0 and 1 */
    bool stash_is_part; /* part 1 is the stash */
    bool began;         /* the state was read */
    bool side;
    uint64_t side_value;
    uint32_t part;
    uint64_t next;         /* slot of the part that is read next */
    uint64_t staged, held; /* slots in the staging memory: looked at, and there */
};

uint64_t sw_cuda_image_now_ns();

/* submit of a batch of SW_BATCH_IMAGE. `prepare` says what the parts are, and returns an image from
 * malloc that it has opened, whose address as a sw_cuda_image is in batch->image.memory; or leaves
 * that NULL where there is no memory. It may wait for the device and copy what it likes: it runs
 * without the mutex, so other channels submit reads meanwhile. They cannot submit writes, and so
 * neither entries nor arrays change before the copies are enqueued. */
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

/* poll of such a batch: `image` is batch->image.memory, or NULL. */
static inline int sw_cuda_image_batch_poll(struct sw_cuda_image *image, struct sw_batch *batch)
{
    int status = image == NULL ? batch->status : sw_cuda_image_poll(image, batch);
    if (status != SW_PENDING) {
        batch->status = status;
    }
    return status;
}

/* image_read and image_drop of sw_backend. */
int sw_cuda_slots_image_read(void *image, struct sw_image_columns *columns);
void sw_cuda_slots_image_drop(void *image);

#endif
