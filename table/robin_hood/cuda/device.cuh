/* SPDX-License-Identifier: MIT
 *
 * device.cuh - the parameters and results of the kernels, and the functions that launch them.
 *
 * A table has one write scratch and one control block. Write batches never overlap, on any stream,
 * so they share both (M1). Each read batch needs only a tally. Records lie in host memory that the
 * device can access. The host reads nothing else while a batch runs (M7).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DEVICE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "table/device/reduce.cuh"
#include "table/device/runs.cuh"
#include "table/robin_hood/cuda/width.cuh"

/* Number of blocks of kernels that loop and often have no work: enough to fill any GPU. */
#define SW_CUDA_FEW_BLOCKS 4096

/* Sums of a read batch; zero between batches. */
struct sw_cuda_tally {
    unsigned long long probes;
    unsigned long long hits;
    unsigned int outside; /* bitwise complement of the number of the first key outside the filter;
                             0: no key is outside */
    unsigned int blocks_done;
};

/* The decision on a write batch. Set by admit_kernel or scatter_kernel, read by every kernel after
 * it (M1). */
enum sw_cuda_mode {
    SW_CUDA_UNDECIDED,
    SW_CUDA_ADMITTED,   /* everything fits: later kernels apply the lists */
    SW_CUDA_IF_PRESENT, /* the stash was full when the batch began: the batch is applied if no key
                           is absent, otherwise refused */
    SW_CUDA_REFUSED,    /* no operation is applied */
    SW_CUDA_GROUPS,     /* some groups may be refused: admit.cu decides which */
    SW_CUDA_AGAIN,      /* the refused groups are known: the other groups are folded and applied */
    SW_CUDA_SERIAL      /* the parallel kernels cannot decide the batch: one thread applies the
                           operations in order */
};

/* The state of the running write batch; zero between batches. */
struct sw_cuda_control {
    struct sw_counters counters; /* as if one thread had applied the operations in order; the probes
                                    are counted as made */
    uint64_t direct_inserts;     /* entries that range_direct.cuh stored in a free slot */
    uint64_t direct_removals;    /* slots that range_direct.cuh cleared or made a hole */
    uint64_t side_value;
    uint64_t stash_before; /* entries of the stash before the batch and before the move made for
                              it */
    uint32_t stash_noted;  /* 1: stash_before is set */
    uint32_t side_effect;  /* net effect on the side cell: enum sw_cuda_net */
    uint32_t mode;         /* enum sw_cuda_mode */
    uint32_t updates;      /* lengths of the lists in the scratch */
    uint32_t deletes;
    uint32_t deletes_in_stash;
    uint32_t inserts;
    uint32_t long_removals;
    uint32_t long_inserts;
    uint32_t absent;        /* SW_CUDA_IF_PRESENT: 1 if a key of the batch is absent */
    uint32_t side_inserts;  /* batches by ranges: 1 if the batch filled the side cell */
    uint32_t side_removals; /* batches by ranges: 1 if the batch emptied the side cell */
    uint32_t leftovers;
    uint32_t overfull;       /* operations of the ranges that have more than their room */
    uint32_t first_bucket;   /* bits: slots of bucket 0 that the entries to be removed leave
                                (holes.cu) */
    uint32_t rebuild_off;    /* 1: the rebuild cannot be used, as known before it starts */
    uint32_t rebuild_failed; /* rebuild.cu could not write the table */
    uint32_t may_delete;    /* for admit.cu; 1: some operation deletes if all groups are admitted */
    uint32_t larger_groups; /* 1: a group has more than one operation */
    uint32_t first_news;    /* bitwise complement of the first group refused in the first round */
    uint32_t admit_news[4]; /* one per round, reused in turn; 1: the round decided some group
                               differently from the round before */
    uint32_t lost;          /* entries that did not fit even in the stash; the geometry makes this
                               impossible */
    unsigned int blocks_done;
};

