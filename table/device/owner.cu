/* SPDX-License-Identifier: MIT
 *
 * owner.cu - the device functions of a table of any engine: the choice of the device, error texts,
 * memory shared by host and device, and the flag of a lost table.
 */
#include "table/device/channel.cuh"

#include <stdio.h>

#include "table/device/code.cuh"
#include "table/device/launcher.cuh"
#include "table/host/brief_lock.h"
#include "table/host/memory.h"

/* I/O memory of at least this size has huge pages, if the system provides them. */
#define MAPPED_BYTES_LEAST (2UL << 20)

bool sw_cuda_check(struct sw_cuda_channel_owner *owner, cudaError_t error, const char *what)
{
    if (error == cudaSuccess) {
        return true;
    }
    if (__atomic_exchange_n(&owner->lost, 1, __ATOMIC_RELAXED) == 0) {
        fprintf(stderr, "cuda: %s failed, the table is lost: %s (%s)\n", what,
                cudaGetErrorString(error), cudaGetErrorName(error));
    }
    return false;
}

/* Returns whether no driver is installed. The runtime then reports that the driver is too old. */
static bool has_no_driver(cudaError_t error)
{
    int version = 0;
    return error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&version) == cudaSuccess &&
           version == 0;
}

int sw_cuda_choose_device(int ordinal, char *reason, size_t reason_size)
{
    struct cudaDeviceProp properties;
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && (ordinal < 0 || ordinal >= count)) {
        snprintf(reason, reason_size, "there is no CUDA device %d, only %d of them", ordinal,
                 count);
        return SW_E_NODEVICE;
    }
    if (error == cudaSuccess) {
        error = cudaSetDevice(ordinal);
    }
    if (error == cudaSuccess) {
        error = cudaGetDeviceProperties(&properties, ordinal);
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        if (has_no_driver(error)) {
            snprintf(reason, reason_size,
                     "CUDA needs the NVIDIA driver, and libcuda.so.1 is not installed");
        } else {
            snprintf(reason, reason_size, "the CUDA runtime says: %s", cudaGetErrorString(error));
        }
        return SW_E_NODEVICE;
    }
    if (!properties.unifiedAddressing || !properties.canMapHostMemory) {
        snprintf(reason, reason_size, "%s cannot reach host memory by the host's addresses",
                 properties.name);
        return SW_E_NODEVICE;
    }
    snprintf(reason, reason_size, "%s", properties.name);
    error = sw_cuda_find_code(reason, reason_size);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        snprintf(reason, reason_size,
                 "%s has compute capability %d.%d, for which this program has no code (make "
                 "ARCH=all): %s",
                 properties.name, properties.major, properties.minor, cudaGetErrorString(error));
        return SW_E_NODEVICE;
    }
    return SW_OK;
}

int sw_cuda_explain(cudaError_t error, uint64_t bytes, char *reason, size_t reason_size)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    (void)cudaGetLastError();
    if (error != cudaErrorMemoryAllocation) {
        snprintf(reason, reason_size, "the CUDA device cannot be used: %s",
                 cudaGetErrorString(error));
        return SW_E_NODEVICE;
    }
    (void)cudaMemGetInfo(&free_bytes, &total_bytes);
    snprintf(reason, reason_size,
             "the table needs %llu bytes of device memory, %llu are free: choose a smaller "
             "capacity or smaller batches",
             (unsigned long long)bytes, (unsigned long long)free_bytes);
    return SW_E_NOMEM;
}

cudaError_t sw_cuda_owner_open(struct sw_cuda_channel_owner *owner,
                               const struct sw_table_config *config)
{
    owner->device = config->device;
    owner->order_tries = sw_brief_lock_tries(config->submitters);
    if (cudaDeviceGetPCIBusId(owner->bus_id, sizeof(owner->bus_id), owner->device) != cudaSuccess) {
        (void)cudaGetLastError(); /* the table works without a bus id */
        owner->bus_id[0] = '\0';
    }
    int same = 0; /* addresses of registered memory on the host and on the device */
    (void)cudaDeviceGetAttribute(&same, cudaDevAttrCanUseHostPointerForRegisteredMem,
                                 owner->device);
    owner->pins_mapped = same != 0;
    /* the default attributes of Linux need no resources, so this cannot fail */
    pthread_mutex_init(&owner->order, NULL);
    struct sw_device *device = config->shared;
    if (device == NULL) {
        (void)sw_device_create(1, &owner->own_device);
        device = owner->own_device;
    }
    owner->launcher = device != NULL ? sw_cuda_launcher_of(device, owner->device) : NULL;
    if (owner->launcher == NULL) {
        return cudaErrorMemoryAllocation;
    }
    sw_cuda_launcher_add(owner->launcher);
    return cudaEventCreateWithFlags(&owner->write_done, cudaEventDisableTiming);
}

void sw_cuda_owner_close(struct sw_cuda_channel_owner *owner)
{
    (void)cudaSetDevice(owner->device);
    if (owner->launcher != NULL) {
        sw_cuda_launcher_forget(owner->launcher, owner);
    }
    if (owner->write_done != NULL) {
        (void)cudaEventDestroy(owner->write_done);
    }
    pthread_mutex_destroy(&owner->order);
    sw_device_destroy(owner->own_device);
}

uint64_t sw_cuda_owner_bytes(const struct sw_cuda_channel_owner *owner)
{
    return owner->own_device != NULL ? sw_device_bytes(owner->own_device) : 0;
}

/* Is this memory mapped, and then pinned? The runtime's own memory has small pages only, and
 * sockets copy every frame to I/O memory and from it. */
static bool is_mapped(const struct sw_cuda_channel_owner *owner, size_t bytes)
{
    return owner->pins_mapped && bytes >= MAPPED_BYTES_LEAST;
}

static void *map_pinned(size_t bytes)
{
    void *memory = sw_memory_map_touched(bytes);
    if (memory != NULL &&
        cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped) !=
            cudaSuccess) {
        sw_memory_unmap(memory, bytes);
        memory = NULL;
    }
    return memory;
}

static void *allocate_pinned(size_t bytes)
{
    void *memory = NULL;
    const size_t some =
        bytes > 0 ? bytes : 1; /* for 0 bytes the runtime returns NULL and no error */
    return cudaHostAlloc(&memory, some, cudaHostAllocMapped | cudaHostAllocPortable) == cudaSuccess
               ? memory
               : NULL;
}

void *sw_cuda_io_alloc(const struct sw_cuda_channel_owner *owner, size_t bytes)
{
    void *memory = NULL;
    if (cudaSetDevice(owner->device) == cudaSuccess) {
        memory = is_mapped(owner, bytes) ? map_pinned(bytes) : allocate_pinned(bytes);
    }
    if (memory == NULL) {
        (void)cudaGetLastError(); /* clears the error, so that a later launch does not report it */
    }
    return memory;
}

void sw_cuda_io_free(const struct sw_cuda_channel_owner *owner, void *memory, size_t bytes)
{
    (void)cudaSetDevice(owner->device);
    if (is_mapped(owner, bytes)) {
        (void)cudaHostUnregister(memory);
        sw_memory_unmap(memory, bytes);
    } else {
        (void)cudaFreeHost(memory);
    }
}
