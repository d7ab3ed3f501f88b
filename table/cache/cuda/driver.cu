/* SPDX-License-Identifier: MIT
 *
 * driver.cu - the cache's CUDA driver: batches on the caller's streams, in the order of submission.
 *
 * Streams are made to wait for each other only where they must: a batch that writes for all earlier
 * ones, a batch that reads for earlier ones that write. An event is recorded when somebody must
 * wait for it, behind whatever its stream has been given until then.
 */
#include <pthread.h>
#include <stdlib.h>

#include "table/cache/cuda/arrays.cuh"
#include "table/cuda/lane.cuh"

/* A stream the cache knows. Batches are numbered from 1. */
struct known_stream {
    bool known;
    cudaStream_t stream;
    cudaEvent_t event;
    uint64_t last;                         /* its last batch */
    uint64_t last_write;                   /* its last that writes */
    uint64_t waited[SW_CACHE_STREAMS_MAX]; /* of each stream: the last batch it has waited for */
};

struct cuda_cache {
    struct sw_cuda_lane_owner owner; /* device, mutex, lost */
    struct sw_cache_arrays arrays;
    struct known_stream streams[SW_CACHE_STREAMS_MAX]; /* under the mutex, as what follows */
    uint64_t batches;
    int device_before; /* of the thread that entered */
    uint32_t entered;  /* its stream */
};

/* --- streams ---------------------------------------------------------------------------------- */

/* The number of a stream, or SW_CACHE_STREAMS_MAX. */
static uint32_t find_stream(const struct cuda_cache *cache, cudaStream_t stream)
{
    uint32_t i = 0;
    while (i < SW_CACHE_STREAMS_MAX &&
           !(cache->streams[i].known && cache->streams[i].stream == stream)) {
        i++;
    }
    return i;
}

static uint32_t find_unknown(const struct cuda_cache *cache)
{
    uint32_t i = 0;
    while (i < SW_CACHE_STREAMS_MAX && cache->streams[i].known) {
        i++;
    }
    return i;
}

/* Makes the stream known. What was waited for before belongs to batches long done. */
static int add_stream(struct cuda_cache *cache, cudaStream_t stream, uint32_t *number)
{
    *number = find_unknown(cache);
    if (*number == SW_CACHE_STREAMS_MAX) {
        return SW_E_BUSY;
    }
    struct known_stream *added = &cache->streams[*number];
    cudaEvent_t event = added->event;
    if (event == NULL &&
        !sw_cuda_check(&cache->owner, cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                       "cudaEventCreate")) {
        return SW_E_DEVICE;
    }
    *added = known_stream();
    added->known = true;
    added->stream = stream;
    added->event = event;
    return SW_OK;
}

/* Puts the stream behind the batches of all others that its next one must come after. */
static cudaError_t wait_for_others(struct cuda_cache *cache, uint32_t number, bool writes)
{
    struct known_stream *mine = &cache->streams[number];
    for (uint32_t i = 0; i < SW_CACHE_STREAMS_MAX; i++) {
        struct known_stream *other = &cache->streams[i];
        uint64_t until = writes ? other->last : other->last_write;
        if (i == number || !other->known || until <= mine->waited[i]) {
            continue;
        }
        cudaError_t error = cudaEventRecord(other->event, other->stream);
        if (error == cudaSuccess) {
            error = cudaStreamWaitEvent(mine->stream, other->event, 0);
        }
        if (error != cudaSuccess) {
            return error;
        }
        mine->waited[i] = other->last;
    }
    return cudaSuccess;
}

/* --- phases ----------------------------------------------------------------------------------- */

/* Takes the mutex and makes the device current. */
static int begin(struct cuda_cache *cache)
{
    pthread_mutex_lock(&cache->owner.order);
    cudaError_t error = cudaGetDevice(&cache->device_before);
    if (error == cudaSuccess && cache->device_before != cache->owner.device) {
        error = cudaSetDevice(cache->owner.device);
    }
    if (!sw_cuda_check(&cache->owner, error, "cudaSetDevice") || sw_cuda_is_lost(&cache->owner)) {
        pthread_mutex_unlock(&cache->owner.order);
        return SW_E_DEVICE;
    }
    return SW_OK;
}

