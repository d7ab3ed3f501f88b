/* SPDX-License-Identifier: MIT
 *
 * launcher.cu - launchers, and the turns of write launches.
 */
#include "table/device/launcher.cuh"

#include <stdlib.h>

#include "table/device/channel.cuh"

static uint64_t bytes_of(void *context)
{
    const struct sw_cuda_launcher *launcher = (const struct sw_cuda_launcher *)context;
    uint64_t bytes = 0;
    for (const struct sw_cuda_scratch_area &area : launcher->areas) {
        bytes += __atomic_load_n(&area.bytes, __ATOMIC_RELAXED);
    }
    return bytes;
}

static void close_launcher(void *context)
{
    struct sw_cuda_launcher *launcher = (struct sw_cuda_launcher *)context;
    (void)cudaSetDevice(launcher->device);
    for (const struct sw_cuda_scratch_area &area : launcher->areas) {
        (void)cudaFree(area.memory);
    }
    for (uint32_t i = 0; i < launcher->stream_count; i++) {
        (void)cudaStreamDestroy(launcher->streams[i]);
    }
    pthread_mutex_destroy(&launcher->turn);
    free(launcher);
}

static void *open_launcher(int ordinal)
{
    struct sw_cuda_launcher *launcher = (struct sw_cuda_launcher *)calloc(1, sizeof(*launcher));
    if (launcher != NULL) {
        launcher->device = ordinal;
        /* the default attributes of Linux need no resources, so this cannot fail */
        pthread_mutex_init(&launcher->turn, NULL);
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

static void lock_turn(struct sw_cuda_launcher *launcher)
{
    __atomic_fetch_add(&launcher->turns, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&launcher->turn);
}

static void unlock_turn(struct sw_cuda_launcher *launcher)
{
    pthread_mutex_unlock(&launcher->turn);
    __atomic_fetch_sub(&launcher->turns, 1, __ATOMIC_RELAXED);
}

cudaError_t sw_cuda_turn_begin(struct sw_cuda_channel *channel)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    struct sw_cuda_launcher *launcher = owner->launcher;
    lock_turn(launcher);
    channel->has_turn = true;
    channel->writes_before = owner->writes;
    return launcher->last != NULL && launcher->last != owner
               ? cudaStreamWaitEvent(channel->stream, launcher->last->write_done, 0)
               : cudaSuccess;
}

cudaError_t sw_cuda_turn_end(struct sw_cuda_channel *channel, cudaError_t error)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    struct sw_cuda_launcher *launcher = owner->launcher;
    if (owner->writes != channel->writes_before) {
        launcher->last = owner;
    } else { /* it has not recorded write_done, which the next launch would wait for */
        const cudaError_t waited = cudaStreamSynchronize(channel->stream);
        error = error == cudaSuccess ? waited : error;
    }
    channel->has_turn = false;
    unlock_turn(launcher);
    return error;
}

cudaError_t sw_cuda_turn_take(struct sw_cuda_launcher *launcher)
{
    lock_turn(launcher);
    return launcher->last != NULL ? cudaEventSynchronize(launcher->last->write_done) : cudaSuccess;
}

void sw_cuda_turn_return(struct sw_cuda_launcher *launcher)
{
    unlock_turn(launcher);
}

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

cudaError_t sw_cuda_stream_borrow(struct sw_cuda_launcher *launcher, cudaStream_t *stream)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&launcher->turn);
    uint32_t at = least_used(launcher);
    const uint32_t count = launcher->stream_count;
    if (count == 0 || (launcher->stream_users[at] > 0 && count < SW_CUDA_STREAMS_MAX)) {
        error = cudaStreamCreateWithFlags(&launcher->streams[count], cudaStreamNonBlocking);
        launcher->stream_count += error == cudaSuccess;
        at = count;
    }
    if (error == cudaSuccess) {
        launcher->stream_users[at]++;
        *stream = launcher->streams[at];
    }
    pthread_mutex_unlock(&launcher->turn);
    return error;
}

void sw_cuda_stream_return(struct sw_cuda_launcher *launcher, cudaStream_t stream)
{
    pthread_mutex_lock(&launcher->turn);
    for (uint32_t i = 0; i < launcher->stream_count; i++) {
        launcher->stream_users[i] -= launcher->streams[i] == stream;
    }
    pthread_mutex_unlock(&launcher->turn);
}

void sw_cuda_launcher_forget(struct sw_cuda_launcher *launcher,
                             const struct sw_cuda_channel_owner *owner)
{
    pthread_mutex_lock(&launcher->turn);
    __atomic_fetch_sub(&launcher->tables, 1, __ATOMIC_RELAXED);
    if (launcher->last == owner) {
        launcher->last = NULL;
    }
    pthread_mutex_unlock(&launcher->turn);
}