/* The net effect of a batch on one key. */
enum sw_cuda_net { SW_NET_NONE, SW_NET_UPDATE, SW_NET_DELETE, SW_NET_INSERT };

/* A batch of operations, with the types of BITS. */
template <int BITS> struct sw_cuda_batch {
    typedef typename sw_width<BITS>::word word;
    uint32_t op;
    uint32_t count;
    const uint8_t *ops; /* NULL: every operation is `op` */
    const word *keys;
    const word *values;
    const word *expected; /* NULL: no operation is of SW_OPS_PAIR. Only the general path reads it */
    word *previous;
    uint32_t *found; /* bits in halves of 64-bit words, low half first */
    /* Bits in the layout of `found`. A set bit marks an operation that changes nothing and whose
     * answer is not read. Such operations count only for refused groups. NULL: no operation is
     * skipped. */
    const uint32_t *skips;
    uint32_t group_count;
    const uint32_t *group_ends;
    uint8_t *group_refused;
    bool gathered;     /* all arrays are the table's, in device memory: combined_launch.cuh */
    bool direct;       /* by ranges: range_direct.cuh carries out the batch */
    bool ends;         /* by ranges: the third kernel also inserts, and completes the record */
    bool leaves_holes; /* with `direct`: the batch removes entries and leaves holes (holes.cu) */
    word *leftover_keys;
    word *leftover_values;
    struct sw_cuda_record *record;
    uint64_t ticket;
};

template <int BITS>
static __device__ inline bool sw_is_skipped(const struct sw_cuda_batch<BITS> &batch, uint64_t i)
{
    return batch.skips != NULL && (batch.skips[i / 32] >> (i % 32) & 1) != 0;
}

/* Batches of reads that share a launch. A launch costs about 10 us of driver time (for all threads
 * together), for 64 keys as for 64,000. Passed by value, so less than 4 KiB. */
#define SW_CUDA_READS_MAX 32
template <int BITS> struct sw_cuda_read {
    typedef typename sw_width<BITS>::word word;
    const word *keys;
    word *previous;
    uint32_t *found;
    struct sw_cuda_record *record;
    struct sw_cuda_tally *tally;
    uint64_t ticket;
    uint32_t count;
};
template <int BITS, int N> struct sw_cuda_reads {
    struct sw_cuda_read<BITS> batches[N];
    uint32_t first_block[N + 1]; /* first block of each batch; then the number of blocks */
    uint32_t batch_count;
    const struct sw_slot_filter *filter; /* the filter of all batches, in host memory; NULL: no
                                            filter */
};

template <int BITS> struct sw_cuda_update {
    uint64_t slot; /* counted from the first slot of the main array; the stash's slots follow the
                      main array's */
    typename sw_width<BITS>::word value;
};

/* An entry to be removed. */
template <int BITS> struct sw_cuda_removal {
    uint64_t slot; /* counted as in sw_cuda_update */
    typename sw_width<BITS>::word m;
};

/* The key slots of a batch: a hash table of its keys, each with its folded operations. Used for
 * operations of one kind. */
template <int BITS> struct sw_cuda_key_slots {
    typedef typename sw_width<BITS>::word word;
    word *m;         /* EMPTY: free */
    word *value;     /* SUM: the sum of the operands; MIN, MAX: the extreme, kept as a maximum;
                        otherwise unused */
    uint32_t *last;  /* 1 + the last operation; the top bit is set once the key has been found in
                        the table */
    uint32_t *first; /* bitwise complement of the first operation */
};

/* A piece of at most SW_CUDA_RANGED_MAX operations of a batch is cut into ranges (ranges.cu), at
 * most SW_CUDA_RANGES_MAX of them. */
#define SW_CUDA_RANGED_MAX (1U << 22)
#define SW_CUDA_RANGES_MAX 4096
/* Upper limit on the blocks of the last kernel of ranges.cu: its sort has 256 counters per block,
 * and 256 totals. */
