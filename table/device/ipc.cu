/* SPDX-License-Identifier: MIT
 *
 * ipc.cu - opens allocations of other processes, and checks their bounds.
 */
#include "table/device/ipc.cuh"

#include <stdio.h>
#include <string.h>

#include "table/device/driver.cuh"
#include "table/status.h"

/* The driver function that returns base and size of the allocation of an address. */
typedef int (*address_range_function)(uintptr_t *base, size_t *bytes, uintptr_t address);

bool sw_cuda_ipc_device(int device, uint8_t uuid[16])
{
    struct cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    memcpy(uuid, properties.uuid.bytes, sizeof(properties.uuid.bytes));
    return true;
}

/* Returns NULL, or why the table's device cannot access memory of the device with this UUID. The
 * driver decides about a device that this process does not see: it opens or refuses the handle. */
static const char *refuse_device(int device, const uint8_t wanted[16])
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    for (int i = 0; i < count; i++) {
        uint8_t uuid[16];
        int reaches = i == device;
        if (!sw_cuda_ipc_device(i, uuid) || memcmp(uuid, wanted, sizeof(uuid)) != 0) {
            continue;
        }
        if (!reaches && cudaDeviceCanAccessPeer(&reaches, device, i) != cudaSuccess) {
            (void)cudaGetLastError();
            reaches = 0;
        }
        return reaches ? NULL
                       : "the table's GPU has no peer access to the GPU of the memory (a part of "
                         "MIG has none): use memory of the table's GPU";
    }
    return NULL;
}

/* Returns whether [offset, offset + bytes) lies in what was opened at `base`. */
static bool lies_within(void *base, const struct sw_memory_source *source)
{
    const address_range_function range =
        (address_range_function)sw_cuda_driver_function("cuMemGetAddressRange");
    uintptr_t first = 0;
    size_t all = 0;
    if (range == NULL || range(&first, &all, (uintptr_t)base) != 0) {
        return false;
    }
    const uint64_t after = all - ((uintptr_t)base - first);
    return source->offset <= after && source->bytes <= after - source->offset;
}

int sw_cuda_ipc_import(int device, const struct sw_memory_source *source, struct sw_memory *out,
                       char *reason, size_t reason_size)
{
    cudaIpcMemHandle_t handle;
    void *base = NULL;
    const char *why = refuse_device(device, source->device_uuid);
    static_assert(sizeof(handle) == sizeof(source->handle), "a handle is what a source has");
    if (why != NULL) {
        snprintf(reason, reason_size, "%s", why);
        return SW_E_UNSUPPORTED;
    }
    memcpy(&handle, source->handle, sizeof(handle));
    cudaError_t error = cudaIpcOpenMemHandle(&base, handle, cudaIpcMemLazyEnablePeerAccess);
    if (error != cudaSuccess) {
        (void)cudaGetLastError(); /* clears the error, so that a later launch does not report it */
        snprintf(reason, reason_size, "cudaIpcOpenMemHandle: %s", cudaGetErrorString(error));
        return error == cudaErrorMemoryAllocation ? SW_E_NOMEM : SW_E_UNSUPPORTED;
    }
    out->_backend = base;
    out->bytes = source->bytes;
    out->address = (char *)base + source->offset;
    if (!lies_within(base, source)) {
        snprintf(reason, reason_size, "the allocation of the handle ends before the memory does");
        sw_cuda_ipc_release(out);
        return SW_E_UNSUPPORTED;
    }
    return SW_OK;
}

void sw_cuda_ipc_release(struct sw_memory *memory)
{
    (void)cudaIpcCloseMemHandle(memory->_backend);
    (void)cudaGetLastError(); /* clears an error: the owner may have ended */
}
