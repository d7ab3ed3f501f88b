/* SPDX-License-Identifier: MIT
 *
 * cuda.h - what the table uses of the driver, for the emulator: virtual memory.
 */
#ifndef SHERWOOD_EMULATOR_CUDA_H
#define SHERWOOD_EMULATOR_CUDA_H

#include "cuda_runtime.h"

typedef cudaError_t CUresult; /* those that matter have the same numbers */
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;

typedef enum { CU_MEM_LOCATION_TYPE_DEVICE = 1 } CUmemLocationType;
typedef enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1 } CUmemAllocationType;
typedef enum { CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1 } CUmemAllocationGranularity_flags;
typedef enum { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 } CUmemAccess_flags;

typedef struct {
    CUmemLocationType type;
    int id;
} CUmemLocation;
typedef struct {
    CUmemAllocationType type;
    CUmemLocation location;
} CUmemAllocationProp;
typedef struct {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags which);
CUresult cuMemAddressReserve(CUdeviceptr *at, size_t bytes, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *properties, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr at, size_t bytes);
CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access, size_t count);

#endif