#define SW_CUDA_REST_BLOCKS_MAX 512
#define SW_CUDA_OVERFULL_COUNTS (256 * (SW_CUDA_REST_BLOCKS_MAX + 1))

/* An operation moved to its range. Aligned so that it is written in whole sectors, or without an
 * operand in halves or quarters of them. */
template <int BITS> struct alignas(BITS / 4) sw_cuda_moved {
    typename sw_width<BITS>::word m;
    typename sw_width<BITS>::word operand;
    uint32_t operation; /* its number; in a batch of several kinds the bits above NUMBER_BITS
                           (in_order.cuh) hold the kind */
};
template <typename WORD> struct alignas(2 * sizeof(WORD)) sw_cuda_moved_key {
    WORD m;
    uint32_t operation;
};
template <> struct sw_cuda_moved<65> : sw_cuda_moved_key<uint32_t> {
};
template <> struct sw_cuda_moved<129> : sw_cuda_moved_key<uint64_t> {
};

template <int BITS>
static __device__ inline struct sw_cuda_moved<BITS>
sw_moved_of(typename sw_width<BITS>::word m, typename sw_width<BITS>::word operand,
            uint32_t operation) {
    struct sw_cuda_moved<BITS> moved;
    moved.m = m;
    if constexpr (!sw_width<BITS>::is_set) {
        moved.operand = operand;
    }
    moved.operation = operation;
    return moved;
}

template <int BITS>
static __device__ inline typename sw_width<BITS>::word
sw_moved_operand(const struct sw_cuda_moved<BITS> &moved)
{
    if constexpr (sw_width<BITS>::is_set) {
        return 0;
    } else {
        return moved.operand;
    }
}

/* An operation of an overfull range: its key slot and its number. */
struct sw_overfull_operation {
    uint32_t key_slot;
    uint32_t number;
};

/* The operations of a batch, grouped by range. */
template <int BITS> struct sw_cuda_ranged {
    struct sw_cuda_moved<BITS> *moved; /* [sw_cuda_range_slots] */
    uint32_t *lengths;                 /* [SW_CUDA_RANGES_MAX] zero between batches */
    uint32_t *counts;                  /* [SW_CUDA_OVERFULL_COUNTS] */
};

/* The state of a batch's groups while admit.cu decides which to refuse. `claims` and `refused` stay
 * valid until the batch is folded again. */
struct sw_cuda_groups {
    uint32_t most;     /* n */
    uint32_t *claims;  /* [n] one per operation, in sorted order: admit.cuh */
    uint32_t *refused; /* [n] one per group, like the members below except `effects`: 0 or 1 */
    uint32_t *ends;
    uint32_t *inserts; /* per round */
    uint32_t *deletes;
    int32_t *peaks;  /* for groups that insert and delete: the most additional entries while the
                        group runs */
    int8_t *effects; /* [n] one per operation: change of the number of entries */
};

/* Returns the slots that the ranges of a batch of up to count_max operations need. */
uint64_t sw_cuda_range_slots(uint32_t count_max);

/* Device memory for one write batch of up to n operations. Arrays share memory if they are never
 * used at the same time (launch/scratch.cu). A key has at most one net effect, so every list
 * fits. */
