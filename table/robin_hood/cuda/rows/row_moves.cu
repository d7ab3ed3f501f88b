/* SPDX-License-Identifier: MIT
 *
 * row_moves.cu - copies the rows that occur once in a batch: from the table to answers, and from
 * operands to the table. It also frees rows that were not used or whose entries were deleted.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/rows/row_effects.cuh"
#include "table/robin_hood/cuda/rows/row_move.cuh"

#define WARPS (SW_CUDA_BLOCK / 32)
/* Units that a lane sums at the same time, with two loads each. */
#define SUMS_IN_FLIGHT 3

/* The lists of a warp: rows copied to answers, rows replaced, and rows added to. */
struct lists {
    struct row_transfer out[32];
    struct row_transfer in[32];
    struct row_transfer sums[32];
    uint16_t how[32]; /* for `sums`: the operation and HOW_FRESH */
};
#define HOW_FRESH 256U /* ignore the bytes of the row: the old value is zeros */

/* The sums that a batch may need. WITH_KEY_STRINGS: rows end with key strings, which some writes do
 * not change. */
enum sums { NO_SUMS, SUMS_OF_ROWS, WIDE_SUMS, WITH_KEY_STRINGS };

/* Same as row_copy_units, but adds each number to the number at the destination. */
template <typename T, typename OPERAND, bool KEY_STRINGS = false>
static __device__ __forceinline__ void sum_units(const struct sw_cuda_rows &rows,
                                                 const struct lists *lists, uint32_t count,
                                                 uint32_t units)
{
    const uint32_t total = count * units;
    for (uint32_t first = threadIdx.x % 32; first < total; first += 32 * SUMS_IN_FLIGHT) {
        OPERAND more[SUMS_IN_FLIGHT];
        T base[SUMS_IN_FLIGHT];
        uint32_t offset;
#pragma unroll
        for (uint32_t u = 0; u < SUMS_IN_FLIGHT; u++) {
            if (first + 32 * u < total) {
                const uint32_t owner = row_owner(first + 32 * u, units, &offset);
                const struct row_transfer transfer = lists->sums[owner];
                more[u] = row_operand<T, OPERAND>(transfer.from, offset * (uint32_t)sizeof(T));
                base[u] = lists->how[owner] & HOW_FRESH ? T() : __ldcg((T *)transfer.to + offset);
            }
        }
#pragma unroll
        for (uint32_t u = 0; u < SUMS_IN_FLIGHT; u++) {
            if (first + 32 * u < total) {
                const uint32_t owner = row_owner(first + 32 * u, units, &offset);
                const uint32_t op = lists->how[owner] & (HOW_FRESH - 1);
                T *to = (T *)lists->sums[owner].to + offset;
                if constexpr (KEY_STRINGS) {
                    __stcs(to, row_made_at<true>(rows, op, base[u], more[u],
                                                 offset * (uint32_t)sizeof(T)));
                } else {
                    __stcs(to, row_made(op, base[u], more[u]));
                }
            }
        }
    }
}

template <enum sums SUMS>
static __device__ __forceinline__ void
sum_rows(const struct sw_cuda_rows &rows, const struct lists *lists, uint32_t count, uint32_t unit)
{
    const uint32_t bytes = rows.value_bytes;
    constexpr bool key_strings = SUMS == WITH_KEY_STRINGS;
    unit = key_strings ? row_unit(unit | rows.key_string_bytes) : unit;
    if constexpr (SUMS == WIDE_SUMS) {
        sum_units<uint32_t, uint2>(rows, lists, count, bytes / 4);
    } else if (unit == 16) {
        sum_units<uint4, uint4, key_strings>(rows, lists, count, bytes / 16);
    } else if (unit == 8) {
        sum_units<uint2, uint2, key_strings>(rows, lists, count, bytes / 8);
    } else {
        sum_units<uint32_t, uint32_t, key_strings>(rows, lists, count, bytes / 4);
    }
}

/* Returns whether this pass copies the rows of operation i, where rows are copied in two passes.
 * The early pass copies the rows of keys that were present at the look-up. The late pass copies the
 * others, which the engine may have inserted. After its pass an operation has no row in
 * scratch.rows. Repeated rows are the exception: the early pass leaves them. */
template <int BITS>
static __device__ inline bool is_due(const struct sw_cuda_rows &rows,
                                     const struct sw_cuda_row_batch<BITS> &batch, uint32_t i,
                                     bool is_early)
{
    const bool found = row_found<BITS>(batch, i);
    return is_early ? found
                    : rows.scratch.control->early == 0 || !found ||
                          rows.scratch.rows[i] != SW_CUDA_NO_ROW;
}

/* Returns whether row_repeats.cu carries out operation i although its row occurs once. An operation
 * on an absent key that it does not insert has no row. */
template <int BITS>
static __device__ inline bool is_in_order(const struct sw_cuda_rows &rows,
                                          const struct sw_cuda_row_batch<BITS> &batch, uint32_t i)
{
    return sw_row_is_in_order(batch.ops != NULL ? batch.ops[i] : batch.op) &&
           rows.scratch.rows[i] != SW_CUDA_NO_ROW;
}

