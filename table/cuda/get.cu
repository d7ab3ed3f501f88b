/* SPDX-License-Identifier: MIT
 *
 * get.cu - batches of reads: one kernel for several, keys straight from host memory, answers
 * straight into it.
 *
 * A thread answers KEYS keys and has the home buckets of all of them on their way from memory
 * before it looks at the first; the few keys that go on to a second bucket go on one by one.
 */
#include "table/cuda/reduce.cuh"

/* Batches above this fill the device with several keys a thread. */
#define GET_ONE_KEY_MAX (1U << 18)

/* As sw_locate, given what the home bucket of m holds. */
template <int BITS>
static __device__ inline bool get_one(const typename sw_width<BITS>::table *table,
                                      const typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS],
                                      typename sw_width<BITS>::word m,
                                      typename sw_width<BITS>::word *value, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    if (m == W::empty) {
        if (table->state->side_present == 0) {
            return false;
        }
        *value = (typename W::word)table->state->side_value;
        return true;
    }
    uint64_t home = W::home(&table->main, m);
    int at = W::probe(held, m, value);
    ++*probes;
    bool found = at >= 0 || (at == SW_PROBE_NEXT &&
                             W::find_from(&table->main, m, home + 1, value, probes) != NULL);
    if (!found && table->state->stash_occupied != 0) {
        home = W::home(&table->stash, m);
        found = W::find_from(&table->stash, m, home, value, probes) != NULL;
    }
    return found;
}

/* One thread, when all blocks have added their sums. */
static __device__ inline void report(volatile struct sw_cuda_tally *tally, uint64_t count,
                                     struct sw_cuda_record *record, uint64_t ticket)
{
    struct sw_op_counters *gets = &record->counters.by_class[SW_CLASS_GET];
    uint64_t hits = tally->hits;
    memset(&record->counters, 0, sizeof(record->counters));
    gets->operations = count;
    gets->probes = tally->probes;
    gets->hits = hits;
    gets->misses = count - hits;
    record->status = SW_OK;
    record->leftover_count = 0;
    record->stash_change = 0;
    tally->probes = 0;
    tally->hits = 0;
    tally->blocks_done = 0;
    sw_record_done(record, ticket);
}

/* The batch this block works on. */
template <int BITS>
static __device__ inline uint32_t batch_of_block(const struct sw_cuda_reads<BITS> &reads)
{
    uint32_t b = 0;
    while (b + 1 < reads.batch_count && blockIdx.x >= reads.first_block[b + 1]) {
        b++;
    }
    return b;
}

/* Adds the sums of a block to the tally of its batch; the batch's last block reports. */
template <int BITS>
static __device__ inline void finish_block(const struct sw_cuda_read<BITS> &batch, uint64_t probes,
                                           uint32_t hits, uint32_t blocks)
{
    __shared__ unsigned long long block_probes;
    __shared__ unsigned long long block_hits;
    if (threadIdx.x == 0) {
        block_probes = 0;
        block_hits = 0;
    }
    __syncthreads();
    probes = sw_warp_sum(probes);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&block_probes, (unsigned long long)probes);
        atomicAdd(&block_hits, (unsigned long long)hits);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&batch.tally->probes, block_probes);
        atomicAdd(&batch.tally->hits, block_hits);
    }
    if (sw_last_block(&batch.tally->blocks_done, blocks) && threadIdx.x == 0) {
        report(batch.tally, batch.count, batch.record, batch.ticket);
    }
}

template <int BITS, int KEYS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    get_kernel(const typename sw_width<BITS>::table table,
               const __grid_constant__ struct sw_cuda_reads<BITS> reads)
{
    typedef sw_width<BITS> W;
    typename W::word m[KEYS];
    typename W::slot held[KEYS][SW_BUCKET_SLOTS];
    uint32_t b = batch_of_block<BITS>(reads);
    const struct sw_cuda_read<BITS> batch = reads.batches[b];
    uint64_t block = blockIdx.x - reads.first_block[b];
    uint64_t first = block * (SW_CUDA_BLOCK * KEYS) + threadIdx.x;
    uint64_t count = batch.count;
    uint64_t count_padded = (count + 63) / 64 * 64; /* the last word of `found` has zeros */
    uint64_t probes = 0;
    uint32_t hits = 0;

#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = first + (uint64_t)k * SW_CUDA_BLOCK;
        m[k] = i < count ? W::mix(&table, batch.keys[i]) : 0;
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        W::bucket_read(&table.main, W::home(&table.main, m[k]), held[k]);
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = first + (uint64_t)k * SW_CUDA_BLOCK;
        typename W::word value = 0;
        bool found = i < count && get_one<BITS>(&table, held[k], m[k], &value, &probes);
        if (i < count && batch.previous != NULL) {
            batch.previous[i] = found ? value : 0;
        }
        uint32_t word = __ballot_sync(SW_WARP_ALL, found);
        if (threadIdx.x % 32 == 0) {
            hits += (uint32_t)__popc(word);
            if (i < count_padded && batch.found != NULL) {
                batch.found[i / 32] = word;
            }
        }
    }

    finish_block<BITS>(batch, probes, hits, reads.first_block[b + 1] - reads.first_block[b]);
}

template <int BITS>
cudaError_t sw_cuda_launch_get(const struct sw_cuda_device<BITS> *device,
                               struct sw_cuda_reads<BITS> *reads, cudaStream_t stream)
{
    uint64_t keys = 0;
    for (uint32_t b = 0; b < reads->batch_count; b++) {
        keys += reads->batches[b].count;
    }
    uint32_t keys_per_thread = keys > GET_ONE_KEY_MAX ? 4 : 1;
    uint32_t keys_per_block = SW_CUDA_BLOCK * keys_per_thread;
    uint32_t blocks = 0;
    for (uint32_t b = 0; b < reads->batch_count; b++) {
        uint32_t own = (reads->batches[b].count + keys_per_block - 1) / keys_per_block;
        reads->first_block[b] = blocks;
        blocks += own > 0 ? own : 1; /* an empty batch completes too */
    }
    reads->first_block[reads->batch_count] = blocks;
    if (keys_per_thread == 4) {
        get_kernel<BITS, 4><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, *reads);
    } else {
        get_kernel<BITS, 1><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, *reads);
    }
    return cudaGetLastError();
}

template cudaError_t sw_cuda_launch_get<64>(const struct sw_cuda_device<64> *,
                                            struct sw_cuda_reads<64> *, cudaStream_t);
template cudaError_t sw_cuda_launch_get<128>(const struct sw_cuda_device<128> *,
                                             struct sw_cuda_reads<128> *, cudaStream_t);