template <int BITS> struct sw_cuda_scratch {
    typedef typename sw_width<BITS>::word word;
    word *keys;                                  /* [n] copy of the batch's array */
    word *operands;                              /* [n] */
    uint8_t *ops;                                /* [n] */
    word *previous;                              /* [n] */
    uint64_t *found;                             /* [n / 64 rounded up] */
    word *m;                                     /* [n] mixed keys in batch order */
    uint32_t *index;                             /* [n] 0, 1, 2, .. */
    word *m_sorted;                              /* [n] mixed keys, ascending; equal keys in batch
                                                    order */
    uint32_t *index_sorted;                      /* [n] the operations of m_sorted */
    struct sw_cuda_update<BITS> *updates;        /* [n] */
    struct sw_cuda_removal<BITS> *deletes;       /* [n] */
    typename sw_width<BITS>::slot *inserts_end;  /* end of the list of inserts: sw_listed_insert */
    struct sw_cuda_removal<BITS> *long_removals; /* [n] the deletes that move other entries */
    typename sw_width<BITS>::slot *long_inserts; /* [n] */
    typename sw_width<BITS>::slot *leftovers;    /* [n]; NULL if the table has a stash */
    typename sw_width<BITS>::undo *undo;         /* [n] */
    struct sw_cuda_key_slots<BITS> key_slots;    /* [2 n + 1]; the last belongs to the side cell */
    struct sw_run_scratch<BITS> runs;       /* of the operations in key slots, in array order */
    struct sw_overfull_operation *overfull; /* [2 n] operations of overfull ranges */
    struct sw_cuda_ranged<BITS> ranged;
    struct sw_cuda_groups groups;
    void *pieces; /* [SW_CUDA_CUT_ALIGN bytes] of a batch of several pieces (pieces.cu) */
    void *sort;   /* for the radix sort */
    size_t sort_bytes;
};

/* Returns entry i of the list of inserts. The list grows from the end of the memory of `deletes` to
 * its beginning, and the list of deletes grows towards it. Together they have at most n entries. */
template <int BITS>
static __device__ inline typename sw_width<BITS>::slot *
sw_listed_insert(const struct sw_cuda_scratch<BITS> &scratch, uint32_t i)
{
    static_assert(sizeof(typename sw_width<BITS>::slot) <= sizeof(struct sw_cuda_removal<BITS>),
                  "both lists fit");
    return scratch.inserts_end - 1 - i;
}

/* The kernels' view of a table. Passed by value. */
template <int BITS> struct sw_cuda_device {
    typename sw_width<BITS>::table table;
    uint32_t *locks;   /* lock bits of displace.cu; room for one per bucket of both arrays; zero
                          between batches */
    uint8_t *hints;    /* displacement hints of the main array, or NULL */
    uint32_t *offsets; /* for rebuilds: [segments + 1] */
    unsigned long long *status;
    struct sw_cuda_scratch<BITS> scratch;
    struct sw_cuda_control *control;
    uint32_t block_size; /* block size of the kernels that look up keys; 0: each kernel's own */
    uint32_t multiprocessors;
    int arch;             /* compute capability, 90 for 9.0; selects the policy (policy.cuh) */
    uint32_t rest_blocks; /* blocks of the last kernel of a batch by ranges
                             (sw_cuda_range_blocks) */
    uint32_t
        cooperative_max; /* most blocks of a cooperative kernel of this launch (launcher.cuh) */
    bool counts_probes;
};

/* Returns the blocks of a cooperative kernel that would have `blocks` if its launch were alone. */
template <int BITS>
static inline uint32_t sw_cuda_cooperative_grid(const struct sw_cuda_device<BITS> *device,
                                                uint32_t blocks)
{
    return blocks < device->cooperative_max ? blocks : device->cooperative_max;
}

/* Sets *bytes to the temporary storage that a sort of up to n_max operations needs. */
template <int BITS> cudaError_t sw_cuda_sort_bytes(uint32_t n_max, size_t *bytes);

template <int BITS> cudaError_t sw_cuda_merge_sort_bytes(uint32_t n_max, size_t *bytes);

/* Launchers: enqueue, return the first error, and never wait. */

/* Answers one or more batches of reads with one kernel, and completes their records. Tallies are
 * zero before and after. Fills in first_block. With use_hints a look-up starts at the bucket that
 * the hint names, which is faster at high load. */
template <int BITS, int N>
cudaError_t sw_cuda_launch_get(const struct sw_cuda_device<BITS> *device, bool use_hints,
                               struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream);

