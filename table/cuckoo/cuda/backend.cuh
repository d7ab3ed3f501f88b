/* SPDX-License-Identifier: MIT
 *
 * backend.cuh - the host part of a cuckoo table on CUDA: its memory and its queues.
 *
 * Threads: the owner's mutex `order` guards the fields of the table that submit changes. Only the
 * queue's thread uses the rest of a queue.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUDA_BACKEND_CUH
#define SHERWOOD_TABLE_CUCKOO_CUDA_BACKEND_CUH

#include "table/cuckoo/cuda/engine.cuh"
#include "table/device/combined_launch.cuh"
#include "table/device/image.cuh"

struct sw_cuckoo_device_table : sw_cuda_channel_owner {
    struct sw_table_config config;
    struct sw_cuckoo_geometry geometry;
    void *cells[2]; /* device: the current arrays, and those for the next rehash; only the device
                       knows which is which */
    void *stash;
    struct sw_state *state;
    struct sw_cuckoo_engine_control *control;
    void *scratch;
    struct sw_cuda_combined combined; /* used by the queue of the writes */
    void *device_table;               /* device: struct sw_cuckoo_table_s64 or _s128 */
    uint64_t bytes;                   /* bytes of device memory */
#define PARTS(bits, word, suffix) struct sw_cuckoo_write<bits> suffix;
    SW_WIDTHS(PARTS) /* the member for slot_bits has all fields except those of a batch */
#undef PARTS

    uint64_t stashed;       /* atomic; entries of the stash after the batches polled so far */
    uint64_t rehash_wanted; /* rehash if the stash has more entries than this; under `order` */
    uint64_t rehash_after;  /* rehash from this number of write batches on; under `order` */
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

/* Implements `prepare` of sw_cuda_image_submit (backend_image.cu). */
cudaError_t sw_cuckoo_prepare_image(struct sw_cuckoo_queue *queue, struct sw_batch *batch,
                                    struct sw_cuda_image_part parts[SW_CUDA_IMAGE_PARTS]);

/* Enqueue a batch, or the gathered writes of a combined launch. Under the mutex. */
cudaError_t sw_cuckoo_enqueue(struct sw_cuckoo_queue *queue, const struct sw_batch *batch,
                              uint64_t ticket);
cudaError_t sw_cuckoo_write_combined(struct sw_cuckoo_queue *queue,
                                     struct sw_combined_launch *combined,
                                     struct sw_cuckoo_record *record, uint64_t ticket);
/* Copies the results of a batch from its record. Returns its status. */
int sw_cuckoo_copy_results(struct sw_cuckoo_queue *queue, struct sw_batch *batch,
                           const struct sw_cuckoo_record *record);

#endif
