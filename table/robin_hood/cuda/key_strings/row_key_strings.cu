/* SPDX-License-Identifier: MIT
 *
 * row_key_strings.cu - compares the key strings at the end of rows (admission.h), before the engine
 * carries out a batch of writes and before a batch of reads is answered.
 *
 * For writes, each operation's key string is compared in parallel with that of the key's row, and
 * with that of one other operation on the key. If all are equal, no group collides, whatever the
 * batch does and whichever groups are refused: to the end of the batch every key has this key
 * string or none. Otherwise one thread decides the groups with keys whose key strings differ, in
 * order, and tracks presence and key string. The other groups have no operation on these keys and
 * cannot collide. If room is not certain, the thread decides all groups, and also refuses groups
 * for lack of room, since each group may depend on all earlier ones. The engine runs the operations
 * of refused groups as GETs, so it refuses no group that this thread decided. After the engine, the
 * refusals are copied to the engine's refusals.
 *
 * So, once a batch is decided, all operations on one row have the same key string or none. A write
 * combines the row's and the operation's key strings with OR (row_move.cuh:row_made_at).
 *
 * Memory order: each kernel reads the results of the kernel before it (M1). A compare-and-swap
 * claims a slot for the first operation that arrives with its key, and likewise the operation whose
 * key string represents the key (M6). Keys and key strings of operations do not change meanwhile.
 */
#include "table/robin_hood/cuda/key_strings/row_key_strings.cuh"
#include "table/robin_hood/cuda/times/expired_reads.cuh"

/* The arrays of a launch in sw_cuda_row_key_strings.disputed, after the first words: 1 + the
 * operation that claimed a slot, 1 + the operation whose key string represents the key, and whether
 * key strings of the key differ. */
struct claims {
    uint32_t *of_key, *of_key_string, *differ;
    uint32_t slots; /* a power of two */
};

static __host__ __device__ inline struct claims
claims_of(const struct sw_cuda_row_key_strings &key_strings, uint32_t slots)
{
    uint32_t *words = key_strings.disputed + 4;
    return {words, words + slots, words + 2 * (uint64_t)slots, slots};
}

/* Claims the word for operation i, unless another operation has claimed it. Returns the operation
 * that has the word. M6: the word is the number of the operation. An old 0 only leads to the
 * compare-and-swap, and a number does not change in this kernel. */
static __device__ inline uint32_t claim(uint32_t *word, uint32_t i)
{
    uint32_t owner = *(volatile uint32_t *)word;
    if (owner == 0) {
        owner = atomicCAS(word, 0U, i + 1);
    }
    return owner != 0 ? owner - 1 : i;
}

/* Returns the slot of the key of operation i. Keys with one home are close together in m; the
 * multiplication spreads them. */
template <int BITS>
static __device__ inline uint32_t slot_of(const struct claims &claims,
                                          const typename sw_width<BITS>::word *keys, uint64_t m,
                                          uint32_t i)
{
    uint32_t at = (uint32_t)(m * 0x9e3779b97f4a7c15ULL >> 32) & (claims.slots - 1);
    while (keys[claim(&claims.of_key[at], i)] != keys[i]) {
        at = (at + 1) & (claims.slots - 1);
    }
    return at;
}

/* Finds the slots and states of keys, and compares key strings. One thread an operation. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    compare_kernel(const typename sw_width<BITS>::table table,
                   const typename sw_width<BITS>::word *keys, const struct sw_cuda_rows rows,
                   const struct sw_cuda_parts *parts, uint32_t part_count, uint32_t count,
                   const struct claims claims)
{
    typedef sw_width<BITS> W;
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i >= count) {
        return;
    }
    uint64_t probes = 0;
    const typename W::word m = W::mix(&table, keys[i]);
    const typename W::place place = W::locate(&table, m, &probes);
    const uint8_t *stored =
        place.found ? row_key_string(rows, row_at(rows, (uint64_t)place.value)) : NULL;
    const uint8_t *key_string = key_string_of(rows, parts, part_count, i);
    const uint32_t slot = slot_of<BITS>(claims, keys, m, i);
    uint32_t facts = 0;
    if (key_string != NULL) {
        const uint32_t first = claim(&claims.of_key_string[slot], i);
        const bool as_first =
            first == i ||
            same_key_string(rows, key_string, key_string_of(rows, parts, part_count, first));
        const bool as_stored = stored != NULL && same_key_string(rows, key_string, stored);
        facts = SW_ROW_HAS_KEY_STRING | (as_first ? SW_ROW_AS_FIRST : 0) |
                (as_stored ? SW_ROW_AS_STORED : 0);
        if (!as_first || (stored != NULL && !as_stored)) {
            claims.differ[slot] = 1; /* M6: all store the same */
            *rows.key_strings.disputed = 1;
        }
    }
    rows.key_strings.slots[i] = slot;
    rows.key_strings.facts[i] = (uint8_t)facts;
    /* M6: all threads with this key store the same */
    rows.key_strings.states[slot] = !place.found     ? SW_ROW_ABSENT
                                    : stored == NULL ? SW_ROW_NO_KEY_STRING
                                                     : SW_ROW_OF_ROW;
}

