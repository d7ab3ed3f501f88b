/* SPDX-License-Identifier: MIT
 *
 * in_order.cuh - folds operations of any kinds in array order: computes the answer of each
 * operation and the final state of each key.
 *
 * The operations on one key, in order, are its run. The state of a key after a SET or a DELETE does
 * not depend on its state before. So a run is cut into parts, and one thread folds each part. A
 * part begins at the begin of the run or at a SET or DELETE. Its thread also answers the operation
 * that begins the next part. The last part has the final state of the key.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_IN_ORDER_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_IN_ORDER_CUH

#include "table/device/counts.cuh"
#include "table/robin_hood/cuda/writes/upsert.cuh"

/* Bits of an operation's number. The bits above them hold its kind. */
#define NUMBER_BITS 24
#define NUMBER_MASK ((1U << NUMBER_BITS) - 1)
static_assert(SW_CUDA_RANGED_MAX <= 1U << NUMBER_BITS && SW_OP_END <= 1U << (32 - NUMBER_BITS),
              "a number and an operation in a word");

template <int BITS> struct operation {
    typename sw_width<BITS>::word operand;
    uint32_t number; /* its number in the batch */
    uint32_t op;
};

/* The answers that a batch requests. */
template <int BITS> struct wanted {
    typename sw_width<BITS>::word *previous; /* or NULL */
    bool found;
};

/* Returns the answers that the batch requests. If its arrays belong to the host, `previous` goes to
 * the scratch first. */
template <int BITS>
static struct wanted<BITS> wanted_of(const struct sw_cuda_device<BITS> *device,
                                     const struct sw_cuda_batch<BITS> *batch) {
    struct wanted<BITS> wanted = {
        batch->previous, batch->found != NULL
    };
    if (batch->previous != NULL && !batch->gathered) {
        wanted.previous = device->scratch.previous;
    }
    return wanted;
}

/* A key while its operations are folded. */
template <int BITS>
struct folded {
    typename sw_width<BITS>::word value; /* 0 if it is absent */
    bool exists;
    bool written;
};

/* The net effect on a key: a change of the table. */
template <int BITS> struct effect {
    enum sw_cuda_net net;
    uint64_t slot; /* UPDATE, DELETE: as in sw_cuda_update */
    typename sw_width<BITS>::slot entry;
};

#define NOWHERE UINT64_MAX

/* Returns the slot and the value of a key. The slot is NOWHERE if the key is absent. */
template <int BITS>
static __device__ inline struct sw_cuda_update<BITS>
look_up(const struct sw_cuda_device<BITS> &device, typename sw_width<BITS>::word m, uint32_t op,
        struct fold_counts *counts) {
    typedef sw_width<BITS> W;
    struct sw_cuda_update<BITS> held;
    uint64_t probes = 0;
    const typename W::place place = W::locate_hinted(&device.table, device.hints, m, &probes);
    count_probes(counts, op, probes);
    held.value = place.value;
    held.slot = !place.found    ? NOWHERE
                : m == W::empty ? 0
                                : (uint64_t)(place.slot - device.table.main.slots);
    return held;
}

/* Applies one operation to a folded key, and answers it. */
template <int BITS>
static __device__ inline void fold_operation(const struct sw_cuda_device<BITS> &device,
                                             const struct wanted<BITS> &wanted,
                                             const struct operation<BITS> &operation,
                                             struct folded<BITS> *key, struct fold_counts *counts)
{
    typename sw_width<BITS>::word out = 0;
    const enum sw_effect effect =
        sw_width<BITS>::decide(operation.op, key->exists, key->value, operation.operand, &out);
    if (wanted.previous != NULL) {
        wanted.previous[operation.number] = key->value;
    }
    if (wanted.found && key->exists) {
        set_found<BITS>(device, operation.number);
    }
    count_operation(counts, operation.op, key->exists, effect);
    if (effect == SW_EFFECT_WRITE) {
        key->value = out;
        key->exists = true;
        key->written = true;
    } else if (effect == SW_EFFECT_REMOVE) {
        key->value = 0;
        key->exists = false;
    }
}

static __device__ inline bool begins_part(uint32_t op)
{
    return op == SW_SET || op == SW_DELETE;
}

