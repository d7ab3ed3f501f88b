/* SPDX-License-Identifier: MIT
 *
 * runtime.cpp - streams, events and copies: the CUDA runtime on the host.
 *
 * A stream is a list of what is to be done, in order. Without EMU_ASYNC whatever is enqueued is
 * done before the call returns. With it the device works when the host waits for it, asks it or
 * looks at what it may have written, and for a moment in each call.
 */
#include "failing.h"
#include "failing.hpp"
#include "memory.hpp"
#include "schedule.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

struct emu_event {
    uint64_t recorded, done;
};

namespace
{

struct task {
    std::function<void()> work; /* or a kernel, or the next */
    std::shared_ptr<emu_launched> kernel;
    emu_event *wait; /* until `done` is at least `number` */
    uint64_t number;
    emu_grid *grid;                            /* of the kernel, once it is at work */
    std::chrono::steady_clock::time_point end; /* the work is not done before */
    bool frees = false;                        /* memory: also if the device is lost */
};

} // namespace

struct emu_stream {
    std::deque<task> tasks;
};

namespace
{

std::recursive_mutex device; /* guards all that follows, and schedule.cpp */
std::vector<emu_stream *> streams;
emu_stream *default_stream;
__thread emu_stream *own_stream;

/* --- work ------------------------------------------------------------------------------------- */

/* Does what the first task of a stream asks for, as far as it can be done now. True if it is done.
 */
bool advance(task *first)
{
    if (first->kernel != nullptr) {
        if (first->grid == NULL) {
            first->grid = emu_grid_begin(first->kernel.get(), NULL);
        }
        if (!emu_grid_is_done(first->grid)) {
            return false;
        }
        emu_grid_end(first->grid);
    } else if (first->wait != NULL) {
        return first->wait->done >= first->number;
    } else if (first->end > std::chrono::steady_clock::now()) {
        return false;
    } else {
        first->work();
    }
    return true;
}

/* Kernels that may begin before the one before them is done. */
void begin_followers(emu_stream *stream)
{
    for (size_t i = 0; i + 1 < stream->tasks.size(); i++) {
        const task &first = stream->tasks[i];
        task *next = &stream->tasks[i + 1];
        if (first.grid == NULL || !emu_grid_lets_follow(first.grid) || next->kernel == nullptr ||
            !next->kernel->follows) {
            return;
        }
        if (next->grid == NULL) {
            next->grid = emu_grid_begin(next->kernel.get(), first.grid);
        }
    }
}

/* Returns whether any kernel is at work afterwards. */
bool advance_all()
{
    bool busy = false;
    for (bool changed = true; changed;) {
        changed = busy = false;
        for (emu_stream *stream : streams) {
            while (!stream->tasks.empty() && advance(&stream->tasks.front())) {
                stream->tasks.pop_front();
                changed = true;
            }
            begin_followers(stream);
            busy |= !stream->tasks.empty() && stream->tasks.front().grid != NULL;
        }
    }
    return busy;
}

void work(uint64_t turns)
{
    emu_watch_faults();
    if (advance_all()) {
        emu_run(turns);
        advance_all();
    }
}

void finish(const emu_stream *stream)
{
    while (!stream->tasks.empty()) {
        work(emu_options_read()->async ? 1ULL << emu_random() % 14 : 1 << 20);
    }
}

void finish_all()
{
    for (size_t i = 0; i < streams.size(); i++) {
        finish(streams[i]);
    }
}

emu_stream *add_stream()
{
    streams.push_back(new emu_stream());
    return streams.back();
}

emu_stream *stream_of(cudaStream_t stream)
{
    emu_stream **special = stream == NULL                  ? &default_stream
                           : stream == cudaStreamPerThread ? &own_stream
                                                           : NULL;
    if (special == NULL) {
        return stream;
    }
    *special = *special != NULL ? *special : add_stream();
    return *special;
}

void enqueue(cudaStream_t to, task &&next)
{
    std::lock_guard<std::recursive_mutex> lock(device);
    emu_stream *stream = stream_of(to);
    if (emu_is_lost() && !next.frees) {
        return; /* another thread lost it after this call began */
    }
    stream->tasks.push_back(std::move(next));
    if (!emu_options_read()->async || emu_is_lost()) {
        finish(stream);
    } else if (emu_random() % 2 == 0) {
        work(1ULL << emu_random() % 12);
    }
}

} // namespace

/* --- for launches and hooks ------------------------------------------------------------------- */

void emu_enqueue_kernel(const emu_launched &launched)
{
    enqueue(launched.stream,
            task{nullptr, std::make_shared<emu_launched>(launched), NULL, 0, NULL, {}});
}

void emu_enqueue_work(cudaStream_t stream, std::function<void()> work)
{
    enqueue(stream, task{std::move(work), nullptr, NULL, 0, NULL, {}});
}

void emu_enqueue_free(cudaStream_t stream, std::function<void()> work)
{
    enqueue(stream, task{std::move(work), nullptr, NULL, 0, NULL, {}, true});
}

void emu_lose_device(void)
{
    std::lock_guard<std::recursive_mutex> lock(device);
    for (emu_stream *stream : streams) {
        const auto is_dropped = [](const task &one) { return one.grid == NULL && !one.frees; };
        stream->tasks.erase(std::remove_if(stream->tasks.begin(), stream->tasks.end(), is_dropped),
                            stream->tasks.end());
    }
    finish_all();
}

void emu_host_looks(void)
{
    if (emu_options_read()->async) {
        std::lock_guard<std::recursive_mutex> lock(device);
        work(1ULL << emu_random() % 14);
    }
}

/* --- the runtime ------------------------------------------------------------------------------ */

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaSuccess                 ? "cudaSuccess"
           : error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
                                                : "another error";
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : cudaGetErrorName(error);
}

