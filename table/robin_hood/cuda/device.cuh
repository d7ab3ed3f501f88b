/* SPDX-License-Identifier: MIT
 *
 * device.cuh - what kernels are given, what they leave behind, and the functions that launch them.
 *
 * A table has one write scratch and one control block: write batches never overlap, on any stream,
 * so they share them (M1). Reads need only a tally each. Records lie in host memory that the device
 * reaches; the host reads nothing else while a batch runs (M7).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DEVICE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "table/device/reduce.cuh"
#include "table/robin_hood/cuda/width.cuh"

/* Blocks of kernels that loop and often have nothing to do: enough to fill any GPU. */
#define SW_CUDA_FEW_BLOCKS 4096

/* Sums of a read batch; zero between batches. */
struct sw_cuda_tally {
    unsigned long long probes;
    unsigned long long hits;
    unsigned int outside; /* ~ the first key that is outside the filter; 0: none is */
    unsigned int blocks_done;
};

/* The decision on a write batch. Set by admit_kernel or scatter_kernel, read by every kernel after
 * it (M1). */
enum sw_cuda_mode {
    SW_CUDA_UNDECIDED,
    SW_CUDA_ADMITTED,   /* everything fits: the lists are applied */
    SW_CUDA_IF_PRESENT, /* the stash was full when the batch began: it is applied if no key is
                           absent, otherwise refused */
    SW_CUDA_REFUSED,    /* nothing happens */
    SW_CUDA_GROUPS,     /* some groups may be refused: admit.cu finds out which */
    SW_CUDA_AGAIN,      /* it is known which: the others are folded and applied */
    SW_CUDA_SERIAL      /* it could not be found out: one thread applies the operations in order */
};

/* The state of the write batch that runs; zero between batches. */
struct sw_cuda_control {
    struct sw_counters counters; /* as if applied in order; probes as they were */
    uint64_t side_value;
    uint64_t stash_before; /* entries of the stash before the batch, and before the move made for
                              it */
    uint32_t stash_noted;  /* 1: stash_before is set */
    uint32_t side_effect;  /* what is done with the side cell: enum sw_cuda_net */
    uint32_t mode;         /* enum sw_cuda_mode */
    uint32_t updates;      /* lengths of the lists in the scratch */
    uint32_t deletes;
    uint32_t deletes_in_stash;
    uint32_t inserts;
    uint32_t long_removals;
    uint32_t long_inserts;
    uint32_t absent;        /* SW_CUDA_IF_PRESENT: 1 if a key of the batch is absent */
    uint32_t side_inserts;  /* by ranges: 1 if the side cell was filled */
    uint32_t side_removals; /* likewise: 1 if it was emptied */
    uint32_t leftovers;
    uint32_t crowded;        /* 1: a range has more operations than there is room for */
    uint32_t rebuild_off;    /* 1: known before it starts that the rebuild cannot serve */
    uint32_t rebuild_failed; /* rebuild.cu could not write the table */
    uint32_t may_delete;    /* of admit.cu: 1: some operation deletes, if all groups are admitted */
    uint32_t larger_groups; /* 1: a group has more than one operation */
    uint32_t first_news;    /* ~ the first group refused in the first round */
    uint32_t admit_news[4]; /* of the last rounds in turn: 1: not decided as in the one before */
    uint32_t lost; /* entries that found no place even in the stash: impossible by the geometry */
    unsigned int blocks_done;
};

/* The net effect of a batch on one key. */
enum sw_cuda_net { SW_NET_NONE, SW_NET_UPDATE, SW_NET_DELETE, SW_NET_INSERT };

/* A batch of operations, with types. */
template <int BITS> struct sw_cuda_batch {
    typedef typename sw_width<BITS>::word word;
    uint32_t op;
    uint32_t count;
    const uint8_t *ops; /* NULL: all are `op` */
    const word *keys;
    const word *values;
    word *previous;
    uint32_t *found; /* halves of the 64-bit words, low half first */
    /* Bits as those of `found`: operations that change nothing and whose answers nobody reads. They
     * count for groups that are refused, for nothing else. NULL: there are none. */
    const uint32_t *skips;
    uint32_t group_count;
    const uint32_t *group_ends;
    uint8_t *group_refused;
    bool collected; /* all arrays are the table's, in device memory: together.cuh */
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

/* Batches of reads that share a launch: launching costs the same 10 us of the driver's time, all
 * threads together, whether it answers 64 keys or 64,000. Passed by value, so less than 4 KiB. */
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
    uint32_t first_block[N + 1]; /* of each batch; then the number of blocks */
    uint32_t batch_count;
    const struct sw_slot_filter *filter; /* of all batches, in host memory; NULL: they have none */
};

