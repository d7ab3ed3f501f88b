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

/* submit and poll of a batch of SW_BATCH_IMAGE (backend_image.cu). */
int sw_cuckoo_submit_image(struct sw_cuckoo_queue *queue, struct sw_batch *batch);
int sw_cuckoo_poll_image(struct sw_batch *batch);

/* Members of sw_backend. */
int sw_cuckoo_queue_open(void *table, void **out);
void sw_cuckoo_queue_close(void *queue);
int sw_cuckoo_submit(void *queue, struct sw_batch *batch);
int sw_cuckoo_poll(void *queue, struct sw_batch *batch);
int sw_cuckoo_submit_together(void *queue, struct sw_together *together);
int sw_cuckoo_poll_together(void *queue, struct sw_together *together);

#endif
