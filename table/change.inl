/* SPDX-License-Identifier: MIT
 *
 * change.inl - the state of a key, and the changes to it. Included by change.h once per width.
 */

struct CH(key_state) {
    CH_WORD value; /* 0 if the key is absent */
    bool exists;
    bool inserted; /* one of the operations so far inserted the key */
};

/* The effect of several operations on one key. An absent key becomes `absent`. A present key
 * becomes `present` if `is_state`. Otherwise its value v changes by kind:
 *
 * - RANGE: if v is in [from, to], it is clamped to [low, high], a part of [from, to], and `add` is
 *   added modulo 2^width. The sum keeps the order unless [low, high] is [from, to]. For other v the
 *   operations have to run one by one.
 * - BITS: v becomes (v & low) ^ add.
 * - UNKNOWN: the operations have to run one by one. */
enum CH(change_kind) { CH_ENUM(RANGE), CH_ENUM(BITS), CH_ENUM(UNKNOWN) };

struct CH(change) {
    CH_WORD from;
    CH_WORD to;
    CH_WORD low;
    CH_WORD high;
    CH_WORD add;
    bool is_state;
    uint8_t kind;
    struct CH(key_state) absent;
    struct CH(key_state) present;
};

/* Applies an effect to a key. */
SW_HD static inline void CH(key_become)(struct CH(key_state) * key, enum sw_effect effect,
                                        CH_WORD out)
{
    if (effect == SW_EFFECT_WRITE) {
        key->inserted = key->inserted || !key->exists;
        key->value = out;
        key->exists = true;
    } else if (effect == SW_EFFECT_REMOVE) {
        key->value = 0;
        key->exists = false;
    }
}

/* Takes a key through one operation. */
SW_HD static inline enum sw_effect CH(key_step)(struct CH(key_state) * key, uint32_t op,
                                                CH_WORD operand)
{
    CH_WORD out = 0;
    enum sw_effect effect = CH(decide)(op, key->exists, key->value, operand, &out);
    CH(key_become)(key, effect, out);
    return effect;
}

/* Returns the change by no operation: the identity. */
SW_HD static inline struct CH(change) CH(change_none)(void)
{
    struct CH(change) none;
    memset(&none, 0, sizeof(none));
    none.to = CH_MAX;
    none.high = CH_MAX;
    return none;
}

/* If the sum overflows the width only for some values, removes these values from the range. */
SW_HD static inline void CH(change_order)(struct CH(change) * change)
{
    if ((CH_WORD)(change->low + change->add) > (CH_WORD)(change->high + change->add)) {
        change->to = change->high = CH_MAX - change->add;
    }
}

/* Adds `operand` to the values that have become at most `limit`. If there are such values, removes
 * the others from the range. If there are none, adds to all values, or to none if fails_above. */
SW_HD static inline void CH(change_add)(struct CH(change) * change, CH_WORD limit, CH_WORD operand,
                                        bool fails_above)
{
    CH(change_order)(change);
    const CH_WORD least = change->low + change->add;
    const CH_WORD most = change->high + change->add;
    if (least > limit && fails_above) {
        return;
    }
    if (least <= limit && most > limit) {
        change->to = change->high = limit - change->add;
    }
    change->add += operand;
}

/* Subtracts `operand` from the values that have become at least `operand`, and removes the others
 * from the range. If there are no such values, changes nothing. */
SW_HD static inline void CH(change_subtract)(struct CH(change) * change, CH_WORD operand)
{
    CH(change_order)(change);
    const CH_WORD least = change->low + change->add;
    const CH_WORD most = change->high + change->add;
    if (most < operand) {
        return;
    }
    if (least < operand) {
        change->from = change->low = operand - change->add;
    }
    change->add -= operand;
}

/* Clamps the values to [least, most]. */
SW_HD static inline void CH(change_clamp)(struct CH(change) * change, CH_WORD least, CH_WORD most)
{
    CH(change_order)(change);
    if ((CH_WORD)(change->low + change->add) >= most) {
        change->high = change->low;
        change->add = most - change->low;
    } else if ((CH_WORD)(change->high + change->add) <= least) {
        change->low = change->high;
        change->add = least - change->high;
    } else {
        const CH_WORD low = least - change->add;
        const CH_WORD high = most - change->add;
        change->low = (CH_WORD)(change->low + change->add) < least ? low : change->low;
        change->high = (CH_WORD)(change->high + change->add) > most ? high : change->high;
    }
}

