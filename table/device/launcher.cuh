/* SPDX-License-Identifier: MIT
 *
 * launcher.cuh - what the tables of one GPU and one struct sw_device share: the turn of a write
 * launch, the scratch and the buffers that such a launch uses, streams, and the pool of device
 * memory.
 *
 * A write launch has the turn while the host enqueues it. A launch alone has the only turn: its
 * first kernel waits for the last kernel of every launch before it that belongs to another table,
 * and later launches wait for its last kernel. So it runs beside no write of another table. A small
 * launch takes the turn of a lane instead, once there are several tables: launches of different
 * lanes run side by side. The lane has scratch of its own, and its launches run one after the
 * other.
 *
 * Two things depend on that. No launch uses the scratch of another that runs. And cooperative
 * kernels of several tables never wait for each other's blocks: the grid of a lane's kernel has at
 * most 1 / SW_CUDA_LANES_MAX blocks a multiprocessor. So a multiprocessor without such a block is
 * left for each block that has not started. Reads need no turn.
 *
 * Channels borrow their streams. The channels of two tables have streams of their own, up to
 * SW_CUDA_STREAMS_MAX; those of further tables share these. A stream carries out work in
 * the order in which it was enqueued, and each work waits only for work that was enqueued before.
 * So sharing cannot block a table forever.
 *
 * Threads: any. Locks: a thread locks the table's `order` first, then `turn`, then the lanes in
 * their order. While it has a turn it never locks `order`. Ownership: the device owns its
 * launchers.
 */
#ifndef SHERWOOD_TABLE_DEVICE_LAUNCHER_CUH
#define SHERWOOD_TABLE_DEVICE_LAUNCHER_CUH

#include <cuda_runtime.h>
#include <pthread.h>

#include "table/device/channel.cuh"
#include "table/device/launch_buffers.cuh"
#include "table/device/pool.cuh"
#include "table/host/resources.h"

struct sw_cuda_reader; /* reader.cuh */

/* Most streams of the channels of all tables: two for each channel of the table with the most
 * channels, within these bounds. One table with 16 loops has 49 channels. A stream has 560 KiB of
 * device memory on an H200. The least are four a lane: so launches of several lanes seldom share a
 * stream. CUDA maps streams to 8 hardware queues unless CUDA_DEVICE_MAX_CONNECTIONS says otherwise;
 * with 32 of them 64 tables were served no faster on an H200. */
#define SW_CUDA_STREAMS_MAX 64
#define SW_CUDA_STREAMS_LEAST 16

/* Device memory for the scratch of one width of slots. */
struct sw_cuda_scratch_area {
    void *memory; /* NULL: no table of this width yet */
    size_t bytes; /* atomic: sw_device_bytes reads it */
    uint32_t operations;
    size_t sort_bytes;
    uint64_t version; /* unique among the areas of a launcher; 0: none */
};

/* Lanes, and the most operations of a launch on one. More lanes make smaller launches: a leader
 * that finds no free turn lets batches gather. On an H200, 64 tables, sets by frames of 4 Ki and of
 * 64 Ki keys, G/s: 0.49 and 1.62 with 3 lanes, 0.57 and 1.73 with 4, 0.58 and 1.87 with 6, 0.38
 * and 1.91 with 8. With at most 2^16 operations instead of 2^19, frames of 64 Ki had 1.28. */
#ifndef SW_CUDA_LANES_MAX
#define SW_CUDA_LANES_MAX 4
#endif
#ifndef SW_CUDA_LANE_OPERATIONS
#define SW_CUDA_LANE_OPERATIONS (512U * 1024)
#endif
/* Operations that the first scratch of a lane has room for. */
#define SW_CUDA_LANE_LEAST (SW_CUDA_LANE_OPERATIONS / 8)

struct sw_cuda_lane {
    pthread_mutex_t turn;               /* guards the members below */
    struct sw_cuda_channel_owner *last; /* table of the last launch; NULL: none, or closed */
    cudaEvent_t done;                   /* recorded after the last launch */
    bool was_used;                      /* by a launch for which no launch alone has waited */
    uint64_t alone_seen; /* the launcher's `alone_count` when a launch last waited for those alone;
                            0: never */
    struct sw_cuda_scratch_area areas[2];
    uint64_t short_until_ns; /* no allocation before this time, because one failed */
};

/* Streams for gathers, beside those of the channels; tables take them in turn. A gather waits for
 * nothing, so tables that share a stream only wait for each other's gathers, which share the bus in
 * any case. */
#define SW_CUDA_GATHER_STREAMS_MAX 2

