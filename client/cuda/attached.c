/* SPDX-License-Identifier: MIT
 *
 * attached.c - the sentence of the last error of a thread, the turn of the threads that use the
 * handle, and the call of libsherwood.
 */
#include "client/cuda/attached.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char sentence[SW_CUDA_TEXT_BYTES];

int sw_cuda_fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return status;
}

const char *sherwood_cuda_error(void)
{
    return sentence;
}

void sw_cuda_take_turn(struct sherwood_cuda *cuda)
{
    /* relaxed: a hint for fairness; the mutex orders everything else */
    __atomic_fetch_add(&cuda->wanted, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&cuda->turn);
    __atomic_fetch_sub(&cuda->wanted, 1, __ATOMIC_RELAXED);
}

void sw_cuda_give_turn(struct sherwood_cuda *cuda)
{
    pthread_mutex_unlock(&cuda->turn);
}

void sw_cuda_enter(struct sherwood_cuda *cuda)
{
    sw_cuda_take_turn(cuda);
    (void)cuda->driver.context_push(cuda->context);
}

void sw_cuda_leave(struct sherwood_cuda *cuda)
{
    void *context;
    (void)cuda->driver.context_pop(&context);
    sw_cuda_give_turn(cuda);
}

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

int sw_cuda_run_call(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    return call->flags == 0 ? sherwood_run(cuda->client, call->operation, call->keys, call->values,
                                           call->count, call->previous, call->found)
                            : sherwood_read_found_bytes(cuda->client, call->operation, call->keys,
                                                        call->count, call->previous, call->found);
}
