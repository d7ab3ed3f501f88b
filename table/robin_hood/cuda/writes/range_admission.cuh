/* SPDX-License-Identifier: MIT
 *
 * range_admission.cuh - whether a batch by ranges is admitted. Its room is certain, so only the
 * number of entries in the stash can be a reason to refuse it.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_RANGE_ADMISSION_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_RANGE_ADMISSION_CUH

#include "table/robin_hood/cuda/writes/range_layout.cuh"

/* Returns the mode of the batch. If the stash is too full, a batch of several kinds must be applied
 * in order. */
template <int BITS>
static __device__ inline uint32_t mode_of(const struct sw_cuda_device<BITS> &device,
                                          const struct sw_cuda_batch<BITS> &batch)
{
    const bool inserts = batch.op != SW_DELETE && batch.op != SW_SET_PRESENT;
    if (batch.ops == NULL) {
        return inserts ? sw_mode_of_upserts(&device.table) : (uint32_t)SW_CUDA_ADMITTED;
    }
    return sw_mode_of_upserts(&device.table) == SW_CUDA_ADMITTED ? SW_CUDA_ADMITTED
                                                                 : SW_CUDA_SERIAL;
}

/* Sets control->mode. If the stash is full, also sets control->absent if operation i would insert
 * its key. All threads of the batch must call it. `mine`: operation i is to be carried out. Several
 * threads may store the same words (M6). */
template <int BITS>
static __device__ inline void ask(const struct sw_cuda_device<BITS> &device,
                                  const struct sw_cuda_batch<BITS> &batch, uint64_t i, bool mine,
                                  typename sw_width<BITS>::word m)
{
    typedef sw_width<BITS> W;
    const uint32_t mode = mode_of<BITS>(device, batch);
    if (i == 0) {
        device.control->mode = mode;
        sw_note_stash(device.control, device.table.state);
    }
    uint64_t probes = 0;
    typename W::word out = 0;
    if (mode == SW_CUDA_IF_PRESENT && mine && !W::locate(&device.table, m, &probes).found &&
        W::decide(batch.op, false, 0, operand_of<BITS>(batch, i), &out) == SW_EFFECT_WRITE) {
        device.control->absent = 1;
    }
}

#endif
