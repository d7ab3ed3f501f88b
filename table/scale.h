/* SPDX-License-Identifier: MIT
 *
 * scale.h - multiplies operands of ADD by a scale before they are added, and adds wide operands.
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

/* Returns whether operands of an ADD may be multiplied by a scale, given by its bits. The scale
 * must be finite. It must be 1 or -1 unless the operands are 32-bit IEEE 754 numbers. */
bool sw_scale_fits(enum sw_op op, bool wide_operands, uint32_t scale_bits);
/* Multiplies `bytes` bytes of operands of an ADD by a scale that fits. Rounds each product by
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
