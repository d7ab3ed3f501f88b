/* SPDX-License-Identifier: MIT
 *
 * runs.cuh - applies the operations of a sorted batch to each key, in order, by blocks of
 * SW_RUN_BLOCK threads.
 *
 * The operations are sorted by key, and stay in order for each key. The operations of one key are
 * its run. A block loads a slice of the operations into shared memory. One thread per key applies
 * the part of its run that lies in the slice; then one thread per operation can write its answer.
 *
 * A slice that lies in a single run is cut into chunks. Each chunk is folded to a change
 * (change.h), which does not depend on the key's state before it, so the lanes of a warp fold all
 * chunks in parallel. One thread then computes the key's state before each chunk, in one step per
 * chunk.
 *
 * Many blocks share a run that continues past a slice, because its key is repeated very often.
 * First each slice that the run fills is folded to a change (sw_runs_summarize). Then one block
 * computes the key's state from slice to slice, as above from chunk to chunk (sw_runs_enter). So
 * each block knows the key's state before its slice (sw_runs_fold). The writes of all blocks in one
 * of the three steps must be visible to all blocks in the next.
 *
 * All look-ups in the table happen before any block writes the result of a run. For a run that
 * continues past a slice, the first of the three steps looks the key up. The block with the end of
 * the run looks it up again, and only that block writes the result.
 *
 * A SOURCE is the sorted batch of an engine, of a format of slots (BITS, widths.h):
 *   typedef place        where a key is; zeroed: nowhere
 *   count                operations
 *   scratch              struct sw_run_scratch<BITS>
 *   key(j)               key of the sorted operation j, or a word that is equal in a run
 *   operation(j)         struct sw_run_operation<BITS>
 *   look_up(j, op, key_state *, struct fold_counts *)   its place; sets its state
 */
#ifndef SHERWOOD_TABLE_DEVICE_RUNS_CUH
#define SHERWOOD_TABLE_DEVICE_RUNS_CUH

#include "table/change.h"
#include "table/device/counts.cuh"

#define SW_RUN_BLOCK 256
/* Operations of a chunk. A slice of a single run is cut into chunks, which the lanes of a warp fold
 * in parallel. */
#define SW_RUN_CHUNK 8
#define SW_RUN_CHUNKS (SW_RUN_BLOCK / SW_RUN_CHUNK)
static_assert(SW_RUN_CHUNKS == 32, "a lane a chunk");

template <int BITS> struct sw_run_kind;
#define SW_RUN_KIND(bits, word_type, suffix)                                                   \
    template <> struct sw_run_kind<bits> {                                                     \
        typedef word_type word;                                                                \
        typedef struct sw_key_state_##suffix key_state;                                        \
        typedef struct sw_change_##suffix change;                                              \
        static __device__ __forceinline__ enum sw_effect step(key_state *key, uint32_t op,     \
                                                              word operand)                    \
        {                                                                                      \
            return sw_key_step_##suffix(key, op, operand);                                     \
        }                                                                                      \
        static __device__ __forceinline__ void become(key_state *key, enum sw_effect effect,   \
                                                      word out)                                \
        {                                                                                      \
            sw_key_become_##suffix(key, effect, out);                                          \
        }                                                                                      \
        static __device__ __forceinline__ change none()                                        \
        {                                                                                      \
            return sw_change_none_##suffix();                                                  \
        }                                                                                      \
        static __device__ __forceinline__ void append(change *made, uint32_t op, word operand) \
        {                                                                                      \
            sw_change_append_##suffix(made, op, operand);                                      \
        }                                                                                      \
        static __device__ __forceinline__ bool apply(const change *made, key_state *key)       \
        {                                                                                      \
            return sw_change_apply_##suffix(made, key);                                        \
        }                                                                                      \
        static __device__ __forceinline__ bool then(change *made, const change *next)          \
        {                                                                                      \
            return sw_change_then_##suffix(made, next);                                        \
        }                                                                                      \
    };
