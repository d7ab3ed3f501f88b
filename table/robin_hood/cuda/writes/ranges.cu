/* SPDX-License-Identifier: MIT
 *
 * ranges.cu - the first two kernels of a batch that is sure to fit and is carried out range by
 * range.
 *
 * The batch is cut into ranges of m. So a block finds the repeated keys of one range in shared
 * memory, and looks its keys up in buckets that lie near each other. It updates the keys that are
 * present. It lists the keys to insert or to remove for displace.cu: no entry moves here.
 *
 * Most operations of one kind may be folded in any order (fold.cuh), if the batch does not want
 * `previous`. The other batches are folded in array order (range_in_order.cuh).
 *
 * A range may have far more operations than its share, because keys are repeated (an overfull
 * range). The third kernel carries out such ranges (range_rest.cu).
 */
#include "table/device/follow.cuh"
#include "table/device/occupancy.cuh"
#include "table/robin_hood/cuda/writes/range_direct.cuh"
#include "table/robin_hood/cuda/writes/range_in_order.cuh"
#include "table/robin_hood/cuda/writes/range_layout.cuh"

/* The base and its alternatives. For the first kernel: threads per block, and operations per
 * thread. For the second: threads per block; the number of threads per multiprocessor for which
 * there must be registers (0: the compiler decides); whether it reads the table's hints.
 *
 * %RANGE% SW_RANGES_SCATTER_BLOCK tps {256,512,1024} Operation{ct}=[scatter]
 * %RANGE% SW_RANGES_SCATTER_KEYS kps {2,4,8,16} Operation{ct}=[scatter]
 * %RANGE% SW_RANGES_BLOCK tpb {128,256,512} Operation{ct}=[apply]
 * %RANGE% SW_RANGES_RESIDENT tpm {0,1024,1536} Operation{ct}=[apply]
 * %RANGE% SW_RANGES_HINTS hin {0,1} Operation{ct}=[apply]
 */
#ifndef SW_RANGES_SCATTER_BLOCK
#define SW_RANGES_SCATTER_BLOCK 512
#endif
#ifndef SW_RANGES_SCATTER_KEYS
#define SW_RANGES_SCATTER_KEYS 8
#endif
#ifndef SW_RANGES_BLOCK
#define SW_RANGES_BLOCK 256
#endif
#ifndef SW_RANGES_RESIDENT
#define SW_RANGES_RESIDENT 0
#endif
#ifndef SW_RANGES_HINTS
#define SW_RANGES_HINTS 1
#endif
template <int ARCH, int BITS> struct sw_policy_ranges_scatter {
    static constexpr int threads_per_block = SW_RANGES_SCATTER_BLOCK;
    static constexpr int operations_per_thread = SW_RANGES_SCATTER_KEYS;
};
template <int ARCH, int BITS> struct sw_policy_ranges_apply {
    static constexpr int threads_per_block = SW_RANGES_BLOCK;
    static constexpr int threads_per_multiprocessor = SW_RANGES_RESIDENT;
    static constexpr int reads_hints = SW_RANGES_HINTS;
};
#define SW_POLICY_RANGES
#include "table/robin_hood/cuda/policy.cuh"
#undef SW_POLICY_RANGES

template <int BLOCK, int RESIDENT> struct sw_ranges_shape {
    static constexpr int block = BLOCK;
    static constexpr int blocks_min = SW_CUDA_RESIDENT_BLOCKS(BLOCK, RESIDENT / BLOCK);
};
/* Of operations in array order, which no workload of the search measures. They need more registers
 * than the other kernels, and would spill them if the policy limits registers. */
typedef sw_ranges_shape<256, 0> sw_in_order_shape;

/* The room of all ranges grows with the batch, even if the number of ranges changes. */
uint64_t sw_cuda_range_slots(uint32_t count_max)
{
    struct range_layout layout =
        layout_of(count_max < SW_CUDA_RANGED_MAX ? count_max : SW_CUDA_RANGED_MAX);
    return (uint64_t)layout.ranges * layout.room;
}

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