/* Carry out a batch that is sure to fit, by ranges of m: at most SW_CUDA_RANGED_MAX operations of
 * any kinds. The first part does not change the table. The second part lists inserts and removals;
 * the caller must carry out the removals first. If the stash is too full for inserts, a batch of
 * several kinds is left to sw_cuda_launch_serial. */
template <int BITS>
cudaError_t sw_cuda_launch_scatter(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_ranges(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* For a batch of more operations, which is carried out in pieces: before the first piece, before
 * each other piece, and after the last piece with its inserts. The first records the stash and
 * searches the batch for absent keys if the stash is full. `begun` returns the state of the table
 * as it was then; the pieces' sw_cuda_launch_scatter must use it, because a batch is admitted as a
 * whole. */
template <int BITS>
cudaError_t sw_cuda_launch_first_piece(const struct sw_cuda_device<BITS> *device,
                                       const struct sw_cuda_batch<BITS> *batch,
                                       struct sw_state **begun, cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_next_piece(const struct sw_cuda_device<BITS> *device,
                                      cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_last_piece(const struct sw_cuda_device<BITS> *device,
                                      cudaStream_t stream);

/* Sets *blocks to the number of blocks that the last of these kernels may have on this device. The
 * blocks wait for each other, so all must run at once (M4). Returns an error if not even one block
 * fits a multiprocessor. */
template <int BITS> cudaError_t sw_cuda_range_blocks(uint32_t multiprocessors, uint32_t *blocks);

/* Upserts a batch of one kind (SET, SUM, MIN or MAX) that wants no previous values, if the rebuild
 * could not merge it (control->rebuild_failed). Otherwise does nothing. */
template <int BITS>
cudaError_t sw_cuda_launch_merge_fallback(const struct sw_cuda_device<BITS> *device,
                                          const struct sw_cuda_batch<BITS> *batch,
                                          cudaStream_t stream);

/* Merge a batch by a rebuild. The batch has upserts of one kind (SET, SUM, MIN or MAX), is sure to
 * fit and wants no previous values; count may be 0. The merge combines it with the entries of `old`
 * in the arrays of `device`. `old` is NULL if the table is known to be empty. The arrays must be
 * EMPTY from the last home bucket on. If the rebuild fails, the entries are copied by inserts, and
 * the batch is upserted. sw_cuda_merge_sort_bytes has the temporary storage. */
template <int BITS>
cudaError_t sw_cuda_launch_merge_sort(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, uint64_t buckets,
                                      cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_merge(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch,
                                 const typename sw_width<BITS>::table *old, cudaStream_t stream);

/* The same in place, without other arrays, for a table that has entries. If the rebuild fails, the
 * batch is upserted. */
template <int BITS>
cudaError_t sw_cuda_launch_merge_in_place(const struct sw_cuda_device<BITS> *device,
                                          const struct sw_cuda_batch<BITS> *batch,
                                          cudaStream_t stream);

/* Removes tombstones (sw_cuda_launch_tombstones) and holes in place; sw_cuda_fits_in_place() must
 * hold. Unless `aside` is NULL, moves entries of the stash that fit the main array by now to it;
 * `aside` has room for the whole stash. */
template <int BITS>
cudaError_t sw_cuda_launch_close_up(const struct sw_cuda_device<BITS> *device,
                                    typename sw_width<BITS>::slot *aside, cudaStream_t stream);

/* Makes all hints exact. Must run alone. */
template <int BITS>
cudaError_t sw_cuda_launch_hints(const struct sw_cuda_device<BITS> *device, cudaStream_t stream);

/* Sorts the batch by key, folds each key's operations, and lists the net effects. Only reads the
 * table, so it may run beside reads. It must not run beside another write batch. */
template <int BITS>
cudaError_t sw_cuda_launch_net_effects(const struct sw_cuda_device<BITS> *device,
                                       const struct sw_cuda_batch<BITS> *batch,
                                       cudaStream_t stream);

/* Admits or refuses the batch, and applies its net effects. Must run alone. `has_room`: only the
 * stash can be a reason to refuse a group. */
template <int BITS>
cudaError_t sw_cuda_launch_apply(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch, bool may_delete,
                                 bool has_room, cudaStream_t stream);

/* Parts of sw_cuda_launch_apply for batches whose groups may be refused. The first decides which
 * groups to refuse if the mode is SW_CUDA_GROUPS. The second folds the operations of the other
 * groups (SW_CUDA_AGAIN). */
template <int BITS>
cudaError_t sw_cuda_launch_groups(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_fold_again(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* Applies a batch in order if it was not admitted as a whole. Call it after sw_cuda_launch_ranges
 * or a merge, for a batch that has operations of several kinds, or several groups and all arrays in
 * device memory. */
template <int BITS>
cudaError_t sw_cuda_launch_serial(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* Replaces sw_cuda_launch_serial and sw_cuda_launch_finish for a batch that was gathered. No
 * answers and no entries that met the probe cap may be left to copy. */
template <int BITS>
cudaError_t sw_cuda_launch_close(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* Call it after a move (a merge without a batch) and before the batch that the move was made
 * for. */
template <int BITS>
cudaError_t sw_cuda_launch_reset(const struct sw_cuda_device<BITS> *device, cudaStream_t stream);

/* Replaces sw_cuda_launch_apply for a batch of deletes. Leaves tombstones, or holes in a key set. A
 * merge without a batch or sw_cuda_launch_close_up must follow: only these two understand them. */
template <int BITS>
cudaError_t sw_cuda_launch_tombstones(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* Leaves holes for the entries that sw_cuda_launch_ranges listed for a batch with `leaves_holes`.
 * If the stash has entries, does nothing: then the list is left to sw_cuda_launch_removals. */
template <int BITS>
cudaError_t sw_cuda_launch_holes(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                 cudaStream_t stream);
/* The part of sw_cuda_launch_tombstones for key sets: the same for the list of
 * sw_cuda_launch_net_effects, also if the stash has entries. */
template <int BITS>
cudaError_t sw_cuda_launch_holes_rebuilt(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                         cudaStream_t stream);

/* Empties the table. Must run alone. */
template <int BITS>
cudaError_t sw_cuda_launch_clear(const struct sw_cuda_device<BITS> *device, uint64_t slots_total,
                                 cudaStream_t stream);

/* Copies a write batch's answers to its arrays, completes its record, and resets the control
 * block. */
template <int BITS>
cudaError_t sw_cuda_launch_finish(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* Launches every kernel once (warm_up.cu). The table is empty before and after. */
template <int BITS>
cudaError_t sw_cuda_warm_up(const struct sw_cuda_device<BITS> *device, uint32_t batch_ops_max,
                            uint64_t slots_total);

/* Records the stash's number of entries. Called by one thread before a write batch changes the
 * stash. */
static __device__ inline void sw_note_stash(struct sw_cuda_control *control,
                                            const struct sw_state *state)
{
    if (control->stash_noted == 0) {
        control->stash_before = state->stash_occupied;
        control->stash_noted = 1;
    }
}

/* Returns whether the batch is applied. Call it when the mode is known. If the mode is
 * SW_CUDA_IF_PRESENT, call it after the search for absent keys. */
static __device__ inline bool sw_is_admitted(const struct sw_cuda_control *control)
{
    return control->mode == SW_CUDA_ADMITTED ||
           (control->mode == SW_CUDA_IF_PRESENT && control->absent == 0);
}

/* Returns the mode of a batch that may insert: inserts are refused if the stash has more than
 * stash_max entries when the batch begins. */
template <typename TABLE> static __device__ inline uint32_t sw_mode_of_upserts(const TABLE *table)
{
    return table->state->stash_occupied <= table->stash_max ? SW_CUDA_ADMITTED : SW_CUDA_IF_PRESENT;
}

#endif