SW_WIDTHS(SW_RUN_KIND)
#undef SW_RUN_KIND
/* Key sets: all values are 0. */
template <> struct sw_run_kind<65> : sw_run_kind<64> {
};
template <> struct sw_run_kind<129> : sw_run_kind<128> {
};

template <int BITS> struct sw_run_operation {
    typename sw_run_kind<BITS>::word operand;
    uint32_t number; /* in the batch */
    uint32_t op;
};

/* Data exchanged between blocks: one element per slice, and one more. */
template <int BITS> struct sw_run_scratch {
    typename sw_run_kind<BITS>::change *changes;     /* of the slices that one run fills */
    typename sw_run_kind<BITS>::key_state *begun;    /* state before the slice's last run, if that
                                                        continues */
    typename sw_run_kind<BITS>::key_state *entering; /* state before the slice, of a run that began
                                                        earlier */
};

/* The sorted operations of a slice. */
struct sw_slice {
    uint32_t number;
    uint32_t first;
    uint32_t count;
    bool entered; /* its first run began before it */
    bool goes_on; /* its last run ends after it */
    bool passed;  /* a single run fills it, and began before it and ends after it */
};

/* Shared memory for the chunks: the change of each, and the key's state before each. */
template <int BITS> struct sw_chunk_memory {
    typename sw_run_kind<BITS>::change changes[SW_RUN_CHUNKS];
    typename sw_run_kind<BITS>::key_state entering[SW_RUN_CHUNKS];
};

/* Shared memory for the operations of a slice, and for the key's state before each of them. */
template <int BITS> struct sw_run_memory {
    typename sw_run_kind<BITS>::word keys[SW_RUN_BLOCK];
    typename sw_run_kind<BITS>::word operands[SW_RUN_BLOCK];
    typename sw_run_kind<BITS>::word values[SW_RUN_BLOCK];
    uint8_t ops[SW_RUN_BLOCK];
    bool exists[SW_RUN_BLOCK];
    struct sw_chunk_memory<BITS> chunks;
};

/* Shared memory of sw_runs_enter. */
template <int BITS> struct sw_enter_memory {
    typename sw_run_kind<BITS>::change changes[SW_RUN_BLOCK];
    struct sw_chunk_memory<BITS> chunks;
    uint32_t applied;
};

static inline __host__ __device__ uint32_t sw_slices_of(uint32_t count)
{
    return (count + SW_RUN_BLOCK - 1) / SW_RUN_BLOCK;
}

template <typename SOURCE>
static __device__ inline struct sw_slice sw_slice_of(const SOURCE &source, uint32_t number)
{
    struct sw_slice slice = {number, number * SW_RUN_BLOCK, 0, false, false, false};
    if (slice.first >= source.count) {
        return slice;
    }
    const uint32_t rest = source.count - slice.first;
    slice.count = rest < SW_RUN_BLOCK ? rest : SW_RUN_BLOCK;
    const uint32_t end = slice.first + slice.count;
    const auto first = source.key(slice.first);
    const auto last = source.key(end - 1);
    slice.entered = slice.first != 0 && source.key(slice.first - 1) == first;
    slice.goes_on = end < source.count && source.key(end) == last;
    slice.passed = slice.entered && slice.goes_on && first == last;
    return slice;
}

/* Reads a slice's operations. All threads of the block call it. Returns the number, in the batch,
 * of this thread's operation. */
template <int BITS, typename SOURCE>
static __device__ inline uint32_t sw_read_slice(const SOURCE &source, const struct sw_slice &slice,
                                                struct sw_run_memory<BITS> *own)
{
    const uint32_t t = threadIdx.x;
    struct sw_run_operation<BITS> operation = {
    };
    __syncthreads(); /* M2: all threads have read the old content of the memory */
    if (t < slice.count) {
        operation = source.operation(slice.first + t);
        own->keys[t] = source.key(slice.first + t);
        own->operands[t] = operation.operand;
        own->ops[t] = (uint8_t)operation.op;
    }
    __syncthreads(); /* M2: the operations of all threads */
    return operation.number;
}