static void finish(struct cuda_cache *cache)
{
    if (cache->device_before != cache->owner.device) {
        (void)cudaSetDevice(cache->device_before);
    }
    pthread_mutex_unlock(&cache->owner.order);
}

static int cuda_enter(void *opaque, bool writes, void *stream)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    int status = begin(cache);
    if (status != SW_OK) {
        return status;
    }
    uint32_t number = find_stream(cache, (cudaStream_t)stream);
    if (number == SW_CACHE_STREAMS_MAX) {
        status = add_stream(cache, (cudaStream_t)stream, &number);
    }
    if (status == SW_OK && !sw_cuda_check(&cache->owner, wait_for_others(cache, number, writes),
                                          "cudaStreamWaitEvent")) {
        status = SW_E_DEVICE;
    }
    if (status != SW_OK) {
        finish(cache);
        return status;
    }
    cache->entered = number;
    cache->batches++;
    cache->streams[number].last = cache->batches;
    if (writes) {
        cache->streams[number].last_write = cache->batches;
    }
    return SW_OK;
}

static void cuda_leave(void *opaque, bool writes)
{
    (void)writes;
    finish((struct cuda_cache *)opaque);
}

/* --- batches ---------------------------------------------------------------------------------- */

static struct sw_cache_launch launch_of(struct cuda_cache *cache)
{
    struct sw_cache_launch launch = sw_cache_launch();
    launch.slots = cache->arrays.slots;
    launch.tally = cache->arrays.tallies + cache->entered;
    launch.totals.cache = cache->arrays.totals;
    return launch;
}

static cudaError_t launch_batch(struct cuda_cache *cache, const struct sw_cache_launch *launch,
                                cudaStream_t stream)
{
    const struct sw_cache_batch *batch = &launch->work.batch;
    if (!sw_cache_op_writes(batch->op)) {
        return sw_cache_launch_read(launch, stream);
    }
    if (sw_cache_is_of_present(&launch->slots, batch)) {
        return sw_cache_launch_present(launch, stream);
    }
    if (sw_cache_rows_suit(&launch->slots, &cache->arrays.rows, batch)) {
        return sw_cache_launch_rows(launch, &cache->arrays.rows, stream);
    }
    return sw_cache_launch_write(launch, stream);
}

static int status_of(struct cuda_cache *cache, cudaError_t error, const char *what)
{
    return sw_cuda_check(&cache->owner, error, what) ? SW_OK : SW_E_DEVICE;
}

static int cuda_run(void *opaque, const struct sw_cache_work *work, void *stream)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    struct sw_cache_launch launch = launch_of(cache);
    launch.work = *work;
    launch.totals.batch = work->batch.counters;
    launch.totals.listed = work->batch.evicted_count;
    cudaError_t error = launch_batch(cache, &launch, (cudaStream_t)stream);
    return status_of(cache, error, "a batch of the cache");
}

static int cuda_clear(void *opaque, void *stream)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    struct sw_cache_launch launch = launch_of(cache);
    return status_of(cache, sw_cache_launch_clear(&launch, (cudaStream_t)stream),
                     "clearing the cache");
}

static int cuda_list(void *opaque, const struct sw_cache_export *what, void *stream)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    struct sw_cache_launch launch = launch_of(cache);
    launch.totals.listed = what->count;
    return status_of(cache,
                     sw_cache_launch_list(&launch, what, sizeof(uint64_t), (cudaStream_t)stream),
                     "an export of the cache");
}

/* --- waiting ---------------------------------------------------------------------------------- */

static int cuda_wait(void *opaque, void *stream)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    if (sw_cuda_is_lost(&cache->owner)) {
        return SW_E_DEVICE;
    }
    /* not under the mutex: others may submit meanwhile */
    int before = cache->owner.device;
    cudaError_t error = cudaGetDevice(&before);
    if (error == cudaSuccess) {
        error = cudaSetDevice(cache->owner.device);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize((cudaStream_t)stream);
    }
    (void)cudaSetDevice(before);
    return status_of(cache, error, "cudaStreamSynchronize");
}

static int cuda_release(void *opaque, void *stream)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    int status = begin(cache);
    if (status != SW_OK) {
        return status;
    }
    uint32_t number = find_stream(cache, (cudaStream_t)stream);
    if (number < SW_CACHE_STREAMS_MAX) {
        status =
            status_of(cache, cudaStreamSynchronize((cudaStream_t)stream), "cudaStreamSynchronize");
        cache->streams[number].known = false;
        for (uint32_t i = 0; i < SW_CACHE_STREAMS_MAX; i++) {
            cache->streams[i].waited[number] = 0;
        }
    }
    finish(cache);
    return status;
}

