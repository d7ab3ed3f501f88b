/* SPDX-License-Identifier: MIT
 *
 * row_get.cu - batches of reads of rows; one kernel runs several batches. Each thread looks up a
 * key. Then its warp copies the rows of 32 keys as one stream, so that many loads are in flight.
 */
/* Loads that a lane has in flight while its warp copies rows.
 *
 * %RANGE% SW_ROW_GET_UNITS lif {2,4,6,8}
 */
#ifndef SW_ROW_GET_UNITS
#define SW_ROW_GET_UNITS 4
#endif

#include "table/robin_hood/cuda/look_up/get.cuh"
#include "table/robin_hood/cuda/rows/row_move.cuh"
#include "table/robin_hood/cuda/times/expired_reads.cuh"

#define WARPS (SW_CUDA_BLOCK / 32)

/* Answers block number `block` of the `blocks` of a batch. HINTS: the look-ups use hints; with
 * OPTIONAL only if `hints` is not NULL. BOTH: rows may lie in both memories. If they lie in one
 * memory, the run-time choice would slow down reads by 2 % (H200, 256 bytes). */
template <int BITS, bool HINTS, bool OPTIONAL, bool BOTH, typename FILTER, typename EXPIRY_FILTER>
static __device__ __forceinline__ void
answer_rows(const typename sw_width<BITS>::table &table, const uint8_t *hints,
            const struct sw_cuda_rows &rows, const struct sw_cuda_read<BITS> &batch, uint32_t block,
            uint32_t blocks, const FILTER &filter, const EXPIRY_FILTER &expiry_filter)
{
    typedef sw_width<BITS> W;
    __shared__ struct row_transfer transfers[WARPS][32];
    __shared__ uint32_t block_found[WARPS];
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t block_first = block * SW_CUDA_BLOCK;
    const uint32_t first = block_first + warp * 32;
    const uint32_t i = first + threadIdx.x % 32;
    const bool mine = i < batch.count;
    typename W::slot held[SW_BUCKET_SLOTS];
    typename W::word row = 0;
    uint64_t probes = 0;
    uint32_t outside = 0; /* ~ this thread's key if the filter excludes the key */

    const typename W::word m = mine ? W::mix(&table, __ldcs(batch.keys + i)) : 0;
    uint64_t bucket = W::home(&table.main, m);
    if (HINTS && (!OPTIONAL || hints != NULL)) {
        bucket += sw_hint_lead(load_hint(hints + bucket / 2), bucket % 2 != 0);
        bucket = min(bucket, table.main.buckets_total - 1);
    }
    read_bucket<BITS, 1, HINTS && !OPTIONAL>(&table.main, bucket, 0, held);
    if constexpr (FILTER::filters) { /* while the bucket is loaded */
        outside = sw_filter_outside<BITS, 1>(filter, &table, &m, i, 0, batch.count);
    }
    const int at = probe<BITS, 1>(held, m, &row);
    bool found = mine && get_one<BITS>(&table, at, bucket, m, &row, &probes);
    if constexpr (EXPIRY_FILTER::filters) {
        found = mine && sw_is_unexpired(expiry_filter, i, W::unmix(&table, m), found);
    }
    const uint32_t word = __ballot_sync(SW_WARP_ALL, found);
    if (threadIdx.x % 32 == 0) {
        block_found[warp] = word;
    }
    if (batch.found != NULL) {
        sw_bits_store(batch.found, batch.count, block_first, block_found, WARPS);
    }
    if (batch.previous != NULL && first < batch.count) {
        uint8_t *answers = (uint8_t *)batch.previous;
        const uint32_t bytes = rows.value_bytes;
        const uint8_t *lies = BOTH ? row_at(rows, row) : rows.rows + row * rows.stride;
        transfers[warp][threadIdx.x % 32] = {found ? lies : NULL, answers + (uint64_t)i * bytes};
        __syncwarp(); /* M3: all lanes have stored their part of the list */
        row_copy(transfers[warp], min(batch.count - first, 32U), bytes,
                 row_unit((uintptr_t)answers | bytes));
    }
    finish_block<BITS, true, FILTER::filters>(batch, probes, (uint32_t)__popc(word), outside,
                                              blocks);
}

template <int BITS, int N, bool HINTS, bool BOTH, typename FILTER, typename EXPIRY_FILTER>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    row_get_kernel(const typename sw_width<BITS>::table table, const uint8_t *hints,
                   const struct sw_cuda_rows rows,
                   const __grid_constant__ struct sw_cuda_reads<BITS, N> reads,
                   const __grid_constant__ FILTER filter,
                   const __grid_constant__ EXPIRY_FILTER expiry_filter)
{
    const uint32_t b = batch_of_block<BITS, N>(reads);
    const uint32_t first = reads.first_block[b];
    const struct sw_cuda_read<BITS> batch = reads.batches[b];
    answer_rows<BITS, HINTS, false, BOTH>(table, hints, rows, batch, blockIdx.x - first,
                                          reads.first_block[b + 1] - first, filter, expiry_filter);
}