/* Returns whether this thread's operation is the first of its run in the slice. */
template <int BITS>
static __device__ inline bool sw_is_first(const struct sw_run_memory<BITS> *own,
                                          const struct sw_slice &slice)
{
    const uint32_t t = threadIdx.x;
    return t < slice.count && (t == 0 || own->keys[t - 1] != own->keys[t]);
}

/* Folds each chunk of a slice of a single run to a change. All threads of the block call it. */
template <int BITS> static __device__ inline void sw_fold_chunks(struct sw_run_memory<BITS> *own)
{
    typedef sw_run_kind<BITS> kind;
    const uint32_t first = threadIdx.x * SW_RUN_CHUNK;
    if (threadIdx.x < SW_RUN_CHUNKS) {
        typename kind::change change = kind::none();
        for (uint32_t t = first; t < first + SW_RUN_CHUNK; t++) {
            kind::append(&change, own->ops[t], own->operands[t]);
        }
        own->chunks.changes[threadIdx.x] = change;
    }
    __syncthreads(); /* M2: `changes` */
}

/* Computes the change of a slice of a single run. All threads of the block call it; the result is
 * valid in the first one. */
template <int BITS>
static __device__ inline typename sw_run_kind<BITS>::change
sw_change_of(struct sw_run_memory<BITS> *own)
{
    typedef sw_run_kind<BITS> kind;
    typename kind::change *changes = own->chunks.changes;
    bool fails = false;
    sw_fold_chunks<BITS>(own);
    for (uint32_t step = 1; step < SW_RUN_CHUNKS; step *= 2) { /* in pairs, in order */
        if (threadIdx.x < SW_RUN_CHUNKS && threadIdx.x % (2 * step) == 0) {
            fails |= !kind::then(&changes[threadIdx.x], &changes[threadIdx.x + step]);
        }
        __syncthreads(); /* M2: the changes that the next step joins */
    }
    fails = __syncthreads_or(fails) != 0; /* M2: changes[0], and whether any join failed */
    if (threadIdx.x == 0 && fails) {      /* the ranges of values of two chunks do not overlap */
        changes[0] = kind::none();
        for (uint32_t t = 0; t < SW_RUN_BLOCK; t++) {
            kind::append(&changes[0], own->ops[t], own->operands[t]);
        }
    }
    return changes[0];
}

/* Folds the slice's part of a run that continues past the slice. If the run began before the slice,
 * the result is a change; otherwise it is the key's state at the next slice. All threads of the
 * block call it. */
template <int BITS, typename SOURCE>
static __device__ inline void sw_runs_summarize(const SOURCE &source, const struct sw_slice &slice,
                                                struct sw_run_memory<BITS> *own,
                                                struct fold_counts *counts)
{
    typedef sw_run_kind<BITS> kind;
    if (!slice.goes_on) {
        return;
    }
    sw_read_slice<BITS>(source, slice, own);
    uint32_t t = threadIdx.x;
    if (slice.passed) {
        const typename kind::change change = sw_change_of<BITS>(own);
        if (t == 0) {
            source.scratch.changes[slice.number] = change;
        }
        return;
    }
    if (!sw_is_first<BITS>(own, slice) || own->keys[t] != own->keys[SW_RUN_BLOCK - 1]) {
        return;
    }
    typename kind::key_state key = {};
    source.look_up(slice.first + t, own->ops[t], &key, counts);
    source.scratch.begun[slice.number] = key;
    for (; t < SW_RUN_BLOCK; t++) {
        kind::step(&key, own->ops[t], own->operands[t]);
    }
    source.scratch.entering[slice.number + 1] = key;
}

/* Applies the changes of the slices next + [at, ready) to a key. One thread calls it. Returns the
 * first slice whose change does not apply to the key's value, or `ready`. */
template <int BITS>
static __device__ inline uint32_t
sw_apply_changes(const struct sw_run_scratch<BITS> &scratch,
                 const typename sw_run_kind<BITS>::change *changes, uint32_t next, uint32_t at,
                 uint32_t ready, typename sw_run_kind<BITS>::key_state *key)
{
    for (; at < ready && sw_run_kind<BITS>::apply(&changes[at], key); at++) {
        scratch.entering[next + at + 1] = *key;
    }
    return at;
}

