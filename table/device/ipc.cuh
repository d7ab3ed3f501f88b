/* SPDX-License-Identifier: MIT
 *
 * ipc.cuh - device memory of other processes, by the handles of cudaIpcGetMemHandle.
 *
 * A handle names a whole allocation; an offset names a part of it. The driver of this process
 * reports the size of the allocation. A process may open the same allocation several times: the
 * driver counts. An opened allocation stays valid when its owner frees it, resets its context or
 * dies. The memory may be of another device of the host, if the table's device has peer access to
 * it.
 *
 * Handles must come from trusted processes. The driver does not verify the start of the allocation
 * that a handle states. With a forged handle a kernel may read unmapped addresses, which destroys
 * the CUDA context of this process.
 */
#ifndef SHERWOOD_TABLE_DEVICE_IPC_CUH
#define SHERWOOD_TABLE_DEVICE_IPC_CUH

#include "table/imported_memory.h"

/* Writes the UUID of a device, which is the same in every process. Returns false on an error. */
bool sw_cuda_ipc_device(int device, uint8_t uuid[16]);

/* Implements sw_memory_import for SW_MEMORY_CUDA_IPC. The device must be current. */
int sw_cuda_ipc_import(int device, const struct sw_memory_source *source, struct sw_memory *out,
                       char *reason, size_t reason_size);
void sw_cuda_ipc_release(struct sw_memory *memory);

#endif