/* Copies the rows of 32 operations of the piece, from `base` on, that are due and not repeated.
 * Returns whether any is repeated. SUMS: sums that operations may need. All lanes. */
template <int BITS, enum sums SUMS>
static __device__ inline bool
move_rows(const struct sw_cuda_rows &rows, const struct sw_cuda_row_batch<BITS> &batch,
          const struct row_chunk &piece, uint32_t base, bool is_early, struct lists *lists)
{
    const uint32_t bytes = rows.value_bytes;
    const uint32_t i = base + threadIdx.x % 32;
    const bool due = i < piece.end && is_due<BITS>(rows, batch, i, is_early);
    const bool repeated = due && ((rows.scratch.repeated[i / 32] >> (i % 32) & 1) != 0 ||
                                  (batch.in_order && is_in_order<BITS>(rows, batch, i)));
    const bool mine = due && !repeated;
    const uint32_t at = (i - piece.begin) * bytes; /* inside a piece: less than 2^21 */
    const uint8_t *operand = piece.values + (SUMS == WIDE_SUMS ? 2 : 1) * at;
    struct row_effect effect = {};
    uint8_t *row = NULL;
    if (mine) {
        effect = row_effect_of<BITS>(batch, i);
        row = row_at(rows, rows.scratch.rows[i]); /* dereferenced only if the row exists */
    }
    const bool answers = mine && !effect.refused && piece.previous != NULL;
    const bool keeps = SUMS == WITH_KEY_STRINGS && effect.writes && effect.found &&
                       row_key_string(rows, operand) == NULL;
    const bool sums = SUMS != NO_SUMS && effect.writes && (sw_row_updates(effect.op) || keeps);
    const uint32_t outs =
        row_append(lists->out, 0, answers, effect.found ? row : NULL, piece.previous + at);
    const uint32_t ins = row_append(lists->in, 0, effect.writes && !sums, operand, row);
    uint32_t adds = 0;
    if (SUMS != NO_SUMS) {
        const uint32_t adding = __ballot_sync(SW_WARP_ALL, sums);
        adds = row_append(lists->sums, 0, sums, operand, row);
        if (sums) {
            const uint32_t before = adding & ((1U << threadIdx.x % 32) - 1);
            lists->how[__popc(before)] = (uint16_t)(effect.op | (effect.found ? 0 : HOW_FRESH));
        }
    }
    __syncwarp(); /* M3: the lists of all lanes */
    row_copy(lists->out, outs, bytes, row_unit((uintptr_t)piece.previous | bytes));
    __syncwarp(); /* M3: a row is read before it is written */
    const uint32_t unit = row_unit((uintptr_t)piece.values | bytes);
    row_copy(lists->in, ins, bytes, unit);
    if (SUMS != NO_SUMS) {
        sum_rows<SUMS>(rows, lists, adds, unit);
    }
    if (mine) {
        rows.scratch.rows[i] = SW_CUDA_NO_ROW;
    }
    return repeated;
}

/* The rows that operation i frees: its unused preallocated row, and the row of the entry it
 * removed. SW_CUDA_NO_ROW: none. A row that was never used stays so unless the batch now uses a row
 * at or after it. */
template <int BITS>
static __device__ inline uint2 rows_to_free(const struct sw_cuda_rows &rows,
                                            const struct sw_cuda_row_batch<BITS> &batch, uint32_t i)
{
    const struct row_effect effect = row_effect_of<BITS>(batch, i);
    const uint64_t used_before = rows.stack->free_count + rows.scratch.control->fresh;
    const bool unused = batch.inserts && !effect.inserts && i < used_before;
    return make_uint2(unused ? (uint32_t)batch.preallocated[i] : SW_CUDA_NO_ROW,
                      effect.removes ? (uint32_t)batch.previous[i] : SW_CUDA_NO_ROW);
}

/* Pushes the rows that the operations of a piece free onto the stack, in no particular order. By
 * all threads of the block. */
template <int BITS>
static __device__ inline void free_rows(const struct sw_cuda_rows &rows,
                                        const struct sw_cuda_row_batch<BITS> &batch,
                                        const struct row_chunk &piece)
{
    __shared__ uint32_t place;
    __shared__ uint32_t all;
    const uint32_t i = piece.begin + threadIdx.x;
    uint2 given = make_uint2(SW_CUDA_NO_ROW, SW_CUDA_NO_ROW);
    if (threadIdx.x == 0) {
        all = 0;
    }
    __syncthreads(); /* M2: `all` is zero */
    if (i < piece.end) {
        given = rows_to_free<BITS>(rows, batch, i);
    }
    uint32_t own = (given.x != SW_CUDA_NO_ROW) + (given.y != SW_CUDA_NO_ROW);
    if (own > 0) {
        own = atomicAdd(&all, own);
    }
    __syncthreads(); /* M2: all threads have added to `all` */
    if (threadIdx.x == 0 && all > 0) {
        place = atomicAdd(&rows.scratch.control->given, all); /* M6: a place in the stack */
    }
    __syncthreads(); /* M2: `place` is set */
    uint32_t *free =
        rows.free + (rows.stack->free_count - row_taken<BITS>(rows, batch)) + place + own;
    if (given.x != SW_CUDA_NO_ROW) {
        *free++ = given.x;
    }
    if (given.y != SW_CUDA_NO_ROW) {
        *free = given.y;
    }
}

