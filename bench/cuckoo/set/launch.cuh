/* SPDX-License-Identifier: MIT
 *
 * launch.cuh - the kernels of a cuckoo set, and how they are launched. Each launcher checks its
 * launches and returns the error code of the runtime.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_SET_LAUNCH_CUH
#define SHERWOOD_BENCH_CUCKOO_SET_LAUNCH_CUH

#include <cuda_runtime.h>

#include "bench/cuckoo/set/ops.h"

#define SW_CSET_BLOCK 256

/* For kernels that loop over a list whose length only the device knows. */
#define SW_CSET_FEW_BLOCKS 1024

/* What kernels leave behind, in device memory. */
struct sw_cset_control {
    unsigned long long left;     /* keys in the list of those left over */
    unsigned long long overflow; /* keys in the partition's overflow list */
    unsigned int failed;         /* 1: a chain reached the bound */
    unsigned int has_ones;       /* 1: the set holds the key that no cell can */
};

/* A batch, and where the keys that found no place go. */
struct sw_cset_put {
    struct sw_cuckoo_view_k32 view;
    const uint32_t *keys;
    uint64_t count;
    uint32_t *left; /* the list; control->left is its length */
    struct sw_cset_control *control;
};

/* Adds a key to a list. Chains rarely meet their bound, so nothing is gathered first. */
static __device__ inline void sw_cset_append(uint32_t *list, unsigned long long *length,
                                             uint32_t key)
{
    list[atomicAdd(length, 1ULL)] = key;
}

/* Adds those in hand that are still `live` to the list of those left over. */
template <int KEYS>
static __device__ __forceinline__ void
sw_cset_keep_left(const sw_cset_put &put, const struct sw_cuckoo_cell_k32 *carried, uint32_t live)
{
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        if ((live >> k & 1) != 0) {
            sw_cset_append(put.left, &put.control->left, carried[k].key);
        }
    }
}

/* direct.cu. in_flight: 1, 2, 4 or 8; 0: the best known. block: threads, 0: SW_CSET_BLOCK; with any
 * other 4 are in flight. */
cudaError_t sw_cset_put_direct(const sw_cset_put &put, uint32_t in_flight, uint32_t block,
                               cudaStream_t stream);
/* The keys of a list, whose length *length is on the device; nothing was done with them yet. */
cudaError_t sw_cset_put_list(const sw_cset_put &put, const uint32_t *list,
                             const unsigned long long *length, cudaStream_t stream);
/* The keys of `cells` cells, EMPTY ones among them, to put.view. What finds no place sets
 * control->failed, and the rest is then not done. */
cudaError_t sw_cset_move_cells(const sw_cset_put &put, const uint32_t *from, uint64_t cells,
                               cudaStream_t stream);

/* find.cu. in_flight and block as above. */
struct sw_cset_ask {
    struct sw_cuckoo_view_k32 view;
    const uint32_t *keys;
    uint32_t *found;
    uint64_t count;
    const struct sw_cset_control *control;
};
cudaError_t sw_cset_ask_all(const sw_cset_ask &ask, uint32_t in_flight, uint32_t block,
                            bool together, cudaStream_t stream);

/* partition.cu: scratch of partitioned inserts, for batches of up to batch_max. */
struct sw_cset_partition {
    uint32_t parts;     /* pieces of array 0; 0: there is no scratch */
    uint64_t room;      /* keys staged for each */
    uint32_t *staged;   /* [parts * room] */
    uint32_t *overflow; /* [batch_max] keys for which a piece had no room */
    uint32_t *filled;   /* [parts] keys staged; then, of those taken out again */
    uint64_t bytes;
};
cudaError_t sw_cset_partition_open(struct sw_cset_partition *partition,
                                   const struct sw_cset_config *config);
void sw_cset_partition_close(struct sw_cset_partition *partition);
/* is_empty: the arrays hold nothing. */
cudaError_t sw_cset_put_partitioned(const struct sw_cset_partition &partition,
                                    const sw_cset_put &put, bool is_empty, cudaStream_t stream);

#endif