/* Returns whether the change is still the identity. */
SW_HD static inline bool CH(change_is_new)(const struct CH(change) * change)
{
    return change->kind == CH_ENUM(RANGE) && change->from == 0 && change->low == 0 &&
           change->to == CH_MAX && change->high == CH_MAX && change->add == 0;
}

/* Appends v -> (v & keep) ^ flip. */
SW_HD static inline void CH(change_bits)(struct CH(change) * change, CH_WORD keep, CH_WORD flip)
{
    if (CH(change_is_new)(change)) {
        change->kind = CH_ENUM(BITS);
        change->low = CH_MAX;
    } else if (change->kind != CH_ENUM(BITS)) {
        change->kind = CH_ENUM(UNKNOWN);
        return;
    }
    change->low &= keep;
    change->add = (change->add & keep) ^ flip;
}

/* Appends one operation on a present key with an unknown value. A verb without a rule here makes
 * the change UNKNOWN. */
SW_HD static inline void CH(change_present)(struct CH(change) * change, enum sw_verb verb,
                                            enum sw_when when, uint32_t repeated, CH_WORD operand)
{
    if (when == SW_WHEN_ABSENT || repeated == SW_REPEATED_SAME) {
        return;
    }
    if (repeated == SW_REPEATED_STATE) {
        change->is_state = true;
        change->present.exists = verb != SW_VERB_DELETE;
        change->present.value = verb != SW_VERB_DELETE ? operand : 0;
        return;
    }
    if (repeated == SW_REPEATED_BITS) {
        CH(change_bits)
        (change,
         verb == SW_VERB_OR || verb == SW_VERB_ANDNOT ? (CH_WORD)~operand
         : verb == SW_VERB_AND                        ? operand
                                                      : CH_MAX,
         verb == SW_VERB_OR || verb == SW_VERB_XOR ? operand : 0);
        return;
    }
    if (change->kind != CH_ENUM(RANGE) || repeated == SW_REPEATED_ORDER) {
        change->kind = CH_ENUM(UNKNOWN);
    } else if (verb == SW_VERB_ADD && when != SW_WHEN_FITS) {
        if (change->low == change->from && change->high == change->to) {
            change->add += operand;
        } else {
            CH(change_add)(change, CH_MAX - operand, operand, false);
        }
    } else if (verb == SW_VERB_ADD) {
        CH(change_add)(change, CH_MAX - operand, operand, true);
    } else if (verb == SW_VERB_SUBTRACT && when == SW_WHEN_FITS) {
        CH(change_subtract)(change, operand);
    } else if (verb == SW_VERB_MIN) {
        CH(change_clamp)(change, 0, operand);
    } else if (verb == SW_VERB_MAX) {
        CH(change_clamp)(change, operand, CH_MAX);
    } else {
        change->kind = CH_ENUM(UNKNOWN);
    }
}

/* Appends one operation, given by its verb and guard. */
SW_HD static inline void CH(change_verb)(struct CH(change) * change, enum sw_verb verb,
                                         enum sw_when when, uint32_t repeated, CH_WORD operand)
{
    CH_WORD out = 0;
    enum sw_effect effect =
        CH(verb_apply)(verb, when, change->absent.exists, change->absent.value, operand, &out);
    CH(key_become)(&change->absent, effect, out);
    if (change->is_state) {
        effect = CH(verb_apply)(verb, when, change->present.exists, change->present.value, operand,
                                &out);
        CH(key_become)(&change->present, effect, out);
    } else {
        CH(change_present)(change, verb, when, repeated, operand);
    }
}

/* Appends an operation of SW_EXTRA_OPERATION_MAP. The results for 0 and for all ones define an
 * operation that works bit by bit. */
