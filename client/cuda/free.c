/* SPDX-License-Identifier: MIT
 *
 * free.c - the end of a handle.
 */
#include <stdlib.h>

#include "client/cuda/attached.h"

void sw_cuda_free(struct sherwood_cuda *cuda)
{
    const struct sw_driver *driver = &cuda->driver;
    void *context;
    if (cuda->context != NULL) {
        const bool entered = driver->context_push(cuda->context) == 0;
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
            (void)driver->context_pop(&context);
        }
        (void)driver->context_release(cuda->ordinal);
    }
    sw_driver_close(&cuda->driver);
    pthread_cond_destroy(&cuda->changed);
    pthread_mutex_destroy(&cuda->lock);
    pthread_mutex_destroy(&cuda->turn);
    free(cuda);
}
