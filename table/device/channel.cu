/* SPDX-License-Identifier: MIT
 *
 * channel.cu - channels: their streams, and the events that order them.
 */
#include "table/device/channel.cuh"

#include "table/device/direct.cuh"
#include "table/device/launcher.cuh"
#include "table/device/reader.cuh"
#include "table/host/brief_lock.h"

/* --- the order of batches; under the mutex ---------------------------------------------------- */

cudaError_t sw_cuda_wait_for_write(struct sw_cuda_channel *channel)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    if (channel->writes_seen == owner->writes) {
        return cudaSuccess;
    }
    channel->writes_seen = owner->writes;
    return cudaStreamWaitEvent(channel->stream, owner->write_done, 0);
}

/* Has the channel wait for the work that is on this stream now. `event` is one that the owner's
 * mutex guards. */
static cudaError_t wait_for_stream(struct sw_cuda_channel *channel, cudaStream_t stream,
                                   cudaEvent_t event)
{
    const cudaError_t error = cudaEventRecord(event, stream);
    return error == cudaSuccess ? cudaStreamWaitEvent(channel->stream, event, 0) : error;
}

/* Marks the begin or the end of a write for direct reads. */
static cudaError_t mark(struct sw_cuda_channel *channel, bool begins)
{
    return channel->owner->direct == NULL ? cudaSuccess : sw_cuda_direct_mark(channel, begins);
}

/* Returns whether all reads launched on the channel's stream have been polled. M7: a read has read
 * the table when its record is complete, so the device need not wait for it. */
static bool reads_are_polled(const struct sw_cuda_channel *channel)
{
    return __atomic_load_n(&channel->reads_polled, __ATOMIC_ACQUIRE) == channel->reads;
}

/* Later write batches wait for this one, so they need not wait for these reads again. */
cudaError_t sw_cuda_wait_for_reads(struct sw_cuda_channel *channel)
{
    cudaError_t error = cudaSuccess;
    for (struct sw_cuda_channel *other = channel->owner->channels; other != NULL;
         other = other->next) {
        if (other->reads_pending && other != channel && !reads_are_polled(other) &&
            error == cudaSuccess) {
            error = wait_for_stream(channel, other->stream, other->reads_done);
        }
        if (other->shared_reads_pending && error == cudaSuccess) {
            error = wait_for_stream(channel, other->reader->stream, other->reads_done);
        }
        other->reads_pending = false;
        other->shared_reads_pending = false;
    }
    return error == cudaSuccess ? mark(channel, true) : error;
}

cudaError_t sw_cuda_write_submitted(struct sw_cuda_channel *channel)
{
    const cudaError_t error = mark(channel, false);
    channel->writes_seen = ++channel->owner->writes;
    return error == cudaSuccess ? cudaEventRecord(channel->owner->write_done, channel->stream)
                                : error;
}

bool sw_cuda_writes_are_done(struct sw_cuda_channel *channel)
{
    const struct sw_cuda_channel_owner *owner = channel->owner;
    if (channel->writes_done != owner->writes) {
        if (cudaEventQuery(owner->write_done) != cudaSuccess) {
            (void)cudaGetLastError(); /* not ready; the next call on a lost device reports that */
            return false;
        }
        channel->writes_done = owner->writes;
    }
    return true;
}

/* Waits for all work of the channel's queue. The device must be current. */
static cudaError_t synchronize(const struct sw_cuda_channel *channel)
{
    const cudaError_t error = cudaStreamSynchronize(channel->stream);
    return error == cudaSuccess && channel->reader != NULL
               ? cudaStreamSynchronize(channel->reader->stream)
               : error;
}

cudaError_t sw_cuda_wait_for_channels(struct sw_cuda_channel_owner *owner)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&owner->order);
    for (struct sw_cuda_channel *channel = owner->channels; channel != NULL && error == cudaSuccess;
         channel = channel->next) {
        error = synchronize(channel);
    }
    pthread_mutex_unlock(&owner->order);
    return error;
}

/* --- submit and poll -------------------------------------------------------------------------- */

/* cudaSetDevice locks what the driver shares between threads, even if nothing changes. */
cudaError_t sw_cuda_use_device(int device)
{
    int current = 0;
    const cudaError_t error = cudaGetDevice(&current);
    return error == cudaSuccess && current != device ? cudaSetDevice(device) : error;
}

/* Under the mutex, which a failure unlocks. `error` is that of the choice of the device. */
static bool has_begun(struct sw_cuda_channel_owner *owner, cudaError_t error)
{
    if (sw_cuda_is_lost(owner) || !sw_cuda_check(owner, error, "choosing the device")) {
        pthread_mutex_unlock(&owner->order);
        return false;
    }
    return true;
}

