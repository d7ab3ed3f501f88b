/* SPDX-License-Identifier: MIT
 *
 * upsert.cu - batches of upserts of one kind that are sure to fit: few kernels.
 *
 * Repeated keys meet in cells, a hash table of the batch's own keys that stays in L2; those of
 * large batches of SET by sorting, which brings the table's buckets in order, too. Then the last
 * operation on each key stands for all: it finds the key and writes the combined value in place, or
 * lists it as absent; the absent ones are inserted once nothing is looked up any more. These are
 * phases A and B of table/README.md, rule 5.
 */
#include "table/cuda/reduce.cuh"

/* Blocks that are resident at once, a few times over: loops, so that a launch that has nothing to
 * do costs no more than that. */
#define BLOCKS_MAX 4096

#define PRESENT (1U << 31)
/* Blocks of the kernel that hardly ever has anything to do. */
#define ASK_BLOCKS 264

template <int BITS>
static __device__ inline bool is_off(const struct sw_cuda_device<BITS> &device, bool only_if_failed)
{
    return only_if_failed && device.control->rebuild_failed == 0;
}

/* For kernels after ask_kernel. */
static __device__ inline bool is_admitted(const struct sw_cuda_control *control)
{
    return control->mode == SW_CUDA_COMMIT ||
           (control->mode == SW_CUDA_ASK && control->absent == 0);
}

template <typename T> static __device__ inline void atomic_max(T *at, T value)
{
    if (sizeof(T) == 8) {
        atomicMax((unsigned long long *)at, (unsigned long long)value);
    } else {
        atomicMax((unsigned int *)at, (unsigned int)value);
    }
}

template <typename T> static __device__ inline void atomic_add(T *at, T value)
{
    if (sizeof(T) == 8) {
        atomicAdd((unsigned long long *)at, (unsigned long long)value);
    } else {
        atomicAdd((unsigned int *)at, (unsigned int)value);
    }
}

template <typename T> static __device__ inline T atomic_cas(T *at, T expected, T desired)
{
    if (sizeof(T) == 8) {
        return (T)atomicCAS((unsigned long long *)at, (unsigned long long)expected,
                            (unsigned long long)desired);
    }
    return (T)atomicCAS((unsigned int *)at, (unsigned int)expected, (unsigned int)desired);
}

/* Of 2 * count cells at least half stay free, so every probe ends. */
template <int BITS>
static __device__ inline uint32_t claim_cell(const struct sw_cuda_cells<BITS> &cells,
                                             typename sw_width<BITS>::word m, uint32_t count)
{
    typedef sw_width<BITS> W;
    uint32_t cells_count = 2 * count;
    if (m == W::empty) {
        return cells_count;
    }
    uint32_t top = (uint32_t)(m >> (BITS / 2 - 32));
    /* neighbours in m are no neighbours here: runs of cells stay short for any keys */
    uint32_t cell = __umulhi(top * 0x9e3779b1U ^ (uint32_t)m, cells_count);
    for (;;) {
        typename W::word held = *(const volatile typename W::word *)(cells.m + cell);
        if (held == W::empty) {
            held = atomic_cas(cells.m + cell, (typename W::word)W::empty, m);
        }
        if (held == W::empty || held == m) {
            return cell;
        }
        cell = cell + 1 < cells_count ? cell + 1 : 0;
    }
}

template <int BITS>
static __global__ void __launch_bounds__(1024)
    collect_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                   bool only_if_failed)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const struct sw_cuda_cells<BITS> cells = scratch->cells;
    if (is_off<BITS>(device, only_if_failed)) {
        return;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (!only_if_failed) { /* else it was decided before the entries moved */
            device.control->mode = sw_mode_of_upserts(&device.table);
        }
        sw_note_stash(device.control, device.table.state);
    }
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < batch.count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        typename W::word m = W::mix(&device.table, batch.keys[i]);
        typename W::word operand = batch.values[i];
        uint32_t cell = claim_cell<BITS>(cells, m, batch.count);
        scratch->m[i] = m;
        scratch->operands[i] = operand;
        scratch->index_sorted[i] = cell;
        atomicMax(cells.last + cell, (uint32_t)i + 1);
        if (batch.found != NULL) {
            atomicMax(cells.first + cell, ~(uint32_t)i);
        }
        if (batch.op == SW_SUM) {
            atomic_add(cells.value + cell, operand);
        } else if (batch.op == SW_MAX) {
            atomic_max(cells.value + cell, operand);
        } else if (batch.op == SW_MIN) {
            atomic_max(cells.value + cell, (typename W::word) ~operand);
        }
    }
}