/* Stores an operation: two stores for 128-bit slots, otherwise one. */
template <int BITS>
static __device__ inline void move(struct sw_cuda_moved<BITS> *to, struct sw_cuda_moved<BITS> moved)
{
    if constexpr (BITS == 64) {
        *(uint4 *)to = make_uint4((uint32_t)moved.m, (uint32_t)moved.operand, moved.operation, 0);
    } else if constexpr (BITS == 128) {
        ulonglong2 *halves = (ulonglong2 *)to;
        halves[0] = make_ulonglong2(moved.m, moved.operand);
        halves[1] = make_ulonglong2(moved.operation, 0);
    } else if constexpr (BITS == 65) {
        *(uint2 *)to = make_uint2(moved.m, moved.operation);
    } else {
        *(ulonglong2 *)to = make_ulonglong2(moved.m, moved.operation);
    }
}

/* Reserves places in each range for the block's operations of it, by one atomic a range (M6). */
template <int BITS, int THREADS>
static __device__ inline void take_places(const struct sw_cuda_device<BITS> &device,
                                          const struct range_layout &layout, uint32_t *taken)
{
    for (uint32_t r = threadIdx.x; r < layout.ranges; r += THREADS) {
        const uint32_t here = taken[r];
        if (here != 0) {
            const uint32_t before = atomicAdd(&device.scratch.ranged.lengths[r], here);
            taken[r] = before;
            if (before + here > layout.room) {
                atomicAdd(&device.control->overfull, before > layout.room ? here : before + here);
            }
        }
    }
}

/* Moves the operations to their ranges, in any order. */
template <int BITS, int THREADS, int KEYS>
static __global__ void __launch_bounds__(THREADS)
    scatter_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
                   struct range_layout layout)
{
    typedef sw_width<BITS> W;
    sw_cuda_follow();
    __shared__ uint32_t taken[SW_CUDA_RANGES_MAX];
    typename W::word m[KEYS];
    uint32_t rank[KEYS];
    bool mine[KEYS];
    uint64_t start = (uint64_t)blockIdx.x * THREADS * KEYS + threadIdx.x;
    for (uint32_t r = threadIdx.x; r < layout.ranges; r += THREADS) {
        taken[r] = 0;
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = start + k * THREADS;
        mine[k] = i < batch.count && !sw_is_skipped<BITS>(batch, i);
        m[k] = mine[k] ? batch.keys[i] : 0;
        if (i < batch.count && i % 64 == 0) {
            device.scratch.found[i / 64] = 0;
        }
    }
    __syncthreads(); /* M2: `taken` is zero */
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = start + k * THREADS;
        m[k] = W::mix(&device.table, m[k]);
        ask<BITS>(device, batch, i, mine[k], m[k]);
        rank[k] = mine[k] ? atomicAdd(&taken[range_of<BITS>(m[k], layout)], 1U) : 0;
    }
    __syncthreads(); /* M2: `taken` has the counts */
    take_places<BITS, THREADS>(device, layout, taken);
    __syncthreads(); /* M2: `taken` has the places */
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        uint64_t i = start + k * THREADS;
        if (!mine[k]) {
            continue;
        }
        uint32_t range = range_of<BITS>(m[k], layout);
        uint32_t at = taken[range] + rank[k];
        if (at < layout.room) {
            const uint32_t op = layout.in_order ? op_of<BITS>(batch, i) : 0;
            const struct sw_cuda_moved<BITS> moved = sw_moved_of<BITS>(
                m[k], operand_of<BITS>(batch, i), op << NUMBER_BITS | (uint32_t)i);
            move<BITS>(&device.scratch.ranged.moved[(uint64_t)range * layout.room + at], moved);
        }
    }
}

/* Updates one key in place, or lists it for insertion. All threads of a warp must call it; `stands`
 * is true in those that have a key. */
