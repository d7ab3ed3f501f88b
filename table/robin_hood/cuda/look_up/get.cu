/* SPDX-License-Identifier: MIT
 *
 * get.cu - batches of reads. One kernel answers several batches; it reads keys from host memory and
 * writes answers to it.
 *
 * A thread answers KEYS keys. It issues the loads of all their home buckets before it searches the
 * first. The few keys that need a second bucket are searched one after the other. With LANES above
 * 1, LANES neighbouring threads share each key: each thread reads a part of the bucket, and the
 * first thread does the rest.
 */
#include "table/robin_hood/cuda/look_up/get.cuh"
#include "table/robin_hood/cuda/times/expired_reads.cuh"

/* Up to this number of keys a launch has one key per thread. More keys fill the device with several
 * keys per thread. */
#define GET_ONE_KEY_MAX (1U << 18)

/* The base and its alternatives: keys in flight per thread (a separate number with hints), lanes
 * per key, threads per block, and the number of threads per multiprocessor for which there must be
 * registers (0: the registers that one block needs).
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

/* Answers block number `block` of the `blocks` of a batch. HINTS: the look-ups use hints; with
 * OPTIONAL only if `hints` is not NULL. */
template <int BITS, int KEYS, int LANES, bool HINTS, bool OPTIONAL, bool COUNTS, int BLOCK,
          typename FILTER, typename EXPIRY_FILTER>
static __device__ __forceinline__ void
answer(const typename sw_width<BITS>::table &table, const uint8_t *hints,
       const struct sw_cuda_read<BITS> &batch, uint32_t block, uint32_t blocks,
       const FILTER &filter, const EXPIRY_FILTER &expiry_filter)
{
    typedef sw_width<BITS> W;
    __shared__ uint32_t block_found[KEYS * BLOCK / 32];
    typename W::word m[KEYS];
    uint64_t bucket[KEYS];
    typename W::slot held[KEYS][SW_BUCKET_SLOTS / LANES];
    uint32_t step = blockDim.x / LANES; /* keys that the block looks up at the same time */
    uint32_t first = block * (step * KEYS) + threadIdx.x / LANES;
    uint32_t part = threadIdx.x % LANES;
    uint32_t count = batch.count;
    uint64_t probes = 0;
    uint32_t hits = 0;
    uint32_t outside = 0; /* bitwise complement of this thread's first key outside the filter; 0:
                             none */

#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint32_t i = first + k * step;
        m[k] = i < count ? W::mix(&table, __ldcs(batch.keys + i)) : 0;
        bucket[k] = W::home(&table.main, m[k]);
    }
    if (HINTS && (!OPTIONAL || hints != NULL)) {
        uint8_t hint[KEYS];
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            hint[k] = load_hint(hints + bucket[k] / 2);
        }
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            bucket[k] += sw_hint_lead(hint[k], bucket[k] % 2 != 0);
            /* all buckets up to the last may be full */
            bucket[k] = min(bucket[k], table.main.buckets_total - 1);
        }
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        read_bucket<BITS, LANES, HINTS && !OPTIONAL>(&table.main, bucket[k], part, held[k]);
    }
    if constexpr (FILTER::filters) { /* while the buckets are being loaded */
        outside = sw_filter_outside<BITS, KEYS>(filter, &table, m, first, step, count);
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint32_t i = first + k * step;
        typename W::word value = 0;
        int at = probe<BITS, LANES>(held[k], m[k], &value);
        bool mine = i < count && part == 0;
        bool found = mine && get_one<BITS>(&table, at, bucket[k], m[k], &value, &probes);
        if constexpr (EXPIRY_FILTER::filters) {
            found = mine && sw_is_unexpired(expiry_filter, i, W::unmix(&table, m[k]), found);
        }
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
    finish_block<BITS, COUNTS, FILTER::filters>(batch, probes, hits, outside, blocks);
}

template <int BITS, int N, int KEYS, int LANES, bool HINTS, bool COUNTS, typename FILTER,
          typename SHAPE, typename EXPIRY_FILTER>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    get_kernel(const typename sw_width<BITS>::table table, const uint8_t *hints,
               const __grid_constant__ struct sw_cuda_reads<BITS, N> reads,
               const __grid_constant__ FILTER filter,
               const __grid_constant__ EXPIRY_FILTER expiry_filter)
{
    const uint32_t b = batch_of_block<BITS, N>(reads);
    const uint32_t first = reads.first_block[b];
    const struct sw_cuda_read<BITS> batch = reads.batches[b];
    answer<BITS, KEYS, LANES, HINTS, false, COUNTS, SHAPE::block>(
        table, hints, batch, blockIdx.x - first, reads.first_block[b + 1] - first, filter,
        expiry_filter);
}

/* Each block reads the table of its batch. M1: a kernel before this one has stored the views. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    shared_get_kernel(const __grid_constant__ struct sw_cuda_shared_reads<BITS> reads)
{
    const uint32_t b = shared_batch_of_block<BITS>(reads);
    const struct sw_cuda_shared_read<BITS> &read = reads.batches[b];
    const typename sw_width<BITS>::table table = read.view->table;
    const struct sw_cuda_read<BITS> batch = unshared<BITS>(read);
    answer<BITS, 1, 1, true, true, true, SW_CUDA_BLOCK>(
        table, read.view->hints, batch, blockIdx.x - read.first_block,
        blocks_of(read.count, SW_CUDA_BLOCK), sw_no_filter(), sw_cuda_no_expiry_filter());
}

template <int BITS>
static __global__ void view_kernel(const __grid_constant__ struct sw_cuda_read_view<BITS> view,
                                   struct sw_cuda_read_view<BITS> *to)
{
    *to = view;
}

template <int BITS, int N, int KEYS, bool HINTS, bool COUNTS, typename POLICY, typename SHAPE>
static cudaError_t launch_shaped(const struct sw_cuda_device<BITS> *device,
                                 struct sw_cuda_reads<BITS, N> *reads, uint32_t threads,
                                 cudaStream_t stream)
{
    uint32_t blocks = lay_out<BITS, N>(reads, threads / POLICY::lanes_per_key * KEYS);
    get_kernel<BITS, N, KEYS, POLICY::lanes_per_key, HINTS, COUNTS, sw_no_filter, SHAPE,
               sw_cuda_no_expiry_filter><<<blocks, threads, 0, stream>>>(
        device->table, device->hints, *reads, sw_no_filter(), sw_cuda_no_expiry_filter());
    return cudaGetLastError();
}

/* Launches with the policy's block size or with the one that the table's tuning sets. A thread of a
 * large block has fewer registers. */
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

