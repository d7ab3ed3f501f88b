/* SPDX-License-Identifier: MIT
 *
 * direct_kernel.cu - the kernels of direct reads on the emulator, for fake_streams.c.
 */
#include "client/cuda/direct_get.cu"

#include <stdlib.h>
#include <string.h>

/* Runs the kernel with this name. */
extern "C" void fake_direct_kernel(const char *name, unsigned blocks, const void *parameters)
{
    struct sw_direct_call call;
    memcpy(&call, parameters, sizeof(call));
    if (getenv("FAKE_EARLIER_EPOCH") != NULL) { /* as if another block had begun before a write */
        ((struct sw_direct_state *)call.state)->epoch = 1 + (UINT64_C(1) << 40);
    }
    if (strcmp(name, "sw_direct_small_64") == 0) {
        sw_direct_small_64<<<blocks, SW_DIRECT_BLOCK>>>(call);
    } else if (strcmp(name, "sw_direct_small_128") == 0) {
        sw_direct_small_128<<<blocks, SW_DIRECT_BLOCK>>>(call);
    } else if (strcmp(name, "sw_direct_large_64") == 0) {
        sw_direct_large_64<<<blocks, SW_DIRECT_BLOCK>>>(call);
    } else {
        sw_direct_large_128<<<blocks, SW_DIRECT_BLOCK>>>(call);
    }
    (void)cudaDeviceSynchronize(); /* with EMU_ASYNC=1 a launch returns before */
}
