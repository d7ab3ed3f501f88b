/* SPDX-License-Identifier: MIT
 *
 * expiry_step.cuh - one operation, on presence and expiry time of its key: the part that the
 * kernels that decide a batch share. Presence of a key never depends on a value.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_TIMES_EXPIRY_STEP_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_TIMES_EXPIRY_STEP_CUH

#include "table/robin_hood/cuda/times/expiry.cuh"
#include "table/robin_hood/rows.h"

static inline uint32_t sw_timed_blocks(uint32_t count)
{
    return (count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
}

/* Returns whether the operation at sorted position p is the first one on its key. */
template <int BITS>
static __device__ inline bool sw_timed_is_first(const struct sw_cuda_scratch<BITS> &scratch,
                                                uint32_t count, uint32_t p)
{
    return p < count && (p == 0 || scratch.m_sorted[p - 1] != scratch.m_sorted[p]);
}

/* A key at some point of a batch. */
struct sw_cuda_keyed {
    bool present;
    uint64_t at; /* expiry time; 0: never */
};

/* The effect of an operation. */
struct sw_cuda_stepped {
    enum sw_effect effect; /* for a present integer: computed as if its value were 0 */
    struct sw_cuda_keyed after;
    bool gives, inserts, expires;
};

/* Sums over operations. */
struct sw_cuda_timed_sums {
    uint64_t given, inserts, expired, next;
};

static __device__ inline void sw_timed_add(struct sw_cuda_timed_sums *sums,
                                           struct sw_cuda_keyed before,
                                           const struct sw_cuda_stepped &step)
{
    sums->given += step.gives;
    sums->inserts += step.inserts;
    sums->expired += step.expires;
    if (step.after.at != before.at && step.after.at != 0 && step.after.at < sums->next) {
        sums->next = step.after.at;
    }
}

template <int BITS>
static __device__ inline uint32_t sw_timed_op(const struct sw_cuda_timed<BITS> &batch, uint32_t i)
{
    return batch.ops != NULL ? batch.ops[i] : batch.op;
}

/* Returns the expiry time that operation i sets. The id that a new key gets must be its own, so the
 * key does not expire at once. */
template <int BITS>
static __device__ inline uint64_t sw_time_wanted(const struct sw_cuda_expiry_view &view,
                                                 const struct sw_cuda_timed<BITS> &batch,
                                                 uint32_t i)
{
    const uint64_t wanted = view.all_want ? view.wanted_by_all : view.wanted[i];
    const bool gives_id = batch.gives_ids && SW_OPS_HAS(SW_OPS_ABSENT, sw_timed_op<BITS>(batch, i));
    return gives_id && wanted != 0 && wanted <= view.past ? view.past + 1 : wanted;
}

/* Returns the state of the key in both tables. */
template <int BITS>
static __device__ inline struct sw_cuda_keyed
sw_timed_key(const struct sw_cuda_device<BITS> &device, const struct sw_cuda_expiry_view &view,
             typename sw_width<BITS>::word m)
{
    typedef sw_width<BITS> W;
    uint64_t probes = 0;
    struct sw_cuda_keyed key = {W::locate(&device.table, m, &probes).found, 0};
    if (key.present) {
        const uint64_t word = W::unmix(&device.table, m);
        key.at = sw_locate_s128(&view.times, sw_mix_s128(&view.times, word), &probes).value;
    }
    return key;
}

template <int BITS>
static __device__ inline struct sw_cuda_stepped
sw_timed_step(const struct sw_cuda_expiry_view &view, const struct sw_cuda_timed<BITS> &batch,
              uint32_t i, struct sw_cuda_keyed key)
{
    typedef sw_width<BITS> W;
    const uint32_t op = sw_timed_op<BITS>(batch, i);
    const uint64_t wanted = sw_time_wanted<BITS>(view, batch, i);
    typename W::word out = 0;
    const enum sw_effect plain =
        batch.rows
            ? sw_row_effect(op, key.present)
            : W::decide(op, key.present, 0, batch.operands != NULL ? batch.operands[i] : 0, &out);
    struct sw_cuda_stepped step = {plain, key, false, false, false};
    step.effect =
        sw_expiry_decide(op, key.present, plain, key.at, wanted, view.past, &step.after.at);
    step.gives = sw_expiry_may_set(op, wanted);
    step.inserts = step.effect == SW_EFFECT_WRITE && !key.present;
    step.expires = step.effect == SW_EFFECT_REMOVE && op != SW_DELETE;
    step.after.present = step.inserts || (key.present && step.effect != SW_EFFECT_REMOVE);
    step.after.at = step.after.present ? step.after.at : 0;
    return step;
}

/* Stores the operation for the engine, and the data for the reply. */
template <int BITS>
static __device__ inline void
sw_timed_answer(const struct sw_cuda_expiry_view &view, const struct sw_cuda_timed<BITS> &batch,
                uint32_t i, struct sw_cuda_keyed before, const struct sw_cuda_stepped &step)
{
    const uint32_t op = sw_timed_op<BITS>(batch, i);
    const uint64_t wanted = sw_time_wanted<BITS>(view, batch, i);
    /* an absent key is not inserted if its new time has already passed. A present key may be
     * written, whatever `effect` is */
    const bool left = !before.present && step.effect != SW_EFFECT_WRITE;
    const bool leaves_out = sw_op_expires(op) || (left && wanted != 0 && wanted <= view.past);
    view.ops[i] = (uint8_t)(step.expires ? (uint32_t)SW_DELETE
                            : leaves_out ? (uint32_t)SW_GET
                                         : op);
    view.silent[i] = step.expires || leaves_out;
    view.was[i] = before.present;
    view.before[i] = before.at;
}

/* Lists the key if its time has changed (`mine`). One thread a key; all lanes call it. */
static __device__ inline void sw_timed_list(const struct sw_cuda_expiry_view &view, bool mine,
                                            uint64_t key, struct sw_cuda_keyed after)
{
    const bool keeps = mine && after.at != 0;
    const bool ends = mine && after.at == 0;
    const uint32_t kept = sw_list_append(&view.control->kept, keeps);
    const uint32_t ended = sw_list_append(&view.control->ended, ends);
    if (keeps) {
        view.kept_keys[kept] = key;
        view.kept_times[kept] = after.at;
    } else if (ends) {
        view.ended_keys[ended] = key;
    }
}

#endif
