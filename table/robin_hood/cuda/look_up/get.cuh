/* SPDX-License-Identifier: MIT
 *
 * get.cuh - functions that the kernels of reads share: look-ups of keys by neighbouring threads,
 * and the report of a block.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_LOOK_UP_GET_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_LOOK_UP_GET_CUH

#include "table/device/bits.cuh"
#include "table/device/channel.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/look_up/filter.cuh"
#include "table/robin_hood/cuda/look_up/shared_get.cuh"

/* Loads the 16 bytes at p. With hints, lines of the table leave the L2 cache first, so that the
 * hints stay. Every key reads a hint, but a line of the table is hardly read twice. The
 * non-coherent path is allowed, since no kernel writes the table in a read phase (rule 5, M1).
 * Below compute capability 8.0 the L2 cache has no such hints. */
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

/* Reads `slots` slots of a key set. */
template <int BITS, int slots, bool FIRST_OUT>
static __device__ inline void read_keys(const typename sw_width<BITS>::slot *from,
                                        typename sw_width<BITS>::slot held[slots])
{
    typedef typename sw_width<BITS>::word word;
    if constexpr (slots * sizeof(word) < 16) {
        static_assert(slots * sizeof(word) == 8, "two keys of 4 bytes");
        const uint2 both = *(const uint2 *)from;
        held[0].m = (word)both.x;
        held[1].m = (word)both.y;
    } else if constexpr (sizeof(word) == 4) {
#pragma unroll
        for (int i = 0; i < slots; i += 4) {
            const uint4 four = load_16<FIRST_OUT>(from + i);
            held[i].m = four.x;
            held[i + 1].m = four.y;
            held[i + 2].m = four.z;
            held[i + 3].m = four.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < slots; i += 2) {
            const uint4 both = load_16<FIRST_OUT>(from + i);
            held[i].m = (word)((uint64_t)both.y << 32 | both.x);
            held[i + 1].m = (word)((uint64_t)both.w << 32 | both.z);
        }
    }
}