/* Looks for absent keys, if the batch may have none. */
template <int BITS>
static __global__ void __launch_bounds__(1024)
    ask_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
               bool only_if_failed)
{
    typedef sw_width<BITS> W;
    struct sw_cuda_control *control = device.control;
    if (is_off<BITS>(device, only_if_failed) || control->mode != SW_CUDA_ASK) {
        return;
    }
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < batch.count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t probes = 0;
        if (!W::locate(&device.table, W::mix(&device.table, batch.keys[i]), &probes).found) {
            control->absent = 1;
        }
    }
}

/* Writes the value of a key in place. Returns whether it is absent and is to get a slot. */
template <int BITS>
static __device__ inline bool write_one(const struct sw_cuda_device<BITS> &device,
                                        typename sw_width<BITS>::place place,
                                        typename sw_width<BITS>::slot entry)
{
    if (entry.m == sw_width<BITS>::empty) {
        struct sw_state *state = device.table.state;
        state->side_value = entry.value;
        if (!place.found) {
            state->side_present = 1;
            device.control->side_inserts = 1;
        }
        return false;
    }
    if (place.found) {
        place.slot->value = entry.value; /* nothing moves in this phase */
    }
    return !place.found;
}

/* One key: its value in place, or into the list of those to insert. Returns whether it is absent
 * and has a slot to find. */
template <int BITS>
static __device__ inline bool apply_one(const struct sw_cuda_device<BITS> &device,
                                        const struct sw_cuda_batch<BITS> &batch, uint64_t i,
                                        typename sw_width<BITS>::slot *entry, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const struct sw_cuda_cells<BITS> *cells = &scratch->cells;
    uint32_t cell = scratch->index_sorted[i];
    typename W::word operand = scratch->operands[i];
    typename W::place place;
    if (batch.op != SW_SET) {
        operand = cells->value[cell];
        operand = batch.op == SW_MIN ? (typename W::word) ~operand : operand;
    }
    entry->m = scratch->m[i];
    place = W::locate_hinted(&device.table, device.hints, entry->m, probes);
    if (place.found) {
        W::decide(batch.op, true, place.value, operand, &operand);
        if (batch.found != NULL) {
            cells->last[cell] |= PRESENT; /* of this key's operations only this one writes */
        }
    }
    entry->value = operand;
    return write_one<BITS>(device, place, *entry);
}

template <int BITS>
static __global__ void __launch_bounds__(1024)
    apply_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                 bool only_if_failed)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    struct sw_cuda_control *control = device.control;
    uint64_t probes = 0;
    if (is_off<BITS>(device, only_if_failed) || !is_admitted(control)) {
        return;
    }
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t rounds = (batch.count + step - 1) / step;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t r = 0; r < rounds; r++, i += step) {
        typename W::slot entry;
        bool absent = false;
        if (i < batch.count &&
            (scratch->cells.last[scratch->index_sorted[i]] & ~PRESENT) == i + 1) {
            absent = apply_one<BITS>(device, batch, i, &entry, &probes);
        }
        uint32_t at = sw_list_append(&control->inserts, absent);
        if (absent) {
            scratch->inserts[at] = entry;
        }
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
}

/* The operations on the key at sorted position i, the last of its run. */
template <int BITS>
static __device__ inline bool apply_run(const struct sw_cuda_device<BITS> &device, uint32_t op,
                                        uint64_t i, typename sw_width<BITS>::slot *entry,
                                        uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    typename W::place place = W::locate_hinted(&device.table, device.hints, entry->m, probes);
    if (op != SW_SET) { /* sums and extremes may be taken in any order */
        for (uint64_t j = i; j > 0 && scratch->m_sorted[j - 1] == entry->m; j--) {
            W::decide(op, true, scratch->previous[j - 1], entry->value, &entry->value);
        }
        W::decide(op, place.found, place.value, entry->value, &entry->value);
    }
    return write_one<BITS>(device, place, *entry);
}

