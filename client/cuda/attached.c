/* SPDX-License-Identifier: MIT
 *
 * attached.c - the sentence of the last error of a thread, and the turn of the threads that use the
 * handle.
 */
#include "client/cuda/attached.h"

#include <stdarg.h>
#include <stdio.h>

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
