/* SPDX-License-Identifier: MIT
 *
 * apply.inl - the effect of each verb on an integer value. Host and device, the table, the server
 * and the clients share this one definition. apply.h includes it once per width. The functions are
 * pure. Callers pass `verb` and `when` as constants, so the compiler removes the switch.
 */

/* Whether the product of two values fits the width. Halves of words: a division would cost kernels
 * registers and time, also where nothing is multiplied. */
SW_HD static inline bool SW_WIDTH_NAMED(sw_product_fits)(SW_WIDTH_WORD a, SW_WIDTH_WORD b,
                                                         SW_WIDTH_WORD product)
{
    const unsigned half = 4 * sizeof(SW_WIDTH_WORD);
    const SW_WIDTH_WORD a_high = a >> half, b_high = b >> half;
    const SW_WIDTH_WORD middle = (SW_WIDTH_WORD)(a_high * b + a * b_high); /* one of them is 0 */
    return (a_high == 0 || b_high == 0) && middle >> half == 0 &&
           product >= (SW_WIDTH_WORD)(middle << half);
}

/* Applies a verb to a present key with value `old` (found) or to an absent key. *out is the value
 * after; it is meaningful only if the effect is WRITE. */
SW_HD static inline enum sw_effect
SW_WIDTH_NAMED(sw_verb_apply)(enum sw_verb verb, enum sw_when when, bool found, SW_WIDTH_WORD old,
                              SW_WIDTH_WORD operand, SW_WIDTH_WORD *out)
{
    const SW_WIDTH_WORD base = found ? old : 0;
    *out = operand;
    if (when == SW_WHEN_ABSENT ? found : when == SW_WHEN_PRESENT && !found) {
        return SW_EFFECT_NONE;
    }
    switch (verb) {
    case SW_VERB_SET:
        return SW_EFFECT_WRITE;
    case SW_VERB_FIND:
        return found ? SW_EFFECT_NONE : SW_EFFECT_WRITE;
    case SW_VERB_ADD:
        *out = (SW_WIDTH_WORD)(base + operand);
        return when == SW_WHEN_FITS && *out < base ? SW_EFFECT_NONE : SW_EFFECT_WRITE;
    case SW_VERB_SUBTRACT:
        *out = (SW_WIDTH_WORD)(base - operand);
        return when == SW_WHEN_FITS && operand > base ? SW_EFFECT_NONE : SW_EFFECT_WRITE;
    case SW_VERB_MULTIPLY:
        *out = (SW_WIDTH_WORD)(base * operand);
        return !found || (when == SW_WHEN_FITS &&
                          !SW_WIDTH_NAMED(sw_product_fits)(base, operand, *out))
                   ? SW_EFFECT_NONE
                   : SW_EFFECT_WRITE;
    case SW_VERB_MIN:
        *out = found && old < operand ? old : operand;
        return SW_EFFECT_WRITE;
    case SW_VERB_MAX:
        *out = found && old > operand ? old : operand;
        return SW_EFFECT_WRITE;
    case SW_VERB_OR:
        *out = base | operand;
        return SW_EFFECT_WRITE;
    case SW_VERB_XOR:
        *out = base ^ operand;
        return SW_EFFECT_WRITE;
    case SW_VERB_AND:
        *out = base & operand;
        return SW_EFFECT_WRITE;
    case SW_VERB_ANDNOT:
        *out = base & (SW_WIDTH_WORD)~operand;
        return SW_EFFECT_WRITE;
    case SW_VERB_DELETE:
        return found ? SW_EFFECT_REMOVE : SW_EFFECT_NONE;
    default: /* reads, and verbs that integers do not have */
        return SW_EFFECT_NONE;
    }
}

/* Applies an operation of SW_EXTRA_OPERATION_MAP. All are computed and one is selected: the
 * compiler does not join a comparison of `op` to the switch below, which is as short as without
 * them. */
SW_HD static inline enum sw_effect SW_WIDTH_NAMED(sw_decide_extra)(uint32_t op, bool found,
                                                                   SW_WIDTH_WORD old,
                                                                   SW_WIDTH_WORD operand,
                                                                   SW_WIDTH_WORD *out)
{
    enum sw_effect effect = SW_EFFECT_NONE, its_effect;
    SW_WIDTH_WORD its_out;
    *out = operand;
#define SW_ROW(name, number, its_op, verb, guard, ...)                                      \
    its_effect = SW_WIDTH_NAMED(sw_verb_apply)(SW_VERB_##verb, SW_WHEN_##guard, found, old, \
                                               operand, &its_out);                          \
    effect = op == (its_op) ? its_effect : effect;                                          \
    *out = op == (its_op) ? its_out : *out;
    SW_EXTRA_OPERATION_MAP(SW_ROW)
#undef SW_ROW
    return effect;
}

/* Applies an operation of SW_PAIR_OPERATION_MAP: stores `operand` if the key has the value
 * `expected`. */
SW_HD static inline enum sw_effect SW_WIDTH_NAMED(sw_decide_pair)(bool found, SW_WIDTH_WORD old,
                                                                  SW_WIDTH_WORD expected,
                                                                  SW_WIDTH_WORD operand,
                                                                  SW_WIDTH_WORD *out)
{
    *out = operand;
    return found && old == expected ? SW_EFFECT_WRITE : SW_EFFECT_NONE;
}

/* Applies operation i, whose operation in the table is `op`. Verb and guard are constants in each
 * case. Tables of integers have these operations. Without `expected` there is no operation of
 * SW_PAIR_OPERATION_MAP: only the default case reads it, so the common operations pay nothing. */
SW_HD static inline enum sw_effect
SW_WIDTH_NAMED(sw_decide_any)(uint32_t op, bool found, SW_WIDTH_WORD old, SW_WIDTH_WORD operand,
                              const SW_WIDTH_WORD *expected, uint32_t i, SW_WIDTH_WORD *out)
{
#define SW_ROW(name, number, its_op, verb, guard, ...)                                             \
    case (its_op):                                                                                 \
        return SW_WIDTH_NAMED(sw_verb_apply)(SW_VERB_##verb, SW_WHEN_##guard, found, old, operand, \
                                             out);
    switch (op) {
        SW_CORE_OPERATION_MAP(SW_ROW)
    default:
        return expected != 0 && SW_OPS_HAS(SW_OPS_PAIR, op)
                   ? SW_WIDTH_NAMED(sw_decide_pair)(found, old, expected[i], operand, out)
                   : SW_WIDTH_NAMED(sw_decide_extra)(op, found, old, operand, out);
    }
#undef SW_ROW
}

/* The same for an operation with one operand. */
SW_HD static inline enum sw_effect SW_WIDTH_NAMED(sw_decide)(uint32_t op, bool found,
                                                             SW_WIDTH_WORD old,
                                                             SW_WIDTH_WORD operand,
                                                             SW_WIDTH_WORD *out)
{
    return SW_WIDTH_NAMED(sw_decide_any)(op, found, old, operand, 0, 0, out);
}
