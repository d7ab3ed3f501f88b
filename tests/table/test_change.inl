/* SPDX-License-Identifier: MIT
 *
 * test_change.inl - included by test_change.c once per width.
 */

static uint32_t T(op_of)(struct random *random, uint64_t mask)
{
    uint32_t op;
    do {
        op = (uint32_t)ops_draw(random, SW_OPS_INTEGERS);
    } while ((mask >> op & 1) == 0);
    return op;
}

/* Near 0, near the largest, in the middle, or any. */
static WORD T(word_of)(struct random *random, bool is_small)
{
    switch (is_small ? 0 : random_below(random, 4)) {
    case 0:
        return (WORD)random_below(random, 20);
    case 1:
        return WORD_MAX - (WORD)random_below(random, 20);
    case 2:
        return WORD_MAX / 2 + (WORD)random_below(random, 20);
    default:
        return (WORD)random_next(random);
    }
}

/* Key number k: the first is absent, the others are present. */
static struct S(key_state) T(key_of)(struct random *random, uint32_t k)
{
    return (struct S(key_state)){k == 0 ? 0 : T(word_of)(random, false), k != 0, k % 2 != 0};
}

static void T(same)(const struct S(key_state) * got, const struct S(key_state) * wanted,
                    const char *what)
{
    cr_assert(got->exists == wanted->exists && got->value == wanted->value &&
                  got->inserted == wanted->inserted,
              "%s: a key becomes %llx, present %d, instead of %llx, %d", what,
              (unsigned long long)got->value, got->exists, (unsigned long long)wanted->value,
              wanted->exists);
}

/* Draws operations and holds what they make of keys, absent and of many values, against their
 * change; counts those that it knows of. */
static void T(try)(struct random *random, uint64_t mask, bool is_small, uint32_t length,
                   uint64_t *known, uint64_t *all)
{
    uint32_t ops[300];
    WORD operands[300];
    struct S(change) change = S(change_none)();
    for (uint32_t i = 0; i < length; i++) {
        ops[i] = T(op_of)(random, mask);
        operands[i] = T(word_of)(random, is_small);
        S(change_append)(&change, ops[i], operands[i]);
    }
    for (uint32_t k = 0; k < 60; k++) {
        struct S(key_state) one = T(key_of)(random, k);
        struct S(key_state) before = one;
        struct S(key_state) whole = one;
        for (uint32_t i = 0; i < length; i++) {
            S(key_step)(&one, ops[i], operands[i]);
        }
        bool is_known = S(change_apply)(&change, &whole);
        *all += 1;
        *known += is_known;
        T(same)(&whole, is_known ? &one : &before, is_known ? "known" : "not known");
    }
}

/* The same for operations in two parts. Each part is a change. */
static void T(try_parts)(struct random *random, uint64_t mask, bool is_small, uint32_t length,
                         uint64_t *known, uint64_t *all)
{
    uint32_t ops[300];
    WORD operands[300];
    struct S(change) parts[2] = {S(change_none)(), S(change_none)()};
    const uint32_t border = (uint32_t)random_below(random, length + 1);
    for (uint32_t i = 0; i < length; i++) {
        ops[i] = T(op_of)(random, mask);
        operands[i] = T(word_of)(random, is_small);
        S(change_append)(&parts[i >= border], ops[i], operands[i]);
    }
    const bool fits = S(change_then)(&parts[0], &parts[1]);
    for (uint32_t k = 0; k < 60; k++) {
        struct S(key_state) one = T(key_of)(random, k);
        struct S(key_state) whole = one;
        for (uint32_t i = 0; i < length; i++) {
            S(key_step)(&one, ops[i], operands[i]);
        }
        const bool is_known = fits && S(change_apply)(&parts[0], &whole);
        *all += 1;
        *known += is_known;
        if (is_known) {
            T(same)(&whole, &one, "in two parts");
        }
    }
}

/* Sums and bounds of small numbers, on values in the middle. */
static void T(middle)(struct random *random)
{
    const uint64_t mask = SW_OPS_ONE(SW_SUM) | SW_OPS_ONE(SW_INCREMENT) | SW_OPS_ONE(SW_DECREMENT) |
                          SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_SET_ABSENT);
    struct S(key_state) key = {WORD_MAX / 2 + (WORD)random_below(random, 1000), true, false};
    struct S(key_state) whole = key;
    struct S(change) change = S(change_none)();
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t op =
            T(op_of)(random, i % 100 == 99 ? SW_OPS_ONE(SW_MIN) | SW_OPS_ONE(SW_MAX) : mask);
        WORD operand = (WORD)random_below(random, 1000);
        operand += i % 100 == 99 ? WORD_MAX / 2 : 0;
        S(key_step)(&key, op, operand);
        S(change_append)(&change, op, operand);
    }
    cr_assert(S(change_apply)(&change, &whole));
    cr_assert(whole.exists && whole.value == key.value && !whole.inserted);
}

/* Every verb under every condition, also if the table has no operation for the pair yet: each
 * alone, with its kin, or all of them. */
static void T(try_verbs)(struct random *random, uint32_t length, uint64_t *known, uint64_t *all)
{
    WORD operands[300];
    uint32_t verbs[300];
    enum sw_when whens[300];
    struct S(change) parts[2] = {S(change_none)(), S(change_none)()};
    const uint32_t border = (uint32_t)random_below(random, length + 1);
    const uint32_t kind = (uint32_t)random_below(random, 3);
    const uint32_t first = (uint32_t)random_below(random, VERBS);
    for (uint32_t i = 0; i < length; i++) {
        do {
            verbs[i] = (uint32_t)random_below(random, VERBS);
        } while ((kind == 0 && verbs[i] != first) ||
                 (kind == 1 && verb_rows[verbs[i]].repeated != verb_rows[first].repeated));
        whens[i] = (enum sw_when)random_below(random, SW_WHEN_EQUAL);
        operands[i] = T(word_of)(random, false);
        S(change_verb)
        (&parts[i >= border], verb_rows[verbs[i]].verb, whens[i], verb_rows[verbs[i]].repeated,
         operands[i]);
    }
    const bool fits = S(change_then)(&parts[0], &parts[1]);
    for (uint32_t k = 0; k < 60; k++) {
        struct S(key_state) one = T(key_of)(random, k);
        struct S(key_state) whole = one;
        for (uint32_t i = 0; i < length; i++) {
            WORD out = 0;
            enum sw_effect effect = S(verb_apply)(verb_rows[verbs[i]].verb, whens[i], one.exists,
                                                  one.value, operands[i], &out);
            S(key_become)(&one, effect, out);
        }
        const bool is_known = fits && S(change_apply)(&parts[0], &whole);
        *all += 1;
        *known += is_known;
        if (is_known) {
            T(same)(&whole, &one, "of verbs");
        }
    }
}
