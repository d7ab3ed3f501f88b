/* SPDX-License-Identifier: MIT
 *
 * close_holes.cu - closes the holes that batches of deletes left (writes/holes.cuh), by a rebuild
 * in place.
 */
#include "table/robin_hood/cuda/host.cuh"

/* Enqueues the pass. The stash stays as it is: whether a write is refused must not depend on holes.
 */
template <int BITS> static cudaError_t close_holes(struct sw_cuda_queue *queue)
{
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(queue->table);
    const struct sw_cuda_batch<BITS> none = {
    };
    cudaError_t error =
        sw_cuda_launch_merge_sort<BITS>(device, &none, device->table.main.buckets, queue->stream);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_close_up<BITS>(device, NULL, queue->stream);
    }
    device->table.main.no_jumps = 0;
    return error == cudaSuccess ? sw_cuda_launch_reset<BITS>(device, queue->stream) : error;
}

cudaError_t sw_cuda_close_holes(struct sw_cuda_queue *queue)
{
    struct sw_cuda_table *table = queue->table;
    if (table->holes.most == 0) {
        return cudaSuccess;
    }
    table->holes.most = 0;
    table->hole_passes++;
    sw_hole_facts_end(&table->holes);
    __atomic_store_n(&table->hints_age, 0, __ATOMIC_RELAXED);
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error == cudaSuccess) {
        error = SW_BY_FORMAT_NUMBER(table->format, close_holes, queue);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

bool sw_cuda_tidy(void *context)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    return sw_cuda_channel_begin(queue) && sw_cuda_channel_end(queue, sw_cuda_close_holes(queue));
}
