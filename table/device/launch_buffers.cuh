/* SPDX-License-Identifier: MIT
 *
 * launch_buffers.cuh - launch buffers: the memory of combined launches, which the tables of one GPU
 * share. A table borrows a buffer for one launch. So a table owns none, and the number of buffers
 * does not grow with the tables.
 *
 * Invariant: no two launches that can overlap write one buffer. A buffer is lent from the moment
 * when a thread begins to enqueue a launch until the device has completed it: then the device has
 * written the launch's ticket. The results that the host reads must outlive that. If their table
 * has not polled them when another launch needs the buffer, the borrower of the buffer moves them
 * to host memory of their own. So a table that is never polled blocks no other one. With
 * SW_CUDA_LAUNCH_CHECKS, as in the emulator, the kernels assert the invariant.
 *
 * The set has a buffer for the largest launch of every table from the table's creation on. It
 * allocates and enlarges others on demand. If memory is short, a launch waits for a buffer that is
 * large enough.
 *
 * Threads: any; `mutex` guards a set, except that the borrower alone uses the memory. A thread that
 * waits for a buffer must have borrowed none.
 */
#ifndef SHERWOOD_TABLE_DEVICE_LAUNCH_BUFFERS_CUH
#define SHERWOOD_TABLE_DEVICE_LAUNCH_BUFFERS_CUH

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>

/* Most buffers of a GPU. Each lane has one launch that runs and one behind it; the rest are being
 * enqueued or wait for their results to be read. */
#ifndef SW_CUDA_LAUNCH_BUFFERS_MAX
#define SW_CUDA_LAUNCH_BUFFERS_MAX 16
#endif

enum sw_cuda_buffer_state {
    SW_CUDA_BUFFER_FREE,
    SW_CUDA_BUFFER_LENT,    /* a thread enqueues the launch, or reads its results */
    SW_CUDA_BUFFER_RUNNING, /* the launch is enqueued; it is complete once *done is `ticket` */
    SW_CUDA_BUFFER_BROKEN   /* a launch failed, and the device may still write it */
};

struct sw_cuda_buffer_loan;

struct sw_cuda_launch_buffer {
    enum sw_cuda_buffer_state state;
    void *memory; /* device */
    size_t bytes;
    void *host;           /* pinned and mapped */
    cudaEvent_t gathered; /* recorded after the gather kernel */
    /* While the state is SW_CUDA_BUFFER_RUNNING: */
    struct sw_cuda_buffer_loan *loan;
    const uint64_t *done; /* in the record of the launch */
    uint64_t ticket;
    cudaStream_t stream; /* of the launch */
};

/* A table's loan for one launch. Zeroed: none. */
struct sw_cuda_buffer_loan {
    struct sw_cuda_launch_buffer *buffer; /* NULL: none, or another launch has it by now */
    const void *results;                  /* what the host will read: in the buffer's `host` */
    size_t result_bytes;
    void *moved; /* the results, once another launch has the buffer; else NULL */
};

struct sw_cuda_launch_buffers {
    int device;
    size_t host_bytes; /* of each buffer */
    pthread_mutex_t mutex;
    struct sw_cuda_launch_buffer buffers[SW_CUDA_LAUNCH_BUFFERS_MAX];
    uint32_t count;
    uint32_t taken;          /* atomic: buffers that are not free */
    uint64_t bytes;          /* atomic: device memory of all buffers */
    uint32_t idle_polls;     /* times that a launch had to wait */
    uint64_t short_until_ns; /* no allocation before this time, because one failed */
};

void sw_cuda_launch_buffers_open(struct sw_cuda_launch_buffers *set, int device);
/* Frees all buffers. No launch may be in flight. */
void sw_cuda_launch_buffers_close(struct sw_cuda_launch_buffers *set);

/* Has the set keep a buffer of at least *bytes of device memory, and `host_bytes` of host memory,
 * which is the same for all tables. Sets *bytes to 0 if there was one. */
cudaError_t sw_cuda_launch_buffers_reserve(struct sw_cuda_launch_buffers *set, size_t *bytes,
                                           size_t host_bytes);
/* Borrows a buffer of at least `bytes`, which are reserved. May wait until the device has completed
 * the launch of another table. */
cudaError_t sw_cuda_buffer_borrow(struct sw_cuda_launch_buffers *set, size_t bytes,
                                  struct sw_cuda_buffer_loan *loan);
/* Notes that the launch is enqueued on the stream. Once it is complete, *done is `ticket`. `done`
 * must stay readable until the buffer is returned. */
void sw_cuda_buffer_started(struct sw_cuda_launch_buffers *set, struct sw_cuda_buffer_loan *loan,
                            const uint64_t *done, uint64_t ticket, cudaStream_t stream);
/* Returns the results of a completed launch. Valid until sw_cuda_buffer_return. */
const void *sw_cuda_buffer_results(struct sw_cuda_launch_buffers *set,
                                   struct sw_cuda_buffer_loan *loan);
/* Returns the buffer of a completed launch, or of one that was not begun. */
void sw_cuda_buffer_return(struct sw_cuda_launch_buffers *set, struct sw_cuda_buffer_loan *loan);
/* Returns the buffer of a launch that failed while it was enqueued on these streams. Waits for
 * them. */
void sw_cuda_buffer_abandon(struct sw_cuda_launch_buffers *set, struct sw_cuda_buffer_loan *loan,
                            cudaStream_t stream, cudaStream_t gathers);

/* Returns whether a launch would have to wait for a buffer now. */
bool sw_cuda_launch_buffers_are_taken(struct sw_cuda_launch_buffers *set);

/* A buffer of its own, in no set. `buffer` is zeroed; after a failure, call _close. */
cudaError_t sw_cuda_launch_buffer_open(struct sw_cuda_launch_buffer *buffer, size_t bytes,
                                       size_t host_bytes);
void sw_cuda_launch_buffer_close(struct sw_cuda_launch_buffer *buffer);

#endif
