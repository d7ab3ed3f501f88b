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
/* Keys in flight a thread; measured on an H200, 2^27 slots of 64 bits: 2 is the fastest from load
 * 0.5 to 0.95, 4 where a hint is read first (bench/results/h200/timing). */
#define GET_KEYS 2
#define GET_KEYS_HINTED 4

/* The 16 bytes at p. With hints the table's lines are the first to leave the L2 cache, so that the
 * hints stay there: they are read once a key, a line of the table hardly twice. */
template <bool FIRST_OUT> static __device__ inline uint4 load_16(const void *p)
{
    if (!FIRST_OUT) {
        return *(const uint4 *)p;
    }
    uint4 out;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
                 : "l"(p), "l"(policy));
    return out;
}

static __device__ inline uint8_t load_hint(const uint8_t *p)
{
    uint32_t out;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u8 %0, [%1], %2;"
                 : "=r"(out)
                 : "l"(p), "l"(policy));
    return (uint8_t)out;
}

template <int BITS, bool FIRST_OUT>
static __device__ inline void read_bucket(const typename sw_width<BITS>::view *view, uint64_t b,
                                          typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS])
{
    typedef typename sw_width<BITS>::word word;
    const typename sw_width<BITS>::slot *bucket = view->slots + b * SW_BUCKET_SLOTS;
    /* field by field: through a pointer the array would lie in local memory */
    if (BITS == 64) {
#pragma unroll
        for (int i = 0; i < SW_BUCKET_SLOTS; i += 2) {
            uint4 pair = load_16<FIRST_OUT>(bucket + i);
            held[i].value = pair.x;
            held[i].m = pair.y;
            held[i + 1].value = pair.z;
            held[i + 1].m = pair.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
            uint4 one = load_16<FIRST_OUT>(bucket + i);
            held[i].value = (word)((uint64_t)one.y << 32 | one.x);
            held[i].m = (word)((uint64_t)one.w << 32 | one.z);
        }
    }
}

/* As sw_locate, given what bucket b holds: the home of m, or the one its hint names. */
template <int BITS>
static __device__ inline bool get_one(const typename sw_width<BITS>::table *table,
                                      const typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS],
                                      uint64_t b, typename sw_width<BITS>::word m,
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
    int at = W::probe(held, m, value);
    ++*probes;
    bool found = at >= 0 || (at == SW_PROBE_NEXT &&
                             W::find_from(&table->main, m, b + 1, value, probes) != NULL);
    if (!found && table->state->stash_occupied != 0) {
        uint64_t home = W::home(&table->stash, m);
        found = W::find_from(&table->stash, m, home, value, probes) != NULL;
    }
    return found;
}

/* One thread, when all sums are known. */
static __device__ inline void report(uint64_t probes, uint64_t hits, uint64_t count, bool counted,
                                     struct sw_cuda_record *record, uint64_t ticket)
{
    struct sw_op_counters *gets = &record->counters.by_class[SW_CLASS_GET];
    memset(&record->counters, 0, sizeof(record->counters));
    gets->operations = count;
    gets->probes = probes;
    gets->hits = hits;
    gets->misses = counted ? count - hits : 0;
    record->status = SW_OK;
    record->leftover_count = 0;
    record->stash_change = 0;
    sw_record_done(record, ticket);
}

/* The batch this block works on. */
template <int BITS, int N>
static __device__ inline uint32_t batch_of_block(const struct sw_cuda_reads<BITS, N> &reads)
{
    uint32_t b = 0;
    while (N > 1 && b + 1 < reads.batch_count && blockIdx.x >= reads.first_block[b + 1]) {
        b++;
    }
    return b;
}

/* Adds the sums of a block to the tally of its batch; the batch's last block reports. */
template <int BITS, bool COUNTS>
static __device__ inline void finish_block(const struct sw_cuda_read<BITS> &batch, uint64_t probes,
                                           uint32_t hits, uint32_t blocks)
{
    __shared__ unsigned long long block_probes;
    __shared__ unsigned int block_hits;
    if (COUNTS) {
        if (threadIdx.x == 0) {
            block_probes = 0;
            block_hits = 0;
        }
        __syncthreads();
        /* a thread's probes fit 32 bits: max_probe does, and it has few keys */
        uint32_t warp_probes = __reduce_add_sync(SW_WARP_ALL, (uint32_t)probes);
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&block_probes, (unsigned long long)warp_probes);
            atomicAdd(&block_hits, hits);
        }
    }
    __syncthreads();
    if (blocks == 1) {
        if (threadIdx.x == 0) { /* what the block wrote goes before the record by its fence */
            report(COUNTS ? block_probes : 0, COUNTS ? block_hits : 0, batch.count, COUNTS,
                   batch.record, batch.ticket);
        }
        return;
    }
    if (COUNTS && threadIdx.x == 0) {
        atomicAdd(&batch.tally->probes, block_probes);
        atomicAdd(&batch.tally->hits, (unsigned long long)block_hits);
    }
    if (sw_last_block(&batch.tally->blocks_done, blocks) && threadIdx.x == 0) {
        volatile struct sw_cuda_tally *tally = batch.tally;
        report(tally->probes, tally->hits, batch.count, COUNTS, batch.record, batch.ticket);
        tally->probes = 0;
        tally->hits = 0;
        tally->blocks_done = 0;
    }
}