/* Returns the net effect of a run on a key whose state before it was `held`. Writes the side cell
 * immediately: one thread has its run (M8). */
template <int BITS>
static __device__ inline struct effect<BITS>
effect_of(const struct sw_cuda_device<BITS> &device, typename sw_width<BITS>::word m,
          const struct sw_cuda_update<BITS> &held, const struct folded<BITS> &key) {
    const bool found = held.slot != NOWHERE;
    struct effect<BITS> effect;
    effect.net = found && !key.exists ? SW_NET_DELETE
                 : !key.exists        ? SW_NET_NONE
                 : !found             ? SW_NET_INSERT
                 : key.written        ? SW_NET_UPDATE
                                      : SW_NET_NONE;
    effect.slot = held.slot;
    effect.entry.m = m;
    sw_width<BITS>::put_value(&effect.entry, key.value);
    if (m == sw_width<BITS>::empty && effect.net != SW_NET_NONE) {
        struct sw_state *state = device.table.state;
        device.control->side_inserts = effect.net == SW_NET_INSERT;
        device.control->side_removals = effect.net == SW_NET_DELETE;
        state->side_present = key.exists;
        state->side_value = key.value;
        effect.net = SW_NET_NONE;
    }
    return effect;
}

/* Carries out an update, or lists an insert or a removal. All threads of a warp must call it. */
template <int BITS>
static __device__ inline void carry_out(const struct sw_cuda_device<BITS> &device,
                                        const struct effect<BITS> &effect)
{
    struct sw_cuda_control *control = device.control;
    if (effect.net == SW_NET_UPDATE) { /* M8: one thread has the key's run, and nothing moves in
                                          this phase (rule 6) */
        sw_width<BITS>::put_value(&device.table.main.slots[effect.slot],
                                  sw_width<BITS>::value(effect.entry));
    }
    uint32_t at = sw_list_append(&control->deletes, effect.net == SW_NET_DELETE);
    if (effect.net == SW_NET_DELETE) {
        device.scratch.deletes[at].slot = effect.slot;
        device.scratch.deletes[at].m = effect.entry.m;
        if (effect.slot / SW_BUCKET_SLOTS >= device.table.main.buckets_total) {
            atomicAdd(&control->deletes_in_stash, 1U);
        }
    }
    at = sw_list_append(&control->inserts, effect.net == SW_NET_INSERT);
    if (effect.net == SW_NET_INSERT) {
        *sw_listed_insert<BITS>(device.scratch, at) = effect.entry;
    }
}

/* Folds the part that begins at position t, if one does. RUNS has positions [0, count), run by run:
 *   at(t), m(t)     its operation, and its key
 *   first(t)      the first position of its run
 *   begins(t)     whether t is that; also for t == count
 *   held(t)       of a first position: where the key is, and its value, before the run
 * Returns the net effect of a run for its last part, and NONE for the other parts. */
template <int BITS, typename RUNS>
static __device__ inline struct effect<BITS>
fold_part(const struct sw_cuda_device<BITS> &device, const struct wanted<BITS> &wanted,
          const RUNS &runs, uint32_t t, struct fold_counts *counts) {
    struct operation<BITS> operation = runs.at(t);
    struct effect<BITS> none = {
        SW_NET_NONE, NOWHERE,
        {
        }
    };
    struct sw_cuda_update<BITS> held = {
        NOWHERE, 0
    };
    struct folded<BITS> key;
    const bool is_first = runs.begins(t);
    if (is_first) {
        held = runs.held(t);
        key = {held.value, held.slot != NOWHERE, false};
        fold_operation<BITS>(device, wanted, operation, &key, counts);
    } else if (begins_part(operation.op)) {
        const bool sets = operation.op == SW_SET;
        key = {sets ? operation.operand : 0, sets, true};
    } else {
        return none;
    }
    for (uint32_t next = t + 1; !runs.begins(next); next++) {
        operation = runs.at(next);
        fold_operation<BITS>(device, wanted, operation, &key, counts);
        if (begins_part(operation.op)) {
            return none;
        }
    }
    if (!is_first) {
        held = runs.held(runs.first(t));
    }
    return effect_of<BITS>(device, runs.m(t), held, key);
}

#endif
