/* SPDX-License-Identifier: MIT
 *
 * row_move.cuh - a whole warp copies the rows of several operations as one stream; and the results
 * of operations that write, for each type of number.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_MOVE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_MOVE_CUH

#include "table/robin_hood/cuda/rows/rows.cuh"

/* Loads that a lane has in flight. */
#ifndef SW_ROW_GET_UNITS
#define SW_ROW_GET_UNITS 4
#endif

static __device__ __forceinline__ uint8_t *row_at(const struct sw_cuda_rows &rows, uint64_t row)
{
    return sw_cuda_row_at(&rows, row);
}

/* Source and destination of the copy of a row. */
struct __align__(16) row_transfer
{
    const uint8_t *from; /* NULL: zeros */
    uint8_t *to;
};

/* Returns the unit at p + offset; zeros if p is NULL. */
template <typename T>
static __device__ __forceinline__ T row_load(const uint8_t *p, uint32_t offset)
{
    return p != NULL ? __ldcg((const T *)(p + offset)) : T();
}

/* Loads the two wide operands (32 bits) of two numbers of 16 bits, which are a unit of 4 bytes at
 * `offset` of the row. */
static __device__ __forceinline__ uint2 row_load_wide(const uint8_t *p, uint32_t offset)
{
    const uint8_t *at = p + 2 * offset;
    if (p == NULL || (uintptr_t)at % 8 == 0) {
        return row_load<uint2>(p, 2 * offset);
    }
    return make_uint2(__ldcg((const uint32_t *)at), __ldcg((const uint32_t *)at + 1));
}

/* Returns the operand for a unit T of a row: of the same type, or a wide one. */
template <typename T, typename OPERAND>
static __device__ __forceinline__ OPERAND row_operand(const uint8_t *p, uint32_t offset)
{
    if constexpr (sizeof(OPERAND) == sizeof(T)) {
        return row_load<T>(p, offset);
    } else {
        return row_load_wide(p, offset);
    }
}

/* Returns the sums of two numbers of 16 bits each. Not inline: few rows have such numbers, and the
 * code takes registers. */
static __device__ __attribute__((noinline)) uint32_t row_sum_16(bool brain, uint32_t base,
                                                                uint32_t operand)
{
    uint16_t sum[2];
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        const uint16_t number = (uint16_t)(base >> 16 * half);
        const uint16_t more = (uint16_t)(operand >> 16 * half);
        sum[half] = brain ? sw_row_sum_bf16(number, sw_row_of_bf16(more))
                          : sw_row_sum_f16(number, sw_row_of_f16(more));
    }
    return (uint32_t)sum[1] << 16 | sum[0];
}

/* The same sums with wide operands. */
static __device__ __attribute__((noinline)) uint32_t row_sum_wide(bool brain, uint32_t base,
                                                                  uint2 operand)
{
    const uint16_t low = (uint16_t)base;
    const uint16_t high = (uint16_t)(base >> 16);
    const uint16_t sum[2] = {
        brain ? sw_row_sum_bf16(low, operand.x) : sw_row_sum_f16(low, operand.x),
        brain ? sw_row_sum_bf16(high, operand.y) : sw_row_sum_f16(high, operand.y)};
    return (uint32_t)sum[1] << 16 | sum[0];
}

/* Returns the sum of two f64. Not inline, as row_sum_16. */
static __device__ __attribute__((noinline)) uint64_t row_sum_f64(uint64_t base, uint64_t operand)
{
    return sw_row_sum_f64(base, operand);
}

/* Returns the result of the operation on 32 bits: sums of the numbers in them, or an operation on
 * bits. */
static __device__ __forceinline__ uint32_t row_sum_32(uint32_t op, uint32_t base, uint32_t operand)
{
    switch (op) {
    case SW_ADD_F32:
    case SW_ADD_PRESENT_F32:
        return sw_row_sum_f32(base, operand);
    case SW_ADD_F16:
    case SW_ADD_PRESENT_F16:
        return row_sum_16(false, base, operand);
    case SW_ADD_BF16:
    case SW_ADD_PRESENT_BF16:
        return row_sum_16(true, base, operand);
    default:
        return sw_row_bits(op, base, operand);
    }
}

static __device__ __forceinline__ void row_sum_64(uint32_t op, uint32_t base[2],
                                                  const uint32_t operand[2])
{
    if (SW_OPS_HAS(SW_OPS_ADD & SW_OPS_64_BITS, op)) {
        const uint64_t a = (uint64_t)base[1] << 32 | base[0];
        const uint64_t b = (uint64_t)operand[1] << 32 | operand[0];
        const uint64_t sum = SW_OPS_HAS(SW_OPS_F64, op) ? row_sum_f64(a, b) : a + b;
        base[0] = (uint32_t)sum;
        base[1] = (uint32_t)(sum >> 32);
    } else {
        base[0] = row_sum_32(op, base[0], operand[0]);
        base[1] = row_sum_32(op, base[1], operand[1]);
    }
}

/* Returns the result of an operation that updates rows, for a unit of a row. */
static __device__ __forceinline__ uint32_t row_made(uint32_t op, uint32_t base, uint32_t operand)
{
    return row_sum_32(op, base, operand);
}

