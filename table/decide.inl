/* SPDX-License-Identifier: MIT
 *
 * decide.inl - the effect of one operation on the value of its key, for one width. No file includes
 * this one: the engines use sw_decide of proto/ops/apply.inl.
 */

/* Returns the effect of `op` on a key that has the value `old` (found) or is absent; *out receives
 * the new value. */
SW_HD static inline enum sw_effect SW_WIDTH_NAMED(sw_decide)(uint32_t op, bool found,
                                                             SW_WIDTH_WORD old,
                                                             SW_WIDTH_WORD operand,
                                                             SW_WIDTH_WORD *out)
{
    *out = operand;
    switch (op) {
    case SW_SET:
        return SW_EFFECT_WRITE;
    case SW_SUM:
        *out = found ? (SW_WIDTH_WORD)(old + operand) : operand;
        return SW_EFFECT_WRITE;
    case SW_MIN:
        *out = found && old < operand ? old : operand;
        return SW_EFFECT_WRITE;
    case SW_MAX:
        *out = found && old > operand ? old : operand;
        return SW_EFFECT_WRITE;
    case SW_SET_ABSENT:
        return found ? SW_EFFECT_NONE : SW_EFFECT_WRITE;
    case SW_SET_PRESENT:
        return found ? SW_EFFECT_WRITE : SW_EFFECT_NONE;
    case SW_INCREMENT:
        old = found ? old : 0;
        *out = (SW_WIDTH_WORD)(old + operand);
        return *out < old ? SW_EFFECT_NONE : SW_EFFECT_WRITE;
    case SW_DECREMENT:
        old = found ? old : 0;
        *out = (SW_WIDTH_WORD)(old - operand);
        return operand > old ? SW_EFFECT_NONE : SW_EFFECT_WRITE;
    case SW_DELETE:
        return found ? SW_EFFECT_REMOVE : SW_EFFECT_NONE;
    default:
        return SW_EFFECT_NONE; /* SW_GET */
    }
}