/* Launches batches with a filter. One kernel shape serves them all: hashing a key costs more than
 * other shapes would save. */
template <int BITS, int N>
static cudaError_t launch_filtered(const struct sw_cuda_device<BITS> *device, bool hints,
                                   struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream)
{
    typedef sw_cuda_shape<SW_CUDA_BLOCK, 0> shape;
    const uint32_t blocks = lay_out<BITS, N>(reads, SW_CUDA_BLOCK);
    if (hints) {
        get_kernel<BITS, N, 1, 1, true, true, sw_filter, shape, sw_cuda_no_expiry_filter>
            <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, device->hints, *reads,
                                                   sw_filter{*reads->filter},
                                                   sw_cuda_no_expiry_filter());
    } else {
        get_kernel<BITS, N, 1, 1, false, true, sw_filter, shape, sw_cuda_no_expiry_filter>
            <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, device->hints, *reads,
                                                   sw_filter{*reads->filter},
                                                   sw_cuda_no_expiry_filter());
    }
    return cudaGetLastError();
}

template <int ARCH, int BITS, int N>
static cudaError_t launch_get(const struct sw_cuda_device<BITS> *device, bool use_hints,
                              struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream)
{
    constexpr int SHAPE = BITS == 128 ? 128 : 64; /* buckets of key sets have at most 32 bytes */
    typedef sw_policy_get_plain<ARCH, SHAPE> plain;
    typedef sw_policy_get_hinted<ARCH, SHAPE> hinted;
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

template <int BITS>
cudaError_t sw_cuda_launch_shared_get(struct sw_cuda_shared_reads<BITS> *reads, cudaStream_t stream)
{
    const uint32_t blocks = lay_out_shared<BITS>(reads);
    shared_get_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*reads);
    return cudaGetLastError();
}

template <int BITS>
cudaError_t sw_cuda_launch_view(const struct sw_cuda_read_view<BITS> &view,
                                struct sw_cuda_read_view<BITS> *to, cudaStream_t stream)
{
    view_kernel<BITS><<<1, 1, 0, stream>>>(view, to);
    return cudaGetLastError();
}

template <int BITS> cudaError_t sw_cuda_load_shared_get(void)
{
    struct cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, shared_get_kernel<BITS>);
    return error == cudaSuccess ? cudaFuncGetAttributes(&attributes, view_kernel<BITS>) : error;
}

template <int BITS>
cudaError_t sw_cuda_launch_unexpired_get(const struct sw_cuda_device<BITS> *device,
                                         struct sw_cuda_reads<BITS, 1> *reads,
                                         const struct sw_cuda_expiry_filter *expiry_filter,
                                         cudaStream_t stream)
{
    typedef sw_cuda_shape<SW_CUDA_BLOCK, 0> shape;
    const uint32_t blocks = lay_out<BITS, 1>(reads, SW_CUDA_BLOCK);
    if (reads->filter != NULL) {
        get_kernel<BITS, 1, 1, 1, false, true, sw_filter, shape, sw_cuda_expiry_filter>
            <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, device->hints, *reads,
                                                   sw_filter{*reads->filter}, *expiry_filter);
    } else {
        get_kernel<BITS, 1, 1, 1, false, true, sw_no_filter, shape, sw_cuda_expiry_filter>
            <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, device->hints, *reads,
                                                   sw_no_filter(), *expiry_filter);
    }
    return cudaGetLastError();
}

#define INSTANTIATE(BITS, N)                          \
    template cudaError_t sw_cuda_launch_get<BITS, N>( \
        const struct sw_cuda_device<BITS> *, bool, struct sw_cuda_reads<BITS, N> *, cudaStream_t);
#define INSTANTIATE_BOTH(BITS, ...)                                                              \
    INSTANTIATE(BITS, 1)                                                                         \
    INSTANTIATE(BITS, SW_CUDA_READS_MAX)                                                         \
    template cudaError_t sw_cuda_launch_shared_get<BITS>(struct sw_cuda_shared_reads<BITS> *,    \
                                                         cudaStream_t);                          \
    template cudaError_t sw_cuda_launch_view<BITS>(                                              \
        const struct sw_cuda_read_view<BITS> &, struct sw_cuda_read_view<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_load_shared_get<BITS>(void);
#define INSTANTIATE_UNEXPIRED(BITS, ...)                                      \
    template cudaError_t sw_cuda_launch_unexpired_get<BITS>(                  \
        const struct sw_cuda_device<BITS> *, struct sw_cuda_reads<BITS, 1> *, \
        const struct sw_cuda_expiry_filter *, cudaStream_t);
SW_FORMATS(INSTANTIATE_BOTH)
SW_WIDTHS(INSTANTIATE_UNEXPIRED)