static __device__ __forceinline__ uint32_t row_made(uint32_t op, uint32_t base, uint2 operand)
{
    return row_sum_wide(op == SW_ADD_BF16 || op == SW_ADD_PRESENT_BF16, base, operand);
}

static __device__ __forceinline__ uint2 row_made(uint32_t op, uint2 base, uint2 operand)
{
    uint32_t sum[2] = {base.x, base.y};
    const uint32_t more[2] = {operand.x, operand.y};
    row_sum_64(op, sum, more);
    return make_uint2(sum[0], sum[1]);
}

static __device__ __forceinline__ uint4 row_made(uint32_t op, uint4 base, uint4 operand)
{
    const uint2 low = row_made(op, make_uint2(base.x, base.y), make_uint2(operand.x, operand.y));
    const uint2 high = row_made(op, make_uint2(base.z, base.w), make_uint2(operand.z, operand.w));
    return make_uint4(low.x, low.y, high.x, high.y);
}

static __device__ __forceinline__ uint32_t row_either(uint32_t a, uint32_t b)
{
    return a | b;
}

static __device__ __forceinline__ uint2 row_either(uint2 a, uint2 b)
{
    return make_uint2(a.x | b.x, a.y | b.y);
}

static __device__ __forceinline__ uint4 row_either(uint4 a, uint4 b)
{
    return make_uint4(a.x | b.x, a.y | b.y, a.z | b.z, a.w | b.w);
}

/* Same as row_made, for the unit at `offset`. KEY_STRINGS: rows end with a key string, and the
 * operation may replace the bytes before it. A unit lies completely inside the key string or
 * completely before it. Either one of the two key strings is missing (zeros) or both are equal:
 * operations with another key string were rejected before. */
template <bool KEY_STRINGS, typename T>
static __device__ __forceinline__ T row_made_at(const struct sw_cuda_rows &rows, uint32_t op,
                                                T base, T operand, uint32_t offset)
{
    if (KEY_STRINGS && offset >= rows.value_bytes - rows.key_string_bytes) {
        return row_either(base, operand);
    }
    return KEY_STRINGS && !sw_row_updates(op) ? operand : row_made(op, base, operand);
}

/* The index of the row in the list, and the offset in the row, of unit `at`. */
static __device__ __forceinline__ uint32_t row_owner(uint32_t at, uint32_t units, uint32_t *offset)
{
    const bool even = (units & (units - 1)) == 0;
    const uint32_t owner = even ? at >> (31 - (uint32_t)__clz((int)units)) : at / units;
    *offset = at - owner * units;
    return owner;
}

/* Copies `count` rows of `units` units of type T; the lanes take the units in turn. No destination
 * may be the source or the destination of another row. */
template <typename T>
static __device__ __forceinline__ void row_copy_units(const struct row_transfer *transfers,
                                                      uint32_t count, uint32_t units)
{
    const uint32_t total = count * units;
    for (uint32_t first = threadIdx.x % 32; first < total; first += 32 * SW_ROW_GET_UNITS) {
        T part[SW_ROW_GET_UNITS];
        uint32_t offset;
#pragma unroll
        for (uint32_t u = 0; u < SW_ROW_GET_UNITS; u++) {
            if (first + 32 * u < total) {
                const uint8_t *from = transfers[row_owner(first + 32 * u, units, &offset)].from;
                part[u] = row_load<T>(from, offset * (uint32_t)sizeof(T));
            }
        }
#pragma unroll
        for (uint32_t u = 0; u < SW_ROW_GET_UNITS; u++) {
            if (first + 32 * u < total) {
                uint8_t *to = transfers[row_owner(first + 32 * u, units, &offset)].to;
                __stcs((T *)to + offset, part[u]);
            }
        }
    }
}

/* Returns the largest unit that all addresses and sizes in `bits` are aligned to: 16, 8 or 4
 * bytes. */
static __device__ __forceinline__ uint32_t row_unit(uint64_t bits)
{
    return bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : 4;
}

/* Copies rows of `bytes`, in units of `unit` bytes. */
static __device__ __forceinline__ void row_copy(const struct row_transfer *transfers,
                                                uint32_t count, uint32_t bytes, uint32_t unit)
{
    if (unit == 16) {
        row_copy_units<uint4>(transfers, count, bytes / 16);
    } else if (unit == 8) {
        row_copy_units<uint2>(transfers, count, bytes / 8);
    } else {
        row_copy_units<uint32_t>(transfers, count, bytes / 4);
    }
}

/* Appends the copies of the lanes for which `has` is true to a warp's list in shared memory.
 * Returns the new length. All lanes. */
static __device__ __forceinline__ uint32_t row_append(struct row_transfer *transfers,
                                                      uint32_t count, bool has, const uint8_t *from,
                                                      uint8_t *to)
{
    const uint32_t lanes = __ballot_sync(SW_WARP_ALL, has);
    if (has) {
        const uint32_t before = lanes & ((1U << threadIdx.x % 32) - 1);
        transfers[count + (uint32_t)__popc(before)] = {from, to};
    }
    return count + (uint32_t)__popc(lanes);
}

#endif
