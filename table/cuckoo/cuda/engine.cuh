/* SPDX-License-Identifier: MIT
 *
 * engine.cuh - parameters, results and launch functions of the cuckoo engine's kernels.
 *
 * A table has one write scratch and one control block: write batches never overlap on any stream,
 * so they share both. Each batch of reads needs only a tally. The description of the table, with
 * its seeds, is in device memory, because a rehash changes it there. Records lie in mapped host
 * memory. While a batch runs, the host reads only its record (M7). All other memory passes from
 * kernel to kernel of one order of batches (M1).
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUDA_ENGINE_CUH
#define SHERWOOD_TABLE_CUCKOO_CUDA_ENGINE_CUH

#include <cuda_runtime.h>

#include "table/cuckoo/cuckoo_backend.h"
#include "table/cuckoo/cuda/kind.cuh"
#include "table/device/channel.cuh"
#include "table/device/runs.cuh"

#define SW_CUCKOO_ENGINE_BLOCK 256
/* Blocks of kernels that loop and often have nothing to do: enough to fill any GPU. */
#define SW_CUCKOO_ENGINE_FEW_BLOCKS 1024
/* Seed sets tried by one rehash. If all fail, a later rehash continues with the next ones. */
#define SW_CUCKOO_ENGINE_TRIES 4

/* The result of a batch, in mapped host memory. The device writes `done` last. */
struct sw_cuckoo_record {
    uint64_t done; /* the batch's ticket, once all it wrote is visible to the host */
    int32_t status;
    int64_t stash_change;
    struct sw_counters counters;
};

/* Sums of a batch of reads; zero between batches. */
struct sw_cuckoo_tally {
    unsigned long long probes;
    unsigned long long hits;
    unsigned int blocks_done;
};

/* How a write batch is executed. */
enum sw_cuckoo_mode {
    SW_CUCKOO_COUNT_NEW, /* the limit may be exceeded: count the new keys */
    SW_CUCKOO_ADMITTED,  /* everything fits: one thread per key */
    SW_CUCKOO_SERIAL     /* a group may be refused: one thread applies the operations in order */
};

struct sw_cuckoo_engine_control {
    /* for the running write batch; zero between batches */
    struct sw_counters counters;
    unsigned int new_keys;    /* absent keys that some operation may insert */
    unsigned int inserting;   /* 1: some operation may insert */
    unsigned int inserts;     /* length of the list */
    unsigned int stash_holes; /* entries of the stash that were removed */
    unsigned int refused;     /* 1: a group was refused */
    uint32_t mode;            /* enum sw_cuckoo_mode */
    /* for the table */
    uint64_t stash_reported; /* entries of the stash, as reported by the batches so far */
    void *spare;             /* the arrays that the next rehash fills */
    uint32_t seed_number;    /* number of the last seed set tried */
    unsigned int rehash;     /* 1: a rehash is under way */
    unsigned int rehash_failed;
    struct sw_cuckoo_shape next; /* of `spare` */
};

#define SW_CUCKOO_ENGINE_BATCH_BYTES offsetof(struct sw_cuckoo_engine_control, stash_reported)

/* The scratch of write batches; arrays of batch_ops_max elements. */
template <int BITS> struct sw_cuckoo_scratch {
    typedef sw_cuckoo_kind<BITS> kind;
    typename kind::word *keys;
    typename kind::word *sorted_keys;
    typename kind::word *values;
    typename kind::word *previous; /* answers, by operation */
    uint32_t *index;               /* 0, 1, 2, .. */
    uint32_t *sorted_index;
    uint8_t *ops;
    uint8_t *found;
    typename kind::cell *inserts;
    typename kind::undo *undo;
    struct sw_run_scratch<BITS> runs; /* of engine_fold.cu */
    void *sort;
    size_t sort_bytes;
};

/* Parameters of all kernels of a write batch. */
template <int BITS> struct sw_cuckoo_write {
    typedef sw_cuckoo_kind<BITS> kind;
    typename kind::table *table; /* device memory, as are state and control */
    struct sw_state *state;
    struct sw_cuckoo_engine_control *control;
    struct sw_cuckoo_scratch<BITS> scratch;
    typename kind::work work; /* the batch's arrays; undo is the scratch's */
    struct sw_cuckoo_record *record;
    uint64_t ticket;
    uint64_t cells;
};