SW_HD static inline void CH(change_extra)(struct CH(change) * change, uint32_t op, CH_WORD operand)
{
    CH_WORD out = 0, of_none = 0, of_all = 0;
    enum sw_effect effect =
        CH(decide_extra)(op, change->absent.exists, change->absent.value, operand, &out);
    CH(key_become)(&change->absent, effect, out);
    if (change->is_state) {
        effect = CH(decide_extra)(op, change->present.exists, change->present.value, operand, &out);
        CH(key_become)(&change->present, effect, out);
    } else if (SW_OPS_HAS(SW_OPS_BITS, op)) {
        CH(decide_extra)(op, true, 0, operand, &of_none);
        CH(decide_extra)(op, true, CH_MAX, operand, &of_all);
        CH(change_bits)(change, of_all ^ of_none, of_none);
    } else {
        change->kind = CH_ENUM(UNKNOWN);
    }
}

/* Appends one operation. */
SW_HD static inline void CH(change_append)(struct CH(change) * change, uint32_t op, CH_WORD operand)
{
#define SW_ROW(name, number, its_op, verb, guard, ...)                               \
    case (its_op):                                                                   \
        CH(change_verb)                                                              \
        (change, SW_VERB_##verb, SW_WHEN_##guard, SW_VERB_REPEATED_##verb, operand); \
        break;
    switch (op) {
        SW_CORE_OPERATION_MAP(SW_ROW)
    default:
        CH(change_extra)(change, op, operand);
    }
#undef SW_ROW
}

/* Takes a key through all operations of a change. Returns false and changes nothing if the change
 * does not cover the key's value. */
SW_HD static inline bool CH(change_apply)(const struct CH(change) * change,
                                          struct CH(key_state) * key)
{
    const bool inserted = key->inserted;
    const CH_WORD v = key->value;
    if (!key->exists || change->is_state) {
        *key = key->exists ? change->present : change->absent;
        key->inserted = key->inserted || inserted;
        return true;
    }
    if (change->kind == CH_ENUM(BITS)) {
        key->value = (v & change->low) ^ change->add;
        return true;
    }
    if (change->kind == CH_ENUM(UNKNOWN) || v < change->from || v > change->to) {
        return false;
    }
    key->value = (v < change->low    ? change->low
                  : v > change->high ? change->high
                                     : v) +
                 change->add;
    return true;
}

/* Appends `next` if one of the two is not of kind RANGE. Returns false if the operations have to
 * run one by one. */
SW_HD static inline bool CH(change_then_bits)(struct CH(change) * change,
                                              const struct CH(change) * next)
{
    if (next->kind == CH_ENUM(BITS)) {
        CH(change_bits)(change, next->low, next->add);
        return change->kind == CH_ENUM(BITS);
    }
    return change->kind == CH_ENUM(BITS) && CH(change_is_new)(next);
}

/* Appends the change `then` to `change`. Returns false if the result covers no value; then the
 * caller must not use `change`. */
SW_HD static inline bool CH(change_then)(struct CH(change) * change, const struct CH(change) * then)
{
    struct CH(change) next = *then;
    if (!CH(change_apply)(&next, &change->absent)) {
        return false;
    }
    if (change->is_state) {
        return CH(change_apply)(&next, &change->present);
    }
    if (next.is_state) {
        change->is_state = true;
        change->present = next.present;
        return true;
    }
    if (change->kind != CH_ENUM(RANGE) || next.kind != CH_ENUM(RANGE)) {
        return CH(change_then_bits)(change, &next);
    }
    if (next.low == 0 && next.high == CH_MAX) { /* `next` only adds, to any value */
        CH(change_present)(change, SW_VERB_ADD, SW_WHEN_ALWAYS, SW_REPEATED_ADDS, next.add);
        return true;
    }
    CH(change_order)(&next);
    CH(change_order)(change);
    const CH_WORD least = change->low + change->add;
    const CH_WORD most = change->high + change->add;
    if (most < next.from || least > next.to) {
        return false;
    }
    if (least < next.from) {
        change->from = change->low = next.from - change->add;
    }
    if (most > next.to) {
        change->to = change->high = next.to - change->add;
    }
    CH(change_clamp)(change, next.low, next.high);
    change->add += next.add;
    return true;
}
