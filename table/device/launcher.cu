/* SPDX-License-Identifier: MIT
 *
 * launcher.cu - launchers, and the turns of write launches.
 */
#include "table/device/launcher.cuh"

#include <stdlib.h>

#include "table/device/channel.cuh"
#include "table/device/reader.cuh"

static uint64_t bytes_of_areas(const struct sw_cuda_scratch_area *areas)
{
    return __atomic_load_n(&areas[0].bytes, __ATOMIC_RELAXED) +
           __atomic_load_n(&areas[1].bytes, __ATOMIC_RELAXED);
}

static uint32_t lane_count(const struct sw_cuda_launcher *launcher)
{
    return __atomic_load_n(&launcher->lane_count, __ATOMIC_ACQUIRE);
}

static uint64_t bytes_of(void *context)
{
    const struct sw_cuda_launcher *launcher = (const struct sw_cuda_launcher *)context;
    uint64_t bytes = bytes_of_areas(launcher->areas);
    for (uint32_t i = 0; i < lane_count(launcher); i++) {
        bytes += bytes_of_areas(launcher->lanes[i].areas);
    }
    return bytes + __atomic_load_n(&launcher->buffers.bytes, __ATOMIC_RELAXED);
}

static void free_areas(const struct sw_cuda_scratch_area *areas)
{
    (void)cudaFree(areas[0].memory);
    (void)cudaFree(areas[1].memory);
}

static void destroy_stream(cudaStream_t stream)
{
    if (stream != NULL) {
        (void)cudaStreamDestroy(stream);
    }
}

static void close_launcher(void *context)
{
    struct sw_cuda_launcher *launcher = (struct sw_cuda_launcher *)context;
    (void)cudaSetDevice(launcher->device);
    free_areas(launcher->areas);
    for (uint32_t i = 0; i < launcher->lane_count; i++) {
        free_areas(launcher->lanes[i].areas);
        (void)cudaEventDestroy(launcher->lanes[i].done);
        pthread_mutex_destroy(&launcher->lanes[i].turn);
    }
    for (uint32_t i = 0; i < launcher->stream_count; i++) {
        (void)cudaStreamDestroy(launcher->streams[i]);
    }
    sw_cuda_readers_close(launcher);
    for (const cudaStream_t gather : launcher->gathers) {
        destroy_stream(gather);
    }
    destroy_stream(launcher->rows);
    sw_cuda_pool_close(&launcher->pool);
    sw_cuda_launch_buffers_close(&launcher->buffers);
    sw_cuda_records_close(&launcher->records);
    pthread_mutex_destroy(&launcher->turn);
    free(launcher);
}

static void *open_launcher(int ordinal)
{
    struct sw_cuda_launcher *launcher = (struct sw_cuda_launcher *)calloc(1, sizeof(*launcher));
    int multiprocessors = 0;
    if (launcher != NULL) {
        launcher->device = ordinal;
        (void)cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal);
        launcher->multiprocessors = (uint32_t)multiprocessors;
        /* the default attributes of Linux need no resources, so this cannot fail */
        pthread_mutex_init(&launcher->turn, NULL);
        sw_cuda_launch_buffers_open(&launcher->buffers, ordinal);
        sw_cuda_records_open(&launcher->records);
    }
    return launcher;
}

struct sw_cuda_launcher *sw_cuda_launcher_of(struct sw_device *device, int ordinal)
{
    static const struct sw_device_part_calls calls = {open_launcher, close_launcher, bytes_of};
    return (struct sw_cuda_launcher *)sw_device_part(device, ordinal, &calls);
}

void sw_cuda_launcher_add(struct sw_cuda_launcher *launcher)
{
    __atomic_fetch_add(&launcher->tables, 1, __ATOMIC_RELAXED);
}

/* --- launches alone --------------------------------------------------------------------------- */

static void lock_all(struct sw_cuda_launcher *launcher)
{
    __atomic_fetch_add(&launcher->turns, SW_CUDA_LANES_MAX, __ATOMIC_RELAXED);
    pthread_mutex_lock(&launcher->turn);
    for (uint32_t i = 0; i < launcher->lane_count; i++) {
        pthread_mutex_lock(&launcher->lanes[i].turn);
    }
}

