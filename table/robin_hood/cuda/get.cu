/* SPDX-License-Identifier: MIT
 *
 * get.cu - batches of reads: one kernel for several, keys straight from host memory, answers
 * straight into it.
 *
 * A thread answers KEYS keys and has the home buckets of all of them on their way from memory
 * before it looks at the first; the few keys that go on to a second bucket go on one by one. With
 * LANES above 1 so many neighbouring threads share each of their keys, and read a part of its
 * bucket each; the first of them does the rest.
 */
#include "table/device/bits.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/filter.cuh"

/* Batches above this fill the device with several keys a thread. */
#define GET_ONE_KEY_MAX (1U << 18)

/* Base, and what may be tried in its place. Keys in flight a thread (with hints a number of their
 * own), lanes per key, threads of a block, and for how many threads a multiprocessor there are to
 * be registers; 0: whatever one block needs.
 *
 * %RANGE% SW_GET_KEYS kif {1,2,4} Operation{ct}=[plain]
 * %RANGE% SW_GET_HINTED_KEYS kih {2,3,4} Operation{ct}=[hinted]
 * %RANGE% SW_GET_LANES lpk {1,2}
 * %RANGE% SW_GET_BLOCK tpb {128,256}
 * %RANGE% SW_GET_RESIDENT tpm {0,1024}
 */
#ifndef SW_GET_KEYS
#define SW_GET_KEYS 2
#endif
#ifndef SW_GET_HINTED_KEYS
#define SW_GET_HINTED_KEYS 4
#endif
#ifndef SW_GET_LANES
#define SW_GET_LANES 1
#endif
#ifndef SW_GET_BLOCK
#define SW_GET_BLOCK 256
#endif
#ifndef SW_GET_RESIDENT
#define SW_GET_RESIDENT 0
#endif
template <int ARCH, int BITS> struct sw_policy_get_plain {
    static constexpr int keys_in_flight = SW_GET_KEYS;
    static constexpr int lanes_per_key = SW_GET_LANES;
    static constexpr int threads_per_block = SW_GET_BLOCK;
    static constexpr int threads_per_multiprocessor = SW_GET_RESIDENT;
};
template <int ARCH, int BITS> struct sw_policy_get_hinted {
    static constexpr int keys_in_flight = SW_GET_HINTED_KEYS;
    static constexpr int lanes_per_key = SW_GET_LANES;
    static constexpr int threads_per_block = SW_GET_BLOCK;
    static constexpr int threads_per_multiprocessor = SW_GET_RESIDENT;
};
#define SW_POLICY_GET
#include "table/robin_hood/cuda/policy.cuh"

/* The 16 bytes at p. With hints, lines of the table are the first to leave the L2 cache, so that
 * the hints stay: a hint is read for every key, a line of the table hardly twice. The non-coherent
 * path is allowed, since no kernel writes the table in a read phase (rule 5, M1). Below compute
 * capability 8.0 the L2 cache takes no such wishes. */
template <bool FIRST_OUT> static __device__ inline uint4 load_16(const void *p)
{
    if (!FIRST_OUT) {
        return *(const uint4 *)p;
    }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return __ldg((const uint4 *)p);
#else
    uint4 out;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
                 : "l"(p), "l"(policy));
    return out;
#endif
}

static __device__ inline uint8_t load_hint(const uint8_t *p)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return __ldg(p);
#else
    uint32_t out;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u8 %0, [%1], %2;"
                 : "=r"(out)
                 : "l"(p), "l"(policy));
    return (uint8_t)out;
#endif
}

/* One lane's part of bucket b, of LANES lanes: as many slots, from part * that many on. */
template <int BITS, int LANES, bool FIRST_OUT>
static __device__ inline void
read_bucket(const typename sw_width<BITS>::view *view, uint64_t b, uint32_t part,
            typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS / LANES])
{
    typedef typename sw_width<BITS>::word word;
    constexpr int slots = SW_BUCKET_SLOTS / LANES;
    static_assert(slots * BITS / 8 >= 16, "a lane reads 16 bytes at once: fewer lanes a key");
    const typename sw_width<BITS>::slot *bucket = view->slots + b * SW_BUCKET_SLOTS + part * slots;
    /* field by field: through a pointer the array would lie in local memory */
    if (BITS == 64) {
#pragma unroll
        for (int i = 0; i < slots; i += 2) {
            uint4 pair = load_16<FIRST_OUT>(bucket + i);
            held[i].value = pair.x;
            held[i].m = pair.y;
            held[i + 1].value = pair.z;
            held[i + 1].m = pair.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < slots; i++) {
            uint4 one = load_16<FIRST_OUT>(bucket + i);
            held[i].value = (word)((uint64_t)one.y << 32 | one.x);
            held[i].m = (word)((uint64_t)one.w << 32 | one.z);
        }
    }
}

