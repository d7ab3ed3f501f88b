/* SPDX-License-Identifier: MIT
 *
 * scale.c - multiplies operands by a scale. Product and sum are rounded separately, wherever the
 * sum is computed.
 */
#include "table/scale.h"

#include "table/robin_hood/rows.h"

#define ONE 0x3f800000U
#define SIGN 0x80000000U

static bool has_32_bits(enum sw_op op, bool wide_operands)
{
    return SW_OPS_HAS(SW_OPS_F32, op) || wide_operands;
}

bool sw_scale_fits(enum sw_op op, bool wide_operands, uint32_t scale_bits)
{
    return has_32_bits(op, wide_operands) ? (scale_bits & ~SIGN) < 0x7f800000U
                                          : (scale_bits & ~SIGN) == ONE;
}

/* Negates the operands. */
static void negate(enum sw_op op, void *operands, uint64_t bytes)
{
    if (SW_OPS_HAS(SW_OPS_U64, op)) {
        for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++) {
            ((uint64_t *)operands)[i] = 0 - ((uint64_t *)operands)[i];
        }
    } else if (SW_OPS_HAS(SW_OPS_F64, op)) {
        for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++) {
            ((uint64_t *)operands)[i] ^= 1ULL << 63;
        }
    } else if (SW_OPS_HAS(SW_OPS_U32, op)) {
        for (uint64_t i = 0; i < bytes / sizeof(uint32_t); i++) {
            ((uint32_t *)operands)[i] = 0 - ((uint32_t *)operands)[i];
        }
    } else {
        for (uint64_t i = 0; i < bytes / sizeof(uint16_t); i++) {
            ((uint16_t *)operands)[i] ^= 0x8000U;
        }
    }
}

void sw_scale_operands(enum sw_op op, bool wide_operands, uint32_t scale_bits, void *operands,
                       uint64_t bytes)
{
    if (scale_bits == ONE) {
        return;
    }
    if (!has_32_bits(op, wide_operands)) {
        negate(op, operands, bytes);
        return;
    }
    for (uint64_t i = 0; i < bytes / sizeof(uint32_t); i++) {
        uint32_t *number = (uint32_t *)operands + i;
        *number = sw_row_product_f32(scale_bits, *number);
    }
}

void sw_scale_add_wide(enum sw_op op, void *row, const void *operand, uint32_t bytes)
{
    const bool is_f16 = SW_OPS_HAS(SW_OPS_F16, op);
    uint16_t *to = row;
    const uint32_t *from = operand;
    for (uint32_t i = 0; i < bytes / sizeof(*to); i++) {
        to[i] = is_f16 ? sw_row_sum_f16(to[i], from[i]) : sw_row_sum_bf16(to[i], from[i]);
    }
}
