/* SPDX-License-Identifier: MIT
 *
 * admit.cuh - the refused groups of a batch, for the kernels that carry out the other groups.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_ADMIT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_ADMIT_CUH

#include "table/robin_hood/cuda/device.cuh"

/* A claim: an operation's group, and its possible effects. */
#define SW_CLAIM_GROUP ((1U << 29) - 1)
#define SW_CLAIM_DELETES (1U << 29) /* deletes its key if it is present */
#define SW_CLAIM_INSERTS (1U << 30) /* inserts its key if it is absent */
#define SW_CLAIM_PRESENT (1U << 31) /* its key is present before the batch; first per key only */

/* Returns whether the operation at position `at` of the sorted batch belongs to a refused group. */
static __device__ inline bool sw_is_of_refused(const struct sw_cuda_groups *groups, uint32_t at)
{
    return groups->refused[groups->claims[at] & SW_CLAIM_GROUP] != 0;
}

#endif
