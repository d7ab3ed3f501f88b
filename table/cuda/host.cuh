/* SPDX-License-Identifier: MIT
 *
 * host.cuh - the host's side of a CUDA table: its memory, its queues, and the order of batches.
 *
 * Threads: `order` guards what submit changes in the table and in other queues. Everything else of
 * a queue belongs to the queue's thread.
 */
#ifndef SHERWOOD_TABLE_CUDA_HOST_CUH
#define SHERWOOD_TABLE_CUDA_HOST_CUH

#include <pthread.h>

#include "table/backend.h"
#include "table/cuda/device.cuh"

/* Batches in flight on one queue; one more is refused with SW_E_BUSY. */
#define SW_CUDA_IN_FLIGHT_MAX 64

struct sw_cuda_queue;

struct sw_cuda_table {
    int device;
    uint32_t slot_bits;
    struct sw_geometry geometry;
    void *slots;                      /* device: main array, then stash */
    struct sw_state *state;           /* device */
    struct sw_cuda_control *control;  /* device */
    void *scratch;                    /* device: the arrays of sw_cuda_scratch */
    uint64_t bytes_reserved;          /* of device memory: all of these */
    struct sw_cuda_device<64> narrow; /* the one of slot_bits is filled in */
    struct sw_cuda_device<128> wide;

    pthread_mutex_t order;
    struct sw_cuda_queue *queues;
    cudaEvent_t write_done; /* after the last write batch submitted */
    uint64_t writes;        /* write batches submitted */
    int lost;               /* atomic: a CUDA call failed, nothing can be trusted any more */
};

/* A scan in progress. One at a time on a queue: its windows have one place to go. */
struct sw_cuda_scan {
    bool running;
    uint64_t window; /* buckets read of each array, at most */
    char *staging;   /* pinned: sw_state, window of the main array, window of the stash */
    size_t staging_bytes;
    struct sw_scan_window main;
    struct sw_scan_window stash;
};

struct sw_cuda_queue {
    struct sw_cuda_table *table;
    struct sw_cuda_queue *next;
    cudaStream_t stream;
    cudaEvent_t reads_done;
    bool reads_pending;   /* reads were submitted that no write batch waits for yet */
    uint64_t writes_seen; /* the table's `writes` when this stream last waited for them */

    struct sw_cuda_record *records; /* mapped host memory [SW_CUDA_IN_FLIGHT_MAX] */
    struct sw_cuda_tally *tallies;  /* device [SW_CUDA_IN_FLIGHT_MAX] */
    bool busy[SW_CUDA_IN_FLIGHT_MAX];
    const struct sw_batch *held[SW_CUDA_READS_MAX]; /* small reads submitted, not yet launched */
    uint32_t held_count;
    uint64_t ticket; /* of the last batch submitted; record ticket % SW_CUDA_IN_FLIGHT_MAX */
    uint32_t idle_polls;
    struct sw_cuda_scan scan;
};

/* The device view of the table's width. */
template <int BITS>
static inline const struct sw_cuda_device<BITS> *sw_cuda_device_of(const struct sw_cuda_table *t);
template <>
inline const struct sw_cuda_device<64> *sw_cuda_device_of<64>(const struct sw_cuda_table *table) {
    return &table->narrow;
} template <>
inline const struct sw_cuda_device<128> *sw_cuda_device_of<128>(const struct sw_cuda_table *table) {
    return &table->wide;
}

/* True if `error` is no error. Otherwise the table is lost from now on, and the first time this
 * happens one line on stderr says what failed. */
bool sw_cuda_check(struct sw_cuda_table *table, cudaError_t error, const char *what);

/* Members of sw_backend. */
int sw_cuda_queue_open(void *table, void **out);
void sw_cuda_queue_close(void *queue);
int sw_cuda_submit(void *queue, struct sw_batch *batch);
int sw_cuda_poll(void *queue, struct sw_batch *batch);

/* Scans (scan.cu). Room for windows of `window` buckets; what was there before is freed. */
cudaError_t sw_cuda_scan_reserve(struct sw_cuda_queue *queue, uint64_t window);
/* Enqueues the copies of both windows and the state. */
cudaError_t sw_cuda_scan_copy(struct sw_cuda_queue *queue, const struct sw_batch *batch);
/* Answers from the copies. False if larger windows are needed. */
bool sw_cuda_scan_answer(struct sw_cuda_queue *queue, struct sw_batch *batch);

#endif