static int cuda_counters(void *opaque, struct sw_cache_counters *counters)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    int status = begin(cache);
    if (status != SW_OK) {
        return status;
    }
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) {
        error =
            cudaMemcpy(counters, cache->arrays.totals, sizeof(*counters), cudaMemcpyDeviceToHost);
    }
    finish(cache);
    return status_of(cache, error, "reading the cache's counters");
}

static int cuda_snapshot(void *opaque, struct sw_cache_snapshot *snapshot)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    cudaError_t error = cudaDeviceSynchronize();
    int status = SW_OK;
    if (error == cudaSuccess) {
        status = sw_cache_arrays_snapshot(&cache->arrays, snapshot, &error);
    }
    return sw_cuda_check(&cache->owner, error, "reading the cache") ? status : SW_E_DEVICE;
}

/* --- open and close --------------------------------------------------------------------------- */

/* Launches every kernel once, on nothing: the runtime loads a kernel and reserves the memory of its
 * threads when it is first launched. (Opening the arrays has launched the one that clears.) */
static cudaError_t warm_up(struct cuda_cache *cache)
{
    struct sw_cache_launch launch = launch_of(cache);
    struct sw_cache_export what = sw_cache_export();
    cudaError_t error = sw_cache_launch_list(&launch, &what, sizeof(uint64_t), NULL);
    for (int op = 0; op < SW_CACHE_OP_COUNT && error == cudaSuccess; op++) {
        launch.work.batch.op = (enum sw_cache_op)op;
        error = sw_cache_op_writes((uint32_t)op) ? sw_cache_launch_write(&launch, NULL)
                                                 : sw_cache_launch_read(&launch, NULL);
    }
    if (error == cudaSuccess) {
        error = sw_cache_warm_up_rows(&launch, &cache->arrays.rows, NULL);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

static int cuda_open(const struct sw_cache_config *config, const struct sw_cache_slots *slots,
                     void **out, char *reason, size_t reason_size)
{
    struct cudaDeviceProp properties;
    *out = NULL;
    int status = sw_cuda_choose_device(config->device, &properties, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    struct cuda_cache *cache = (struct cuda_cache *)calloc(1, sizeof(*cache));
    if (cache == NULL) {
        return SW_E_NOMEM;
    }
    cudaError_t error = sw_cuda_owner_open(&cache->owner, config->device);
    if (error == cudaSuccess) {
        error = sw_cache_arrays_open(&cache->arrays, slots, config->writing);
    }
    if (error == cudaSuccess) {
        error = warm_up(cache);
    }
    if (error != cudaSuccess) {
        status = sw_cuda_explain(error, cache->arrays.bytes, reason, reason_size);
        sw_cache_arrays_close(&cache->arrays);
        sw_cuda_owner_close(&cache->owner);
        free(cache);
        return status;
    }
    *out = cache;
    return SW_OK;
}

static void cuda_close(void *opaque)
{
    struct cuda_cache *cache = (struct cuda_cache *)opaque;
    (void)cudaSetDevice(cache->owner.device);
    (void)cudaDeviceSynchronize();
    for (uint32_t i = 0; i < SW_CACHE_STREAMS_MAX; i++) {
        if (cache->streams[i].event != NULL) {
            (void)cudaEventDestroy(cache->streams[i].event);
        }
    }
    sw_cache_arrays_close(&cache->arrays);
    sw_cuda_owner_close(&cache->owner);
    free(cache);
}

static uint64_t cuda_bytes_reserved(void *opaque)
{
    const struct cuda_cache *cache = (const struct cuda_cache *)opaque;
    return cache->arrays.bytes;
}

const struct sw_cache_driver *sw_cache_driver_cuda(void)
{
    static const struct sw_cache_driver driver = {
        SW_BACKEND_CUDA, cuda_open,     cuda_close,    cuda_bytes_reserved, cuda_enter,
        cuda_leave,      cuda_run,      cuda_clear,    cuda_list,           cuda_wait,
        cuda_release,    cuda_counters, cuda_snapshot,
    };
    return &driver;
}