/* Returns whether no group can be refused for lack of room. */
template <int BITS>
static __device__ inline bool has_room(const typename sw_width<BITS>::table &table,
                                       uint32_t operations)
{
    return table.state->occupied + operations <= table.occupied_max &&
           table.state->stash_occupied <= table.stash_max;
}

/* Marks the operations whose groups one thread decides. One thread for each operation and group. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    mark_kernel(const typename sw_width<BITS>::table table, const struct sw_cuda_rows rows,
                const struct sw_cuda_row_batch<BITS> batch, const struct claims claims)
{
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (*rows.key_strings.disputed == 0) {
        return;
    }
    const bool all = !has_room<BITS>(table, batch.count);
    const bool undecided =
        i < batch.count && (all || claims.differ[rows.key_strings.slots[i]] != 0);
    const uint32_t undecided_here = __ballot_sync(SW_WARP_ALL, undecided);
    if (i % 32 == 0 && i < batch.count) {
        rows.key_strings.undecided[i / 32] = undecided_here;
    }
    if (i < batch.group_count) {
        rows.key_strings.refused[i] = SW_ADMITTED;
    }
}

/* Returns the first marked operation from i on, or a number >= count if no operation is marked. */
static __device__ inline uint32_t next_undecided(const uint32_t *undecided, uint32_t i,
                                                 uint32_t count)
{
    while (i < count) {
        const uint32_t word = undecided[i / 32] >> i % 32;
        if (word != 0) {
            return i + (uint32_t)__ffs((int)word) - 1;
        }
        i = (i / 32 + 1) * 32;
    }
    return i;
}

/* Decides whether a group is admitted or why it is refused. Carries out the group up to the first
 * refusal. */
template <int BITS>
static __device__ inline enum sw_admission
decide_group(const typename sw_width<BITS>::table &table, const struct sw_cuda_rows &rows,
             const struct sw_cuda_row_batch<BITS> &batch, uint32_t *i, uint32_t end,
             uint64_t *occupied)
{
    const bool stash_full = table.state->stash_occupied > table.stash_max;
    for (; *i < end; ++*i) {
        const uint32_t was = *key_string_state(rows, *i);
        if (key_string_collides(rows, batch.parts, batch.part_count, *i, was)) {
            return SW_REFUSED_COLLISION;
        }
        const enum sw_effect effect = sw_row_effect(batch.ops[*i], was != SW_ROW_ABSENT);
        if (effect == SW_EFFECT_WRITE && was == SW_ROW_ABSENT) {
            if (*occupied >= table.occupied_max || stash_full) {
                return SW_REFUSED_FULL;
            }
            ++*occupied;
        }
        *occupied -= effect == SW_EFFECT_REMOVE;
        key_string_step(rows, *i, effect);
    }
    return SW_ADMITTED;
}