template <int BITS>
static __device__ inline void upsert_entry(const struct sw_cuda_device<BITS> &device,
                                           struct fold<BITS> *fold, uint32_t op, uint32_t e,
                                           bool stands, bool answers, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    typename W::slot entry;
    bool absent = false;
    if (stands) {
        entry = fold->entries[e];
        typename W::place place = W::locate_hinted(&device.table, device.hints, entry.m, probes);
        typename W::word value = W::value(entry);
        W::decide(op, place.found, place.value, value, &value);
        W::put_value(&entry, value);
        if (place.found || op != SW_SET_PRESENT) {
            absent = write_one<BITS>(device, place, entry);
        }
        if (op == SW_SET_PRESENT) {
            fold->replaced_by[e] = place.found ? SEEN : ALIVE;
        } else if (answers && place.found) {
            set_found<BITS>(device, fold->operation[e]);
        }
    }
    uint32_t at = sw_list_append(&device.control->inserts, absent);
    if (absent) {
        *sw_listed_insert<BITS>(device.scratch, at) = entry;
    }
}

/* Lists one key for removal. All threads of a warp must call it, as above. */
template <int BITS>
static __device__ inline void remove_entry(const struct sw_cuda_device<BITS> &device,
                                           const struct fold<BITS> *fold, uint32_t e, bool stands,
                                           bool answers, uint64_t *probes)
{
    struct sw_cuda_removal<BITS> removal;
    bool found = false;
    bool leaves = stands && remove_one<BITS>(device, fold->entries[e].m, &removal, &found, probes);
    if (answers && found) {
        set_found<BITS>(device, fold->operation[e]);
    }
    uint32_t at = sw_list_append(&device.control->deletes, leaves);
    if (leaves) {
        device.scratch.deletes[at] = removal;
    }
}

/* Returns the operations of the block's range, or NULL if it has none, or more than its room, or if
 * the batch is not admitted. */
template <int BITS>
static __device__ inline const struct sw_cuda_moved<BITS> *
range_of_block(const struct sw_cuda_device<BITS> &device, const struct range_layout &layout,
               uint32_t *count) {
    const struct sw_cuda_ranged<BITS> *ranged = &device.scratch.ranged;
    *count = ranged->lengths[blockIdx.x];
    return *count != 0 && *count <= layout.room && sw_is_admitted(device.control)
               ? ranged->moved + (uint64_t)blockIdx.x * layout.room
               : NULL;
}

/* Carries out the operations of a range, all of one kind, by one block. */
template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    range_kernel(const struct sw_cuda_device<BITS> device, uint32_t op, bool answers,
                 struct range_layout layout)
{
    constexpr int THREADS = SHAPE::block;
    __shared__ struct fold<BITS> fold;
    sw_cuda_follow();
    uint32_t count = 0;
    const struct sw_cuda_moved<BITS> *moved = range_of_block<BITS>(device, layout, &count);
    if (moved == NULL) {
        return;
    }
    fold_range<BITS, THREADS>(device, &fold, op, answers, moved, count);
    uint64_t probes = 0;
    for (uint32_t first = 0; first < count; first += THREADS) {
        const uint32_t e = first + threadIdx.x;
        const bool stands = e < count && fold.replaced_by[e] == ALIVE;
        if (op == SW_DELETE) {
            remove_entry<BITS>(device, &fold, e, stands, answers, &probes);
        } else {
            upsert_entry<BITS>(device, &fold, op, e, stands, answers, &probes);
        }
    }
    struct sw_op_counters *counters = &device.control->counters.by_class[sw_op_class_of(op)];
    sw_block_add(&counters->probes, probes);
    if (op == SW_SET_PRESENT) {
        sw_block_add(&counters->hits,
                     find_seen<BITS, THREADS>(device, &fold, answers, moved, count));
    }
}

/* The same, for a batch that inserts or removes many of its keys. */
template <int BITS, typename SHAPE, enum direct_kind KIND>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    range_direct_kernel(const struct sw_cuda_device<BITS> device, uint32_t op, bool answers,
                        struct range_layout layout)
{
    __shared__ struct fold<BITS> fold;
    sw_cuda_follow();
    uint32_t count = 0;
    const struct sw_cuda_moved<BITS> *moved = range_of_block<BITS>(device, layout, &count);
    if (moved != NULL) {
        write_range_direct<BITS, SHAPE::block, KIND>(device, &fold, op, answers, moved, count);
    }
}