/* Each block reads the table of its batch. M1: a kernel before this one has stored the views. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    shared_row_get_kernel(const __grid_constant__ struct sw_cuda_shared_reads<BITS> reads)
{
    const uint32_t b = shared_batch_of_block<BITS>(reads);
    const struct sw_cuda_shared_read<BITS> &read = reads.batches[b];
    const typename sw_width<BITS>::table table = read.view->table;
    const struct sw_cuda_read<BITS> batch = unshared<BITS>(read);
    struct sw_cuda_rows rows = {};
    rows.rows = read.view->rows;
    rows.further = read.view->further;
    rows.split = read.view->split;
    rows.value_bytes = read.view->value_bytes;
    rows.stride = read.view->stride;
    answer_rows<BITS, true, true, true>(
        table, read.view->hints, rows, batch, blockIdx.x - read.first_block,
        blocks_of(read.count, SW_CUDA_BLOCK), sw_no_filter(), sw_cuda_no_expiry_filter());
}

template <int BITS, int N, typename FILTER> static auto kernel_of(bool use_hints, bool both)
{
    return use_hints
               ? (both ? row_get_kernel<BITS, N, true, true, FILTER, sw_cuda_no_expiry_filter>
                       : row_get_kernel<BITS, N, true, false, FILTER, sw_cuda_no_expiry_filter>)
               : (both ? row_get_kernel<BITS, N, false, true, FILTER, sw_cuda_no_expiry_filter>
                       : row_get_kernel<BITS, N, false, false, FILTER, sw_cuda_no_expiry_filter>);
}

template <int BITS, int N, typename FILTER>
static cudaError_t
launch(const struct sw_cuda_device<BITS> *device, const struct sw_cuda_rows *rows, bool use_hints,
       struct sw_cuda_reads<BITS, N> *reads, const FILTER &filter, cudaStream_t stream)
{
    const uint32_t blocks = lay_out<BITS, N>(reads, SW_CUDA_BLOCK);
    const auto kernel =
        kernel_of<BITS, N, FILTER>(use_hints && device->hints != NULL, rows->further != NULL);
    kernel<<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, device->hints, *rows, *reads,
                                                 filter, sw_cuda_no_expiry_filter());
    return cudaGetLastError();
}

template <int BITS, int N>
cudaError_t sw_cuda_launch_row_get(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_rows *rows, bool use_hints,
                                   struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream)
{
    return reads->filter != NULL ? launch<BITS, N, sw_filter>(device, rows, use_hints, reads,
                                                              sw_filter{*reads->filter}, stream)
                                 : launch<BITS, N, sw_no_filter>(device, rows, use_hints, reads,
                                                                 sw_no_filter(), stream);
}

template <int BITS>
cudaError_t sw_cuda_launch_shared_row_get(struct sw_cuda_shared_reads<BITS> *reads,
                                          cudaStream_t stream)
{
    const uint32_t blocks = lay_out_shared<BITS>(reads);
    shared_row_get_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*reads);
    return cudaGetLastError();
}

/* For rows in either memory. */
template <int BITS, typename FILTER>
static void launch_unexpired(const struct sw_cuda_device<BITS> *device,
                             const struct sw_cuda_rows *rows,
                             const struct sw_cuda_reads<BITS, 1> *reads, const FILTER &filter,
                             const struct sw_cuda_expiry_filter *expiry_filter, uint32_t blocks,
                             cudaStream_t stream)
{
    row_get_kernel<BITS, 1, false, true, FILTER, sw_cuda_expiry_filter>
        <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, device->hints, *rows, *reads, filter,
                                               *expiry_filter);
}

template <int BITS>
cudaError_t sw_cuda_launch_unexpired_row_get(const struct sw_cuda_device<BITS> *device,
                                             const struct sw_cuda_rows *rows,
                                             struct sw_cuda_reads<BITS, 1> *reads,
                                             const struct sw_cuda_expiry_filter *expiry_filter,
                                             cudaStream_t stream)
{
    const uint32_t blocks = lay_out<BITS, 1>(reads, SW_CUDA_BLOCK);
    if (reads->filter != NULL) {
        launch_unexpired<BITS>(device, rows, reads, sw_filter{*reads->filter}, expiry_filter,
                               blocks, stream);
    } else {
        launch_unexpired<BITS>(device, rows, reads, sw_no_filter(), expiry_filter, blocks, stream);
    }
    return cudaGetLastError();
}

/* Loads the kernels of launches of N batches. */
template <int BITS, int N, typename FILTER> static cudaError_t load()
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaSuccess;
    for (uint32_t which = 0; which < 4 && error == cudaSuccess; which++) {
        error = cudaFuncGetAttributes(
            &attributes, kernel_of<BITS, N, FILTER>((which & 1) != 0, (which & 2) != 0));
    }
    return error;
}

template <int BITS> cudaError_t sw_cuda_load_row_get(void)
{
    struct cudaFuncAttributes attributes;
    const cudaError_t errors[] = {
        cudaFuncGetAttributes(&attributes, shared_row_get_kernel<BITS>),
        load<BITS, 1, sw_no_filter>(), load<BITS, SW_CUDA_READS_MAX, sw_no_filter>(),
        load<BITS, 1, sw_filter>(), load<BITS, SW_CUDA_READS_MAX, sw_filter>()};
    for (const cudaError_t error : errors) {
        if (error != cudaSuccess) {
            return error;
        }
    }
    return cudaSuccess;
}

#define INSTANTIATE(BITS, N)                                                    \
    template cudaError_t sw_cuda_launch_row_get<BITS, N>(                       \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_rows *, bool, \
        struct sw_cuda_reads<BITS, N> *, cudaStream_t);
#define INSTANTIATE_BOTH(BITS, ...)                                                               \
    INSTANTIATE(BITS, 1)                                                                          \
    INSTANTIATE(BITS, SW_CUDA_READS_MAX)                                                          \
    template cudaError_t sw_cuda_launch_unexpired_row_get<BITS>(                                  \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_rows *,                         \
        struct sw_cuda_reads<BITS, 1> *, const struct sw_cuda_expiry_filter *, cudaStream_t);     \
    template cudaError_t sw_cuda_launch_shared_row_get<BITS>(struct sw_cuda_shared_reads<BITS> *, \
                                                             cudaStream_t);                       \
    template cudaError_t sw_cuda_load_row_get<BITS>(void);
SW_WIDTHS(INSTANTIATE_BOTH)