/* As sw_probe, by the lanes that share the bucket; votes tell all of them the answer (M3). All
 * lanes of the warp call it. */
template <int BITS, int LANES>
static __device__ inline int
probe(const typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS / LANES],
      typename sw_width<BITS>::word m, typename sw_width<BITS>::word *value)
{
    if constexpr (LANES == 1) {
        return sw_width<BITS>::probe(held, m, value);
    }
    bool hit = false;
    bool larger = false;
#pragma unroll
    for (int i = 0; i < SW_BUCKET_SLOTS / LANES; i++) {
        if (held[i].m == m) {
            hit = true;
            *value = held[i].value;
        }
        larger |= held[i].m > m;
    }
#pragma unroll
    for (int d = 1; d < LANES; d *= 2) {
        bool other_hit = __shfl_xor_sync(SW_WARP_ALL, (int)hit, d) != 0;
        typename sw_width<BITS>::word other = __shfl_xor_sync(SW_WARP_ALL, *value, d);
        *value = other_hit && !hit ? other : *value;
        hit |= other_hit;
        larger |= __shfl_xor_sync(SW_WARP_ALL, (int)larger, d) != 0;
    }
    return hit ? 0 : larger ? SW_PROBE_ABSENT : SW_PROBE_NEXT;
}

/* As sw_locate, given what bucket b says of m: its home, or the one its hint names. */
template <int BITS>
static __device__ inline bool get_one(const typename sw_width<BITS>::table *table, int at,
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
    ++*probes;
    bool found = at >= 0 || (at == SW_PROBE_NEXT &&
                             W::find_from(&table->main, m, b + 1, value, probes) != NULL);
    if (!found && table->state->stash_occupied != 0) {
        uint64_t home = W::home(&table->stash, m);
        found = W::find_from(&table->stash, m, home, value, probes) != NULL;
    }
    return found;
}

/* One thread, when all sums are known. `outside` as in the tally. */
static __device__ inline void report(uint64_t probes, uint64_t hits, uint64_t count, bool counted,
                                     uint32_t outside, struct sw_cuda_record *record,
                                     uint64_t ticket)
{
    struct sw_op_counters *gets = &record->counters.by_class[SW_CLASS_GET];
    memset(&record->counters, 0, sizeof(record->counters));
    gets->operations = count;
    gets->probes = probes;
    gets->hits = hits;
    gets->misses = counted ? count - hits : 0;
    record->status = SW_OK;
    record->first_outside = outside != 0 ? ~outside : (uint32_t)count;
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

/* Adds the sums of a block to the tally of its batch; the batch's last block makes the record (M7).
 * The tally is read by volatile loads, since other blocks changed it by atomics. */
template <int BITS, bool COUNTS, bool FILTERS>
static __device__ inline void finish_block(const struct sw_cuda_read<BITS> &batch, uint64_t probes,
                                           uint32_t hits, uint32_t outside, uint32_t blocks)
{
    __shared__ unsigned long long block_probes;
    __shared__ unsigned int block_hits;
    __shared__ unsigned int block_outside;
    if (COUNTS) {
        if (threadIdx.x == 0) {
            block_probes = 0;
            block_hits = 0;
            if (FILTERS) {
                block_outside = 0;
            }
        }
        __syncthreads(); /* M2: the sums are zero */
        /* a thread's probes fit 32 bits: max_probe does, and it has few keys */
        uint32_t warp_probes = sw_reduce_add((uint32_t)probes);
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&block_probes, (unsigned long long)warp_probes);
            atomicAdd(&block_hits, hits);
        }
        if (FILTERS && outside != 0) {
            atomicMax(&block_outside, outside);
        }
    }
    __syncthreads(); /* M2: the sums, and what the block wrote to the host */
    if (blocks == 1) {
        if (threadIdx.x == 0) { /* M2, M7: the fence before the ticket covers what the whole block
                                   wrote */
            report(COUNTS ? block_probes : 0, COUNTS ? block_hits : 0, batch.count, COUNTS,
                   FILTERS ? block_outside : 0, batch.record, batch.ticket);
        }
        return;
    }
    if (COUNTS && threadIdx.x == 0) {
        atomicAdd(&batch.tally->probes, block_probes);
        atomicAdd(&batch.tally->hits, (unsigned long long)block_hits);
        if (FILTERS && block_outside != 0) {
            atomicMax(&batch.tally->outside, block_outside);
        }
    }
    if (sw_last_block(&batch.tally->blocks_done, blocks) && threadIdx.x == 0) {
        volatile struct sw_cuda_tally *tally = batch.tally;
        report(tally->probes, tally->hits, batch.count, COUNTS, FILTERS ? tally->outside : 0,
               batch.record, batch.ticket);
        tally->probes = 0;
        tally->hits = 0;
        if (FILTERS) {
            tally->outside = 0;
        }
        tally->blocks_done = 0;
    }
}