/* The same, for operations of any kinds. */
template <int BITS>
static __global__ void __launch_bounds__(sw_in_order_shape::block, sw_in_order_shape::blocks_min)
    range_in_order_kernel(const struct sw_cuda_device<BITS> device,
                          const struct wanted<BITS> wanted, struct range_layout layout)
{
    __shared__ struct range<BITS> range;
    sw_cuda_follow();
    uint32_t count = 0;
    const struct sw_cuda_moved<BITS> *moved = range_of_block<BITS>(device, layout, &count);
    if (moved != NULL) {
        apply_range<BITS, sw_in_order_shape::block>(device, wanted, &range, moved, count);
    }
}

/* Returns the format of pairs with the same keys: a key set has their shapes. */
static constexpr int pairs_of(int bits)
{
    return bits & ~(int)SW_FORMAT_SET;
}

template <int BITS, typename POLICY>
static cudaError_t launch_scatter(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    const uint32_t share = POLICY::threads_per_block * POLICY::operations_per_thread;
    scatter_kernel<BITS, POLICY::threads_per_block, POLICY::operations_per_thread>
        <<<(batch->count + share - 1) / share, POLICY::threads_per_block, 0, stream>>>(
            *device, *batch, layout_for<BITS>(batch));
    return cudaGetLastError();
}

template <int BITS, typename POLICY>
static cudaError_t launch_ranges(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch,
                                 struct range_layout layout, cudaStream_t stream)
{
    typedef sw_ranges_shape<POLICY::threads_per_block, POLICY::threads_per_multiprocessor> shape;
    struct sw_cuda_device<BITS> to = *device;
    if (!POLICY::reads_hints) {
        to.hints = NULL;
    }
    constexpr uint32_t threads = POLICY::threads_per_block;
    const bool follows = !batch->gathered;
    if (layout.in_order) {
        return sw_cuda_launch_following(follows, range_in_order_kernel<BITS>, layout.ranges,
                                        sw_in_order_shape::block, stream, to,
                                        wanted_of<BITS>(device, batch), layout);
    }
    auto kernel = range_kernel<BITS, shape>;
    if (batch->direct) {
        kernel = batch->leaves_holes ? range_direct_kernel<BITS, shape, DIRECT_HOLES>
                 : sw_op_class_of(batch->op) == SW_CLASS_DELETE
                     ? range_direct_kernel<BITS, shape, DIRECT_REMOVALS>
                     : range_direct_kernel<BITS, shape, DIRECT_INSERTS>;
    }
    return sw_cuda_launch_following(follows, kernel, layout.ranges, threads, stream, to, batch->op,
                                    batch->found != NULL, layout);
}

template <int BITS>
cudaError_t sw_cuda_launch_scatter(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    constexpr int PAIRS = pairs_of(BITS);
    switch (SW_POLICY_ARCH(device)) {
    case 90:
        return launch_scatter<BITS, sw_policy_ranges_scatter<90, PAIRS>>(device, batch, stream);
    default:
        return launch_scatter<BITS, sw_policy_ranges_scatter<0, PAIRS>>(device, batch, stream);
    }
}

/* While a gathered batch is carried out, the next one is gathered (combined_launch.cuh). Blocks
 * that wait for the first kernel, and large blocks, leave few multiprocessors to the gather. So the
 * second kernel of a gathered batch does not follow, and its blocks have the size of the base. */
template <int BITS>
cudaError_t sw_cuda_launch_ranges(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    constexpr int PAIRS = pairs_of(BITS);
    const struct range_layout layout = layout_for<BITS>(batch);
    cudaError_t error = cudaSuccess;
    switch (batch->gathered ? 0 : SW_POLICY_ARCH(device)) {
    case 90:
        error =
            launch_ranges<BITS, sw_policy_ranges_apply<90, PAIRS>>(device, batch, layout, stream);
        break;
    default:
        error =
            launch_ranges<BITS, sw_policy_ranges_apply<0, PAIRS>>(device, batch, layout, stream);
    }
    return error == cudaSuccess ? sw_cuda_launch_range_rest<BITS>(device, batch, layout, stream)
                                : error;
}

#define INSTANTIATE(BITS, ...)                                                                  \
    template cudaError_t sw_cuda_launch_scatter<BITS>(                                          \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_launch_ranges<BITS>(                                           \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);
SW_FORMATS(INSTANTIATE)
