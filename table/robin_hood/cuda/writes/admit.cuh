/* SPDX-License-Identifier: MIT
 *
 * admit.cuh - which groups of a batch are refused, for the kernels that carry out the others.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_ADMIT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_ADMIT_CUH

#include "table/robin_hood/cuda/device.cuh"

/* A claim: an operation's group, and what it may do. */
#define SW_CLAIM_GROUP ((1U << 29) - 1)
#define SW_CLAIM_DELETES (1U << 29) /* a key that is present */
#define SW_CLAIM_INSERTS (1U << 30) /* one that is absent */
#define SW_CLAIM_PRESENT (1U << 31) /* its key is, before the batch; the first of each key only */

/* Whether the operation at a place of the sorted batch is of a refused group. */
static __device__ inline bool sw_is_of_refused(const struct sw_cuda_groups *groups, uint32_t at)
{
    return groups->refused[groups->claims[at] & SW_CLAIM_GROUP] != 0;
}

#endif