/* `is_early`: as in is_due. FEW: a few blocks process several pieces each. This is a kernel of its
 * own because it needs more registers. */
template <int BITS, enum sums SUMS, bool FEW>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK, SUMS != NO_SUMS ? 3 : 4)
    moves_kernel(const struct sw_cuda_rows rows, const struct sw_cuda_row_batch<BITS> batch,
                 bool is_early, bool frees_rows)
{
    __shared__ struct lists lists[WARPS];
    sw_cuda_follow();
    struct sw_cuda_row_control *control = rows.scratch.control;
    if (is_early ? control->early == 0 : control->early != 0 && control->absent == 0) {
        return; /* the other pass copies all rows */
    }
    const uint32_t warp = threadIdx.x / 32;
    uint32_t number = blockIdx.x;
    do {
        const struct row_chunk piece = row_piece_of<BITS>(batch, number, rows.value_bytes);
        const bool repeated = move_rows<BITS, SUMS>(rows, batch, piece, piece.begin + warp * 32,
                                                    is_early, &lists[warp]);
        /* M2: also, the lists were read */
        if (__syncthreads_or(repeated) != 0 && threadIdx.x == 0) {
            control->repeats = 1; /* M6: all store the same */
        }
        if (frees_rows && (!batch.looked_up || control->absent != 0)) {
            free_rows<BITS>(rows, batch, piece);
        }
        number += gridDim.x;
    } while (FEW && number < batch.chunks * ROW_PIECES);
}

template <int BITS, bool FEW> static auto kernel_of(enum sums sums)
{
    return sums == WITH_KEY_STRINGS ? moves_kernel<BITS, WITH_KEY_STRINGS, FEW>
           : sums == WIDE_SUMS      ? moves_kernel<BITS, WIDE_SUMS, FEW>
           : sums == NO_SUMS        ? moves_kernel<BITS, NO_SUMS, FEW>
                                    : moves_kernel<BITS, SUMS_OF_ROWS, FEW>;
}

template <int BITS>
static cudaError_t launch_moves(const struct sw_cuda_rows *rows,
                                const struct sw_cuda_row_batch<BITS> *batch, bool is_early,
                                bool frees_rows, cudaStream_t stream)
{
    const enum sums sums = rows->key_string_bytes > 0                         ? WITH_KEY_STRINGS
                           : batch->ops == NULL && !sw_row_updates(batch->op) ? NO_SUMS
                           : batch->wide                                      ? WIDE_SUMS
                                                                              : SUMS_OF_ROWS;
    const bool few = batch->may_be_early && !is_early;
    return sw_cuda_launch_following(
        !is_early, few ? kernel_of<BITS, true>(sums) : kernel_of<BITS, false>(sums),
        row_blocks<BITS>(rows, batch, few), SW_CUDA_BLOCK, stream, *rows, *batch, is_early,
        frees_rows);
}

template <int BITS>
cudaError_t sw_cuda_launch_row_moves(const struct sw_cuda_rows *rows,
                                     const struct sw_cuda_row_batch<BITS> *batch,
                                     cudaStream_t stream)
{
    const bool frees_rows = batch->inserts || batch->ops != NULL || batch->op == SW_DELETE;
    return launch_moves<BITS>(rows, batch, false, frees_rows, stream);
}

template <int BITS>
cudaError_t sw_cuda_launch_row_early(const struct sw_cuda_rows *rows,
                                     const struct sw_cuda_row_batch<BITS> *batch,
                                     cudaStream_t stream)
{
    struct sw_cuda_row_batch<BITS> certain = *batch;
    certain.status = NULL;
    return launch_moves<BITS>(rows, &certain, true, false, stream);
}

template <int BITS> cudaError_t sw_cuda_load_row_moves(void)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaSuccess;
    for (int sums = NO_SUMS; sums <= WITH_KEY_STRINGS && error == cudaSuccess; sums++) {
        error = cudaFuncGetAttributes(&attributes, kernel_of<BITS, false>((enum sums)sums));
        error = error == cudaSuccess
                    ? cudaFuncGetAttributes(&attributes, kernel_of<BITS, true>((enum sums)sums))
                    : error;
    }
    return error;
}

#define INSTANTIATE(BITS, ...)                                                              \
    template cudaError_t sw_cuda_launch_row_moves<BITS>(                                    \
        const struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_launch_row_early<BITS>(                                    \
        const struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_load_row_moves<BITS>(void);
SW_WIDTHS(INSTANTIATE)
