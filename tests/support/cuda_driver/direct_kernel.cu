/* SPDX-License-Identifier: MIT
 *
 * direct_kernel.cu - the kernel of direct reads on the emulator, for fake_streams.c.
 */
#include "client/cuda/direct_get.cu"

#include <string.h>

/* Runs the kernel with this name. */
extern "C" void fake_direct_kernel(const char *name, unsigned blocks, const void *parameters)
{
    struct sw_direct_call call;
    memcpy(&call, parameters, sizeof(call));
    if (strcmp(name, "sw_direct_get_64") == 0) {
        sw_direct_get_64<<<blocks, SW_DIRECT_BLOCK>>>(call);
    } else {
        sw_direct_get_128<<<blocks, SW_DIRECT_BLOCK>>>(call);
    }
    (void)cudaDeviceSynchronize(); /* with EMU_ASYNC=1 a launch returns before */
}
