/* SPDX-License-Identifier: MIT
 *
 * free.c - the end of a handle.
 */
#include <stdlib.h>

#include "client/cuda/attached.h"

void sw_cuda_free(struct sherwood_cuda *cuda)
{
    const struct sw_driver *driver = &cuda->driver;
    int mode;
    if (cuda->context != NULL) {
        const bool entered = sw_driver_enter(driver, cuda->context, &mode);
        for (int i = 0; i < SW_CUDA_ENTRIES && entered; i++) {
            if (cuda->ordered[i].memory != 0) {
                (void)driver->memory_free(cuda->ordered[i].memory);
            }
        }
        if (entered) {
            sw_cuda_direct_free(cuda);
        }
        if (cuda->words != NULL && entered) {
            (void)driver->host_free(cuda->words);
        }
        if (entered) {
            sw_driver_leave(driver, mode);
        }
        (void)driver->context_release(cuda->ordinal);
    }
    sw_driver_close(&cuda->driver);
    pthread_cond_destroy(&cuda->changed);
    pthread_mutex_destroy(&cuda->lock);
    pthread_mutex_destroy(&cuda->turn);
    free(cuda);
}