/* The bits at even places, side by side. */
static __device__ inline uint32_t even_bits(uint32_t word)
{
    word &= 0x55555555;
    word = (word | word >> 1) & 0x33333333;
    word = (word | word >> 2) & 0x0F0F0F0F;
    word = (word | word >> 4) & 0x00FF00FF;
    return (word | word >> 8) & 0x0000FFFF;
}

/* Stores a warp's bits, of LANES threads a key, as number w of its block. */
template <int LANES>
static __device__ inline void keep_found(uint32_t *block_found, uint32_t w, uint32_t word)
{
    static_assert(LANES == 1 || LANES == 2, "a warp's bits are a whole or a half word");
    if (LANES == 1) {
        block_found[w] = word;
    } else {
        ((uint16_t *)block_found)[w] = (uint16_t)even_bits(word);
    }
}

template <int BITS, int N, int KEYS, int LANES, bool HINTS, bool COUNTS, typename FILTER,
          typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    get_kernel(const typename sw_width<BITS>::table table, const uint8_t *hints,
               const __grid_constant__ struct sw_cuda_reads<BITS, N> reads,
               const __grid_constant__ FILTER filter)
{
    typedef sw_width<BITS> W;
    __shared__ uint32_t block_found[KEYS * SHAPE::block / 32];
    typename W::word m[KEYS];
    uint64_t bucket[KEYS];
    typename W::slot held[KEYS][SW_BUCKET_SLOTS / LANES];
    uint32_t b = batch_of_block<BITS, N>(reads);
    const struct sw_cuda_read<BITS> batch = reads.batches[b];
    uint32_t block = blockIdx.x - reads.first_block[b];
    uint32_t step = blockDim.x / LANES; /* keys that the block looks up at once */
    uint32_t first = block * (step * KEYS) + threadIdx.x / LANES;
    uint32_t part = threadIdx.x % LANES;
    uint32_t count = batch.count;
    uint64_t probes = 0;
    uint32_t hits = 0;
    uint32_t outside = 0; /* ~ the first key of this thread that is */

#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint32_t i = first + k * step;
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
        read_bucket<BITS, LANES, HINTS>(&table.main, bucket[k], part, held[k]);
    }
    if constexpr (FILTER::filters) { /* while the buckets come */
        outside = sw_filter_outside<BITS, KEYS>(filter, &table, m, first, step, count);
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint32_t i = first + k * step;
        typename W::word value = 0;
        int at = probe<BITS, LANES>(held[k], m[k], &value);
        bool mine = i < count && part == 0;
        bool found = mine && get_one<BITS>(&table, at, bucket[k], m[k], &value, &probes);
        if (mine && batch.previous != NULL) {
            __stcs(batch.previous + i, found ? value : 0);
        }
        uint32_t word = __ballot_sync(SW_WARP_ALL, found);
        if (threadIdx.x % 32 == 0) {
            hits += (uint32_t)__popc(word);
            keep_found<LANES>(block_found, (k * blockDim.x + threadIdx.x) / 32, word);
        }
    }
    if (batch.found != NULL) {
        sw_bits_store(batch.found, count, block * (step * KEYS), block_found, step * KEYS / 32);
    }
    finish_block<BITS, COUNTS, FILTER::filters>(batch, probes, hits, outside,
                                                reads.first_block[b + 1] - reads.first_block[b]);
}

/* Numbers the blocks of each batch. Returns how many there are. */
template <int BITS, int N>
static uint32_t lay_out(struct sw_cuda_reads<BITS, N> *reads, uint32_t keys_per_block)
{
    uint32_t blocks = 0;
    for (uint32_t b = 0; b < reads->batch_count; b++) {
        uint64_t own = ((uint64_t)reads->batches[b].count + keys_per_block - 1) / keys_per_block;
        reads->first_block[b] = blocks;
        blocks += own > 0 ? (uint32_t)own : 1; /* an empty batch completes too */
    }
    reads->first_block[reads->batch_count] = blocks;
    return blocks;
}

template <int BITS, int N, int KEYS, bool HINTS, bool COUNTS, typename POLICY, typename SHAPE>
static cudaError_t launch_shaped(const struct sw_cuda_device<BITS> *device,
                                 struct sw_cuda_reads<BITS, N> *reads, uint32_t threads,
                                 cudaStream_t stream)
{
    uint32_t blocks = lay_out<BITS, N>(reads, threads / POLICY::lanes_per_key * KEYS);
    get_kernel<BITS, N, KEYS, POLICY::lanes_per_key, HINTS, COUNTS, sw_no_filter, SHAPE>
        <<<blocks, threads, 0, stream>>>(device->table, device->hints, *reads, sw_no_filter());
    return cudaGetLastError();
}

