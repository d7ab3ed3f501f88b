/* SPDX-License-Identifier: MIT
 *
 * device.cuh - what kernels are given, what they leave behind, and who launches them.
 *
 * One table has one write scratch and one control block: write batches never overlap, on any
 * stream, so they share them. Reads need only a tally each. Records lie in host memory that the
 * device reaches; the host reads nothing else while a batch runs.
 */
#ifndef SHERWOOD_TABLE_CUDA_DEVICE_CUH
#define SHERWOOD_TABLE_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "table/cuda/width.cuh"

#define SW_CUDA_BLOCK 256

/* How a batch ended, in mapped host memory. The device writes `done` last. */
struct sw_cuda_record {
    uint64_t done; /* the batch's ticket, once all it wrote is visible to the host */
    int32_t status;
    uint32_t leftover_count;
    int64_t stash_change;
    struct sw_counters counters;
};

/* Sums of a read batch; zero between batches. */
struct sw_cuda_tally {
    unsigned long long probes;
    unsigned long long hits;
    unsigned int blocks_done;
};

/* What becomes of a write batch. Taken by admit_kernel, read by every kernel after it. */
enum sw_cuda_mode {
    SW_CUDA_UNDECIDED,
    SW_CUDA_COMMIT,  /* everything fits: apply the lists */
    SW_CUDA_REFUSED, /* nothing happens */
    SW_CUDA_SERIAL   /* the limit is in question: one thread applies the operations in order */
};

/* The state of the write batch that runs; zero between batches. */
struct sw_cuda_control {
    struct sw_counters counters; /* as if applied in order; probes as they were */
    uint64_t side_value;
    uint64_t stash_before;
    uint32_t side_effect; /* what becomes of the side cell: enum sw_cuda_net */
    uint32_t mode;        /* enum sw_cuda_mode */
    uint32_t updates;     /* lengths of the lists in the scratch */
    uint32_t deletes;
    uint32_t deletes_in_stash;
    uint32_t inserts;
    uint32_t touched;
    uint32_t clusters;
    uint32_t leftovers;
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
    uint32_t group_count;
    const uint32_t *group_ends;
    uint8_t *group_refused;
    word *leftover_keys;
    word *leftover_values;
    struct sw_cuda_record *record;
    uint64_t ticket;
};

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
template <int BITS> struct sw_cuda_reads {
    struct sw_cuda_read<BITS> batches[SW_CUDA_READS_MAX];
    uint32_t first_block[SW_CUDA_READS_MAX + 1]; /* of each batch; then the number of blocks */
    uint32_t batch_count;
};

template <int BITS> struct sw_cuda_update {
    uint64_t slot; /* counted from the first slot of the main array, the stash's after the main's */
    typename sw_width<BITS>::word value;
};

struct sw_cuda_cluster {
    uint64_t first; /* buckets of their array */
    uint64_t end;
    uint32_t in_stash;
};

/* Device memory for one write batch of up to batch_ops_max operations; [n] is that number. Net
 * effects are at most one per key, so every list fits. */
template <int BITS> struct sw_cuda_scratch {
    typedef typename sw_width<BITS>::word word;
    word *keys;                               /* [n] the batch's arrays, copied */
    word *operands;                           /* [n] */
    uint8_t *ops;                             /* [n] */
    word *previous;                           /* [n] */
    uint64_t *found;                          /* [n / 64 rounded up] */
    word *m;                                  /* [n] mixed keys in batch order */
    uint32_t *index;                          /* [n] 0, 1, 2, .. */
    word *m_sorted;                           /* [n] ascending, equal ones in batch order */
    uint32_t *index_sorted;                   /* [n] the operations they belong to */
    struct sw_cuda_update<BITS> *updates;     /* [n] */
    uint64_t *deletes;                        /* [n] slots, counted as in sw_cuda_update */
    typename sw_width<BITS>::slot *inserts;   /* [n] */
    typename sw_width<BITS>::slot *leftovers; /* [n]; NULL if the table has a stash */
    uint64_t *touched;                        /* [n] buckets that lose an entry, both arrays */
    struct sw_cuda_cluster *clusters;         /* [n] */
    uint32_t *touched_bits;              /* one bit a bucket of both arrays; zero between batches */
    typename sw_width<BITS>::undo *undo; /* [n] */
    void *sort;                          /* for the radix sort */
    size_t sort_bytes;
};

/* All a kernel needs to know of a table. Passed by value. */
template <int BITS> struct sw_cuda_device {
    typename sw_width<BITS>::table table;
    struct sw_cuda_scratch<BITS> scratch;
    struct sw_cuda_control *control;
};

/* Bytes of temporary storage the sort of up to n_max operations needs. */
template <int BITS> cudaError_t sw_cuda_sort_bytes(uint32_t n_max, size_t *bytes);

/* Launchers: enqueue, return the first error, wait for nothing. */

/* Answers batches of reads with one kernel, and completes their records. At least one batch;
 * tallies are zero before and after. Fills in first_block. */
template <int BITS>
cudaError_t sw_cuda_launch_get(const struct sw_cuda_device<BITS> *device,
                               struct sw_cuda_reads<BITS> *reads, cudaStream_t stream);

/* Sorts the batch by key, folds each key's operations, and decides what becomes of it. Only reads
 * the table: may run beside reads, but not beside another write batch. */
template <int BITS>
cudaError_t sw_cuda_launch_plan(const struct sw_cuda_device<BITS> *device,
                                const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

/* Takes the decision and carries it out. Must run alone. */
template <int BITS>
cudaError_t sw_cuda_launch_commit(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, bool may_delete,
                                  cudaStream_t stream);

/* Empties the table. Must run alone. */
template <int BITS>
cudaError_t sw_cuda_launch_clear(const struct sw_cuda_device<BITS> *device, uint64_t slots_total,
                                 cudaStream_t stream);

/* Copies a write batch's answers out and completes its record; resets the control block. */
template <int BITS>
cudaError_t sw_cuda_launch_finish(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream);

#endif
