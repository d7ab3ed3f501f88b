/* SPDX-License-Identifier: MIT
 *
 * range.cu - reserves addresses and maps memory there: by driver calls for device memory, by mmap
 * and pinning for host memory.
 */
#include "table/device/range.cuh"

#include <cuda.h>
#include <string.h>
#include <sys/mman.h>

#include "table/device/driver.cuh"
#include "table/host/memory.h"

/* A range has at most RANGE_PIECES_MAX pieces. Each but the last has at least RANGE_PIECE_BYTES:
 * the driver needs about 0.1 ms to map a piece. Pinning takes 8 ms for 16 MiB. */
#define RANGE_PIECES_MAX 32
#define RANGE_PIECE_BYTES (64ULL << 20)
/* Host memory is mapped in multiples of a huge page. */
#define HOST_GRANULARITY (2ULL << 20)
/* 1 / 20 of the available host memory, 5 %, stays free for others. */
#define HOST_MARGIN 20

static uint64_t whole(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Calls a driver function by its name. */
template <typename FUNCTION, typename... ARGUMENTS>
static cudaError_t drive(const char *name, FUNCTION *, ARGUMENTS... arguments)
{
    FUNCTION *function = (FUNCTION *)sw_cuda_driver_function(name);
    if (function == NULL) {
        (void)cudaGetLastError(); /* clears the error, so that a later launch does not report it */
        return cudaErrorNotSupported;
    }
    return (cudaError_t)function(arguments...); /* the relevant errors have the same numbers */
}
#define DRIVE(name, ...) drive(#name, (decltype(name) *)NULL, __VA_ARGS__)

/* --- of the device ---------------------------------------------------------------------------- */

static CUmemAllocationProp properties_of(const struct sw_cuda_range *range)
{
    CUmemAllocationProp properties;
    memset(&properties, 0, sizeof(properties));
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = range->device;
    return properties;
}

static cudaError_t reserve_device(struct sw_cuda_range *range, uint64_t bytes)
{
    const CUmemAllocationProp properties = properties_of(range);
    size_t granularity = 0;
    CUdeviceptr base = 0;
    cudaError_t error = DRIVE(cuMemGetAllocationGranularity, &granularity, &properties,
                              CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (error != cudaSuccess) {
        return error;
    }
    range->reserved = whole(bytes, granularity);
    range->piece = whole(range->piece, granularity);
    error =
        DRIVE(cuMemAddressReserve, &base, (size_t)range->reserved, (size_t)0, (CUdeviceptr)0, 0ULL);
    range->base = error == cudaSuccess ? (uint8_t *)base : NULL;
    return error;
}

static cudaError_t map_device(const struct sw_cuda_range *range, uint8_t *at, uint64_t bytes)
{
    const CUmemAllocationProp properties = properties_of(range);
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access;
    memset(&access, 0, sizeof(access));
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    cudaError_t error = DRIVE(cuMemCreate, &handle, (size_t)bytes, &properties, 0ULL);
    if (error != cudaSuccess) {
        return error;
    }
    error = DRIVE(cuMemMap, (CUdeviceptr)at, (size_t)bytes, (size_t)0, handle, 0ULL);
    if (error == cudaSuccess) {
        error = DRIVE(cuMemSetAccess, (CUdeviceptr)at, (size_t)bytes,
                      (const CUmemAccessDesc *)&access, (size_t)1);
        if (error != cudaSuccess) {
            (void)DRIVE(cuMemUnmap, (CUdeviceptr)at, (size_t)bytes);
        }
    }
    (void)DRIVE(cuMemRelease, handle); /* from here on the mapping keeps the memory */
    return error;
}

/* --- of the host ------------------------------------------------------------------------------ */

static cudaError_t reserve_host(struct sw_cuda_range *range, uint64_t bytes)
{
    int same = 0;
    cudaError_t error =
        cudaDeviceGetAttribute(&same, cudaDevAttrCanUseHostPointerForRegisteredMem, range->device);
    if (error == cudaSuccess && same == 0) {
        return cudaErrorNotSupported;
    }
    range->reserved = whole(bytes, HOST_GRANULARITY);
    range->piece = whole(range->piece, HOST_GRANULARITY);
    void *base = error == cudaSuccess ? mmap(NULL, range->reserved, PROT_NONE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                      : MAP_FAILED;
    range->base = base == MAP_FAILED ? NULL : (uint8_t *)base;
    return error == cudaSuccess && range->base == NULL ? cudaErrorMemoryAllocation : error;
}

/* Releases the memory of a piece and makes its pages inaccessible. */
static void leave_host(uint8_t *at, uint64_t bytes)
{
    (void)madvise(at, bytes, MADV_DONTNEED);
    (void)mprotect(at, bytes, PROT_NONE);
}

static cudaError_t map_host(uint8_t *at, uint64_t bytes)
{
    const uint64_t available = sw_memory_available();
    if (bytes > available - available / HOST_MARGIN ||
        mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) {
        return cudaErrorMemoryAllocation;
    }
    (void)madvise(at, bytes, MADV_HUGEPAGE); /* advice: small pages also work */
    cudaError_t error =
        cudaHostRegister(at, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        leave_host(at, bytes);
    }
    return error;
}

/* --- both ------------------------------------------------------------------------------------- */

cudaError_t sw_cuda_range_open(struct sw_cuda_range *range, int device, bool in_host,
                               uint64_t bytes)
{
    memset(range, 0, sizeof(*range));
    range->device = device;
    range->in_host = in_host;
    range->piece =
        bytes / RANGE_PIECES_MAX > RANGE_PIECE_BYTES ? bytes / RANGE_PIECES_MAX : RANGE_PIECE_BYTES;
    cudaError_t error = in_host ? reserve_host(range, bytes) : reserve_device(range, bytes);
    if (error != cudaSuccess) {
        memset(range, 0, sizeof(*range));
    }
    return error;
}

cudaError_t sw_cuda_range_map(struct sw_cuda_range *range, uint64_t bytes)
{
    while (range->mapped < bytes && range->mapped < range->reserved) {
        const uint64_t left = range->reserved - range->mapped;
        const uint64_t piece = left < range->piece ? left : range->piece;
        uint8_t *at = range->base + range->mapped;
        cudaError_t error = range->in_host ? map_host(at, piece) : map_device(range, at, piece);
        if (error != cudaSuccess) {
            return error;
        }
        range->mapped += piece;
    }
    return cudaSuccess;
}

uint64_t sw_cuda_range_needs(const struct sw_cuda_range *range, uint64_t bytes)
{
    const uint64_t pieces = whole(bytes, range->piece);
    const uint64_t end = pieces < range->reserved ? pieces : range->reserved;
    return bytes > range->mapped && end > range->mapped ? end - range->mapped : 0;
}

/* Ignores errors: memory that cannot be released stays allocated to the process. */
void sw_cuda_range_close(struct sw_cuda_range *range)
{
    for (uint64_t at = 0; at < range->mapped; at += range->piece) {
        const uint64_t left = range->mapped - at;
        const uint64_t piece = left < range->piece ? left : range->piece;
        if (range->in_host) {
            (void)cudaHostUnregister(range->base + at);
        } else {
            (void)DRIVE(cuMemUnmap, (CUdeviceptr)(range->base + at), (size_t)piece);
        }
    }
    if (range->base != NULL && range->in_host) {
        (void)munmap(range->base, range->reserved);
    } else if (range->base != NULL) {
        (void)DRIVE(cuMemAddressFree, (CUdeviceptr)range->base, (size_t)range->reserved);
    }
    memset(range, 0, sizeof(*range));
}
