/* SPDX-License-Identifier: MIT
 *
 * lane.cu - lanes: a stream each, and the events that order it with the others.
 */
#include "table/device/lane.cuh"

#include <string.h>

/* --- the order of batches; under the mutex ---------------------------------------------------- */

cudaError_t sw_cuda_wait_for_write(struct sw_cuda_lane *lane)
{
    struct sw_cuda_lane_owner *owner = lane->owner;
    if (lane->writes_seen == owner->writes) {
        return cudaSuccess;
    }
    lane->writes_seen = owner->writes;
    return cudaStreamWaitEvent(lane->stream, owner->write_done, 0);
}

/* Later write batches wait for this one, so they need not wait for these reads again. */
cudaError_t sw_cuda_wait_for_reads(struct sw_cuda_lane *lane)
{
    cudaError_t error = cudaSuccess;
    for (struct sw_cuda_lane *other = lane->owner->lanes; other != NULL; other = other->next) {
        if (!other->reads_pending) {
            continue;
        }
        other->reads_pending = false;
        if (other != lane && error == cudaSuccess) {
            error = cudaEventRecord(other->reads_done, other->stream);
            if (error == cudaSuccess) {
                error = cudaStreamWaitEvent(lane->stream, other->reads_done, 0);
            }
        }
    }
    return error;
}

cudaError_t sw_cuda_write_submitted(struct sw_cuda_lane *lane)
{
    lane->writes_seen = ++lane->owner->writes;
    return cudaEventRecord(lane->owner->write_done, lane->stream);
}

cudaError_t sw_cuda_wait_for_lanes(struct sw_cuda_lane_owner *owner)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&owner->order);
    for (struct sw_cuda_lane *lane = owner->lanes; lane != NULL && error == cudaSuccess;
         lane = lane->next) {
        error = cudaStreamSynchronize(lane->stream);
    }
    pthread_mutex_unlock(&owner->order);
    return error;
}

/* --- submit and poll -------------------------------------------------------------------------- */

bool sw_cuda_lane_begin(struct sw_cuda_lane *lane)
{
    struct sw_cuda_lane_owner *owner = lane->owner;
    cudaError_t error = cudaSetDevice(owner->device);
    pthread_mutex_lock(&owner->order);
    if (sw_cuda_is_lost(owner) || !sw_cuda_check(owner, error, "choosing the device")) {
        pthread_mutex_unlock(&owner->order);
        return false;
    }
    return true;
}

bool sw_cuda_lane_end(struct sw_cuda_lane *lane, cudaError_t error)
{
    /* under the mutex: the next batch must find the table lost */
    bool good = sw_cuda_check(lane->owner, error, "submit");
    pthread_mutex_unlock(&lane->owner->order);
    return good;
}

/* On a lost table: whether the device may still write what batches of this lane point to. */
static bool is_running(const struct sw_cuda_lane *lane)
{
    bool running = cudaStreamQuery(lane->stream) == cudaErrorNotReady;
    (void)cudaGetLastError();
    return running;
}

/* A stream that fails, or ends without the record, will never complete the batch. */
static void check_alive(struct sw_cuda_lane *lane, uint64_t ticket)
{
    cudaError_t error = cudaStreamQuery(lane->stream);
    if (error == cudaSuccess && !sw_cuda_lane_is_done(lane, ticket)) {
        error = cudaErrorUnknown;
    }
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* the runtime notes it as an error; the next launch must not */
        return;
    }
    sw_cuda_check(lane->owner, error, "batch");
}

int sw_cuda_lane_poll_slowly(struct sw_cuda_lane *lane, uint64_t ticket)
{
    if (sw_cuda_is_lost(lane->owner)) {
        return is_running(lane) ? SW_PENDING : SW_E_DEVICE;
    }
    lane->idle_polls = 0;
    check_alive(lane, ticket);
    return SW_PENDING;
}

/* --- open and close --------------------------------------------------------------------------- */

cudaError_t sw_cuda_lane_open(struct sw_cuda_lane *lane, struct sw_cuda_lane_owner *owner,
                              size_t record_bytes)
{
    const size_t bytes = SW_CUDA_IN_FLIGHT_MAX * record_bytes;
    lane->owner = owner;
    lane->record_bytes = record_bytes;
    cudaError_t error = cudaSetDevice(owner->device);
    if (error == cudaSuccess) {
        error = cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&lane->reads_done, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaHostAlloc((void **)&lane->records, bytes,
                              cudaHostAllocMapped | cudaHostAllocPortable);
    }
    if (error != cudaSuccess) {
        return error;
    }
    memset(lane->records, 0, bytes);
    pthread_mutex_lock(&owner->order);
    lane->next = owner->lanes;
    owner->lanes = lane;
    pthread_mutex_unlock(&owner->order);
    return cudaSuccess;
}

void sw_cuda_lane_close(struct sw_cuda_lane *lane)
{
    struct sw_cuda_lane_owner *owner = lane->owner;
    pthread_mutex_lock(&owner->order);
    for (struct sw_cuda_lane **at = &owner->lanes; *at != NULL; at = &(*at)->next) {
        if (*at == lane) {
            *at = lane->next;
            break;
        }
    }
    pthread_mutex_unlock(&owner->order);
    /* errors have no one to go to here: the table is lost, or all of this succeeds */
    (void)cudaSetDevice(owner->device);
    if (lane->stream != NULL) {
        (void)cudaStreamSynchronize(lane->stream);
        (void)cudaStreamDestroy(lane->stream);
    }
    if (lane->reads_done != NULL) {
        (void)cudaEventDestroy(lane->reads_done);
    }
    (void)cudaFreeHost(lane->records);
}
