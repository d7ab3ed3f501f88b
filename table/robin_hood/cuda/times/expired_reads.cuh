/* SPDX-License-Identifier: MIT
 *
 * expired_reads.cuh - reads that filter expired entries: a key is absent once its expiry time has
 * passed by the clock of the batch. If no entry expires, the kernels of reads do not use expiry
 * times.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_TIMES_EXPIRED_READS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_TIMES_EXPIRED_READS_CUH

#include "table/robin_hood/cuda/rows/rows.cuh"

struct sw_cuda_no_expiry_filter {
    static constexpr bool filters = false;
};

struct sw_cuda_expiry_filter {
    static constexpr bool filters = true;
    struct sw_table_s128 times;
    uint64_t clock_ms;
    uint64_t *expires_out; /* or NULL */
};

/* The expiry state of a key that the table has. */
struct sw_cuda_expiry_state {
    bool lives;  /* the key has not expired at the clock of the batch */
    uint64_t at; /* when it expires; 0: never */
};

static __device__ inline struct sw_cuda_expiry_state
sw_expiry_state_of(const struct sw_cuda_expiry_filter &expiry_filter, uint64_t key)
{
    uint64_t probes = 0;
    const uint64_t at =
        sw_locate_s128(&expiry_filter.times, sw_mix_s128(&expiry_filter.times, key), &probes).value;
    return {at == 0 || at > expiry_filter.clock_ms, at};
}

/* Returns whether key i of the batch exists at the batch's clock. `found`: the table has the key.
 * Also writes its expiry time to expires_out. */
static __device__ inline bool sw_is_unexpired(const struct sw_cuda_expiry_filter &expiry_filter,
                                              uint32_t i, uint64_t key, bool found)
{
    struct sw_cuda_expiry_state state = {false, 0};
    if (found) {
        state = sw_expiry_state_of(expiry_filter, key);
    }
    if (expiry_filter.expires_out != NULL) {
        expiry_filter.expires_out[i] = state.lives ? state.at : 0;
    }
    return state.lives;
}

/* Same as sw_cuda_launch_get and sw_cuda_launch_row_get, for one batch. */
template <int BITS>
cudaError_t sw_cuda_launch_unexpired_get(const struct sw_cuda_device<BITS> *device,
                                         struct sw_cuda_reads<BITS, 1> *reads,
                                         const struct sw_cuda_expiry_filter *expiry_filter,
                                         cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_unexpired_row_get(const struct sw_cuda_device<BITS> *device,
                                             const struct sw_cuda_rows *rows,
                                             struct sw_cuda_reads<BITS, 1> *reads,
                                             const struct sw_cuda_expiry_filter *expiry_filter,
                                             cudaStream_t stream);

#endif