static void unlock_all(struct sw_cuda_launcher *launcher)
{
    for (uint32_t i = launcher->lane_count; i > 0; i--) {
        pthread_mutex_unlock(&launcher->lanes[i - 1].turn);
    }
    pthread_mutex_unlock(&launcher->turn);
    __atomic_fetch_sub(&launcher->turns, SW_CUDA_LANES_MAX, __ATOMIC_RELAXED);
}

/* A table's own launches are in order without the turn. */
static cudaError_t begin_alone(struct sw_cuda_launcher *launcher,
                               const struct sw_cuda_channel *channel)
{
    cudaError_t error = cudaSuccess;
    lock_all(launcher);
    if (launcher->last != NULL && launcher->last != channel->owner) {
        error = cudaStreamWaitEvent(channel->stream, launcher->last->write_done, 0);
    }
    for (uint32_t i = 0; i < launcher->lane_count && error == cudaSuccess; i++) {
        struct sw_cuda_lane *lane = &launcher->lanes[i];
        if (lane->was_used && lane->last != channel->owner) {
            error = cudaStreamWaitEvent(channel->stream, lane->done, 0);
        }
        lane->was_used = false; /* launches alone wait for each other */
    }
    return error;
}

static cudaError_t end_alone(struct sw_cuda_launcher *launcher,
                             const struct sw_cuda_channel *channel, cudaError_t error)
{
    if (channel->owner->writes != channel->writes_before) {
        launcher->last = channel->owner;
        launcher->alone_count++;
    }
    unlock_all(launcher);
    return error;
}

cudaError_t sw_cuda_turn_take(struct sw_cuda_launcher *launcher)
{
    cudaError_t error = cudaSuccess;
    lock_all(launcher);
    if (launcher->last != NULL) {
        error = cudaEventSynchronize(launcher->last->write_done);
    }
    for (uint32_t i = 0; i < launcher->lane_count && error == cudaSuccess; i++) {
        error = cudaEventSynchronize(launcher->lanes[i].done);
    }
    return error;
}

void sw_cuda_turn_return(struct sw_cuda_launcher *launcher)
{
    unlock_all(launcher);
}

/* --- launches on lanes ------------------------------------------------------------------------ */

/* Adds a lane if there may be another one. */
static void add_lane(struct sw_cuda_launcher *launcher)
{
    pthread_mutex_lock(&launcher->turn);
    struct sw_cuda_lane *lane = &launcher->lanes[launcher->lane_count];
    if (launcher->lane_count < SW_CUDA_LANES_MAX && !launcher->lanes_failed) {
        if (cudaEventCreateWithFlags(&lane->done, cudaEventDisableTiming) == cudaSuccess) {
            pthread_mutex_init(&lane->turn, NULL);
            __atomic_store_n(&launcher->lane_count, launcher->lane_count + 1, __ATOMIC_RELEASE);
        } else {
            __atomic_store_n(&launcher->lanes_failed, true, __ATOMIC_RELAXED);
            (void)cudaGetLastError(); /* clears it, so that the next launch does not report it */
        }
    }
    pthread_mutex_unlock(&launcher->turn);
}

/* Locks the next free lane. Waits for one if all are taken. */
static struct sw_cuda_lane *lock_lane(struct sw_cuda_launcher *launcher)
{
    const uint32_t count = lane_count(launcher);
    const uint32_t first = __atomic_fetch_add(&launcher->next_lane, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count; i++) {
        struct sw_cuda_lane *lane = &launcher->lanes[(first + i) % count];
        if (pthread_mutex_trylock(&lane->turn) == 0) {
            return lane;
        }
    }
    pthread_mutex_lock(&launcher->lanes[first % count].turn);
    return &launcher->lanes[first % count];
}

/* Is the device still busy with the last launch of the lane? */
static bool is_busy(const struct sw_cuda_lane *lane)
{
    const bool busy = lane->last != NULL && cudaEventQuery(lane->done) == cudaErrorNotReady;
    if (busy) {
        (void)cudaGetLastError(); /* clears it, so that the next launch does not report it */
    }
    return busy;
}

