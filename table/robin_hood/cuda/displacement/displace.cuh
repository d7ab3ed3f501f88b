/* SPDX-License-Identifier: MIT
 *
 * displace.cuh - carries out the lists of a write batch that move entries: inserts and removals.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DISPLACEMENT_DISPLACE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DISPLACEMENT_DISPLACE_CUH

#include "table/robin_hood/cuda/device.cuh"

/* Places the entries of scratch.inserts, control->inserts of them, at most `count`: absent,
 * distinct keys. What meets the probe cap goes to the stash or is handed back. If the batch was not
 * admitted nothing happens. Must run alone; counts probes and failures. */
template <int BITS>
cudaError_t sw_cuda_launch_inserts(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                   cudaStream_t stream);

/* Removes the entries of scratch.deletes, control->deletes of them, at most `count`: present,
 * distinct keys. Since the slots were found entries have not moved. Otherwise as above. */
template <int BITS>
cudaError_t sw_cuda_launch_removals(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                    cudaStream_t stream);

/* The first parts of these, by threads alone: what they leave is in scratch.long_inserts and
 * scratch.long_removals. */
template <int BITS>
cudaError_t sw_cuda_launch_short_inserts(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                         cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_short_removals(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                          cudaStream_t stream);

#endif
