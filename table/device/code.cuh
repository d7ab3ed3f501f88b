/* SPDX-License-Identifier: MIT
 *
 * code.cuh - which of this program's code for GPUs runs on a device.
 *
 * A program holds code for some GPUs, and PTX, which the driver compiles for newer ones. What was
 * left out of older code (kernels that follow each other, follow.cuh) the host must not ask for, so
 * it goes by the code, not by the device.
 */
#ifndef SHERWOOD_TABLE_DEVICE_CODE_CUH
#define SHERWOOD_TABLE_DEVICE_CODE_CUH

#include <stddef.h>

#include <cuda_runtime.h>

/* Looks at the code that runs on the current device and describes it in words, after what `text`
 * holds: ", code of sm_90". An error if there is none. */
cudaError_t sw_cuda_look_at_code(char *text, size_t text_size);

/* True if kernels of all devices that were looked at may follow each other. */
bool sw_cuda_code_follows(void);

#endif