/* Takes the turn of a lane. Returns NULL if there is none. */
static struct sw_cuda_lane *take_lane(struct sw_cuda_launcher *launcher)
{
    if (lane_count(launcher) == 0) {
        add_lane(launcher);
    }
    if (lane_count(launcher) == 0) {
        return NULL;
    }
    struct sw_cuda_lane *lane = lock_lane(launcher);
    if (lane_count(launcher) < SW_CUDA_LANES_MAX &&
        !__atomic_load_n(&launcher->lanes_failed, __ATOMIC_RELAXED) && is_busy(lane)) {
        pthread_mutex_unlock(&lane->turn); /* the turn is locked first */
        add_lane(launcher);
        lane = lock_lane(launcher);
    }
    return lane;
}

/* The last launch alone waits for those before it. Its table may have recorded write_done again
 * since then, for a later launch. */
static cudaError_t begin_on_lane(struct sw_cuda_launcher *launcher, struct sw_cuda_channel *channel)
{
    struct sw_cuda_lane *lane = channel->lane;
    cudaError_t error = cudaSuccess;
    if (lane->last != NULL && lane->last != channel->owner) {
        error = cudaStreamWaitEvent(channel->stream, lane->done, 0);
    }
    if (error == cudaSuccess && lane->alone_seen != launcher->alone_count &&
        launcher->last != NULL) {
        error = cudaStreamWaitEvent(channel->stream, launcher->last->write_done, 0);
    }
    lane->alone_seen = launcher->alone_count;
    return error;
}

static cudaError_t end_on_lane(struct sw_cuda_launcher *launcher, struct sw_cuda_channel *channel,
                               cudaError_t error)
{
    struct sw_cuda_lane *lane = channel->lane;
    if (error == cudaSuccess) {
        error = cudaEventRecord(lane->done, channel->stream);
    }
    lane->last = channel->owner;
    lane->was_used = true;
    channel->lane = NULL;
    pthread_mutex_unlock(&lane->turn);
    __atomic_fetch_sub(&launcher->turns, 1, __ATOMIC_RELAXED);
    return error;
}

/* Returns whether a launch may run beside others. */
static bool is_small(const struct sw_cuda_launcher *launcher, uint32_t operations)
{
    return operations <= SW_CUDA_LANE_OPERATIONS &&
           launcher->multiprocessors >= SW_CUDA_LANES_MAX &&
           __atomic_load_n(&launcher->tables, __ATOMIC_RELAXED) > 1;
}

cudaError_t sw_cuda_turn_begin(struct sw_cuda_channel *channel, uint32_t operations)
{
    struct sw_cuda_launcher *launcher = channel->owner->launcher;
    cudaError_t error = cudaSuccess;
    channel->lane = is_small(launcher, operations) ? take_lane(launcher) : NULL;
    if (channel->lane != NULL) {
        __atomic_fetch_add(&launcher->turns, 1, __ATOMIC_RELAXED);
        error = begin_on_lane(launcher, channel);
    } else {
        error = begin_alone(launcher, channel);
    }
    __atomic_store_n(&launcher->last_turn, channel->owner, __ATOMIC_RELAXED);
    channel->has_turn = true;
    channel->writes_before = channel->owner->writes;
    return error;
}

cudaError_t sw_cuda_turn_end(struct sw_cuda_channel *channel, cudaError_t error)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    if (owner->writes == channel->writes_before ||
        error != cudaSuccess) { /* no event is recorded */
        const cudaError_t waited = cudaStreamSynchronize(channel->stream);
        error = error == cudaSuccess ? waited : error;
    }
    channel->has_turn = false;
    return channel->lane != NULL ? end_on_lane(owner->launcher, channel, error)
                                 : end_alone(owner->launcher, channel, error);
}

/* --- streams ---------------------------------------------------------------------------------- */

/* Returns the stream with the fewest users. */
static uint32_t least_used(const struct sw_cuda_launcher *launcher)
{
    uint32_t least = 0;
    for (uint32_t i = 1; i < launcher->stream_count; i++) {
        if (launcher->stream_users[i] < launcher->stream_users[least]) {
            least = i;
        }
    }
    return least;
}

