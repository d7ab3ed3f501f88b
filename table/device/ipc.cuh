/* SPDX-License-Identifier: MIT
 *
 * ipc.cuh - device memory of other processes, by the handles of cudaIpcGetMemHandle.
 *
 * A handle is of a whole allocation; a part of it is named by an offset. How large the allocation
 * is the driver of this process says. The same allocation may be opened several times: the driver
 * counts. What was opened stays when its owner frees it, resets its context or dies.
 *
 * Handles have to be trusted. The driver believes what one says of where its allocation begins: of
 * a handle that somebody has changed, a kernel may read what is not there, and that is the end of
 * the process's context.
 */
#ifndef SHERWOOD_TABLE_DEVICE_IPC_CUH
#define SHERWOOD_TABLE_DEVICE_IPC_CUH

#include "table/memory.h"

/* The number of a device, which is the same in every process. */
bool sw_cuda_ipc_device(int device, uint8_t uuid[16]);

/* sw_memory_import of SW_MEMORY_CUDA_IPC. The device must be current. */
int sw_cuda_ipc_import(int device, const struct sw_memory_source *source, struct sw_memory *out,
                       char *reason, size_t reason_size);
void sw_cuda_ipc_release(struct sw_memory *memory);

#endif
