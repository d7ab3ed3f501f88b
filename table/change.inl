/* SPDX-License-Identifier: MIT
 *
 * change.inl - a key's state, and changes of it. Included by change.h once per width.
 */

struct CH(key_state) {
    CH_WORD value; /* 0 if it is absent */
    bool exists;
    bool inserted; /* by one of the operations so far */
};

/* Absent keys become `absent`. Present ones become `present` if that is set; else their values,
 * those of [from, to], are clamped to [low, high], which lies in it, and `add` is added modulo
 * 2^width. What that comes to is in order, unless [low, high] is [from, to]. */
struct CH(change) {
    CH_WORD from;
    CH_WORD to;
    CH_WORD low;
    CH_WORD high;
    CH_WORD add;
    bool is_state;
    struct CH(key_state) absent;
    struct CH(key_state) present;
};

/* Takes a key through one operation. */
SW_HD static inline enum sw_effect CH(key_step)(struct CH(key_state) * key, uint32_t op,
                                                CH_WORD operand)
{
    CH_WORD out = 0;
    enum sw_effect effect = CH(decide)(op, key->exists, key->value, operand, &out);
    if (effect == SW_EFFECT_WRITE) {
        key->inserted = key->inserted || !key->exists;
        key->value = out;
        key->exists = true;
    } else if (effect == SW_EFFECT_REMOVE) {
        key->value = 0;
        key->exists = false;
    }
    return effect;
}

/* What no operation makes of a key. */
SW_HD static inline struct CH(change) CH(change_none)(void)
{
    struct CH(change) none;
    memset(&none, 0, sizeof(none));
    none.to = CH_MAX;
    none.high = CH_MAX;
    return none;
}

/* Leaves out the values whose sum passes the width, if others do not. */
SW_HD static inline void CH(change_order)(struct CH(change) * change)
{
    if ((CH_WORD)(change->low + change->add) > (CH_WORD)(change->high + change->add)) {
        change->to = change->high = CH_MAX - change->add;
    }
}

/* Adds to all values that come to at most `limit` before, or to none. */
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

/* Subtracts from all values that come to at least `operand`, or from none. */
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

/* One operation more, on a present key of any value. */
SW_HD static inline void CH(change_present)(struct CH(change) * change, uint32_t op,
                                            CH_WORD operand)
{
    switch (op) {
    case SW_SET:
    case SW_SET_PRESENT:
    case SW_DELETE:
        change->is_state = true;
        change->present.exists = op != SW_DELETE;
        change->present.value = op != SW_DELETE ? operand : 0;
        break;
    case SW_SUM:
        if (change->low == change->from && change->high == change->to) {
            change->add += operand;
        } else {
            CH(change_add)(change, CH_MAX - operand, operand, false);
        }
        break;
    case SW_INCREMENT:
        CH(change_add)(change, CH_MAX - operand, operand, true);
        break;
    case SW_DECREMENT:
        CH(change_subtract)(change, operand);
        break;
    case SW_MIN:
        CH(change_clamp)(change, 0, operand);
        break;
    case SW_MAX:
        CH(change_clamp)(change, operand, CH_MAX);
        break;
    default: /* SW_GET, SW_SET_ABSENT */
        break;
    }
}

/* Adds one operation to those that a change is of. */
SW_HD static inline void CH(change_append)(struct CH(change) * change, uint32_t op, CH_WORD operand)
{
    CH(key_step)(&change->absent, op, operand);
    if (change->is_state) {
        CH(key_step)(&change->present, op, operand);
    } else {
        CH(change_present)(change, op, operand);
    }
}

/* Takes a key through all operations of a change. False, with nothing changed, if its value is
 * none of those that are known of. */
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
    if (v < change->from || v > change->to) {
        return false;
    }
    key->value = (v < change->low    ? change->low
                  : v > change->high ? change->high
                                     : v) +
                 change->add;
    return true;
}

/* Makes of a change what it and then another one come to. False if that is known of no value; then
 * the change is of no use. */
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
    if (next.low == 0 && next.high == CH_MAX) { /* sums of any value */
        CH(change_present)(change, SW_SUM, next.add);
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