template <int BITS> struct sw_cuda_update {
    uint64_t slot; /* counted from the first slot of the main array, the stash's after the main's */
    typename sw_width<BITS>::word value;
};

/* An entry that leaves. */
template <int BITS> struct sw_cuda_removal {
    uint64_t slot; /* counted as in sw_cuda_update */
    typename sw_width<BITS>::word m;
};

/* The key slots of a batch: its keys, found by hashing, with the fold of their operations, which
 * are of one kind. Between batches all zero, except m. */
template <int BITS> struct sw_cuda_key_slots {
    typedef typename sw_width<BITS>::word word;
    word *m;         /* EMPTY: free */
    word *value;     /* SUM: of the operands; MIN, MAX: the extreme, as a maximum; else unused */
    uint32_t *last;  /* 1 + the last operation; the top bit once the key was seen to be present */
    uint32_t *first; /* ~ the first operation */
};

/* Batches up to this size may be cut into ranges (ranges.cu); so many at most. */
#define SW_CUDA_RANGED_MAX (1U << 22)
#define SW_CUDA_RANGES_MAX 4096
/* Blocks of the last of these kernels, at most: its sort has so many counters. */
#define SW_CUDA_REST_BLOCKS_MAX 512
#define SW_CUDA_CROWD_COUNTS (256 * (SW_CUDA_REST_BLOCKS_MAX + 1))

/* An operation on its way to its range: written at once, in whole sectors. */
template <int BITS> struct alignas(BITS / 4) sw_cuda_moved {
    typename sw_width<BITS>::word m;
    typename sw_width<BITS>::word operand;
    uint32_t operation; /* its number; where several kinds are, above NUMBER_BITS (in_order.cuh) the
                           kind */
};

/* The operations of a batch, range by range. */
template <int BITS> struct sw_cuda_ranged {
    struct sw_cuda_moved<BITS> *moved; /* [sw_cuda_range_slots] */
    uint32_t *lengths;                 /* [SW_CUDA_RANGES_MAX] zero between batches */
    uint32_t *counts;                  /* [SW_CUDA_CROWD_COUNTS] */
};

/* What is known of a batch's groups while admit.cu finds out which are refused. It shares memory
 * with lists of net effects that are not needed meanwhile. `claims` and `refused` last until the
 * batch is folded again. */
struct sw_cuda_groups {
    uint32_t most;     /* n */
    uint32_t *claims;  /* [n] of the operations, in sorted order: admit.cuh */
    uint32_t *refused; /* [n] of the groups, as all that follows but effects: 0 or 1 */
    uint32_t *ends;
    uint32_t *inserts; /* of a round */
    uint32_t *deletes;
    int32_t *peaks;  /* of groups that do both: entries more while it runs, at most */
    int8_t *effects; /* [n] of the operations: entries more */
};

/* How many slots the ranges of a batch of up to count_max operations take. */
uint64_t sw_cuda_range_slots(uint32_t count_max);

/* Device memory for one write batch of up to batch_ops_max operations; [n] is that number. Net
 * effects are at most one per key, so every list fits. */
