/* SPDX-License-Identifier: MIT
 *
 * apply.h - the effect of operations on integer values, for host and device. Names that end in
 * _s64 are for values of 32 bits, those in _s128 for values of 64 bits.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_OPS_APPLY_H
#define SHERWOOD_OPS_APPLY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/ops/operations.h"

#ifdef __CUDACC__
#define SW_HD __host__ __device__
#else
#define SW_HD
#endif

/* The effect of an operation on its key, given the key's state. */
enum sw_effect { SW_EFFECT_NONE, SW_EFFECT_WRITE, SW_EFFECT_REMOVE };

#define SW_WIDTH_WORD uint32_t
#define SW_WIDTH_NAMED(name) name##_s64
#include "proto/ops/apply.inl"
#undef SW_WIDTH_WORD
#undef SW_WIDTH_NAMED
#define SW_WIDTH_WORD uint64_t
#define SW_WIDTH_NAMED(name) name##_s128
#include "proto/ops/apply.inl"
#undef SW_WIDTH_WORD
#undef SW_WIDTH_NAMED

/* Computes the value after the table's operation `op` on an integer of 4 or 8 bytes. *after is 0 if
 * the key is absent then. Returns false if the table refuses the operation because the result does
 * not fit; the key is unchanged then. */
static inline bool sw_op_after(uint32_t op, uint32_t value_bytes, bool found, uint64_t before,
                               uint64_t operand, uint64_t *after)
{
    uint32_t narrow = 0;
    uint64_t wide = 0;
    const bool is_wide = value_bytes == sizeof(wide);
    const enum sw_effect effect =
        is_wide ? sw_decide_s128(op, found, before, operand, &wide)
                : sw_decide_s64(op, found, (uint32_t)before, (uint32_t)operand, &narrow);
    *after = effect == SW_EFFECT_WRITE    ? (is_wide ? wide : narrow)
             : effect == SW_EFFECT_REMOVE ? 0
             : found                      ? before
                                          : 0;
    const bool may = found || SW_OPS_HAS(SW_OPS_INSERT, op); /* other operations keep it absent */
    return effect != SW_EFFECT_NONE || !may || !SW_OPS_HAS(SW_OPS_REFUSE, op);
}

/* Changes the bits of a row by an operation of SW_OPS_BITS. Rows have whole 32-bit words. */
static inline void sw_op_bits_after(uint32_t op, const void *operand, uint32_t bytes, void *row)
{
    for (uint32_t at = 0; at < bytes; at += (uint32_t)sizeof(uint32_t)) {
        uint32_t word = 0, x = 0;
        memcpy(&word, (const uint8_t *)row + at, sizeof(word));
        memcpy(&x, (const uint8_t *)operand + at, sizeof(x));
        sw_decide_s64(op, true, word, x, &word);
        memcpy((uint8_t *)row + at, &word, sizeof(word));
    }
}

#endif