/* Applies the changes of SW_RUN_BLOCK slices, from `next` on, to a key: chunks of changes in
 * parallel, as sw_runs_fold does with operations. All threads of the block call it; *key is
 * valid in the first one. False if some change does not apply to the key's value; then *key is
 * unchanged. */
template <int BITS>
static __device__ inline bool sw_apply_chunks(const struct sw_run_scratch<BITS> &scratch,
                                              struct sw_enter_memory<BITS> *memory, uint32_t next,
                                              typename sw_run_kind<BITS>::key_state *key)
{
    typedef sw_run_kind<BITS> kind;
    struct sw_chunk_memory<BITS> *chunks = &memory->chunks;
    const uint32_t first = threadIdx.x * SW_RUN_CHUNK;
    typename kind::key_state now = *key;
    bool fails = false;
    if (threadIdx.x < SW_RUN_CHUNKS) {
        typename kind::change change = memory->changes[first];
        for (uint32_t t = first + 1; t < first + SW_RUN_CHUNK; t++) {
            fails |= !kind::then(&change, &memory->changes[t]);
        }
        chunks->changes[threadIdx.x] = change;
    }
    fails = __syncthreads_or(fails) != 0; /* M2: the changes of all chunks */
    for (uint32_t c = 0; threadIdx.x == 0 && !fails && c < SW_RUN_CHUNKS; c++) {
        chunks->entering[c] = now;
        fails |= !kind::apply(&chunks->changes[c], &now);
    }
    if (__syncthreads_or(fails) != 0) { /* M2: entering[] */
        return false;
    }
    *key = now; /* valid in the first thread only */
    if (threadIdx.x < SW_RUN_CHUNKS) {
        now = chunks->entering[threadIdx.x];
        for (uint32_t t = first; t < first + SW_RUN_CHUNK; t++) {
            kind::apply(&memory->changes[t], &now);
            scratch.entering[next + t + 1] = now;
        }
    }
    __syncthreads(); /* M2: all threads have read the shared memory before its next use */
    return true;
}

/* The block whose slice has the beginning of a run computes the key's state before each slice that
 * the run fills, and after the last of them. */
template <int BITS, typename SOURCE>
static __device__ inline void sw_runs_enter(const SOURCE &source, const struct sw_slice &slice,
                                            struct sw_run_memory<BITS> *passed,
                                            struct sw_enter_memory<BITS> *memory)
{
    typedef sw_run_kind<BITS> kind;
    if (!slice.goes_on || slice.passed) {
        return;
    }
    const struct sw_run_scratch<BITS> &scratch = source.scratch;
    uint32_t next = slice.number + 1;
    uint32_t ready = SW_RUN_BLOCK; /* of the slices from `next` on, those that the run passes */
    typename kind::key_state key = scratch.entering[next]; /* the first thread's */
    for (; ready == SW_RUN_BLOCK; next += SW_RUN_BLOCK) {
        const struct sw_slice mine = sw_slice_of(source, next + threadIdx.x);
        const bool is_passed =
            mine.passed && source.key(mine.first) == source.key(next * SW_RUN_BLOCK);
        if (is_passed) {
            memory->changes[threadIdx.x] = scratch.changes[next + threadIdx.x];
        }
        ready = (uint32_t)__syncthreads_count(is_passed); /* M2: changes[] of all slices */
        if (ready == SW_RUN_BLOCK && sw_apply_chunks<BITS>(scratch, memory, next, &key)) {
            continue;
        }
        for (uint32_t at = 0; at < ready; at++) {
            if (threadIdx.x == 0) {
                memory->applied =
                    sw_apply_changes<BITS>(scratch, memory->changes, next, at, ready, &key);
            }
            __syncthreads(); /* M2: `applied` */
            at = memory->applied;
            if (at < ready) { /* one by one */
                sw_read_slice<BITS>(source, sw_slice_of(source, next + at), passed);
                for (uint32_t t = 0; threadIdx.x == 0 && t < SW_RUN_BLOCK; t++) {
                    kind::step(&key, passed->ops[t], passed->operands[t]);
                }
                if (threadIdx.x == 0) {
                    scratch.entering[next + at + 1] = key;
                }
            }
            __syncthreads(); /* M2: thread 0 has read `passed` and `changes` */
        }
    }
}

