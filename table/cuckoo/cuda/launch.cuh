/* SPDX-License-Identifier: MIT
 *
 * launch.cuh - the kernels of a cuckoo table of its own, and how they are launched. Each launcher
 * checks its launches and returns what the runtime says of them.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_CUDA_LAUNCH_CUH
#define SHERWOOD_TABLE_CUCKOO_CUDA_LAUNCH_CUH

#include "table/cuckoo/cuda/kind.cuh"
#include "table/cuckoo/ops.h"

#define SW_CUCKOO_BLOCK 256

/* For kernels that loop over a list whose length only the device knows. */
#define SW_CUCKOO_FEW_BLOCKS 1024

/* What kernels leave behind, in device memory. */
struct sw_cuckoo_control {
    unsigned long long left;     /* entries in the list of those left over */
    unsigned long long overflow; /* entries in the partition's overflow list */
    unsigned int failed;         /* 1: a move met the chain bound */
    struct sw_cuckoo_side side;
};

/* A batch and where what it leaves over goes. */
template <int BITS> struct sw_cuckoo_put {
    typedef sw_cuckoo_kind<BITS> kind;
    typename kind::view view;
    const typename kind::word *keys;
    const typename kind::word *values; /* NULL: all 0 */
    uint64_t count;
    typename kind::cell *left; /* the list; control->left is its length */
    struct sw_cuckoo_control *control;
};

/* Adds an entry to a list. Entries rarely meet their bound, so nothing is gathered first. */
template <typename CELL>
static __device__ inline void sw_cuckoo_append(CELL *list, unsigned long long *length, CELL entry)
{
    list[atomicAdd(length, 1ULL)] = entry;
}

/* direct.cu. in_flight: 1, 2, 4 or 8 (cells of 32 bits), 0: the best known. */
template <int BITS>
cudaError_t sw_cuckoo_put_direct(const sw_cuckoo_put<BITS> &put, uint32_t in_flight,
                                 cudaStream_t stream);
/* The entries of a list, whose length *length is on the device; nothing was done with them yet. */
template <int BITS>
cudaError_t sw_cuckoo_put_list(const sw_cuckoo_put<BITS> &put,
                               const typename sw_cuckoo_kind<BITS>::cell *list,
                               const unsigned long long *length, cudaStream_t stream);
/* The entries of `cells` cells, EMPTY ones among them, to put.view. What finds no place sets
 * control->failed, and the rest is then not done. */
template <int BITS>
cudaError_t sw_cuckoo_move_cells(const sw_cuckoo_put<BITS> &put,
                                 const typename sw_cuckoo_kind<BITS>::cell *from, uint64_t cells,
                                 cudaStream_t stream);

/* find.cu. values: NULL if not wanted. */
template <int BITS> struct sw_cuckoo_ask {
    typedef sw_cuckoo_kind<BITS> kind;
    typename kind::view view;
    const typename kind::word *keys;
    typename kind::word *values;
    uint32_t *found;
    uint64_t count;
    const struct sw_cuckoo_side *side;
};
template <int BITS>
cudaError_t sw_cuckoo_ask_all(const sw_cuckoo_ask<BITS> &ask, uint32_t in_flight, bool together,
                              cudaStream_t stream);

/* partition.cu: scratch of partitioned inserts, for batches of up to batch_max. */
struct sw_cuckoo_partition {
    uint32_t parts;   /* pieces of array 0; 0: there is no scratch */
    uint32_t part_of; /* a cell's piece is its number shifted right by so many bits */
    uint64_t room;    /* entries staged for each */
    void *staged;     /* [parts * room] cells */
    void *overflow;   /* [batch_max] cells: entries for which a piece had no room */
    uint32_t *filled; /* [parts] entries staged; then, of those taken out again */
    uint64_t bytes;
};
cudaError_t sw_cuckoo_partition_open(struct sw_cuckoo_partition *partition,
                                     const struct sw_cuckoo_config *config);
void sw_cuckoo_partition_close(struct sw_cuckoo_partition *partition);
/* is_empty: the arrays hold nothing. BITS is 32 or 64. */
template <int BITS>
cudaError_t sw_cuckoo_put_partitioned(const struct sw_cuckoo_partition &partition,
                                      const sw_cuckoo_put<BITS> &put, bool is_empty,
                                      cudaStream_t stream);

#endif
