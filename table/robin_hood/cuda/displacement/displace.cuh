/* SPDX-License-Identifier: MIT
 *
 * displace.cuh - carries out the lists of a write batch that move other entries: inserts and
 * removals.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DISPLACEMENT_DISPLACE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DISPLACEMENT_DISPLACE_CUH

#include "table/robin_hood/cuda/device.cuh"

/* Buckets of a lock range. On an H200 at load 0.93, 2^16 removals: 459 us with 8, 336 with 16, 299
 * with 32; 2^20 at 0.85: 1141, 1313, 1892. */
#define LANES 16

/* Inserts the listed control->inserts entries, at most `count`. Their keys are absent and distinct.
 * An entry that meets the probe cap goes to the stash, or to the leftovers if there is no stash.
 * Does nothing if the batch was not admitted. Must run alone. Counts probes and failures. */
template <int BITS>
cudaError_t sw_cuda_launch_inserts(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                   cudaStream_t stream);

/* Removes the first control->deletes entries of scratch.deletes, usually at most `count`: more of
 * them take longer. Their keys are present and distinct. No entry may have moved since the slots
 * were looked up. Does nothing if the batch was not admitted. Must run alone. Counts probes. */
template <int BITS>
cudaError_t sw_cuda_launch_removals(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                    cudaStream_t stream);

/* The first parts of the two functions above: short displacements, one thread each. They put the
 * remaining operations into scratch.long_inserts and scratch.long_removals. */
template <int BITS>
cudaError_t sw_cuda_launch_short_inserts(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                         cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_short_removals(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                          cudaStream_t stream);

#endif
