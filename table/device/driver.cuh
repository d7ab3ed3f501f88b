/* SPDX-License-Identifier: MIT
 *
 * driver.cuh - looks up driver functions through the runtime, so that nothing links with libcuda.
 */
#ifndef SHERWOOD_TABLE_DEVICE_DRIVER_CUH
#define SHERWOOD_TABLE_DEVICE_DRIVER_CUH

#include <cuda_runtime.h>

/* Returns the driver's function of this name; NULL: the driver has no such function. */
static inline void *sw_cuda_driver_function(const char *name)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : NULL;
}

#endif
