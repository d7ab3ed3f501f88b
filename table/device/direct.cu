/* SPDX-License-Identifier: MIT
 *
 * direct.cu - the page of direct reads, and its readers.
 */
#include "table/device/direct.cuh"

#include <stdlib.h>

#include "table/device/zeroed.cuh"

/* --- readers ---------------------------------------------------------------------------------- */

/* Stores the numbers as they are now, as a write between the others. Under `order`. */
static cudaError_t store_in_order(struct sw_cuda_direct *direct)
{
    struct sw_cuda_channel *channel = &direct->channel;
    cudaError_t error = sw_cuda_wait_for_write(channel);
    if (error == cudaSuccess) {
        error = sw_cuda_direct_store(direct, channel->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(channel) : error;
}

/* Changes the number of readers. With the first reader the numbers become true, and after the last
 * one, or a change of 0, no export is valid. Waits for the device if the page changes. */
static cudaError_t change_readers(struct sw_cuda_channel_owner *owner, int change)
{
    struct sw_cuda_direct *direct = owner->direct;
    struct sw_cuda_channel *channel = &direct->channel;
    if (!sw_cuda_channel_begin(channel)) {
        return cudaErrorUnknown;
    }
    const uint32_t before = direct->readers;
    direct->readers += (uint32_t)change;
    const bool stores = before == 0 ? change > 0 : change == 0 || direct->readers == 0;
    direct->generation += stores && change <= 0;
    cudaError_t error = stores ? store_in_order(direct) : cudaSuccess;
    if (!sw_cuda_channel_end(channel, error)) {
        return error == cudaSuccess ? cudaErrorUnknown : error;
    }
    if (stores) {
        error = cudaStreamSynchronize(channel->stream);
    }
    return sw_cuda_check(owner, error, "a mark of direct reads") ? cudaSuccess : error;
}

cudaError_t sw_cuda_direct_add(struct sw_cuda_channel_owner *owner)
{
    return change_readers(owner, 1);
}

cudaError_t sw_cuda_direct_remove(struct sw_cuda_channel_owner *owner)
{
    return change_readers(owner, -1);
}

cudaError_t sw_cuda_direct_end(struct sw_cuda_channel_owner *owner)
{
    return change_readers(owner, 0);
}

cudaError_t sw_cuda_direct_counts(struct sw_cuda_channel_owner *owner, uint64_t counts[2])
{
    cudaError_t error = cudaMemcpyAsync(counts, &owner->direct->page->hits, 2 * sizeof(*counts),
                                        cudaMemcpyDeviceToHost, cudaStreamPerThread);
    return error == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : error;
}

/* --- open and close --------------------------------------------------------------------------- */

cudaError_t sw_cuda_direct_open(struct sw_cuda_channel_owner *owner)
{
    static const uint64_t jumps = 0;
    const size_t bytes = sw_cuda_export_bytes(sizeof(struct sw_cuda_direct_page));
    struct sw_cuda_direct *direct = (struct sw_cuda_direct *)calloc(1, sizeof(*direct));
    if (direct == NULL) {
        return cudaErrorMemoryAllocation;
    }
    direct->no_jumps = &jumps;
    direct->generation = 1;
    owner->direct = direct;
    const cudaError_t error = sw_cuda_allocate_zeroed((void **)&direct->page, bytes);
    return error == cudaSuccess ? sw_cuda_channel_open(&direct->channel, owner, sizeof(uint64_t))
                                : error;
}

void sw_cuda_direct_close(struct sw_cuda_channel_owner *owner)
{
    struct sw_cuda_direct *direct = owner->direct;
    if (direct == NULL) {
        return;
    }
    if (direct->channel.owner != NULL) {
        (void)sw_cuda_direct_end(owner); /* readers may keep the memory mapped */
        sw_cuda_channel_close(&direct->channel);
    }
    (void)cudaFree(direct->page);
    owner->direct = NULL;
    free(direct);
}