struct sw_cuda_launcher {
    int device;
    uint32_t multiprocessors;
    pthread_mutex_t turn;               /* guards the members below, except the lanes' */
    struct sw_cuda_channel_owner *last; /* table of the last launch alone; NULL: none, or closed */
    uint64_t alone_count;               /* launches alone; changed, like `last`, under all locks */
    struct sw_cuda_scratch_area areas[2]; /* of launches alone: 32-bit keys, 64-bit keys */
    struct sw_cuda_lane lanes[SW_CUDA_LANES_MAX];
    uint32_t lane_count; /* atomic; only rises */
    bool lanes_failed;   /* atomic: the driver gave no event for another lane */
    uint64_t versions;   /* atomic: areas allocated so far */
    uint32_t next_lane;  /* atomic: lanes are tried in turn */
    uint32_t tables;     /* atomic: tables of the launcher */
    const struct sw_cuda_channel_owner *last_turn; /* atomic: the table that began a launch last */
    uint32_t turns; /* atomic: launches that have a turn or wait for it; one alone counts as
                       SW_CUDA_LANES_MAX */
    cudaStream_t streams[SW_CUDA_STREAMS_MAX];
    uint32_t stream_users[SW_CUDA_STREAMS_MAX]; /* channels that use the stream */
    uint32_t stream_count;
    uint32_t channels_max; /* most channels that a table has had */
    struct sw_cuda_reader *readers;
    cudaStream_t gathers[SW_CUDA_GATHER_STREAMS_MAX]; /* NULL: not used yet */
    uint32_t next_gather;
    cudaStream_t rows;        /* copies rows; NULL: not used yet. Launches with rows run alone */
    struct sw_cuda_pool pool; /* memory of the tables' arrays; not open before the first */
    struct sw_cuda_launch_buffers buffers; /* of combined launches */
    struct sw_cuda_records records;        /* of all channels */
};

/* Returns the launcher of a GPU, which must be current. Creates it if there is none. Returns NULL
 * if there is no host memory. */
struct sw_cuda_launcher *sw_cuda_launcher_of(struct sw_device *device, int ordinal);

/* Adds a table. Call sw_cuda_launcher_forget before it is closed. */
void sw_cuda_launcher_add(struct sw_cuda_launcher *launcher);

/* Returns whether a write launch of the table had better wait: if the turns or the launch buffers
 * are taken, or if the table has a launch in flight and another table had the last turn. A launch
 * has more batches then.
 * With few tables two turns are enough: four tables set 1.0 G/s by frames of 4 Ki keys with four
 * turns, and 1.4 with one. A table that is alone never waits: its leader enqueues one launch at a
 * time. */
static inline bool sw_cuda_turn_must_wait(const struct sw_cuda_channel_owner *owner,
                                          uint32_t flying)
{
    struct sw_cuda_launcher *launcher = owner->launcher;
    const uint32_t tables = __atomic_load_n(&launcher->tables, __ATOMIC_RELAXED);
    const uint32_t most = tables / 4 < SW_CUDA_LANES_MAX ? tables / 4 : SW_CUDA_LANES_MAX;
    return tables > 1 &&
           (__atomic_load_n(&launcher->turns, __ATOMIC_RELAXED) >= (most > 2 ? most : 2) ||
            (flying > 0 && __atomic_load_n(&launcher->last_turn, __ATOMIC_RELAXED) != owner) ||
            sw_cuda_launch_buffers_are_taken(&launcher->buffers));
}

/* Begins a write launch on the channel: takes the only turn, or that of a lane. `operations` is
 * what the launch needs scratch for; UINT32_MAX: it runs alone. Sets channel->lane; NULL: it runs
 * alone. Under `order`. */
cudaError_t sw_cuda_turn_begin(struct sw_cuda_channel *channel, uint32_t operations);
/* Ends it: `error` is that of the launch, and is returned. Under `order`. */
cudaError_t sw_cuda_turn_end(struct sw_cuda_channel *channel, cudaError_t error);

/* Take the turn for work on the default stream of the thread, after waiting for the last launch,
 * and return it. The caller has waited for its work before it returns the turn. */
cudaError_t sw_cuda_turn_take(struct sw_cuda_launcher *launcher);
void sw_cuda_turn_return(struct sw_cuda_launcher *launcher);

/* Borrow and return the stream of a channel. Take the turn. */
cudaError_t sw_cuda_stream_borrow(struct sw_cuda_channel_owner *owner, cudaStream_t *stream);
void sw_cuda_stream_return(struct sw_cuda_channel_owner *owner, cudaStream_t stream);

/* Return what all tables share, which the first calls create: streams, the pool. The launcher owns
 * them. Take the turn. */
cudaError_t sw_cuda_gather_stream(struct sw_cuda_launcher *launcher, cudaStream_t *stream);
cudaError_t sw_cuda_rows_stream(struct sw_cuda_launcher *launcher, cudaStream_t *stream);
cudaError_t sw_cuda_pool_of(struct sw_cuda_launcher *launcher, struct sw_cuda_pool **out);

/* Forgets a table that is about to be closed. Its channels are closed, so its launches are done. */
void sw_cuda_launcher_forget(struct sw_cuda_launcher *launcher,
                             const struct sw_cuda_channel_owner *owner);

#endif