template <int BITS> struct sw_cuda_scratch {
    typedef typename sw_width<BITS>::word word;
    word *keys;                                  /* [n] the batch's arrays, copied */
    word *operands;                              /* [n] */
    uint8_t *ops;                                /* [n] */
    word *previous;                              /* [n] */
    uint64_t *found;                             /* [n / 64 rounded up] */
    word *m;                                     /* [n] mixed keys in batch order */
    uint32_t *index;                             /* [n] 0, 1, 2, .. */
    word *m_sorted;                              /* [n] ascending, equal ones in batch order */
    uint32_t *index_sorted;                      /* [n] the operations they belong to */
    struct sw_cuda_update<BITS> *updates;        /* [n] */
    struct sw_cuda_removal<BITS> *deletes;       /* [n] */
    typename sw_width<BITS>::slot *inserts;      /* [n] */
    struct sw_cuda_removal<BITS> *long_removals; /* [n] of these, those that move others */
    typename sw_width<BITS>::slot *long_inserts; /* [n] */
    typename sw_width<BITS>::slot *leftovers;    /* [n]; NULL if the table has a stash */
    typename sw_width<BITS>::undo *undo;         /* [n]; where the long_ lists are */
    struct sw_cuda_key_slots<BITS> key_slots;    /* [2 n + 1], the last is the side cell's */
    struct sw_cuda_ranged<BITS> ranged;
    struct sw_cuda_groups groups; /* where updates and long_ lists are */
    void *sort;                   /* for the radix sort */
    size_t sort_bytes;
};

/* A table, as kernels see it. Passed by value. */
template <int BITS> struct sw_cuda_device {
    typename sw_width<BITS>::table table;
    uint32_t *locks;   /* displace.cu: one bit a bucket of both arrays; zero between batches */
    uint8_t *hints;    /* displacement hints of the main array, or NULL */
    uint32_t *offsets; /* for rebuilds: [segments + 1] */
    unsigned long long *status;
    struct sw_cuda_scratch<BITS> scratch;
    struct sw_cuda_control *control;
    uint32_t block_size; /* of the kernels that look up keys; 0: each kernel's own */
    uint32_t multiprocessors;
    int arch;             /* compute capability, 90 for 9.0: which policy (policy.cuh) */
    uint32_t rest_blocks; /* of the last kernel of a batch by ranges (sw_cuda_range_blocks) */
    bool counts_probes;
};

/* Bytes of temporary storage the sort of up to n_max operations needs. */
template <int BITS> cudaError_t sw_cuda_sort_bytes(uint32_t n_max, size_t *bytes);

template <int BITS> cudaError_t sw_cuda_merge_sort_bytes(uint32_t n_max, size_t *bytes);

/* Launchers: enqueue, return the first error, wait for nothing. */

/* Answers batches of reads with one kernel, and completes their records. At least one batch;
 * tallies are zero before and after. Fills in first_block. With hints a look-up starts where they
 * say, which pays at high load. */
template <int BITS, int N>
cudaError_t sw_cuda_launch_get(const struct sw_cuda_device<BITS> *device, bool use_hints,
                               struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream);

/* Carries out a batch of at most SW_CUDA_RANGED_MAX operations of any kinds that is sure to fit, by
 * ranges of m, in two parts; the first does not touch the table. Inserts and removals are listed;
 * removals are to be carried out first. Where inserts are refused because the stash is too full, a
 * batch of several kinds is left to sw_cuda_launch_serial. */
