/* SPDX-License-Identifier: MIT
 *
 * reader.cu - readers: their streams, and the lists of channels with deferred reads.
 */
#include "table/device/reader.cuh"

#include <stdlib.h>

#include "table/device/launcher.cuh"

/* Finds or creates the reader. Under the turn. */
static cudaError_t find(struct sw_cuda_launcher *launcher, uint32_t thread,
                        struct sw_cuda_reader **out)
{
    for (*out = launcher->readers; *out != NULL; *out = (*out)->next) {
        if ((*out)->thread == thread) {
            return cudaSuccess;
        }
    }
    struct sw_cuda_reader *reader = (struct sw_cuda_reader *)calloc(1, sizeof(*reader));
    if (reader == NULL) {
        return cudaErrorMemoryAllocation;
    }
    const cudaError_t error = cudaStreamCreateWithFlags(&reader->stream, cudaStreamNonBlocking);
    if (error != cudaSuccess) {
        free(reader);
        return error;
    }
    reader->thread = thread;
    reader->next = launcher->readers;
    launcher->readers = reader;
    *out = reader;
    return cudaSuccess;
}

cudaError_t sw_cuda_reader_join(struct sw_cuda_channel *channel, uint32_t thread)
{
    struct sw_cuda_launcher *launcher = channel->owner->launcher;
    struct sw_cuda_reader *reader = NULL;
    pthread_mutex_lock(&launcher->turn);
    const cudaError_t error = find(launcher, thread, &reader);
    channel->reader = error == cudaSuccess ? reader : NULL;
    pthread_mutex_unlock(&launcher->turn);
    return error;
}

void sw_cuda_readers_close(struct sw_cuda_launcher *launcher)
{
    while (launcher->readers != NULL) {
        struct sw_cuda_reader *reader = launcher->readers;
        launcher->readers = reader->next;
        (void)cudaStreamDestroy(reader->stream);
        free(reader);
    }
}

void sw_cuda_reader_add(struct sw_cuda_channel *channel)
{
    struct sw_cuda_reader *reader = channel->reader;
    if (reader == NULL) {
        return;
    }
    struct sw_cuda_channel **at = &reader->waiting;
    while (*at != NULL && (uintptr_t)(*at)->owner < (uintptr_t)channel->owner) {
        at = &(*at)->next_waiting;
    }
    channel->next_waiting = *at;
    *at = channel;
    reader->waiting_count++;
}

void sw_cuda_reader_remove(struct sw_cuda_channel *channel)
{
    struct sw_cuda_reader *reader = channel->reader;
    struct sw_cuda_channel **at = reader != NULL ? &reader->waiting : NULL;
    while (at != NULL && *at != NULL) {
        if (*at == channel) {
            *at = channel->next_waiting;
            reader->waiting_count--;
            return;
        }
        at = &(*at)->next_waiting;
    }
}
