/* SPDX-License-Identifier: MIT
 *
 * scale.h - operands of ADD, multiplied before they are added; and what comes of wide ones.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_SCALE_H
#define SHERWOOD_TABLE_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "table/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether operands of an ADD may be multiplied by a scale, given by its bits: it must be finite;
 * and 1 or -1 unless the operands are numbers of 32 bits, IEEE 754. */
bool sw_scale_fits(enum sw_op op, bool wide_operands, uint32_t scale_bits);
/* Multiplies operands of an ADD, `bytes` of them, by a scale that fits. Each product is rounded by
 * itself, before it is added. */
void sw_scale_operands(enum sw_op op, bool wide_operands, uint32_t scale_bits, void *operands,
                       uint64_t bytes);

/* Adds a wide operand of ADD_F16, ADD_BF16 or one of their PRESENT forms to a row of `bytes`, as
 * the table does. */
void sw_scale_add_wide(enum sw_op op, void *row, const void *operand, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