/* Returns the most streams, now that a table has this number of channels. */
static uint32_t most_streams(struct sw_cuda_launcher *launcher, uint32_t channels)
{
    launcher->channels_max = channels > launcher->channels_max ? channels : launcher->channels_max;
    const uint32_t most = 2 * launcher->channels_max;
    return most < SW_CUDA_STREAMS_LEAST ? SW_CUDA_STREAMS_LEAST
           : most < SW_CUDA_STREAMS_MAX ? most
                                        : SW_CUDA_STREAMS_MAX;
}

cudaError_t sw_cuda_stream_borrow(struct sw_cuda_channel_owner *owner, cudaStream_t *stream)
{
    struct sw_cuda_launcher *launcher = owner->launcher;
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&launcher->turn);
    uint32_t at = least_used(launcher);
    const uint32_t count = launcher->stream_count;
    const uint32_t most = most_streams(launcher, owner->channel_count + 1);
    if (count == 0 || (launcher->stream_users[at] > 0 && count < most)) {
        error = cudaStreamCreateWithFlags(&launcher->streams[count], cudaStreamNonBlocking);
        launcher->stream_count += error == cudaSuccess;
        at = count;
    }
    if (error == cudaSuccess) {
        owner->channel_count++;
        launcher->stream_users[at]++;
        *stream = launcher->streams[at];
    }
    pthread_mutex_unlock(&launcher->turn);
    return error;
}

void sw_cuda_stream_return(struct sw_cuda_channel_owner *owner, cudaStream_t stream)
{
    struct sw_cuda_launcher *launcher = owner->launcher;
    pthread_mutex_lock(&launcher->turn);
    owner->channel_count--;
    for (uint32_t i = 0; i < launcher->stream_count; i++) {
        launcher->stream_users[i] -= launcher->streams[i] == stream;
    }
    pthread_mutex_unlock(&launcher->turn);
}

/* Returns *kept, which the first call creates. Under the turn. */
static cudaError_t keep_stream(cudaStream_t *kept, cudaStream_t *stream)
{
    const cudaError_t error =
        *kept == NULL ? cudaStreamCreateWithFlags(kept, cudaStreamNonBlocking) : cudaSuccess;
    *stream = *kept;
    return error;
}

cudaError_t sw_cuda_gather_stream(struct sw_cuda_launcher *launcher, cudaStream_t *stream)
{
    pthread_mutex_lock(&launcher->turn);
    const uint32_t number = launcher->next_gather++ % SW_CUDA_GATHER_STREAMS_MAX;
    const cudaError_t error = keep_stream(&launcher->gathers[number], stream);
    pthread_mutex_unlock(&launcher->turn);
    return error;
}

cudaError_t sw_cuda_rows_stream(struct sw_cuda_launcher *launcher, cudaStream_t *stream)
{
    pthread_mutex_lock(&launcher->turn);
    const cudaError_t error = keep_stream(&launcher->rows, stream);
    pthread_mutex_unlock(&launcher->turn);
    return error;
}

cudaError_t sw_cuda_pool_of(struct sw_cuda_launcher *launcher, struct sw_cuda_pool **out)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&launcher->turn);
    if (launcher->pool.memory == NULL) {
        error = sw_cuda_pool_open(&launcher->pool, launcher->device);
    }
    *out = error == cudaSuccess ? &launcher->pool : NULL;
    pthread_mutex_unlock(&launcher->turn);
    return error;
}

void sw_cuda_launcher_forget(struct sw_cuda_launcher *launcher,
                             const struct sw_cuda_channel_owner *owner)
{
    lock_all(launcher);
    __atomic_fetch_sub(&launcher->tables, 1, __ATOMIC_RELAXED);
    if (launcher->last == owner) {
        launcher->last = NULL;
    }
    for (uint32_t i = 0; i < launcher->lane_count; i++) {
        if (launcher->lanes[i].last == owner) {
            launcher->lanes[i].last = NULL;
        }
    }
    unlock_all(launcher);
}
