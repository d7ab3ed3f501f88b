/* SPDX-License-Identifier: MIT
 *
 * engine_read.cu - batches of GET: each thread looks up KEYS keys at once.
 */
#include "table/cuckoo/cuda/engine.cuh"
#include "table/device/bits.cuh"

#define BLOCK SW_CUCKOO_ENGINE_BLOCK
/* Keys of a thread.
 *
 * %RANGE% SW_CUCKOO_READ_KEYS kpt {1,2,4,8}
 */
#ifndef SW_CUCKOO_READ_KEYS
#define SW_CUCKOO_READ_KEYS 4
#endif
#define KEYS SW_CUCKOO_READ_KEYS

/* Adds a block's sums to the tally. The last block reports to the host and resets the tally to
 * zero. */
template <int BITS>
static __device__ void report(const sw_cuckoo_read<BITS> &read, uint64_t probes, uint64_t hits)
{
    struct sw_cuckoo_tally *tally = read.tally;
    probes = sw_warp_sum(probes);
    hits = sw_warp_sum(hits);
    if (threadIdx.x % 32 == 0) { /* M6: sums; the last block loads them after the fences (M7) */
        atomicAdd(&tally->probes, (unsigned long long)probes);
        atomicAdd(&tally->hits, (unsigned long long)hits);
    }
    __threadfence_system(); /* M7: each thread orders its answers before the count of its block, and
                               so before the ticket */
    __syncthreads(); /* M2: all threads of the block have passed the fence before thread 0 counts
                        the block */
    if (threadIdx.x != 0 || atomicAdd(&tally->blocks_done, 1U) + 1 != gridDim.x) {
        return;
    }
    __threadfence(); /* M7: the last block has seen the counts of all blocks before it loads their
                        sums */
    struct sw_counters counters = {};
    struct sw_op_counters *gets = &counters.by_class[SW_CLASS_GET];
    gets->operations = read.count;
    gets->probes = atomicExch(&tally->probes, 0ULL);
    gets->hits = atomicExch(&tally->hits, 0ULL);
    gets->misses = read.count - gets->hits;
    tally->blocks_done = 0;
    read.record->status = SW_OK;
    read.record->stash_change = 0;
    read.record->counters = counters;
    sw_cuda_record_ticket(&read.record->done, read.ticket);
}

template <int BITS>
static __global__ void __launch_bounds__(BLOCK, 1) read_kernel(const sw_cuckoo_read<BITS> read)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typedef typename kind::word word;
    __shared__ uint32_t block_found[BLOCK * KEYS / 32];
    const typename kind::table table = *read.table;
    uint64_t base = (uint64_t)blockIdx.x * (BLOCK * KEYS) + threadIdx.x;
    word keys[KEYS];
    typename kind::cell cells[KEYS];
    uint32_t wanted = 0;
    uint32_t found = 0;
    uint64_t probes = 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = base + k * BLOCK;
        keys[k] = i < read.count ? read.keys[i] : kind::ones;
        wanted |= keys[k] == kind::ones ? 0 : 1U << k;
    }
    for (uint32_t i = 0; i < table.view.shape.functions; i++) {
        probes += __popc(wanted & ~found);
        found |= kind::look_in(&table.view, keys, wanted & ~found, cells, KEYS, i);
    }
    bool stashed = table.state->stash_occupied != 0;
    uint32_t hits = 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = base + k * BLOCK;
        bool hit = (found >> k & 1) != 0;
        word value = hit ? cells[k].value : 0;
        if (i < read.count && !hit && (stashed || keys[k] == kind::ones)) {
            typename kind::place place = kind::locate(&table, keys[k], &probes);
            hit = place.found;
            value = place.value;
        }
        uint32_t bits = __ballot_sync(SW_WARP_ALL, hit);
        if (threadIdx.x % 32 == 0) {
            block_found[(k * BLOCK + threadIdx.x) / 32] = bits;
        }
        if (read.previous != NULL && i < read.count) {
            read.previous[i] = value;
        }
        hits += hit;
    }
    if (read.found != NULL) {
        sw_bits_store(read.found, read.count, blockIdx.x * (BLOCK * KEYS), block_found,
                      BLOCK * KEYS / 32);
    }
    report<BITS>(read, probes, hits);
}

template <int BITS>
cudaError_t sw_cuckoo_launch_read(const sw_cuckoo_read<BITS> &read, cudaStream_t stream)
{
    uint64_t blocks = ((uint64_t)read.count + BLOCK * KEYS - 1) / (BLOCK * KEYS);
    read_kernel<BITS><<<(unsigned)(blocks > 0 ? blocks : 1), BLOCK, 0, stream>>>(read);
    return cudaGetLastError();
}

#define INSTANTIATE(BITS, ...) \
    template cudaError_t sw_cuckoo_launch_read<BITS>(const sw_cuckoo_read<BITS> &, cudaStream_t);
SW_WIDTHS(INSTANTIATE)

cudaError_t sw_cuckoo_load_read()
{
    cudaError_t error = cudaSuccess;
#define LOAD(bits, ...) \
    error = error == cudaSuccess ? sw_cuckoo_load_kernel(read_kernel<bits>) : error;
    SW_WIDTHS(LOAD)
    return error;
}
