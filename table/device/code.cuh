/* SPDX-License-Identifier: MIT
 *
 * code.cuh - finds which GPU code of this program runs on a device.
 *
 * The program contains code for some GPUs, and PTX, which the driver compiles for newer ones. Older
 * code lacks programmatic dependent launch (follow.cuh), and the host must not request it then. So
 * the host decides by the code, not by the device.
 */
#ifndef SHERWOOD_TABLE_DEVICE_CODE_CUH
#define SHERWOOD_TABLE_DEVICE_CODE_CUH

#include <stddef.h>

#include <cuda_runtime.h>

/* Finds the code that runs on the current device and appends its description to `text`, for example
 * ", code of sm_90". Returns an error if no code runs there. */
cudaError_t sw_cuda_find_code(char *text, size_t text_size);

/* Returns true if the code found for every device so far supports programmatic dependent launch. */
bool sw_cuda_code_follows(void);

#endif
