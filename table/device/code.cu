/* SPDX-License-Identifier: MIT
 *
 * code.cu - finds the code (sm_XX or PTX) that runs on a device, from the attributes of one kernel:
 * all kernels are compiled alike.
 */
#include "table/device/code.cuh"

#include <stdio.h>
#include <string.h>

/* First compute capability (times 10) with programmatic dependent launch. */
#define FOLLOWS_FROM 90

/* The Makefile sets SW_CUDA_ONLY_PTX in a build with PTX alone. PTX that the driver compiles for
 * its own architecture looks like code that nvcc compiled. */
#ifdef SW_CUDA_ONLY_PTX
#define ONLY_PTX true
#else
#define ONLY_PTX false
#endif

enum follows { UNKNOWN, YES, NO };
static int follows; /* atomic: enum follows; NO for good once one device has older code */

static __global__ void no_kernel(void)
{
}

static void note(bool may_follow)
{
    int unknown = UNKNOWN;
    if (!may_follow) {
        __atomic_store_n(&follows, NO, __ATOMIC_RELAXED);
    } else {
        __atomic_compare_exchange_n(&follows, &unknown, YES, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
}

bool sw_cuda_code_follows(void)
{
    return __atomic_load_n(&follows, __ATOMIC_RELAXED) == YES;
}

cudaError_t sw_cuda_find_code(char *text, size_t text_size)
{
    cudaFuncAttributes code;
    cudaError_t error = cudaFuncGetAttributes(&code, no_kernel);
    if (error != cudaSuccess) {
        return error;
    }
    note(code.ptxVersion >= FOLLOWS_FROM);
    const size_t length = strlen(text);
    if (!ONLY_PTX && code.binaryVersion == code.ptxVersion) {
        snprintf(text + length, text_size - length, ", code of sm_%d", code.binaryVersion);
    } else {
        snprintf(text + length, text_size - length,
                 ", PTX of compute_%d compiled by the driver for sm_%d", code.ptxVersion,
                 code.binaryVersion);
    }
    return cudaSuccess;
}