/* Decides which groups are refused. One thread; only if key strings differ. */
template <int BITS>
static __global__ void key_string_groups_kernel(const typename sw_width<BITS>::table table,
                                                const struct sw_cuda_rows rows,
                                                const struct sw_cuda_row_batch<BITS> batch)
{
    uint64_t occupied = table.state->occupied;
    uint32_t i = 0;
    if (*rows.key_strings.disputed == 0) {
        return;
    }
    while ((i = next_undecided(rows.key_strings.undecided, i, batch.count)) < batch.count) {
        const uint32_t g = row_group<BITS>(batch, i);
        const uint32_t first = g > 0 ? batch.group_ends[g - 1] : 0;
        const uint32_t end = batch.group_ends[g];
        const uint64_t before = occupied;
        i = first;
        const enum sw_admission admission =
            decide_group<BITS>(table, rows, batch, &i, end, &occupied);
        if (admission != SW_ADMITTED) {
            occupied = before;
            rows.key_strings.refused[g] = (uint8_t)admission;
            while (i-- > first) {
                key_string_step_back(rows, i);
            }
            for (i = first; i < end; i++) {
                rows.key_strings.facts[i] |= SW_ROW_VOID;
            }
        }
        i = end;
    }
}

/* Copies the refusals, after the engine. One thread a group. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    refused_kernel(const struct sw_cuda_rows rows, const struct sw_cuda_row_batch<BITS> batch)
{
    const uint32_t g = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (g < batch.group_count && *rows.key_strings.disputed != 0 &&
        rows.key_strings.refused[g] != 0) {
        batch.group_refused[g] = rows.key_strings.refused[g];
        *batch.status = SW_E_FULL; /* M6: all store the same */
    }
}

/* A batch of reads, with types. */
template <int BITS> struct key_string_reads {
    const typename sw_width<BITS>::word *keys;
    const uint8_t *values;
    uint32_t count, group_count;
    const uint32_t *group_ends;
    uint8_t *group_refused; /* or NULL */
    struct sw_cuda_record *record;
};

/* Refuses groups of a read batch whose key strings differ from the stored ones. An expired key is
 * absent. One thread a key. */
template <int BITS, typename EXPIRY_FILTER>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    reads_kernel(const typename sw_width<BITS>::table table, const struct sw_cuda_rows rows,
                 const struct key_string_reads<BITS> reads, const EXPIRY_FILTER expiry_filter)
{
    typedef sw_width<BITS> W;
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i >= reads.count) {
        return;
    }
    uint64_t probes = 0;
    const uint8_t *key_string = row_key_string(rows, reads.values + (uint64_t)i * rows.value_bytes);
    const typename W::place place = W::locate(&table, W::mix(&table, reads.keys[i]), &probes);
    bool found = place.found;
    if constexpr (EXPIRY_FILTER::filters) {
        found = found && sw_expiry_state_of(expiry_filter, reads.keys[i]).lives;
    }
    const uint8_t *stored =
        found ? row_key_string(rows, row_at(rows, (uint64_t)place.value)) : NULL;
    if (key_string == NULL || stored == NULL || same_key_string(rows, key_string, stored)) {
        return;
    }
    uint32_t low = 0;
    uint32_t high = reads.group_count;
    while (low < high) { /* the first group that ends after i; the batch may declare no group */
        const uint32_t middle = low + (high - low) / 2;
        if (reads.group_ends[middle] > i) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (reads.group_count > 0 && reads.group_refused != NULL) {
        reads.group_refused[low] = SW_REFUSED_COLLISION; /* M6: all threads store the same */
    }
    reads.record->collided = 1; /* M7: the kernel that answers the batch follows, with the ticket */
}