template <int BITS> struct sw_cuckoo_read {
    typedef sw_cuckoo_kind<BITS> kind;
    const typename kind::table *table;
    const typename kind::word *keys;
    typename kind::word *previous;
    uint32_t *found; /* halves of the 64-bit words, low half first */
    uint32_t count;
    struct sw_cuckoo_tally *tally;
    struct sw_cuckoo_record *record;
    uint64_t ticket;
};

/* engine_read.cu */
template <int BITS>
cudaError_t sw_cuckoo_launch_read(const sw_cuckoo_read<BITS> &read, cudaStream_t stream);

/* engine_write.cu */
template <int BITS> cudaError_t sw_cuckoo_sort_bytes(uint32_t ops, size_t *bytes);
template <int BITS>
cudaError_t sw_cuckoo_launch_write(const sw_cuckoo_write<BITS> &write, cudaStream_t stream);

/* engine_fold.cu: both run after the sort. The first computes the state of keys whose runs continue
 * into another slice. The second acts only if the mode is ADMITTED (TELLS) or COUNT_NEW (not
 * TELLS). */
template <int BITS>
cudaError_t sw_cuckoo_launch_runs(const sw_cuckoo_write<BITS> &write, cudaStream_t stream);
template <int BITS, bool TELLS>
cudaError_t sw_cuckoo_launch_fold(const sw_cuckoo_write<BITS> &write, cudaStream_t stream);

/* engine_order.cu: the same as both, for a batch that has operations of SW_OPS_PAIR. */
template <int BITS, bool TELLS>
cudaError_t sw_cuckoo_launch_order(const sw_cuckoo_write<BITS> &write, cudaStream_t stream);

/* engine_rehash.cu: a rehash does nothing if the stash is empty. A clear also fills in the
 * record. */
template <int BITS>
cudaError_t sw_cuckoo_launch_rehash(const sw_cuckoo_write<BITS> &write, uint64_t seed,
                                    cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuckoo_launch_clear(const sw_cuckoo_write<BITS> &write, cudaStream_t stream);

/* Load every kernel, so that no batch waits for its loading. */
cudaError_t sw_cuckoo_load_read();
cudaError_t sw_cuckoo_load_write();
cudaError_t sw_cuckoo_load_fold();
cudaError_t sw_cuckoo_load_order();
cudaError_t sw_cuckoo_load_rehash();
template <typename KERNEL> static inline cudaError_t sw_cuckoo_load_kernel(KERNEL kernel)
{
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel);
}

/* Writes the result of a run to the table. Returns true if the result is an insert, which the
 * caller must make. */
template <int BITS>
static __device__ inline bool sw_cuckoo_carry_out(const sw_cuckoo_write<BITS> &write,
                                                  typename sw_cuckoo_kind<BITS>::word key,
                                                  const typename sw_cuckoo_kind<BITS>::place &place,
                                                  const typename sw_run_kind<BITS>::key_state &now)
{
    typedef sw_cuckoo_kind<BITS> kind;
    if (key == kind::ones) {
        write.state->side_present = now.exists;
        write.state->side_value = now.value;
        return false;
    }
    if (!place.found) {
        return now.exists;
    }
    if (!now.exists) {
        *place.cell = kind::cell_of(kind::ones, kind::ones);
        if (place.in_stash) {
            atomicAdd(&write.control->stash_holes, 1U); /* M6: a count */
        }
    } else if (now.value != place.value) {
        *place.cell = kind::cell_of(key, now.value);
    }
    return false;
}

/* Reports a write batch to the host. One thread calls it at the end. */
template <int BITS>
static __device__ inline void sw_cuckoo_report(const sw_cuckoo_write<BITS> &write, int32_t status)
{
    struct sw_cuckoo_engine_control *control = write.control;
    struct sw_cuckoo_record *record = write.record;
    uint64_t stashed = write.state->stash_occupied;
    record->status = status;
    record->counters = control->counters;
    record->stash_change = (int64_t)(stashed - control->stash_reported);
    control->stash_reported = stashed;
    sw_cuda_record_ticket(&record->done, write.ticket);
}

#endif