/* Reads lane `part`'s share of bucket b: SW_BUCKET_SLOTS / LANES slots. */
template <int BITS, int LANES, bool FIRST_OUT>
static __device__ inline void
read_bucket(const typename sw_width<BITS>::view *view, uint64_t b, uint32_t part,
            typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS / LANES])
{
    typedef typename sw_width<BITS>::word word;
    constexpr int slots = SW_BUCKET_SLOTS / LANES;
    static_assert(sw_width<BITS>::is_set || slots * BITS / 8 >= 16,
                  "a lane reads 16 bytes at once: fewer lanes a key");
    const typename sw_width<BITS>::slot *bucket = view->slots + b * SW_BUCKET_SLOTS + part * slots;
    /* field by field: access through a pointer would place the array in local memory */
    if constexpr (sw_width<BITS>::is_set) {
        read_keys<BITS, slots, FIRST_OUT>(bucket, held);
    } else if constexpr (BITS == 64) {
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

/* Does the same as probe (robin_hood.inl), by the lanes that share the bucket. Shuffles give all of
 * them the answer (M3). All lanes of the warp must call it. */
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
            *value = sw_width<BITS>::value(held[i]);
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

/* Does the same as locate (execute.inl), from `at` on, the result of the probe of bucket b. That
 * bucket is m's home bucket or the one that its hint names. */
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

/* Completes the record. Called by one thread when all sums are known. `outside` as in the tally. */
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

/* Returns the number of the batch that this block works on. */
template <int BITS, int N>
static __device__ inline uint32_t batch_of_block(const struct sw_cuda_reads<BITS, N> &reads)
{
    uint32_t b = 0;
    while (N > 1 && b + 1 < reads.batch_count && blockIdx.x >= reads.first_block[b + 1]) {
        b++;
    }
    return b;
}

/* Returns the number of the batch that this block works on, in a launch for several tables. */
template <int BITS>
static __device__ inline uint32_t
shared_batch_of_block(const struct sw_cuda_shared_reads<BITS> &reads)
{
    uint32_t low = 0;
    uint32_t high = reads.batch_count - 1;
    while (low < high) { /* the last batch that begins at this block or before it */
        const uint32_t middle = (low + high + 1) / 2;
        if (blockIdx.x >= reads.batches[middle].first_block) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Returns a batch of such a launch in the form of other launches. */
template <int BITS>
static __device__ inline struct sw_cuda_read<BITS>
unshared(const struct sw_cuda_shared_read<BITS> &shared) {
    struct sw_cuda_read<BITS> read;
    read.keys = shared.keys;
    read.previous = shared.previous;
    read.found = shared.found;
    read.record = shared.record;
    read.tally = shared.view->tallies + shared.ticket % SW_CUDA_IN_FLIGHT_MAX;
    read.ticket = shared.ticket;
    read.count = shared.count;
    return read;
}

/* Adds the sums of a block to the tally of its batch. The batch's last block completes the record
 * (M7). It reads the tally by volatile loads, since other blocks changed it by atomics. */
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
        /* a thread's probes fit 32 bits: max_probe does, and the thread has few keys */
        uint32_t warp_probes = sw_reduce_add((uint32_t)probes);
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&block_probes, (unsigned long long)warp_probes);
            atomicAdd(&block_hits, hits);
        }
        if (FILTERS && outside != 0) {
            atomicMax(&block_outside, outside);
        }
    }
    __syncthreads(); /* M2: all threads have added their sums and made their stores to host memory
                      */
    if (blocks == 1) {
        if (threadIdx.x == 0) { /* M2, M7: the fence before the ticket also covers the stores of the
                                   other threads */
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
        const uint64_t all_probes = tally->probes;
        const uint64_t all_hits = tally->hits;
        const uint32_t all_outside = FILTERS ? tally->outside : 0;
        tally->probes = 0;
        tally->hits = 0;
        if (FILTERS) {
            tally->outside = 0;
        }
        tally->blocks_done = 0;
        report(all_probes, all_hits, batch.count, COUNTS, all_outside, batch.record, batch.ticket);
    }
}

/* Returns the bits at even places, packed into the low half. */
static __device__ inline uint32_t even_bits(uint32_t word)
{
    word &= 0x55555555;
    word = (word | word >> 1) & 0x33333333;
    word = (word | word >> 2) & 0x0F0F0F0F;
    word = (word | word >> 4) & 0x00FF00FF;
    return (word | word >> 8) & 0x0000FFFF;
}

/* Stores a warp's bits as number w of its block. LANES threads share a key, so only every LANES-th
 * bit counts. */
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

/* Returns the blocks of a batch. An empty batch also needs a block that completes it. */
static __host__ __device__ inline uint32_t blocks_of(uint32_t count, uint32_t keys_per_block)
{
    const uint64_t blocks = ((uint64_t)count + keys_per_block - 1) / keys_per_block;
    return blocks > 0 ? (uint32_t)blocks : 1;
}

/* Assigns blocks to the batches. Returns the number of blocks. */
template <int BITS, int N>
static uint32_t lay_out(struct sw_cuda_reads<BITS, N> *reads, uint32_t keys_per_block)
{
    uint32_t blocks = 0;
    for (uint32_t b = 0; b < reads->batch_count; b++) {
        reads->first_block[b] = blocks;
        blocks += blocks_of(reads->batches[b].count, keys_per_block);
    }
    reads->first_block[reads->batch_count] = blocks;
    return blocks;
}

/* The same for a launch for several tables, with blocks of SW_CUDA_BLOCK keys. */
template <int BITS> static inline uint32_t lay_out_shared(struct sw_cuda_shared_reads<BITS> *reads)
{
    uint32_t blocks = 0;
    static_assert(sizeof(*reads) <= 4096, "they are parameters of a kernel");
    for (uint32_t b = 0; b < reads->batch_count; b++) {
        reads->batches[b].first_block = blocks;
        blocks += blocks_of(reads->batches[b].count, SW_CUDA_BLOCK);
    }
    return blocks;
}

#endif
