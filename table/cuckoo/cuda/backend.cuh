/* SPDX-License-Identifier: MIT
 *
 * backend.cuh - the host's side of a cuckoo table on CUDA: its memory and its queues.
 *
 * Threads: `order` of the owner guards what submit changes in the table; everything else of a queue
 * belongs to the queue's thread.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUDA_BACKEND_CUH
#define SHERWOOD_TABLE_CUCKOO_CUDA_BACKEND_CUH

#include "table/cuckoo/cuda/engine.cuh"
#include "table/device/image.cuh"
#include "table/device/together.cuh"

struct sw_cuckoo_device_table : sw_cuda_channel_owner {
    struct sw_table_config config;
    struct sw_cuckoo_geometry geometry;
    void *cells[2]; /* device: the arrays, and those of the next rehash; which is which the device
                       knows */
    void *stash;
    struct sw_state *state;
    struct sw_cuckoo_engine_control *control;
    void *scratch;
    struct sw_cuda_together together; /* of the queue of the writes */
    void *device_table;               /* device: struct sw_cuckoo_table_s64 or _s128 */
    uint64_t bytes;                   /* of device memory */
#define PARTS(bits, word, suffix) struct sw_cuckoo_write<bits> suffix;
    SW_WIDTHS(PARTS) /* the one of slot_bits is filled in, without a batch */
#undef PARTS

    uint64_t stashed;       /* atomic: entries of the stash, after the batches polled so far */
    uint64_t rehash_wanted; /* more entries than this make a rehash worth it; under `order` */
    uint64_t rehash_after;  /* or so many write batches; under `order` */
};

struct sw_cuckoo_queue : sw_cuda_channel {
    struct sw_cuckoo_device_table *table;
    struct sw_cuckoo_tally *tallies; /* device [SW_CUDA_IN_FLIGHT_MAX] */
};

template <int BITS>
static inline struct sw_cuckoo_write<BITS> *sw_cuckoo_parts(struct sw_cuckoo_device_table *table);
#define PARTS_OF(bits, word, suffix)                                                           \
    template <>                                                                                \
    inline struct sw_cuckoo_write<bits> *sw_cuckoo_parts<bits>(struct sw_cuckoo_device_table * \
                                                               table) {                        \
        return &table->suffix;                                                                 \
    }
SW_WIDTHS(PARTS_OF)
#undef PARTS_OF

/* Prepares the image of a batch (backend_image.cu), as sw_cuda_image_submit has it. */
cudaError_t sw_cuckoo_prepare_image(struct sw_cuckoo_queue *queue, struct sw_batch *batch,
                                    struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS]);

/* Enqueues a batch; the writes of a launch, which were collected. Under the mutex. */
cudaError_t sw_cuckoo_enqueue(struct sw_cuckoo_queue *queue, const struct sw_batch *batch,
                              uint64_t ticket);
cudaError_t sw_cuckoo_write_together(struct sw_cuckoo_queue *queue, struct sw_together *together,
                                     struct sw_cuckoo_record *record, uint64_t ticket);
/* Takes the results of a batch from its record. Returns its status. */
int sw_cuckoo_collect(struct sw_cuckoo_queue *queue, struct sw_batch *batch,
                      const struct sw_cuckoo_record *record);

#endif