template <int BITS, int N, int KEYS, bool HINTS, bool COUNTS, int BLOCK_MAX>
static __global__ void __launch_bounds__(BLOCK_MAX, 1)
    get_kernel(const typename sw_width<BITS>::table table, const uint8_t *hints,
               const __grid_constant__ struct sw_cuda_reads<BITS, N> reads)
{
    typedef sw_width<BITS> W;
    typename W::word m[KEYS];
    uint64_t bucket[KEYS];
    typename W::slot held[KEYS][SW_BUCKET_SLOTS];
    uint32_t b = batch_of_block<BITS, N>(reads);
    const struct sw_cuda_read<BITS> batch = reads.batches[b];
    uint32_t block = blockIdx.x - reads.first_block[b];
    uint32_t first = block * (blockDim.x * KEYS) + threadIdx.x;
    uint32_t count = batch.count;
    uint64_t probes = 0;
    uint32_t hits = 0;

#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint32_t i = first + k * blockDim.x;
        m[k] = i < count ? W::mix(&table, __ldcs(batch.keys + i)) : 0;
        bucket[k] = W::home(&table.main, m[k]);
    }
    if (HINTS) {
        uint8_t hint[KEYS];
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            hint[k] = load_hint(hints + bucket[k] / 2);
        }
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            bucket[k] += sw_hint_lead(hint[k], bucket[k] % 2 != 0);
            /* every bucket to the last may be full */
            bucket[k] = min(bucket[k], table.main.buckets_total - 1);
        }
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        read_bucket<BITS, HINTS>(&table.main, bucket[k], held[k]);
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint32_t i = first + k * blockDim.x;
        typename W::word value = 0;
        bool found = i < count && get_one<BITS>(&table, held[k], bucket[k], m[k], &value, &probes);
        if (i < count && batch.previous != NULL) {
            __stcs(batch.previous + i, found ? value : 0);
        }
        uint32_t word = __ballot_sync(SW_WARP_ALL, found);
        if (threadIdx.x % 32 == 0) {
            hits += (uint32_t)__popc(word);
            /* the last 64-bit word of `found` has zeros */
            if (i < (count + 63) / 64 * 64 && batch.found != NULL) {
                batch.found[i / 32] = word;
            }
        }
    }
    finish_block<BITS, COUNTS>(batch, probes, hits,
                               reads.first_block[b + 1] - reads.first_block[b]);
}

template <int BITS, int N, int KEYS, bool HINTS, bool COUNTS, int BLOCK_MAX>
static cudaError_t launch(const struct sw_cuda_device<BITS> *device,
                          const struct sw_cuda_reads<BITS, N> *reads, uint32_t blocks,
                          cudaStream_t stream)
{
    get_kernel<BITS, N, KEYS, HINTS, COUNTS, BLOCK_MAX>
        <<<blocks, device->block_size, 0, stream>>>(device->table, device->hints, *reads);
    return cudaGetLastError();
}

/* A thread of a large block has fewer registers. */
template <int BITS, int N, int KEYS, bool HINTS, bool COUNTS>
static cudaError_t launch_block(const struct sw_cuda_device<BITS> *device,
                                const struct sw_cuda_reads<BITS, N> *reads, uint32_t blocks,
                                cudaStream_t stream)
{
    return device->block_size <= SW_CUDA_BLOCK
               ? launch<BITS, N, KEYS, HINTS, COUNTS, SW_CUDA_BLOCK>(device, reads, blocks, stream)
               : launch<BITS, N, KEYS, HINTS, COUNTS, 1024>(device, reads, blocks, stream);
}

template <int BITS, int N>
cudaError_t sw_cuda_launch_get(const struct sw_cuda_device<BITS> *device, bool use_hints,
                               struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream)
{
    uint64_t keys = 0;
    for (uint32_t b = 0; b < reads->batch_count; b++) {
        keys += reads->batches[b].count;
    }
    bool many = keys > GET_ONE_KEY_MAX;
    bool hinted = use_hints && device->hints != NULL;
    uint32_t keys_per_thread = !many ? 1 : hinted ? GET_KEYS_HINTED : GET_KEYS;
    uint32_t keys_per_block = device->block_size * keys_per_thread;
    uint32_t blocks = 0;
    for (uint32_t b = 0; b < reads->batch_count; b++) {
        uint64_t own = ((uint64_t)reads->batches[b].count + keys_per_block - 1) / keys_per_block;
        reads->first_block[b] = blocks;
        blocks += own > 0 ? (uint32_t)own : 1; /* an empty batch completes too */
    }
    reads->first_block[reads->batch_count] = blocks;
    if (many && hinted) {
        return device->counts_probes
                   ? launch_block<BITS, N, GET_KEYS_HINTED, true, true>(device, reads, blocks,
                                                                        stream)
                   : launch_block<BITS, N, GET_KEYS_HINTED, true, false>(device, reads, blocks,
                                                                         stream);
    }
    if (many) {
        return device->counts_probes
                   ? launch_block<BITS, N, GET_KEYS, false, true>(device, reads, blocks, stream)
                   : launch_block<BITS, N, GET_KEYS, false, false>(device, reads, blocks, stream);
    }
    return hinted ? launch_block<BITS, N, 1, true, true>(device, reads, blocks, stream)
                  : launch_block<BITS, N, 1, false, true>(device, reads, blocks, stream);
}

#define INSTANTIATE(BITS, N)                          \
    template cudaError_t sw_cuda_launch_get<BITS, N>( \
        const struct sw_cuda_device<BITS> *, bool, struct sw_cuda_reads<BITS, N> *, cudaStream_t);
INSTANTIATE(64, 1)
INSTANTIATE(64, SW_CUDA_READS_MAX)
INSTANTIATE(128, 1)
INSTANTIATE(128, SW_CUDA_READS_MAX)