/* The same of a batch in order: the last of a run of equal keys stands for it, and neighbours look
 * at neighbouring buckets. inserts[i] is what to insert, EMPTY for the rest: in order, too. */
template <int BITS>
static __global__ void __launch_bounds__(1024)
    apply_ordered_kernel(const struct sw_cuda_device<BITS> device, uint32_t op, uint32_t count)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    struct sw_cuda_control *control = device.control;
    uint64_t probes = 0;
    uint64_t absent = 0;
    if (!is_admitted(control)) {
        return;
    }
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        typename W::slot entry;
        entry.m = scratch->m_sorted[i];
        entry.value = scratch->previous[i];
        if ((i + 1 == count || scratch->m_sorted[i + 1] != entry.m) &&
            apply_run<BITS>(device, op, i, &entry, &probes)) {
            absent = 1;
        } else {
            entry.m = W::empty;
        }
        scratch->inserts[i] = entry;
    }
    sw_block_add(&control->ordered_inserts, absent);
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
}

/* What meets the cap goes to the stash or is handed back. */
template <int BITS>
static __device__ inline bool insert_one(const struct sw_cuda_device<BITS> &device,
                                         typename sw_width<BITS>::slot hand, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const typename W::table *table = &device.table;
    if (W::insert_hinted(&table->main, device.hints, &hand, probes)) {
        return true;
    }
    if (table->stash.slots == NULL) {
        device.scratch.leftovers[atomicAdd(&device.control->leftovers, 1U)] = hand;
        atomicAdd((unsigned long long *)&table->state->occupied, ~0ULL);
    } else {
        atomicAdd((unsigned long long *)&table->state->stash_occupied, 1ULL);
        if (!W::insert_absent(&table->stash, &hand, probes)) {
            atomicAdd(&device.control->lost, 1U);
        }
    }
    return false;
}

/* Inserts what apply_ordered_kernel left. */
template <int BITS>
static __global__ void __launch_bounds__(1024)
    insert_ordered_kernel(const struct sw_cuda_device<BITS> device, uint32_t count)
{
    struct sw_cuda_control *control = device.control;
    uint64_t probes = 0;
    uint64_t failures = 0;
    if (!is_admitted(control)) {
        return;
    }
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        typename sw_width<BITS>::slot entry = device.scratch.inserts[i];
        failures = entry.m != sw_width<BITS>::empty && !insert_one<BITS>(device, entry, &probes);
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
    sw_block_add(&control->counters.failures, failures);
}

/* Inserts the absent keys; answers, which apply_kernel made known. */
template <int BITS>
static __global__ void __launch_bounds__(1024)
    settle_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                  bool only_if_failed)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const struct sw_cuda_cells<BITS> *cells = &scratch->cells;
    struct sw_cuda_control *control = device.control;
    uint64_t probes = 0;
    uint64_t failures = 0;
    if (is_off<BITS>(device, only_if_failed) || !is_admitted(control)) {
        return;
    }
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t start = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t inserts = control->inserts;
    for (uint64_t i = start; i < inserts; i += step) {
        failures += !insert_one<BITS>(device, scratch->inserts[i], &probes);
    }
    uint64_t padded = ((uint64_t)batch.count + 63) / 64 * 64;
    uint64_t rounds = batch.found != NULL ? (padded + step - 1) / step : 0;
    uint64_t i = start;
    for (uint64_t r = 0; r < rounds; r++, i += step) {
        bool found = false;
        if (i < batch.count) {
            uint32_t cell = scratch->index_sorted[i];
            found = (cells->last[cell] & PRESENT) != 0 || ~cells->first[cell] != (uint32_t)i;
        }
        uint32_t word = __ballot_sync(SW_WARP_ALL, found);
        if (i % 32 == 0 && i < padded) {
            batch.found[i / 32] = word;
        }
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
    sw_block_add(&control->counters.failures, failures);
}