/* With the policy's block size, or the one that was asked for: a thread of a large block has fewer
 * registers. */
template <int BITS, int N, int KEYS, bool HINTS, bool COUNTS, typename POLICY>
static cudaError_t launch(const struct sw_cuda_device<BITS> *device,
                          struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream)
{
    typedef sw_cuda_shape<POLICY::threads_per_block, POLICY::threads_per_multiprocessor> own;
    uint32_t threads = device->block_size != 0 ? device->block_size : own::block;
    if (threads == own::block) {
        return launch_shaped<BITS, N, KEYS, HINTS, COUNTS, POLICY, own>(device, reads, threads,
                                                                        stream);
    }
    if (threads <= SW_CUDA_BLOCK) {
        return launch_shaped<BITS, N, KEYS, HINTS, COUNTS, POLICY, sw_cuda_shape<SW_CUDA_BLOCK, 0>>(
            device, reads, threads, stream);
    }
    return launch_shaped<BITS, N, KEYS, HINTS, COUNTS, POLICY, sw_cuda_any_shape>(device, reads,
                                                                                  threads, stream);
}

/* With a filter, which all batches have. Its kernels are of one kind: what hashing a key takes
 * hides what others would save. */
template <int BITS, int N>
static cudaError_t launch_filtered(const struct sw_cuda_device<BITS> *device, bool hints,
                                   struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream)
{
    typedef sw_cuda_shape<SW_CUDA_BLOCK, 0> shape;
    const uint32_t blocks = lay_out<BITS, N>(reads, SW_CUDA_BLOCK);
    if (hints) {
        get_kernel<BITS, N, 1, 1, true, true, sw_filter, shape>
            <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, device->hints, *reads,
                                                   sw_filter{*reads->filter});
    } else {
        get_kernel<BITS, N, 1, 1, false, true, sw_filter, shape>
            <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, device->hints, *reads,
                                                   sw_filter{*reads->filter});
    }
    return cudaGetLastError();
}

template <int ARCH, int BITS, int N>
static cudaError_t launch_get(const struct sw_cuda_device<BITS> *device, bool use_hints,
                              struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream)
{
    typedef sw_policy_get_plain<ARCH, BITS> plain;
    typedef sw_policy_get_hinted<ARCH, BITS> hinted;
    bool hints = use_hints && device->hints != NULL;
    uint64_t keys = 0;
    if (reads->filter != NULL) {
        return launch_filtered<BITS, N>(device, hints, reads, stream);
    }
    for (uint32_t b = 0; b < reads->batch_count; b++) {
        keys += reads->batches[b].count;
    }
    if (keys <= GET_ONE_KEY_MAX) {
        return hints ? launch<BITS, N, 1, true, true, hinted>(device, reads, stream)
                     : launch<BITS, N, 1, false, true, plain>(device, reads, stream);
    }
    if (hints) {
        return device->counts_probes
                   ? launch<BITS, N, hinted::keys_in_flight, true, true, hinted>(device, reads,
                                                                                 stream)
                   : launch<BITS, N, hinted::keys_in_flight, true, false, hinted>(device, reads,
                                                                                  stream);
    }
    return device->counts_probes
               ? launch<BITS, N, plain::keys_in_flight, false, true, plain>(device, reads, stream)
               : launch<BITS, N, plain::keys_in_flight, false, false, plain>(device, reads, stream);
}

template <int BITS, int N>
cudaError_t sw_cuda_launch_get(const struct sw_cuda_device<BITS> *device, bool use_hints,
                               struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream)
{
    switch (SW_POLICY_ARCH(device)) {
    case 90:
        return launch_get<90, BITS, N>(device, use_hints, reads, stream);
    default:
        return launch_get<0, BITS, N>(device, use_hints, reads, stream);
    }
}

#define INSTANTIATE(BITS, N)                          \
    template cudaError_t sw_cuda_launch_get<BITS, N>( \
        const struct sw_cuda_device<BITS> *, bool, struct sw_cuda_reads<BITS, N> *, cudaStream_t);
#ifdef SW_TUNE
INSTANTIATE(SW_TUNE_SLOT, 1)
#else
#define INSTANTIATE_BOTH(BITS, ...) INSTANTIATE(BITS, 1) INSTANTIATE(BITS, SW_CUDA_READS_MAX)
SW_WIDTHS(INSTANTIATE_BOTH)
#endif