bool sw_cuda_channel_begin(struct sw_cuda_channel *channel)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    const cudaError_t error = sw_cuda_use_device(owner->device);
    sw_brief_lock(&owner->order, owner->order_tries);
    return has_begun(owner, error);
}

bool sw_cuda_channel_try_begin(struct sw_cuda_channel *channel, uint32_t tries)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    return sw_brief_try_lock(&owner->order, tries) && has_begun(owner, cudaSuccess);
}

bool sw_cuda_channel_end(struct sw_cuda_channel *channel, cudaError_t error)
{
    /* under the mutex: the next batch must find the table lost */
    bool good = sw_cuda_check(channel->owner, error, "submit");
    pthread_mutex_unlock(&channel->owner->order);
    return good;
}

/* Returns cudaSuccess if the queue has no work in its streams. */
static cudaError_t query(const struct sw_cuda_channel *channel)
{
    const cudaError_t error = cudaStreamQuery(channel->stream);
    return error == cudaSuccess && channel->reader != NULL
               ? cudaStreamQuery(channel->reader->stream)
               : error;
}

/* On a lost table: returns whether the device may still write the memory of this channel's
 * batches. */
static bool is_running(const struct sw_cuda_channel *channel)
{
    bool running = query(channel) == cudaErrorNotReady;
    (void)cudaGetLastError();
    return running;
}

/* A stream that fails, or ends without the record, will never complete the batch. */
static void check_alive(struct sw_cuda_channel *channel, uint64_t ticket)
{
    cudaError_t error = query(channel);
    if (error == cudaSuccess && !sw_cuda_channel_is_done(channel, ticket)) {
        error = cudaErrorUnknown;
    }
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* clears the runtime's last error, so that the next launch does
                                     not report it */
        return;
    }
    sw_cuda_check(channel->owner, error, "batch");
}

int sw_cuda_channel_poll_slowly(struct sw_cuda_channel *channel, uint64_t ticket)
{
    if (sw_cuda_is_lost(channel->owner)) {
        return is_running(channel) ? SW_PENDING : SW_E_DEVICE;
    }
    channel->idle_polls = 0;
    check_alive(channel, ticket);
    return SW_PENDING;
}

/* --- open and close --------------------------------------------------------------------------- */

bool sw_cuda_channel_add_block(struct sw_cuda_channel *channel, uint32_t place)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    cudaError_t error = sw_cuda_use_device(owner->device);
    if (error == cudaSuccess) {
        error = sw_cuda_records_get(&owner->launcher->records,
                                    SW_CUDA_BLOCK_RECORDS * channel->record_bytes,
                                    &channel->blocks[(place - 1) / SW_CUDA_BLOCK_RECORDS]);
    }
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* clears it, so that the next launch does not report it */
        return false;
    }
    return sw_cuda_check(owner, error, "records");
}

cudaError_t sw_cuda_channel_open(struct sw_cuda_channel *channel,
                                 struct sw_cuda_channel_owner *owner, size_t record_bytes)
{
    channel->owner = owner;
    channel->record_bytes = record_bytes;
    cudaError_t error = cudaSetDevice(owner->device);
    if (error == cudaSuccess) {
        error = sw_cuda_stream_borrow(owner, &channel->stream);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&channel->reads_done, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_records_get(&owner->launcher->records, record_bytes, &channel->first);
    }
    if (error != cudaSuccess) {
        return error;
    }
    pthread_mutex_lock(&owner->order);
    channel->next = owner->channels;
    owner->channels = channel;
    pthread_mutex_unlock(&owner->order);
    return cudaSuccess;
}

void sw_cuda_channel_close(struct sw_cuda_channel *channel)
{
    struct sw_cuda_channel_owner *owner = channel->owner;
    pthread_mutex_lock(&owner->order);
    for (struct sw_cuda_channel **at = &owner->channels; *at != NULL; at = &(*at)->next) {
        if (*at == channel) {
            *at = channel->next;
            break;
        }
    }
    pthread_mutex_unlock(&owner->order);
    /* ignores errors: either the table is lost, or all calls succeed */
    (void)cudaSetDevice(owner->device);
    if (channel->stream != NULL) {
        (void)synchronize(channel);
        sw_cuda_stream_return(owner, channel->stream);
    }
    if (channel->reads_done != NULL) {
        (void)cudaEventDestroy(channel->reads_done);
    }
    if (channel->first != NULL) {
        sw_cuda_records_return(&owner->launcher->records, channel->first);
    }
    for (const char *block : channel->blocks) {
        if (block != NULL) {
            sw_cuda_records_return(&owner->launcher->records, block);
        }
    }
}