/* Frees the cells, and counts. */
template <int BITS>
static __global__ void __launch_bounds__(1024)
    free_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                bool has_cells, bool only_if_failed)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const struct sw_cuda_cells<BITS> *cells = &scratch->cells;
    struct sw_cuda_control *control = device.control;
    if (is_off<BITS>(device, only_if_failed)) {
        return;
    }
    uint64_t start = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t i = start; has_cells && i < batch.count; i += (uint64_t)gridDim.x * blockDim.x) {
        uint32_t cell = scratch->index_sorted[i];
        cells->m[cell] = W::empty;
        cells->last[cell] = 0;
        if (batch.found != NULL) {
            cells->first[cell] = 0;
        }
        if (batch.op != SW_SET) {
            cells->value[cell] = 0;
        }
    }
    if (start != 0) {
        return;
    }
    if (!is_admitted(control)) {
        control->counters.inserted = 0; /* a rebuild may have counted before it failed */
        control->counters.refused = batch.count;
        if (batch.group_refused != NULL) {
            batch.group_refused[0] = 1;
        }
        return;
    }
    uint64_t inserted = control->inserts + control->ordered_inserts + control->side_inserts;
    sw_count_upserts(&control->counters, batch.count, inserted);
    device.table.state->occupied += inserted;
}

template <int BITS>
static uint32_t blocks_for(const struct sw_cuda_device<BITS> *device, uint32_t count)
{
    uint32_t blocks = (uint32_t)(((uint64_t)count + device->block_size - 1) / device->block_size);
    return blocks == 0 ? 1 : blocks < SW_CUDA_FEW_BLOCKS ? blocks : SW_CUDA_FEW_BLOCKS;
}

template <int BITS>
static cudaError_t launch_ask(const struct sw_cuda_device<BITS> *device,
                              const struct sw_cuda_batch<BITS> *batch, bool only_if_failed,
                              cudaStream_t stream)
{
    uint32_t most = blocks_for<BITS>(device, batch->count);
    uint32_t blocks = most < ASK_BLOCKS ? most : ASK_BLOCKS;
    uint32_t threads = device->block_size;
    ask_kernel<BITS><<<blocks, threads, 0, stream>>>(*device, *batch, only_if_failed);
    return cudaGetLastError();
}

template <int BITS>
cudaError_t sw_cuda_launch_collect(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_batch<BITS> *batch, bool only_if_failed,
                                   cudaStream_t stream)
{
    collect_kernel<BITS><<<blocks_for<BITS>(device, batch->count), device->block_size, 0, stream>>>(
        *device, *batch, only_if_failed);
    return cudaGetLastError();
}

template <int BITS>
cudaError_t sw_cuda_launch_upsert(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, bool only_if_failed,
                                  cudaStream_t stream)
{
    uint32_t blocks = blocks_for<BITS>(device, batch->count);
    uint32_t threads = device->block_size;
    cudaError_t error = launch_ask<BITS>(device, batch, only_if_failed, stream);
    if (error == cudaSuccess) {
        apply_kernel<BITS><<<blocks, threads, 0, stream>>>(*device, *batch, only_if_failed);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        settle_kernel<BITS><<<blocks, threads, 0, stream>>>(*device, *batch, only_if_failed);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        free_kernel<BITS><<<blocks, threads, 0, stream>>>(*device, *batch, true, only_if_failed);
        error = cudaGetLastError();
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_upsert_ordered(const struct sw_cuda_device<BITS> *device,
                                          const struct sw_cuda_batch<BITS> *batch,
                                          cudaStream_t stream)
{
    uint32_t threads = device->block_size;
    uint32_t blocks = (uint32_t)(((uint64_t)batch->count + threads - 1) / threads);
    cudaError_t error = launch_ask<BITS>(device, batch, false, stream);
    if (error == cudaSuccess) {
        apply_ordered_kernel<BITS>
            <<<blocks, threads, 0, stream>>>(*device, batch->op, batch->count);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        insert_ordered_kernel<BITS><<<blocks, threads, 0, stream>>>(*device, batch->count);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        free_kernel<BITS><<<1, 1, 0, stream>>>(*device, *batch, false, false);
        error = cudaGetLastError();
    }
    return error;
}

#define INSTANTIATE(BITS)                                                                       \
    template cudaError_t sw_cuda_launch_collect<BITS>(const struct sw_cuda_device<BITS> *,      \
                                                      const struct sw_cuda_batch<BITS> *, bool, \
                                                      cudaStream_t);                            \
    template cudaError_t sw_cuda_launch_upsert_ordered<BITS>(                                   \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_launch_upsert<BITS>(const struct sw_cuda_device<BITS> *,       \
                                                     const struct sw_cuda_batch<BITS> *, bool,  \
                                                     cudaStream_t);
INSTANTIATE(64)
INSTANTIATE(128)
