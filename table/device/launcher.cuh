/* SPDX-License-Identifier: MIT
 *
 * launcher.cuh - what the tables of one GPU and one struct sw_device share: the turn of a write
 * launch, and the scratch that such a launch uses.
 *
 * A write launch of a table has the turn while the host enqueues it. Its first kernel waits for the
 * last kernel of the launch before it, if that one belongs to another table. So write launches of
 * all tables run one after the other. Two things depend on that: no launch uses the scratch of
 * another, and no two cooperative kernels run at the same time, which could wait for each other's
 * blocks forever. Reads need no turn.
 *
 * Channels borrow their streams. Each has a stream of its own while there are at most
 * SW_CUDA_STREAMS_MAX channels; beyond that, channels share streams. A stream carries out work in
 * the order in which it was enqueued, and each work waits only for work that was enqueued before.
 * So sharing cannot block a table forever.
 *
 * Threads: any. Locks: a thread locks the table's `order` first, and the turn second. While it has
 * the turn it never locks `order`. Ownership: the device owns its launchers.
 */
#ifndef SHERWOOD_TABLE_DEVICE_LAUNCHER_CUH
#define SHERWOOD_TABLE_DEVICE_LAUNCHER_CUH

#include <cuda_runtime.h>
#include <pthread.h>

#include "table/host/resources.h"

struct sw_cuda_channel;
struct sw_cuda_channel_owner;

/* Most streams of the channels of all tables. One table with 16 loops has 50 channels. The device
 * has at most 32 hardware queues. */
#define SW_CUDA_STREAMS_MAX 64

/* Device memory for the scratch of one width of slots. */
struct sw_cuda_scratch_area {
    void *memory; /* NULL: no table of this width yet */
    size_t bytes; /* atomic: sw_device_bytes reads it */
    uint32_t operations;
    size_t sort_bytes;
    uint64_t version; /* changes with `memory` */
};

struct sw_cuda_launcher {
    int device;
    pthread_mutex_t turn;                 /* guards the members below */
    struct sw_cuda_channel_owner *last;   /* the table of the last launch; NULL: none, or closed */
    uint32_t tables;                      /* atomic: tables of the launcher */
    uint32_t turns;                       /* atomic: threads that have the turn or wait for it */
    struct sw_cuda_scratch_area areas[2]; /* 64-bit slots, 128-bit slots */
    cudaStream_t streams[SW_CUDA_STREAMS_MAX];
    uint32_t stream_users[SW_CUDA_STREAMS_MAX]; /* channels that use the stream */
    uint32_t stream_count;
};

/* Returns the launcher of a GPU, which must be current. Creates it if there is none. Returns NULL
 * if there is no host memory. */
struct sw_cuda_launcher *sw_cuda_launcher_of(struct sw_device *device, int ordinal);

/* Adds a table. Call sw_cuda_launcher_forget before it is closed. */
void sw_cuda_launcher_add(struct sw_cuda_launcher *launcher);

/* Returns whether a write launch would wait for its turn. A table that is alone has no other launch
 * to wait for: its leader enqueues one at a time. */
static inline bool sw_cuda_turn_is_taken(const struct sw_cuda_launcher *launcher)
{
    return __atomic_load_n(&launcher->tables, __ATOMIC_RELAXED) > 1 &&
           __atomic_load_n(&launcher->turns, __ATOMIC_RELAXED) > 0;
}

/* Begins a write launch on the channel, and ends it: `error` is that of the launch, and is
 * returned. Under `order`. */
cudaError_t sw_cuda_turn_begin(struct sw_cuda_channel *channel);
cudaError_t sw_cuda_turn_end(struct sw_cuda_channel *channel, cudaError_t error);

/* Take the turn for work on the default stream of the thread, after waiting for the last launch,
 * and return it. The caller has waited for its work before it returns the turn. */
cudaError_t sw_cuda_turn_take(struct sw_cuda_launcher *launcher);
void sw_cuda_turn_return(struct sw_cuda_launcher *launcher);

/* Borrow and return a stream. Takes the turn. */
cudaError_t sw_cuda_stream_borrow(struct sw_cuda_launcher *launcher, cudaStream_t *stream);
void sw_cuda_stream_return(struct sw_cuda_launcher *launcher, cudaStream_t stream);

/* Forgets a table that is about to be closed. Its channels are closed, so its launches are done. */
void sw_cuda_launcher_forget(struct sw_cuda_launcher *launcher,
                             const struct sw_cuda_channel_owner *owner);

#endif