/* Sets *now to the key's state before this thread's run, or before the run's part in this slice.
 * The thread has the first operation of the run in the slice. Returns whether the run ends in the
 * slice; then also sets *place to the key's place. */
template <int BITS, typename SOURCE>
static __device__ inline bool
sw_run_begins(const SOURCE &source, const struct sw_slice &slice,
              const struct sw_run_memory<BITS> *own, typename SOURCE::place *place,
              typename sw_run_kind<BITS>::key_state *now, struct fold_counts *counts)
{
    const uint32_t t = threadIdx.x;
    const bool ends = !slice.goes_on || own->keys[t] != own->keys[SW_RUN_BLOCK - 1];
    if (ends) {
        *place = source.look_up(slice.first + t, own->ops[t], now, counts);
    }
    if (t == 0 && slice.entered) {
        *now = source.scratch.entering[slice.number];
    } else if (!ends) {
        *now = source.scratch.begun[slice.number];
    }
    return ends;
}

/* Applies one operation; stores the key's state before it. */
template <int BITS>
static __device__ inline void sw_run_step(struct sw_run_memory<BITS> *own, uint32_t t,
                                          typename sw_run_kind<BITS>::key_state *now)
{
    own->values[t] = now->value;
    own->exists[t] = now->exists;
    sw_run_kind<BITS>::step(now, own->ops[t], own->operands[t]);
}

/* Applies a slice of a single run to the key, whose state is *now of the first thread. All threads
 * of the block call it. */
template <int BITS>
static __device__ inline void sw_run_chunks(struct sw_run_memory<BITS> *own,
                                            typename sw_run_kind<BITS>::key_state *now)
{
    typedef sw_run_kind<BITS> kind;
    struct sw_chunk_memory<BITS> *chunks = &own->chunks;
    sw_fold_chunks<BITS>(own);
    for (uint32_t c = 0; threadIdx.x == 0 && c < SW_RUN_CHUNKS; c++) {
        chunks->entering[c] = *now;
        if (!kind::apply(&chunks->changes[c], now)) {
            for (uint32_t t = c * SW_RUN_CHUNK; t < (c + 1) * SW_RUN_CHUNK; t++) {
                kind::step(now, own->ops[t], own->operands[t]);
            }
        }
    }
    __syncthreads(); /* M2: entering[] of all chunks */
    if (threadIdx.x < SW_RUN_CHUNKS) {
        typename kind::key_state key = chunks->entering[threadIdx.x];
        for (uint32_t t = 0; t < SW_RUN_CHUNK; t++) {
            sw_run_step<BITS>(own, threadIdx.x * SW_RUN_CHUNK + t, &key);
        }
    }
}

/* Applies the operations of a slice to their keys, and stores each key's state before each
 * operation. All threads of the block call it. Returns whether this thread has the first
 * operation, in the slice, of a run that ends there; then *place is the key's place and *now its
 * final state. */
template <int BITS, typename SOURCE>
static __device__ inline bool
sw_runs_fold(const SOURCE &source, const struct sw_slice &slice, struct sw_run_memory<BITS> *own,
             typename SOURCE::place *place, typename sw_run_kind<BITS>::key_state *now,
             struct fold_counts *counts)
{
    const uint32_t first = threadIdx.x;
    const bool is_first = sw_is_first<BITS>(own, slice);
    const bool ends = is_first && sw_run_begins<BITS>(source, slice, own, place, now, counts);
    if (slice.count == SW_RUN_BLOCK && own->keys[0] == own->keys[SW_RUN_BLOCK - 1]) {
        sw_run_chunks<BITS>(own, now);
        return ends;
    }
    for (uint32_t t = first; is_first && t < slice.count && own->keys[t] == own->keys[first]; t++) {
        sw_run_step<BITS>(own, t, now);
    }
    return ends;
}

#endif