/* Tables run on device 0. The others only have names: 0 and 1 reach each other's memory. */
static int gpus(void)
{
    const char *text = getenv("EMU_GPUS");
    return text == NULL ? 1 : atoi(text);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    EMU_MAY_FAIL(emu_called());
    *count = gpus();
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int number, int peer)
{
    EMU_MAY_FAIL(emu_called());
    *can = number != peer && number < 2 && peer < 2;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    EMU_MAY_FAIL(emu_called());
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *number)
{
    EMU_MAY_FAIL(emu_called());
    *number = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int number)
{
    EMU_MAY_FAIL(emu_called());
    return number == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

/* A very small one of the newest kind, or of the oldest (emulator.mk). */
#define MULTIPROCESSORS 2
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define MAJOR 7
#define MINOR 5
#define SHARED_BYTES (64 << 10)
#else
#define MAJOR 9
#define MINOR 0
#define SHARED_BYTES (227 << 10)
#endif

/* Each table calls it when it opens, so a failing case makes the same calls if it runs alone. */
cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int size, int number)
{
    EMU_MAY_FAIL(emu_called());
    snprintf(bus_id, (size_t)size, "0000:%02x:00.0", 14 + number);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number)
{
    EMU_MAY_FAIL(emu_called());
    {
        std::lock_guard<std::recursive_mutex> lock(device);
        emu_draw_anew();
    }
    memset(properties, 0, sizeof(*properties));
    strcpy(properties->name, "an emulated GPU");
    memcpy(properties->uuid.bytes, "emulated", 8);
    properties->uuid.bytes[8] = (char)number;
    properties->totalGlobalMem = EMU_DEVICE_BYTES;
    properties->sharedMemPerBlock = 48 << 10;
    properties->major = MAJOR;
    properties->minor = MINOR;
    properties->multiProcessorCount = MULTIPROCESSORS;
    properties->unifiedAddressing = 1;
    properties->canMapHostMemory = 1;
    properties->l2CacheSize = 1 << 20;
    return number < gpus() ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int)
{
    EMU_MAY_FAIL(emu_called());
    *value = attribute == cudaDevAttrMultiProcessorCount                 ? MULTIPROCESSORS
             : attribute == cudaDevAttrComputeCapabilityMajor            ? MAJOR
             : attribute == cudaDevAttrComputeCapabilityMinor            ? MINOR
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin      ? SHARED_BYTES
             : attribute == cudaDevAttrCanUseHostPointerForRegisteredMem ? 1
                                                                         : 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::recursive_mutex> lock(device);
    finish_all();
    return cudaSuccess;
}

/* Of memory that the device does not reach the copy is made before the call returns. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind,
                            cudaStream_t stream)
{
    EMU_MAY_FAIL(emu_called());
    if (emu_crosses_a_piece(to, bytes) || emu_crosses_a_piece(from, bytes)) {
        return cudaErrorInvalidValue;
    }
    std::lock_guard<std::recursive_mutex> lock(device);
    const uint64_t ms = emu_options_read()->copy_ms;
    const bool waits = ms > 0 && (emu_is_foreign(to) || emu_is_foreign(from));
    enqueue(stream, task{[=] { memcpy(to, from, bytes); }, nullptr, NULL, 0, NULL,
                         waits ? std::chrono::steady_clock::now() + std::chrono::milliseconds(ms)
                               : std::chrono::steady_clock::time_point()});
    if (!emu_is_reached(to) || !emu_is_reached(from)) {
        finish(stream_of(stream));
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaMemcpyAsync(to, from, bytes, kind, NULL);
    return cudaStreamSynchronize(NULL);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
    EMU_MAY_FAIL(emu_called());
    emu_enqueue_work(stream, [=] { memset(to, byte, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int byte, size_t bytes)
{
    cudaMemsetAsync(to, byte, bytes, NULL);
    return cudaStreamSynchronize(NULL);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::recursive_mutex> lock(device);
    *stream = add_stream();
    return cudaSuccess;
}

size_t emu_streams(void)
{
    std::lock_guard<std::recursive_mutex> lock(device);
    return streams.size();
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    std::lock_guard<std::recursive_mutex> lock(device);
    finish(stream);
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::recursive_mutex> lock(device);
    work(1ULL << emu_random() % 12);
    return stream_of(stream)->tasks.empty() ? cudaSuccess : cudaErrorNotReady;
}

/* Other host threads may enqueue meanwhile. */
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    EMU_MAY_FAIL(emu_called());
    for (;;) {
        std::lock_guard<std::recursive_mutex> lock(device);
        if (stream_of(stream)->tasks.empty()) {
            return cudaSuccess;
        }
        work(1ULL << emu_random() % 14);
    }
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::recursive_mutex> lock(device);
    enqueue(stream, task{nullptr, nullptr, event, event->recorded, NULL, {}});
    return cudaSuccess;
}

/* Never freed: a stream may still have to wait for it. */
cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    EMU_MAY_FAIL(emu_allocates());
    static std::deque<emu_event> events;
    std::lock_guard<std::recursive_mutex> lock(device);
    events.emplace_back();
    *event = &events.back();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int)
{
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::recursive_mutex> lock(device);
    const uint64_t number = ++event->recorded;
    emu_enqueue_work(stream, [=] { event->done = std::max(event->done, number); });
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::recursive_mutex> lock(device);
    work(1ULL << emu_random() % 12);
    return event->done >= event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t error = cudaErrorNotReady;
    while (error == cudaErrorNotReady) {
        error = cudaEventQuery(event);
    }
    return error;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t)
{
    *milliseconds = 1;
    return cudaSuccess;
}
