/* SPDX-License-Identifier: MIT
 *
 * driver.cuh - functions of the driver, which the runtime finds: nothing is linked with libcuda.
 */
#ifndef SHERWOOD_TABLE_DEVICE_DRIVER_CUH
#define SHERWOOD_TABLE_DEVICE_DRIVER_CUH

#include <cuda_runtime.h>

/* The driver's function of this name; NULL: it has none. */
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
