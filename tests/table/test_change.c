/* SPDX-License-Identifier: MIT
 *
 * test_change.c - a change of many operations is what the operations make of a key one by one.
 */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "table/change.h"
#include "tests/support/ops.h"
#include "tests/support/random.h"

TestSuite(change, .timeout = 60);

/* The verbs that do something to an integer. */
static const struct {
    enum sw_verb verb;
    uint32_t repeated;
} verb_rows[] = {
#define VERB(verb, operand, absent, effect, repeated) {SW_VERB_##verb, SW_REPEATED_##repeated},
    SW_VERB_MAP(VERB)};
enum { VERBS = sizeof(verb_rows) / sizeof(verb_rows[0]) };

#define WORD uint32_t
#define WORD_MAX UINT32_MAX
#define S(name) sw_##name##_s64
#define T(name) name##_s64
#include "tests/table/test_change.inl"
#undef WORD
#undef WORD_MAX
#undef S
#undef T

#define WORD uint64_t
#define WORD_MAX UINT64_MAX
#define S(name) sw_##name##_s128
#define T(name) name##_s128
#include "tests/table/test_change.inl"

/* Operations of these kinds, from `least` on, drawn anew each time. */
static const struct {
    uint64_t mask;
    bool is_small; /* also the operands: nothing overflows */
} drawn[] = {
    {SW_OPS_INTEGERS, false},
    {SW_OPS_INTEGERS, true},
    {SW_OPS_ONE(SW_SUM), false},
    {SW_OPS_ONE(SW_SUM) | SW_OPS_ONE(SW_INCREMENT), false},
    {SW_OPS_ONE(SW_INCREMENT), false},
    {SW_OPS_ONE(SW_DECREMENT), false},
    {SW_OPS_ONE(SW_INCREMENT) | SW_OPS_ONE(SW_DECREMENT), false},
    {SW_OPS_ONE(SW_MIN) | SW_OPS_ONE(SW_MAX), false},
    {SW_OPS_ONE(SW_MIN) | SW_OPS_ONE(SW_MAX) | SW_OPS_ONE(SW_SUM), false},
    {SW_OPS_ONE(SW_MIN) | SW_OPS_ONE(SW_MAX) | SW_OPS_ONE(SW_SUM) | SW_OPS_ONE(SW_INCREMENT) |
         SW_OPS_ONE(SW_DECREMENT),
     false},
    {SW_OPS_ONE(SW_SET_ABSENT) | SW_OPS_ONE(SW_SUM) | SW_OPS_ONE(SW_GET), false},
    {SW_OPS_ONE(SW_SET_PRESENT) | SW_OPS_ONE(SW_INCREMENT), false},
    {SW_OPS_ONE(SW_DELETE) | SW_OPS_ONE(SW_INCREMENT) | SW_OPS_ONE(SW_MIN), false},
};

typedef void try_fn(struct random *, uint64_t mask, bool is_small, uint32_t length, uint64_t *known,
                    uint64_t *all);

static void try_all_drawn(uint64_t stream, try_fn *narrow, try_fn *wide)
{
    struct random random = random_of(stream);
    for (size_t d = 0; d < sizeof(drawn) / sizeof(drawn[0]); d++) {
        uint64_t known = 0;
        uint64_t all = 0;
        for (int n = 0; n < 400; n++) {
            uint32_t length = (uint32_t)random_below(&random, 12);
            narrow(&random, drawn[d].mask, drawn[d].is_small, length, &known, &all);
            wide(&random, drawn[d].mask, drawn[d].is_small, length, &known, &all);
        }
        cr_assert_gt(known, all / 10, "of set %zu %llu of %llu states are known of", d,
                     (unsigned long long)known, (unsigned long long)all);
    }
}

Test(change, is_what_its_operations_make)
{
    try_all_drawn(1, try_s64, try_s128);
}

Test(change, of_two_changes_is_one)
{
    try_all_drawn(4, try_parts_s64, try_parts_s128);
}

/* Operations with the same effect on all values: the change is known without a pass over them. */
Test(change, knows_all_of_one_kind)
{
    static const uint64_t masks[] = {SW_OPS_ONE(SW_SET),
                                     SW_OPS_ONE(SW_SUM),
                                     SW_OPS_ONE(SW_MIN) | SW_OPS_ONE(SW_MAX),
                                     SW_OPS_ONE(SW_GET),
                                     SW_OPS_ONE(SW_SET_ABSENT),
                                     SW_OPS_ONE(SW_SET_PRESENT),
                                     SW_OPS_ONE(SW_DELETE) | SW_OPS_ONE(SW_SET) |
                                         SW_OPS_ONE(SW_SET_PRESENT)};
    struct random random = random_of(2);
    for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++) {
        uint64_t known = 0;
        uint64_t all = 0;
        try_s64(&random, masks[m], false, 300, &known, &all);
        try_s128(&random, masks[m], false, 300, &known, &all);
        try_parts_s64(&random, masks[m], false, 300, &known, &all);
        try_parts_s128(&random, masks[m], false, 300, &known, &all);
        cr_assert_eq(known, all, "operations %" PRIx64, masks[m]);
    }
}

/* The same if nothing overflows: values and sums stay far from the ends of the width. */
Test(change, knows_all_that_does_not_overflow)
{
    struct random random = random_of(3);
    for (int n = 0; n < 200; n++) {
        middle_s64(&random);
        middle_s128(&random);
    }
}

Test(change, of_every_verb_is_exact)
{
    struct random random = random_of(5);
    uint64_t known = 0, all = 0;
    for (int n = 0; n < 4000; n++) {
        try_verbs_s64(&random, (uint32_t)random_below(&random, 12), &known, &all);
        try_verbs_s128(&random, (uint32_t)random_below(&random, 12), &known, &all);
    }
    cr_assert_gt(known, all / 4, "%llu of %llu", (unsigned long long)known,
                 (unsigned long long)all);
}