template <int BITS>
cudaError_t sw_cuda_launch_row_compare(const struct sw_cuda_device<BITS> *device,
                                       const struct sw_cuda_rows *rows,
                                       const typename sw_width<BITS>::word *keys,
                                       const struct sw_cuda_parts *parts, uint32_t part_count,
                                       uint32_t count, cudaStream_t stream)
{
    const struct claims claims = claims_of(rows->key_strings, sw_cuda_row_claims(count));
    const uint64_t words = 4 + 3 * (uint64_t)claims.slots;
    cudaError_t error =
        cudaMemsetAsync(rows->key_strings.disputed, 0, words * sizeof(uint32_t), stream);
    if (error == cudaSuccess) {
        compare_kernel<BITS><<<count / SW_CUDA_BLOCK + 1, SW_CUDA_BLOCK, 0, stream>>>(
            device->table, keys, *rows, parts, part_count, count, claims);
        error = cudaGetLastError();
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_row_key_strings(const struct sw_cuda_device<BITS> *device,
                                           const struct sw_cuda_rows *rows,
                                           const typename sw_width<BITS>::word *keys,
                                           const struct sw_cuda_row_batch<BITS> *batch,
                                           cudaStream_t stream)
{
    const struct claims claims = claims_of(rows->key_strings, sw_cuda_row_claims(batch->count));
    const uint32_t blocks = batch->count / SW_CUDA_BLOCK + 1;
    cudaError_t error = sw_cuda_launch_row_compare<BITS>(device, rows, keys, batch->parts,
                                                         batch->part_count, batch->count, stream);
    if (error == cudaSuccess) {
        mark_kernel<BITS>
            <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, *rows, *batch, claims);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        key_string_groups_kernel<BITS><<<1, 1, 0, stream>>>(device->table, *rows, *batch);
        error = cudaGetLastError();
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_row_refused(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream)
{
    refused_kernel<BITS>
        <<<batch->group_count / SW_CUDA_BLOCK + 1, SW_CUDA_BLOCK, 0, stream>>>(*rows, *batch);
    return cudaGetLastError();
}

template <int BITS>
cudaError_t sw_cuda_launch_row_key_string_reads(const struct sw_cuda_device<BITS> *device,
                                                const struct sw_cuda_rows *rows,
                                                const struct sw_batch *batch,
                                                struct sw_cuda_record *record,
                                                const struct sw_cuda_expiry_filter *expiry_filter,
                                                cudaStream_t stream)
{
    typedef typename sw_width<BITS>::word word;
    const struct key_string_reads<BITS> reads = {
        (const word *)batch->keys, (const uint8_t *)batch->values, batch->count, batch->group_count,
            batch->group_ends, batch->group_refused, record
    };
    record->collided = 0;
    if (batch->kind != SW_BATCH_OPERATIONS || batch->values == NULL || batch->count == 0) {
        return cudaSuccess;
    }
    const uint32_t blocks = batch->count / SW_CUDA_BLOCK + 1;
    if (expiry_filter != NULL) {
        reads_kernel<BITS, sw_cuda_expiry_filter>
            <<<blocks, SW_CUDA_BLOCK, 0, stream>>>(device->table, *rows, reads, *expiry_filter);
    } else {
        reads_kernel<BITS, sw_cuda_no_expiry_filter><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(
            device->table, *rows, reads, sw_cuda_no_expiry_filter());
    }
    return cudaGetLastError();
}

template <int BITS> cudaError_t sw_cuda_load_row_key_strings(void)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, compare_kernel<BITS>);
    if (error == cudaSuccess) {
        error = cudaFuncGetAttributes(&attributes, mark_kernel<BITS>);
    }
    if (error == cudaSuccess) {
        error = cudaFuncGetAttributes(&attributes, key_string_groups_kernel<BITS>);
    }
    if (error == cudaSuccess) {
        error = cudaFuncGetAttributes(&attributes, refused_kernel<BITS>);
    }
    if (error == cudaSuccess) {
        error = cudaFuncGetAttributes(&attributes, reads_kernel<BITS, sw_cuda_no_expiry_filter>);
    }
    return error == cudaSuccess
               ? cudaFuncGetAttributes(&attributes, reads_kernel<BITS, sw_cuda_expiry_filter>)
               : error;
}

#define INSTANTIATE(BITS, ...)                                                                     \
    template cudaError_t sw_cuda_launch_row_compare<BITS>(                                         \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_rows *,                          \
        const typename sw_width<BITS>::word *, const struct sw_cuda_parts *, uint32_t, uint32_t,   \
        cudaStream_t);                                                                             \
    template cudaError_t sw_cuda_launch_row_key_strings<BITS>(                                     \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_rows *,                          \
        const typename sw_width<BITS>::word *, const struct sw_cuda_row_batch<BITS> *,             \
        cudaStream_t);                                                                             \
    template cudaError_t sw_cuda_launch_row_refused<BITS>(                                         \
        const struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, cudaStream_t);        \
    template cudaError_t sw_cuda_launch_row_key_string_reads<BITS>(                                \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_rows *, const struct sw_batch *, \
        struct sw_cuda_record *, const struct sw_cuda_expiry_filter *, cudaStream_t);              \
    template cudaError_t sw_cuda_load_row_key_strings<BITS>(void);
SW_WIDTHS(INSTANTIATE)
