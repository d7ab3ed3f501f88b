/* SPDX-License-Identifier: MIT
 *
 * direct_mark.cu - the marks of writes in the page of direct reads.
 */
#include "table/device/direct.cuh"

/* The first fence orders the write before the even epoch, the last one the odd epoch before the
 * write. An even epoch comes after the numbers that belong to it, so a reader that sees it sees
 * them (D1). */
static __global__ void mark_kernel(volatile struct sw_cuda_direct_page *page, uint64_t epoch,
                                   uint64_t generation, uint64_t no_jumps)
{
    __threadfence_system();
    if (epoch % 2 == 0) {
        page->generation = generation;
        page->no_jumps = no_jumps;
        __threadfence_system();
    }
    page->epoch = epoch;
    __threadfence_system();
}

cudaError_t sw_cuda_direct_store(struct sw_cuda_direct *direct, cudaStream_t stream)
{
    direct->stored = direct->epoch % 2 == 0 ? direct->generation : direct->stored;
    mark_kernel<<<1, 1, 0, stream>>>(direct->page, direct->epoch, direct->generation,
                                     *direct->no_jumps);
    return cudaGetLastError();
}

cudaError_t sw_cuda_direct_mark(struct sw_cuda_channel *channel, bool begins)
{
    struct sw_cuda_direct *direct = channel->owner->direct;
    const bool changes = (direct->epoch % 2 != 0) != begins;
    const bool renews = !begins && direct->stored != direct->generation;
    if (direct->readers == 0 || (!changes && !renews)) {
        return cudaSuccess;
    }
    direct->epoch += changes;
    return sw_cuda_direct_store(direct, channel->stream);
}
