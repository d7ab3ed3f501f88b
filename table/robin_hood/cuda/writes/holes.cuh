/* SPDX-License-Identifier: MIT
 *
 * holes.cuh - removes an entry without moving others: the slot becomes EMPTY or a hole.
 *
 * Only for a batch of removals in a table whose stash is empty, and each entry has one thread. So
 * entries only leave, and look-ups of other threads stay correct: "bucket b has an EMPTY slot" and
 * "bucket b has none" both stay true during the batch. In the first case no entry behind b has its
 * home at or before b (I4), so one more slot may become EMPTY. In the second case the slot becomes
 * a hole, and every look-up that passes b passes it afterwards. Hints stay valid, because a hole
 * counts as full.
 *
 * Bucket 0 has no holes (robin_hood.inl, hole_at). Its slots are recorded, and holes.cu fills them
 * when all other removals are done.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_HOLES_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_HOLES_CUH

#include "table/robin_hood/cuda/device.cuh"

/* Returns whether a bucket has an EMPTY slot. */
template <int BITS>
static __device__ inline bool has_room(const typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS])
{
    bool room = false;
#pragma unroll
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        room |= held[i].m == sw_width<BITS>::empty;
    }
    return room;
}

/* Stores EMPTY in the slot of a removed entry, or a hole. Returns whether it stored a hole. M8:
 * only this thread stores the slot. */
template <int BITS>
static __device__ inline bool vacate(typename sw_width<BITS>::slot *slot, bool room)
{
    typedef sw_width<BITS> W;
    typename W::slot left;
    left.m = room ? W::empty : 0;
    W::put_value(&left, left.m);
    W::slot_store(slot, left);
    return !room;
}

/* Removes the entry in a slot of the main array. Returns whether it left a hole. The bucket may be
 * older in L1 than in L2: it has an EMPTY slot in both, or in neither. */
template <int BITS>
static __device__ inline bool leave_hole(const struct sw_cuda_device<BITS> &device, uint64_t slot)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = &device.table.main;
    typename W::slot held[SW_BUCKET_SLOTS];
    W::bucket_read(view, slot / SW_BUCKET_SLOTS, held);
    const bool room = has_room<BITS>(held);
    if (!room && slot < SW_BUCKET_SLOTS) {
        atomicOr(&device.control->first_bucket, 1U << slot); /* M6: a set of slots */
        return false;
    }
    return vacate<BITS>(view->slots + slot, room);
}

#endif