template <int BITS>
cudaError_t sw_cuda_launch_scatter(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_ranges(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* How many blocks the last of these kernels may have on this device: they wait for each other, so
 * all must run at once (M4). An error if not even one fits a multiprocessor. */
template <int BITS> cudaError_t sw_cuda_range_blocks(uint32_t multiprocessors, uint32_t *blocks);

/* A batch of upserts of one kind (SET, SUM, MIN or MAX) that wants no previous values and could not
 * be merged (control->rebuild_failed); else nothing happens. */
template <int BITS>
cudaError_t sw_cuda_launch_unmerged(const struct sw_cuda_device<BITS> *device,
                                    const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* A batch of upserts of one kind (SET, SUM, MIN or MAX) that is sure to fit and wants no previous
 * values, by a rebuild: merges it with the entries of `old` (slots NULL: none; the table is then
 * known to be empty) into the arrays of `device`, which must be EMPTY from the last home bucket on,
 * and where old.slots is not NULL everywhere. What the rebuild cannot do the upsert does, after a
 * copy by inserts. count may be 0. Bytes of temporary storage as for the sort. */
template <int BITS>
cudaError_t sw_cuda_launch_merge_sort(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, uint64_t buckets,
                                      cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_merge(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch,
                                 const typename sw_width<BITS>::table *old, cudaStream_t stream);

/* The same in place, without other arrays, where the table has entries. What the rebuild cannot do
 * the upsert does. */
template <int BITS>
cudaError_t sw_cuda_launch_merge_in_place(const struct sw_cuda_device<BITS> *device,
                                          const struct sw_cuda_batch<BITS> *batch,
                                          cudaStream_t stream);

/* Compacts tombstones (sw_cuda_launch_tombstones) in place: sw_cuda_fits_in_place. Entries of the
 * stash that fit the main array by now move there; `aside` has room for the whole stash. */
template <int BITS>
cudaError_t sw_cuda_launch_close_up(const struct sw_cuda_device<BITS> *device,
                                    typename sw_width<BITS>::slot *aside, cudaStream_t stream);

/* Makes all hints exact. Must run alone. */
template <int BITS>
cudaError_t sw_cuda_launch_hints(const struct sw_cuda_device<BITS> *device, cudaStream_t stream);

/* Sorts the batch by key, folds each key's operations, and lists the net effects. Only reads the
 * table: may run beside reads, but not beside another write batch. */
template <int BITS>
cudaError_t sw_cuda_launch_net_effects(const struct sw_cuda_device<BITS> *device,
                                       const struct sw_cuda_batch<BITS> *batch,
                                       cudaStream_t stream);

/* Admits or refuses the batch, and applies its net effects. Must run alone. `has_room`: no group
 * can be refused except because of the stash. */
template <int BITS>
cudaError_t sw_cuda_launch_apply(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch, bool may_delete,
                                 bool has_room, cudaStream_t stream);

/* Parts of it, where groups may be refused: finds out which, if the mode is SW_CUDA_GROUPS; then
 * folds the operations of the others (SW_CUDA_AGAIN). */
template <int BITS>
cudaError_t sw_cuda_launch_groups(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_fold_again(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* After sw_cuda_launch_ranges or a merge, for a batch that has several groups, all arrays of which
 * are in device memory, or operations of several kinds: applies it in order if it was not admitted
 * as a whole. */
template <int BITS>
cudaError_t sw_cuda_launch_serial(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* In place of sw_cuda_launch_serial and _finish, where the batch was collected and neither answers
 * nor entries that met the cap are left to copy. */
template <int BITS>
cudaError_t sw_cuda_launch_close(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* After a move (a merge without a batch) and before the batch that it was made for. */
template <int BITS>
cudaError_t sw_cuda_launch_reset(const struct sw_cuda_device<BITS> *device, cudaStream_t stream);

/* In place of sw_cuda_launch_apply, for a batch of deletes only: leaves tombstones, which only a
 * merge without a batch and sw_cuda_launch_close_up understand. One of them must follow. */
template <int BITS>
cudaError_t sw_cuda_launch_tombstones(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* Empties the table. Must run alone. */
template <int BITS>
cudaError_t sw_cuda_launch_clear(const struct sw_cuda_device<BITS> *device, uint64_t slots_total,
                                 cudaStream_t stream);

/* Copies a write batch's answers out and completes its record; resets the control block. */
template <int BITS>
cudaError_t sw_cuda_launch_finish(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* Launches every kernel once (warm_up.cu), on a table that is empty before and after. */
template <int BITS>
cudaError_t sw_cuda_warm_up(const struct sw_cuda_device<BITS> *device, uint32_t batch_ops_max,
                            uint64_t slots_total);

/* By one thread, before a write batch changes the stash. */
static __device__ inline void sw_note_stash(struct sw_cuda_control *control,
                                            const struct sw_state *state)
{
    if (control->stash_noted == 0) {
        control->stash_before = state->stash_occupied;
        control->stash_noted = 1;
    }
}

/* Whether the batch is applied. Call once the mode is known and, where it depends on absent keys,
 * these were looked for. */
static __device__ inline bool sw_is_admitted(const struct sw_cuda_control *control)
{
    return control->mode == SW_CUDA_ADMITTED ||
           (control->mode == SW_CUDA_IF_PRESENT && control->absent == 0);
}

/* Inserts are refused if the stash holds too much when the batch begins. */
template <typename TABLE> static __device__ inline uint32_t sw_mode_of_upserts(const TABLE *table)
{
    return table->state->stash_occupied <= table->stash_max ? SW_CUDA_ADMITTED : SW_CUDA_IF_PRESENT;
}

#endif
