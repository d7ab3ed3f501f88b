/* SPDX-License-Identifier: MIT
 *
 * memory.cu - imported memory of a CUDA table. Host memory is pinned and mapped in place, so that
 * kernels use the host's addresses. Device memory is opened by its handle (ipc.cuh).
 */
#include "table/device/memory.cuh"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "table/device/ipc.cuh"

/* The driver blocks all launches while it pins memory: 8 ms for 256 MiB on an H200. So the pieces
 * are pinned one by one, with pauses between them. Kernels see one range of addresses. */
#define PIECE_BYTES (16UL << 20)
#define PAUSE_US 2000

/* Unpins the pieces up to `bytes`. */
static void unpin(uint8_t *host, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += PIECE_BYTES) {
        (void)cudaHostUnregister(host + at);
        if (at + PIECE_BYTES < bytes) {
            usleep(PAUSE_US);
        }
    }
    (void)cudaGetLastError();
}

static cudaError_t pin(uint8_t *host, uint64_t bytes)
{
    cudaError_t error = cudaSuccess;
    for (uint64_t at = 0; at < bytes && error == cudaSuccess; at += PIECE_BYTES) {
        uint64_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        error =
            cudaHostRegister(host + at, piece, cudaHostRegisterPortable | cudaHostRegisterMapped);
        if (error != cudaSuccess) {
            unpin(host, at);
        } else if (at + piece < bytes) {
            usleep(PAUSE_US);
        }
    }
    return error;
}
static int import_host(const struct sw_cuda_channel_owner *owner,
                       const struct sw_memory_source *source, struct sw_memory *out, char *reason,
                       size_t reason_size)
{
    int same = 0;
    cudaError_t error =
        cudaDeviceGetAttribute(&same, cudaDevAttrCanUseHostPointerForRegisteredMem, owner->device);
    if (error == cudaSuccess && same == 0) {
        snprintf(reason, reason_size,
                 "the device does not reach registered memory by the "
                 "addresses of the host");
        return SW_E_UNSUPPORTED;
    }
    if (error == cudaSuccess) {
        error = pin((uint8_t *)source->host, source->bytes);
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError(); /* clears the error, so that a later launch does not report it */
        snprintf(reason, reason_size, "pinning %llu bytes for the device: %s",
                 (unsigned long long)source->bytes, cudaGetErrorString(error));
        return error == cudaErrorMemoryAllocation ? SW_E_NOMEM : SW_E_DEVICE;
    }
    out->address = source->host;
    out->bytes = source->bytes;
    return SW_OK;
}

int sw_cuda_memory_import(const struct sw_cuda_channel_owner *owner,
                          const struct sw_memory_source *source, struct sw_memory *out,
                          char *reason, size_t reason_size)
{
    cudaError_t error = cudaSetDevice(owner->device);
    if (error != cudaSuccess) {
        snprintf(reason, reason_size, "cudaSetDevice: %s", cudaGetErrorString(error));
        return SW_E_DEVICE;
    }
    return source->kind == SW_MEMORY_CUDA_IPC
               ? sw_cuda_ipc_import(owner->device, source, out, reason, reason_size)
               : import_host(owner, source, out, reason, reason_size);
}

void sw_cuda_memory_release(const struct sw_cuda_channel_owner *owner, struct sw_memory *memory)
{
    (void)cudaSetDevice(owner->device);
    if (memory->kind == SW_MEMORY_CUDA_IPC) {
        sw_cuda_ipc_release(memory);
    } else {
        unpin((uint8_t *)memory->address, memory->bytes);
    }
}

/* Copies of one call: the event is recorded behind them. */
struct sw_memory_copies {
    cudaEvent_t done;
};

/* Enqueues the copies of device memory. They wait for nothing but earlier copies of this thread:
 * the batches that use the memory are done, or have not begun. */
static cudaError_t enqueue(const struct sw_memory_copy *list, uint32_t count)
{
    cudaError_t error = cudaSuccess;
    for (uint32_t i = 0; i < count && error == cudaSuccess; i++) {
        const struct sw_memory_copy *one = &list[i];
        char *at = (char *)one->memory->address + one->offset;
        if (one->memory->kind == SW_MEMORY_CUDA_IPC) {
            error = cudaMemcpyAsync(
                one->stores ? at : one->io, one->stores ? one->io : at, one->bytes,
                one->stores ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, cudaStreamPerThread);
        }
    }
    return error;
}

static int copy_failed(struct sw_cuda_channel_owner *owner, cudaError_t error)
{
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* clears it, so that a later launch does not report it */
        return SW_E_NOMEM;
    }
    return sw_cuda_check(owner, error, "copying memory of others") ? SW_OK : SW_E_DEVICE;
}

int sw_cuda_memory_copy(struct sw_cuda_channel_owner *owner, const struct sw_memory_copy *list,
                        uint32_t count, struct sw_memory_copies **out)
{
    struct sw_memory_copies *copies = (struct sw_memory_copies *)malloc(sizeof(*copies));
    if (copies == NULL) {
        return SW_E_NOMEM;
    }
    cudaError_t error = sw_cuda_use_device(owner->device);
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&copies->done, cudaEventDisableTiming);
    }
    if (error != cudaSuccess) {
        free(copies);
        return copy_failed(owner, error);
    }
    error = enqueue(list, count);
    if (error == cudaSuccess) {
        error = cudaEventRecord(copies->done, cudaStreamPerThread);
    }
    if (error == cudaSuccess) {
        *out = copies;
        return SW_OK;
    }
    (void)cudaStreamSynchronize(cudaStreamPerThread); /* for copies that were enqueued */
    (void)cudaEventDestroy(copies->done);
    free(copies);
    return copy_failed(owner, error);
}

int sw_cuda_memory_copy_poll(struct sw_cuda_channel_owner *owner, struct sw_memory_copies *copies)
{
    const cudaError_t error = cudaEventQuery(copies->done);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* clears it, so that a later launch does not report it */
        return SW_PENDING;
    }
    (void)cudaEventDestroy(copies->done);
    free(copies);
    return copy_failed(owner, error);
}

bool sw_cuda_memory_device(const struct sw_cuda_channel_owner *owner, uint8_t uuid[16])
{
    return sw_cuda_ipc_device(owner->device, uuid);
}
